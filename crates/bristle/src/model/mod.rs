//! The machine in flat arrays: an immutable [`Model`], shared by all runs of it, and the [`Inputs`] that callers may
//! change between steps.

mod armature_transfer;
pub mod bearing;
pub mod compile;
mod contact;
pub mod coupled;
pub(crate) mod saturation;
pub(crate) mod servo;
pub(crate) mod stops;
pub(crate) mod turning;

pub use contact::Contact;
pub use saturation::EffortLimitAt;
pub use stops::{End, StopChange, Stops};

pub use armature_transfer::ArmatureTransfer;

use crate::signal::{Piece, Signal};
use crate::world::component::{BristleState, Drive};
use bristle_friction::FrictionLaw;
use bristle_multibody::spatial::Force;
use bristle_multibody::{JointKind, Model as Tree, Work, aba, neutral};
use compile::Index;
use coupled::Coupled;
use saturation::regime_of;
use servo::{DriveSample, Servo, ServoState};
use std::sync::Arc;
use turning::Turning;

/// A damper on one velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Damper {
    /// Joint it belongs to.
    pub joint: usize,
    /// Its velocity.
    pub v: usize,
    /// N·m·s/rad or N·s/m.
    pub damping: f64,
}

/// A spring on one coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringAt {
    /// Its position.
    pub q: usize,
    /// Its velocity.
    pub v: usize,
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// Position at which it is slack, rad or m.
    pub rest: f64,
}

/// A drive on one coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveAt {
    /// Joint it belongs to.
    pub joint: usize,
    /// Its position.
    pub q: usize,
    /// Its velocity.
    pub v: usize,
    /// Kind and parameters.
    pub drive: Drive,
    /// The target of a servo, late by its delay.
    delayed: Option<Signal>,
}

/// The signal of a drive.
pub(crate) fn signal_of(drive: &Drive) -> &Signal {
    match drive {
        Drive::Effort(signal) | Drive::Motion(signal) => signal,
        Drive::Pull { target, .. } | Drive::Pid { target, .. } | Drive::Servo { target, .. } => target,
    }
}

impl DriveAt {
    /// A drive on the coordinate of a joint.
    pub(crate) fn new(joint: usize, q: usize, v: usize, drive: Drive) -> Self {
        let mut at = Self { joint, q, v, drive: Drive::Effort(Signal::default()), delayed: None };
        at.set(drive);
        at
    }

    /// Puts another drive in its place.
    pub(crate) fn set(&mut self, drive: Drive) {
        self.delayed = match &drive {
            Drive::Servo { target, delay, .. } if *delay > 0.0 => Some(target.delayed(*delay)),
            _ => None,
        };
        self.drive = drive;
    }

    /// The signal, an effort or a position; that of a servo is late by its delay.
    pub fn signal(&self) -> &Signal {
        self.delayed.as_ref().unwrap_or_else(|| signal_of(&self.drive))
    }

    /// Whether it has an integral of its error as a state.
    pub fn has_integral(&self) -> bool {
        matches!(self.drive, Drive::Pid { .. })
    }

    /// The parameters of a servo.
    pub(crate) fn servo(&self) -> Option<Servo<'_>> {
        Servo::of(&self.drive)
    }

    /// Signal and terms at `t`. The regime of a servo is that of its state where corners are located, otherwise that of
    /// the position and velocity `at`.
    pub(crate) fn sample(&self, t: f64, piece: Piece, state: &ServoState, at: Option<(f64, f64)>) -> DriveSample {
        let signal = self.signal().sample(t, piece);
        let Some(servo) = self.servo() else { return DriveSample { signal, ..Default::default() } };
        let regime = at.map_or(state.regime, |(q, v)| {
            let (demand, bound) = servo.demand(signal.value, t, piece, q, v);
            regime_of(demand, bound)
        });
        servo.terms(signal, t, piece, state, regime)
    }

    /// The next time after `t` at which a signal has a corner or a sample is taken.
    pub(crate) fn next_corner(&self, t: f64) -> Option<f64> {
        let Some(servo) = self.servo() else { return self.signal().next_corner(t) };
        let target = if servo.is_sampled() {
            let next = |k: f64| (servo.number(t) + k) * servo.period;
            Some(if next(1.0) > t { next(1.0) } else { next(2.0) })
        } else {
            self.signal().next_corner(t)
        };
        let supply = servo.supply.and_then(|signal| signal.next_corner(t));
        let enable = servo.enable.and_then(|signal| signal.next_switch(t));
        [target, supply, enable].into_iter().flatten().reduce(f64::min)
    }

    /// Whether its effort does not jump at `t`, samples aside; with `is_jerk`, nor its rate.
    pub(crate) fn is_smooth(&self, t: f64, before: Piece, after: Piece, is_jerk: bool) -> bool {
        let is_same = |s: &Signal| s.sample(t, before) == s.sample(t, after);
        let passes = |s: &Signal| if is_jerk { is_same(s) } else { s.is_continuous(t, before, after) };
        let Some(servo) = self.servo() else { return passes(self.signal()) };
        (servo.is_sampled() || passes(self.signal()))
            && servo.supply.is_none_or(passes)
            && servo.enable.is_none_or(|s| s.is_on(t, before) == s.is_on(t, after))
    }

    /// Effort, N·m or N, for a sample.
    pub(crate) fn effort(&self, sample: &DriveSample, q: f64, v: f64, integral: f64) -> f64 {
        let signal = &sample.signal;
        match self.drive {
            Drive::Effort(_) => signal.value,
            Drive::Pull { stiffness, .. } => stiffness * (signal.value - q),
            Drive::Pid { kp, ki, kd, .. } => kp * (signal.value - q) + ki * integral - kd * v,
            Drive::Servo { .. } => sample.servo_effort(q, v),
            // equilibrium determines it
            Drive::Motion(_) => 0.0,
        }
    }

    /// Rate of the effort along the motion, for a sample.
    pub(crate) fn effort_rate(&self, sample: &DriveSample, q: f64, v: f64, a: f64) -> f64 {
        let signal = &sample.signal;
        match self.drive {
            Drive::Effort(_) => signal.derivative,
            Drive::Pull { stiffness, .. } => stiffness * (signal.derivative - v),
            Drive::Pid { kp, ki, kd, .. } => kp * (signal.derivative - v) + ki * (signal.value - q) - kd * a,
            Drive::Servo { .. } => sample.servo_rate(q, v, a),
            Drive::Motion(_) => 0.0,
        }
    }

    /// Derivatives of the effort in position, velocity and integral.
    pub(crate) fn slopes(&self, sample: &DriveSample) -> [f64; 3] {
        match self.drive {
            Drive::Effort(_) | Drive::Motion(_) => [0.0; 3],
            Drive::Pull { stiffness, .. } => [-stiffness, 0.0, 0.0],
            Drive::Pid { kp, ki, kd, .. } => [-kp, -kd, ki],
            Drive::Servo { .. } => [-sample.stiffness[0], -sample.damping[0], 0.0],
        }
    }
}

/// An external wrench on one body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrenchAt {
    /// The body.
    pub body: usize,
    /// Moment about the link's origin and force, link axes.
    pub wrench: Force,
}

/// A joint whose position is prescribed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PrescribedJoint {
    pub joint: usize,
    pub v: usize,
    /// Index of the drive.
    pub drive: usize,
}

/// The quantities that callers may change between steps; their number and kinds belong to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// Efforts of callers; `n_v`.
    pub effort: Vec<f64>,
    /// Constant efforts besides; `n_v`.
    pub offset: Vec<f64>,
    /// Wrenches of callers, in link order.
    pub wrenches: Vec<WrenchAt>,
    /// Dampers, in joint order; none of them zero.
    pub dampers: Vec<Damper>,
    /// Springs, in joint order.
    pub springs: Vec<SpringAt>,
    /// Drives, in joint order. Copies of a machine share them until one is changed.
    pub drives: Arc<[DriveAt]>,
    /// Limits of the efforts of drives and callers, in joint order. Shared like the drives.
    pub effort_limits: Arc<[EffortLimitAt]>,
    /// Friction, in joint order; then that of couplings, in their order; then contacts with stops and no friction, in
    /// joint order. Shared like the drives.
    pub contacts: Arc<[Contact]>,
}

impl Inputs {
    /// The contacts with friction: all but those with stops alone.
    pub fn frictions(&self) -> &[Contact] {
        let n = self.contacts.iter().take_while(|contact| !contact.is_stop_alone()).count();
        &self.contacts[..n]
    }
}

/// The machine: links, joints and couplings, and the tables that follow from them. Immutable.
#[derive(Debug)]
pub struct Model {
    /// Links and joints.
    pub tree: Tree,
    /// Map between entities and numbers.
    pub index: Index,
    /// Couplings between coordinates.
    pub coupled: Coupled,
    /// Armature transfers to joints without inertia from joints coupled to them.
    pub armature_transfers: Vec<ArmatureTransfer>,
    /// Joints with a damper, friction or stops, in order: each has an entry of heat in the ledger.
    pub heated: Vec<usize>,
    /// Couplings with a damper or friction, in order: their entries follow those of the joints.
    pub heated_elements: Vec<usize>,
    /// Number of contacts with friction; contacts with stops alone follow them.
    pub(crate) n_frictions: usize,
    /// Joint of each velocity; `n_v`.
    pub(crate) joint_of: Vec<usize>,
    /// First velocities of the free joints.
    pub(crate) free: Vec<usize>,
    /// Contacts whose load is the joint's reaction.
    pub(crate) reaction_loaded: Vec<usize>,
    /// Joints whose motion is prescribed.
    pub(crate) prescribed: Vec<PrescribedJoint>,
    /// Joints whose rotation affects the load of a stuck contact.
    pub(crate) turning: Turning,
    /// Inertia of the joint of each reaction-loaded contact at the neutral configuration, with the joints beyond it
    /// free.
    pub(crate) kink_inertia: Vec<f64>,
}

/// A compiled world: the model, and the inputs that act on it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The machine, shared by all copies.
    pub model: Arc<Model>,
    /// The quantities that callers may change.
    pub inputs: Inputs,
}

impl Model {
    /// The model of a tree with couplings, under these inputs.
    pub(crate) fn new(tree: Tree, index: Index, coupled: Coupled, inputs: &Inputs) -> Self {
        let contacts = &inputs.contacts;
        let dampers = inputs.dampers.iter().map(|damper| damper.joint);
        let of_joints = contacts.iter().filter(|contact| contact.element.is_none()).map(|contact| contact.joint);
        let springs = coupled.springs.iter().map(|spring| spring.element);
        let free = (1..tree.n_bodies()).filter(|&i| tree.kinds[i] == JointKind::Free).map(|i| tree.v_index[i]);
        let prescribed = inputs.drives.iter().enumerate().filter_map(|(drive, at)| {
            let Drive::Motion(_) = at.drive else { return None };
            Some(PrescribedJoint { joint: at.joint, v: at.v, drive })
        });
        let mut model = Self {
            armature_transfers: Vec::new(),
            heated: sorted(dampers.chain(of_joints)),
            heated_elements: sorted(springs.chain(contacts.iter().filter_map(|contact| contact.element))),
            n_frictions: inputs.frictions().len(),
            joint_of: (0..tree.n_v).map(|k| tree.joint_of_velocity(k)).collect(),
            free: free.collect(),
            reaction_loaded: (0..contacts.len()).filter(|&c| contacts[c].bearing.is_some()).collect(),
            prescribed: prescribed.collect(),
            turning: Turning::new(&tree, &coupled, contacts),
            kink_inertia: vec![0.0; contacts.len()],
            tree,
            index,
            coupled,
        };
        model.transfer_armature();
        model.set_kink_inertias(contacts);
        model
    }

    /// Whether the motion of velocity `v` is prescribed.
    pub(crate) fn is_prescribed(&self, v: usize) -> bool {
        self.prescribed.iter().any(|prescribed| prescribed.v == v)
    }

    /// Inertias by one articulated-body sweep, at rest and without efforts.
    fn set_kink_inertias(&mut self, contacts: &[Contact]) {
        let Self { tree, reaction_loaded, kink_inertia, .. } = self;
        let (mut work, zero) = (Work::new(tree), vec![0.0; tree.n_v]);
        if !reaction_loaded.is_empty() && aba(tree, &mut work, &neutral(tree), &zero, &zero).is_ok() {
            for &c in &*reaction_loaded {
                kink_inertia[c] = work.articulated(tree, contacts[c].joint).0;
            }
        }
    }

    /// Index of the heat of a contact among those of `heated` and `heated_elements`.
    pub(crate) fn heat_of(&self, contact: &Contact) -> usize {
        match contact.element {
            Some(k) => self.heat_of_element(k),
            None => self.heat_of_joint(contact.joint),
        }
    }

    /// The same for a joint with a damper or friction.
    #[expect(clippy::expect_used, reason = "`compile` lists every joint that dissipates")]
    pub(crate) fn heat_of_joint(&self, joint: usize) -> usize {
        self.heated.binary_search(&joint).expect("`heated` holds every joint with a damper or friction: see `compile`")
    }

    /// The same for an element.
    #[expect(clippy::expect_used, reason = "`compile` lists every coupling that dissipates")]
    pub(crate) fn heat_of_element(&self, k: usize) -> usize {
        let found = self.heated_elements.binary_search(&k);
        self.heated.len() + found.expect("`heated_elements` holds every coupling that dissipates: see `compile`")
    }
}

impl Compiled {
    /// The contacts with stops.
    pub(crate) fn with_stops(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.inputs.contacts.len()).filter(|&c| self.inputs.contacts[c].stops.is_some())
    }

    /// Name of a contact: its joint's, or its coupling's.
    pub fn contact_name(&self, c: usize) -> &str {
        let contact = &self.inputs.contacts[c];
        match contact.element {
            Some(k) => &self.model.coupled.names[k],
            None => &self.model.tree.joint_names[contact.joint],
        }
    }

    /// Steady bristle state of a contact at the velocities `v`, or those of prescribed motions at `t`; 0 if its law
    /// has none.
    pub(crate) fn steady_bristle(&self, c: usize, t: f64, v: &[f64]) -> BristleState {
        let contact = &self.inputs.contacts[c];
        if contact.law.n_states() == 0 {
            return BristleState::default();
        }
        let velocity = |k: usize| {
            let motion = self.inputs.drives.iter().find(|at| at.v == k && matches!(at.drive, Drive::Motion(_)));
            motion.map_or(v[k], |at| at.signal().derivative(t))
        };
        let rate = contact.b.map_or_else(|| velocity(contact.v), |b| velocity(contact.v) - velocity(b));
        let state = contact.law.initial_state(contact.arm * rate);
        BristleState { z: contact.law.deflection(state), w: state[1] }
    }
}

fn sorted(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
