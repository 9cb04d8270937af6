//! The mechanics of a machine at its present state: inverse dynamics, mass matrix, Jacobians, linearisation.
//!
//! ```text
//! τ = Tᵀ (M a + c + K (q − q₀) + d v + τ_f − τ_drives)           inverse dynamics, present bristles
//! δẏ = A δy + B δτ + P δp                                        about the present state
//! ```

use super::explain::explain;
use super::links::LinkVelocity;
use super::simulation::{Handle, Simulation};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::compile::{check_length, check_state};
use crate::stick_slip::Machine;
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::EvalError;
use bristle_multibody::{State, crba};
use nalgebra::{DMatrix, Matrix6xX};

/// Equations of motion, linearised about a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Linearization {
    /// Names of the unknowns: positions and velocities of the joints that can move, `NAME.position`, `NAME.velocity`,
    /// then bristle states `NAME.s` = σ₀z and `NAME.w`, then integrals of controllers. A free joint has
    /// `NAME.rotation.x` to `.z` and `NAME.displacement.x` to `.z`, a small rotation and a small displacement from its
    /// pose, in child axes, and `NAME.velocity.wx` to `.vz`.
    pub unknowns: Vec<String>,
    /// ∂ẏ/∂y.
    pub a: DMatrix<f64>,
    /// ∂ẏ/∂τ, one column per velocity, in the order of [`Simulation::velocities`].
    pub b: DMatrix<f64>,
    /// Names of the friction parameters, `NAME.coulomb` and so on; of a table `NAME.points[2].level`. Parameters that
    /// determine break-away alone, the stiction of `Coulomb` and `peak`, are not among them.
    pub parameters: Vec<String>,
    /// ∂ẏ/∂p, one column per parameter.
    pub p: DMatrix<f64>,
}

/// The coordinate of a revolute or prismatic joint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coordinate {
    /// Name of the joint.
    pub name: String,
    /// Its place in positions.
    pub q: usize,
    /// Its place in velocities, accelerations and efforts.
    pub v: usize,
}

impl Simulation {
    /// Efforts, `n_v`, that a caller has to apply at positions `q` and velocities `v` for the accelerations `a`:
    /// friction, dampers, springs and drives act as they do now, bristles with their present deflection. A joint with
    /// event-driven friction slides in the direction of v, or of a where v = 0; where both are 0 its friction is 0. The
    /// result is in `tau`.
    ///
    /// The efforts are those asked for, whatever the `effort_limit` of a joint, so that a control loop may hand them to
    /// [`Simulation::set_efforts`] as a controller hands its demand to a motor: the limit acts there. Compare with
    /// [`Simulation::effort_limit`] to see whether the accelerations can be reached.
    ///
    /// In closed loops the efforts are those of least norm that cause the motion: see the guide page `loops`.
    ///
    /// With gears, planetary sets or linear couplings, the efforts of dependent joints are 0 and the independent ones
    /// include their part: see [`Simulation::independent`]. A motion that a coupling does not allow is refused by its
    /// name.
    pub fn inverse_dynamics(&mut self, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64]) -> Result<()> {
        self.refresh()?;
        check_state(&self.compiled().model.tree, q, v)?;
        self.required(q, v, a, tau, false)
    }

    /// With `of_joints` the accelerations of free joints follow from those of the others.
    fn required(&mut self, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64], of_joints: bool) -> Result<()> {
        let model = &self.compiled().model.tree;
        check_length("a", a.len(), model.n_v)?;
        check_length("tau", tau.len(), model.n_v)?;
        if let Some(&value) = a.iter().find(|x| !x.is_finite()) {
            return Err(Error::number("a", "a number", value, "finite"));
        }
        let t = self.run.t();
        let is_free = of_joints && !self.compiled().model.free.is_empty();
        let system = &mut self.run.system;
        let result = if is_free {
            system.dynamics.required_of_joints(t, q, v, a, tau)
        } else {
            system.dynamics.required(t, q, v, a, tau)
        };
        // back to the state of the simulation
        self.run.system.evaluate_at(t, self.run.driver.y())?;
        result.and_then(|()| check_finite(t, "an effort", tau))
    }

    /// [`Simulation::inverse_dynamics`] at the present state: the efforts for the accelerations `a`, into `tau`.
    ///
    /// A free joint has no drive: its entries of `a` are not read, its efforts are 0, and its acceleration follows from
    /// those of the others. [`Simulation::set_efforts`] accepts this `tau` on a floating base, too.
    pub fn efforts_for(&mut self, a: &[f64], tau: &mut [f64]) -> Result<()> {
        self.refresh()?;
        // the state is taken out for the call and restored also after an error
        let State { q, v, .. } = &mut self.run.state.mechanics;
        let (q, v) = (std::mem::take(q), std::mem::take(v));
        let result = self.required(&q, &v, a, tau, true);
        (self.run.state.mechanics.q, self.run.state.mechanics.v) = (q, v);
        result
    }

    /// Revolute and prismatic joints, each with its place in [`Simulation::positions`] and in
    /// [`Simulation::velocities`], which differ behind a free joint; fixed joints have none.
    pub fn coordinates(&self) -> Vec<Coordinate> {
        let model = &self.compiled().model.tree;
        let joints = (1..model.n_bodies()).filter(|&i| model.v_range(i).len() == 1);
        let coordinate = |i: usize| Coordinate {
            name: model.joint_names[i].clone(),
            q: model.q_range(i).start,
            v: model.v_range(i).start,
        };
        joints.map(coordinate).collect()
    }

    /// Independent velocities, in order; all velocities without constraints. The joint that a constraint names first is
    /// the dependent one: the motor of `Gear(joints: ("motor", "arm"))`, the sun of a `Planetary`, the first term of a
    /// `Linear`, a joint that mimics. If that joint is prescribed or dependent already, it is the next one.
    pub fn independent(&self) -> Vec<usize> {
        self.run.system.dynamics.independent()
    }

    /// Degrees of freedom: velocities that neither couplings nor prescribed motions determine. Stuck joints count.
    pub fn freedom(&self) -> usize {
        let model = &self.compiled().model;
        self.independent().into_iter().filter(|&v| !model.is_prescribed(v)).count()
    }

    /// Tᵀτ: transfers the efforts on dependent joints to the joints on which they depend.
    pub(crate) fn gather_efforts(&self, tau: &mut [f64]) {
        self.run.system.dynamics.couplings.iter().for_each(|couplings| couplings.gather_efforts(tau));
    }

    /// [`Simulation::inverse_dynamics`] of a state at each of the times: `fill` writes positions, velocities and
    /// accelerations of state number i, `take` reads its efforts. Bristles follow the motion from its first state on.
    pub(crate) fn inverse_dynamics_along(
        &mut self,
        times: &[f64],
        mut fill: impl FnMut(usize, [&mut [f64]; 3]),
        mut take: impl FnMut(&[f64]),
    ) -> Result<()> {
        self.refresh()?;
        let t = self.run.t();
        let (mut q, mut v) = (self.positions().to_vec(), vec![0.0; self.velocities().len()]);
        let (mut a, mut tau) = (v.clone(), v.clone());
        let dynamics = &mut self.run.system.dynamics;
        let mut before = v.clone();
        let result = times.iter().enumerate().try_for_each(|(i, &t)| {
            before.copy_from_slice(&v);
            fill(i, [&mut q, &mut v, &mut a]);
            match i {
                0 => dynamics.start_bristles(&v),
                _ => dynamics.carry_bristles(t - times[i - 1], &before, &v),
            }
            dynamics.required(t, &q, &v, &a, &mut tau)?;
            check_finite(t, "an effort", &tau)?;
            take(&tau);
            Ok(())
        });
        // back to the state of the simulation
        self.run.system.evaluate_at(t, self.run.driver.y())?;
        result
    }

    /// Mass matrix Tᵀ M T over the [`Simulation::independent`] velocities at the present positions: with the
    /// constraints, which [`Simulation::mass_matrix`] leaves out.
    pub fn reduced_mass_matrix(&mut self) -> Result<DMatrix<f64>> {
        let mass = self.mass_matrix()?;
        let reduced = self.run.system.dynamics.reduce_mass(&mass);
        check_finite(self.run.t(), "the reduced mass matrix", reduced.as_slice())?;
        Ok(reduced)
    }

    /// Whether contact number `c` has bristles.
    fn bristles_of(&self, c: usize) -> bool {
        self.compiled().inputs.contacts[c].law.n_states() > 0
    }

    /// Mass matrix of the tree at the present positions, armature included; `n_v` × `n_v`.
    pub fn mass_matrix(&mut self) -> Result<DMatrix<f64>> {
        self.refresh()?;
        let n_v = self.compiled().model.tree.n_v;
        memory::check("the mass matrix", memory::bytes::<f64>(&[n_v, n_v]))?;
        let mut mass = DMatrix::zeros(n_v, n_v);
        let (t, q) = (self.run.t(), &self.run.state.mechanics.q);
        fill_mass_matrix(&mut self.run.system, t, q, &mut mass)?;
        Ok(mass)
    }

    /// Jacobian of a point on a link, given in link axes: world axes, angular part first; 6 × `n_v`.
    pub fn jacobian(&mut self, link: impl Handle, point: [f64; 3]) -> Result<Matrix6xX<f64>> {
        self.refresh()?;
        let (i, _) = self.link_number(link)?;
        self.run.jacobian(i, point)
    }

    /// Velocity of a link and of a point on it, given in link axes; world axes.
    pub fn link_velocity(&mut self, link: impl Handle, point: [f64; 3]) -> Result<LinkVelocity> {
        self.refresh()?;
        let (i, _) = self.link_number(link)?;
        self.run.link_velocity(i, point)
    }

    /// The equations of motion about the present state, with analytic derivatives; they do not depend on formulation
    /// and method. Stuck, prescribed and dependent joints are no unknowns. A column of `b` is the effort on a velocity,
    /// of `p` a parameter of a friction law; see [`Linearization`].
    ///
    /// At a kink, a bristle at v = 0 or a table at one of its points, slopes are those of one side. Where nothing can
    /// move, every joint being stuck, prescribed or coupled to one that is, there are no equations:
    /// [`Error::Immobile`].
    pub fn linearize(&mut self) -> Result<Linearization> {
        self.refresh()?;
        let t = self.run.t();
        // ∂ẏ/∂y twice, ∂ẏ/∂τ, ∂ẏ/∂p with some parameters per law, and derivatives of accelerations by q, v and τ
        let (n_y, n_v) = (self.run.driver.y().len(), self.compiled().model.tree.n_v);
        memory::check("the matrices of `linearize`", memory::bytes::<f64>(&[n_y + n_v, 2 * n_y + 7 * n_v]))?;
        let solved = self.run.system.solved_at(t, self.run.driver.y());
        let (mut system, y) = solved?;
        if y.is_empty() {
            let is_stuck = |&c: &usize| self.run.system.dynamics.modes()[c] == Mode::Stuck && !self.bristles_of(c);
            let stuck = (0..self.compiled().inputs.contacts.len()).filter(is_stuck);
            let stuck = stuck.map(|c| self.compiled().contact_name(c).to_owned()).collect();
            return Err(Error::Immobile { t, stuck });
        }
        let linear = match system.dynamics.linear(t, &y) {
            Ok(linear) => linear,
            Err(error) => {
                let code = if let EvalError::Fatal { code } = error { Some(code) } else { None };
                let error = bristle_integrate::Error::System { t, h: 0.0, code, state: y };
                return Err(explain(error, &mut system));
            }
        };
        for (what, matrix) in [("∂ẏ/∂y", &linear.a), ("∂ẏ/∂τ", &linear.b), ("∂ẏ/∂p", &linear.p)] {
            check_finite(t, what, matrix.as_slice())?;
        }
        let named = |(c, name): &(usize, _)| format!("{}.{name}", system.dynamics.compiled().contact_name(*c));
        Ok(Linearization {
            unknowns: (0..y.len()).map(|k| system.dynamics.name_unknown(k)).collect(),
            parameters: linear.parameters.iter().map(named).collect(),
            a: linear.a,
            b: linear.b,
            p: linear.p,
        })
    }
}

/// Mass matrix of the tree at positions `q`, armature included; `n_v` × `n_v`.
pub(super) fn fill_mass_matrix(system: &mut Machine, t: f64, q: &[f64], mass: &mut DMatrix<f64>) -> Result<()> {
    let (compiled, work) = system.dynamics.scratch();
    crba(&compiled.model.tree, work, q, mass).map_err(|source| Error::Mechanics { t, source })?;
    compiled.model.without_transfers(mass);
    check_finite(t, "the mass matrix", mass.as_slice())
}

/// Refuses numbers that are not finite.
pub(super) fn check_finite(t: f64, what: &str, numbers: &[f64]) -> Result<()> {
    if numbers.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(Error::NotFinite { t, what: what.into() }) }
}
