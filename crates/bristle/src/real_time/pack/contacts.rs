//! Friction of one contact in every lane: the impulse law of a step, evaluated in packs where it has a closed form.

use super::super::SignalTime;
use super::super::impulse_law::ImpulseLaw;
use super::super::loads::normal_loads;
use super::PackStep;
use crate::model::{Contact, Model};
use bristle_friction::{BristleStep, EventDriven, FrictionLaw, Law, Mode};
use bristle_multibody::spatial::{Mask, Scalar};

/// Lanes of a pack at most.
const MAX_LANES: usize = 8;

/// The form of an impulse law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Limits and slopes.
    Dry,
    /// One bristle: see [`BristleStep`].
    Bristle,
    /// Any other, lane by lane.
    Other,
}

/// One contact in every lane.
#[derive(Debug, Clone)]
pub(super) struct PackContact<S: Scalar> {
    pub v: usize,
    pub heat: usize,
    pub form: Form,
    pub n_states: usize,
    /// Mode at the start of a step, −1, 0 or 1, and in the present round.
    pub mode: S,
    pub trial: S,
    /// States of the law, load of the bent bristles.
    pub state: [S; 2],
    pub bristle_load: S,
    /// Friction and load at the end of the last step.
    pub friction: S,
    pub load: S,
    /// Coulomb friction under constant loads: arm N times sliding level, stiction and slope; else lanes are asked.
    pub dry: Option<[S; 3]>,
    /// Normal loads for forward and backward slip.
    pub normal: [S; 2],
    /// Dry: limit and slope in either direction.
    pub forward: [S; 2],
    pub backward: [S; 2],
    /// Bristle: its coefficients, arm and h r N.
    bristle: [S; 8],
    arm: S,
    scale: S,
    /// Laws of the lanes that have another form.
    laws: [ImpulseLaw; MAX_LANES],
    /// λ at ω = 0 and λ' of the round; whether the contact is stuck in it; both in the factors.
    pub linear: [S; 2],
    pub stuck: S::Mask,
    /// Whether it was stuck at the end of the last step.
    pub at_rest: S::Mask,
    pub factored_slope: S,
    pub factored_stuck: S::Mask,
    /// Rate and impulse at the end of the step.
    pub omega: S,
    pub lambda: S,
}

/// The form of the impulse laws of a contact; `None` where packs have none.
pub(super) fn form(contact: &Contact) -> Option<Form> {
    let has_power = |direction| contact.law.towards(direction).power_term().0 != 0.0;
    match &contact.law {
        _ if contact.is_event_driven() => {
            (!has_power(Mode::Forward) && !has_power(Mode::Backward)).then_some(Form::Dry)
        }
        law if law.bristle(1.0, 0.0, [0.0; 2]).is_some() => Some(Form::Bristle),
        _ => Some(Form::Other),
    }
}

impl<S: Scalar> PackContact<S> {
    pub fn new(model: &Model, contact: &Contact) -> Self {
        let (zero, none) = (S::ZERO, S::Mask::splat(false));
        Self {
            v: contact.v,
            heat: 2 + model.heat_of(contact),
            form: form(contact).unwrap_or(Form::Other),
            n_states: contact.law.n_states(),
            mode: zero,
            trial: zero,
            state: [zero; 2],
            bristle_load: zero,
            friction: zero,
            load: zero,
            dry: None,
            normal: [zero; 2],
            forward: [zero; 2],
            backward: [zero; 2],
            bristle: [zero; 8],
            arm: zero,
            scale: zero,
            laws: [ImpulseLaw::Dry { forward: [0.0; 2], backward: [0.0; 2], power: None }; MAX_LANES],
            linear: [zero; 2],
            stuck: none,
            at_rest: none,
            factored_slope: zero,
            factored_stuck: none,
            omega: zero,
            lambda: zero,
        }
    }

    /// Levels that no step changes, if every lane has Coulomb friction under a constant load.
    pub fn constant_levels<'a>(of_lane: impl Fn(usize) -> &'a Contact) -> Option<[S; 3]> {
        let mut levels = [[0.0; 3]; MAX_LANES];
        for (lane, levels) in levels.iter_mut().enumerate().take(S::LANES) {
            let contact = of_lane(lane);
            let (Law::Coulomb(law), None) = (&contact.law, contact.signal()) else { return None };
            let (kinetic, slope) = law.kinetic_level(0.0);
            let n = contact.arm * contact.largest();
            *levels = [n * kinetic, n * law.stiction_level(), n * contact.arm * slope];
        }
        Some(std::array::from_fn(|k| S::from_lanes(|lane| levels[lane][k])))
    }

    /// λ and λ' at ω of a contact that is not dry.
    #[inline(always)]
    pub fn at(&self, laws: &[impl std::ops::Deref<Target = [Contact]>], c: usize, omega: S) -> [S; 2] {
        match self.form {
            Form::Bristle => {
                let v = self.arm * omega;
                let [.., p, sigma2] = self.bristle;
                let (s, slope) = self.deflection(v);
                let effort = s + p * (s - self.bristle[2]) + sigma2 * v;
                [self.scale * effort, self.scale * self.arm * (slope + p * slope + sigma2)]
            }
            Form::Dry | Form::Other => {
                let mut states = [[0.0; 2]; MAX_LANES];
                for lane in 0..S::LANES {
                    let state = self.laws[lane].at(&laws[lane][c].law, omega.lane(lane), 0.0, 0.0);
                    states[lane] = [state.lambda, state.slope];
                }
                [0, 1].map(|k| S::from_lanes(|lane| states[lane][k]))
            }
        }
    }

    /// Deflection of a bristle at slip velocity `v` and its slope: (1) of [`BristleStep`].
    #[inline(always)]
    fn deflection(&self, v: S) -> (S, S) {
        let [k, k_g, _, within, share, beyond, ..] = self.bristle;
        let one = S::splat(1.0);
        let decay = one / (one + k_g * v.size());
        let sign = one.or_else(S::ZERO.is_below(v), (-one).or_else(v.is_below(S::ZERO), S::ZERO));
        ((within + k * v) * decay + beyond, k * (one - sign * share) * (decay * decay))
    }

    /// States at the end of a step with rate ω.
    pub fn state_after(&self, laws: &[impl std::ops::Deref<Target = [Contact]>], c: usize, omega: S) -> [S; 2] {
        match self.form {
            Form::Dry => self.state,
            Form::Bristle => [self.deflection(self.arm * omega).0, self.state[1]],
            Form::Other => {
                let start = |lane: usize| self.state.map(|state| state.lane(lane));
                let after: [_; MAX_LANES] = std::array::from_fn(|lane| {
                    let lane = lane.min(S::LANES - 1);
                    self.laws[lane].state_after(&laws[lane][c].law, omega.lane(lane), start(lane))
                });
                [0, 1].map(|k| S::from_lanes(|lane| after[lane][k]))
            }
        }
    }

    /// Energy that the bristles store per unit load.
    pub fn stored_energy(&self, laws: &[impl std::ops::Deref<Target = [Contact]>], c: usize, state: [S; 2]) -> S {
        S::from_lanes(|lane| laws[lane][c].law.stored_energy(state.map(|state| state.lane(lane))))
    }
}

impl<S: Scalar> PackStep<S> {
    /// Normal loads and impulse laws of a step: see [`ImpulseLaw::new`].
    pub(super) fn set_laws(&mut self, at: SignalTime, h: f64) {
        let Self { contacts, frictions, v, .. } = self;
        for (c, contact) in contacts.iter_mut().enumerate() {
            contact.trial = contact.mode;
            if let Some([kinetic, stiction, slope]) = contact.dry {
                let (h, zero) = (S::splat(h), S::ZERO);
                let level = |is_sliding: S::Mask| h * kinetic.or_else(is_sliding, stiction);
                contact.forward = [level(zero.is_below(contact.mode)), h * slope];
                contact.backward = [level(contact.mode.is_below(zero)), h * slope];
                continue;
            }
            for lane in 0..S::LANES {
                let of = &frictions[lane][c];
                let state = contact.state.map(|state| state.lane(lane));
                let normal = normal_loads(of, 0.0, state[0] < 0.0, at);
                let slip = of.arm * v[contact.v].lane(lane);
                let mode = Mode::of_sign(contact.mode.lane(lane));
                contact.set_law(lane, ImpulseLaw::new(of, h, mode, slip, state, normal), normal);
            }
        }
    }
}

impl<S: Scalar> PackContact<S> {
    /// The law of one lane.
    fn set_law(&mut self, lane: usize, law: ImpulseLaw, normal: [f64; 2]) {
        let is_lane = S::Mask::from_lanes(|k| k == lane);
        let put = |to: &mut S, x: f64| *to = S::splat(x).or_else(is_lane, *to);
        let put_all = |to: &mut [S], x: &[f64]| to.iter_mut().zip(x).for_each(|(to, x)| put(to, *x));
        put_all(&mut self.normal, &normal);
        match law {
            ImpulseLaw::Dry { forward, backward, .. } => {
                put_all(&mut self.forward, &forward);
                put_all(&mut self.backward, &backward);
            }
            ImpulseLaw::Bristle { bristle, arm, scale } => {
                put_all(&mut self.bristle, &BristleStep::coefficients(&bristle));
                put(&mut self.arm, arm);
                put(&mut self.scale, scale);
            }
            law => self.laws[lane] = law,
        }
    }
}
