//! The mechanics of the machine where it is: what efforts a motion takes, inertia, Jacobians, and the equations in
//! small.
//!
//! ```text
//! τ = Tᵀ (M a + c + K (q − q₀) + d v + τ_f − τ_drives)           inverse dynamics, friction by the law with its present bristles
//! δẏ = A δy + B δτ + P δp                                        about the present state
//! ```

use super::explain::explain;
use super::simulation::{Handle, Simulation};
use crate::compile::{check_length, check_state};
use crate::error::{Error, Result};
use crate::formulation::Machine;
use crate::memory;
use bristle_integrate::EvalError;
use bristle_multibody::{State, crba, jacobian};
use nalgebra::{DMatrix, Matrix6xX, Vector3};

/// Equations of motion about a state, linear in what is small.
#[derive(Debug, Clone, PartialEq)]
pub struct Linearization {
    /// Names of the unknowns: positions and velocities of the joints that can move, `NAME.position`, `NAME.velocity`,
    /// then bristle states `NAME.s` = σ₀z and `NAME.w`, then integrals of controllers. A free joint has
    /// `NAME.rotation.x` to `.z` and `NAME.displacement.x` to `.z`, a small rotation and a small displacement from
    /// where it is, in child axes, and `NAME.velocity.wx` to `.vz`.
    pub unknowns: Vec<String>,
    /// ∂ẏ/∂y.
    pub a: DMatrix<f64>,
    /// ∂ẏ/∂τ, one column per velocity, in the order of [`Simulation::velocities`].
    pub b: DMatrix<f64>,
    /// Names of the friction parameters, `NAME.coulomb` and so on; of a table `NAME.points[2].level`. What only says
    /// when a stuck joint lets go, the stiction of `Coulomb` and `peak`, is not among them.
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
    /// Efforts, `n_v`, that callers would have to apply at positions `q` and velocities `v` for the accelerations `a`:
    /// friction, dampers, springs and drives act as they do now, bristles with their present deflection. A joint with
    /// event-driven friction slides the way it moves, or at v = 0 the way a points; where both are 0 its friction is
    /// taken as nothing. `tau` keeps the result.
    ///
    /// In closed loops the efforts are those of least norm that cause the motion: see the guide page `loops`.
    ///
    /// Where gears, planetary sets or linear couplings tie joints together, those that depend on others carry nothing,
    /// and the rest carries their part: see [`Simulation::independent`]. A motion that a coupling does not allow is
    /// refused by its name.
    pub fn inverse_dynamics(&mut self, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64]) -> Result<()> {
        self.refresh()?;
        check_state(&self.compiled().model.tree, q, v)?;
        self.required(q, v, a, tau, false)
    }

    /// With `of_joints` the free joints accelerate as the others make them.
    fn required(&mut self, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64], of_joints: bool) -> Result<()> {
        if !self.compiled().model.reaction_loaded.is_empty() {
            self.compiled().refuse_loops("inverse dynamics under reaction loads", "use `Unit` or `Constant` loads")?;
        }
        let model = &self.compiled().model.tree;
        check_length("a", a.len(), model.n_v)?;
        check_length("tau", tau.len(), model.n_v)?;
        if let Some(&value) = a.iter().find(|x| !x.is_finite()) {
            return Err(Error::number("a", "a number", value, "finite"));
        }
        let t = self.run.t();
        let is_free = of_joints && !self.compiled().model.free.is_empty();
        let system = &mut self.run.system;
        let result =
            if is_free { system.required_of_joints(t, q, v, a, tau) } else { system.required(t, q, v, a, tau) };
        // back to where the simulation is
        self.run.system.evaluate_at(t, self.run.driver.y())?;
        result.and_then(|()| check_finite(t, "an effort", tau))
    }

    /// [`Simulation::inverse_dynamics`] where the simulation is: the efforts for the accelerations `a`, into `tau`.
    ///
    /// A free joint has no drive: its entries of `a` are not read, its efforts are 0, and it accelerates as the others
    /// make it. So [`Simulation::set_efforts`] takes `tau` on a floating base, too.
    pub fn efforts_for(&mut self, a: &[f64], tau: &mut [f64]) -> Result<()> {
        self.refresh()?;
        // the state is lent, and comes back whatever happens
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

    /// Velocities that do not depend on others through couplings, in order; all of them where nothing is tied. Of the
    /// joints that a coupling ties the one it names first depends: the motor of `Gear(joints: ("motor", "arm"))`, the
    /// sun of a `Planetary`, the first term of a `Linear`, a joint that mimics; the next one where that joint is led or
    /// depends already.
    pub fn independent(&self) -> Vec<usize> {
        self.run.system.independent()
    }

    /// Mass matrix Tᵀ M T over the [`Simulation::independent`] velocities at the present positions: with the couplings'
    /// ties, which [`Simulation::mass_matrix`] leaves out.
    pub fn reduced_mass_matrix(&mut self) -> Result<DMatrix<f64>> {
        self.compiled().refuse_loops("`reduced_mass_matrix`", "use `mass_matrix` of the tree")?;
        let mass = self.mass_matrix()?;
        let reduced = self.run.system.reduce_mass(&mass);
        check_finite(self.run.t(), "the reduced mass matrix", reduced.as_slice())?;
        Ok(reduced)
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
        let (t, state) = (self.run.t(), &self.run.state.mechanics);
        let placed = self.run.system.poses_at(&state.q, &state.v).and_then(|(compiled, places)| {
            let mut found = Matrix6xX::zeros(compiled.model.tree.n_v);
            jacobian(&compiled.model.tree, places, i, &Vector3::from(point), &mut found)?;
            Ok(found)
        });
        let found = placed.map_err(|source| Error::Mechanics { t, source })?;
        check_finite(t, "the Jacobian", found.as_slice())?;
        Ok(found)
    }

    /// The equations about the present state, analytic: those of motion, whatever the formulation and the method they
    /// are solved by. Joints that are stuck, led or dependent are no unknowns. A column of `b` is the effort on a
    /// velocity, of `p` a parameter of a friction law; see [`Linearization`].
    ///
    /// At a kink, a bristle at v = 0 or a table at one of its points, slopes are those of one side.
    pub fn linearize(&mut self) -> Result<Linearization> {
        self.refresh()?;
        let t = self.run.t();
        // ∂ẏ/∂y twice, ∂ẏ/∂τ, ∂ẏ/∂p with some parameters per law, and the derivatives of the accelerations by q, v and τ
        let (n_y, n_v) = (self.run.driver.y().len(), self.compiled().model.tree.n_v);
        memory::check("the matrices of `linearize`", memory::bytes::<f64>(&[n_y + n_v, 2 * n_y + 7 * n_v]))?;
        let solved = self.run.system.solved_at(t, self.run.driver.y());
        let (mut system, y) = solved?;
        let linear = match system.linear(t, &y) {
            Ok(linear) => linear,
            Err(trouble) => {
                let code = if let EvalError::Fatal { code } = trouble { Some(code) } else { None };
                let error = bristle_integrate::Error::System { t, h: 0.0, code, state: y };
                return Err(explain(error, &mut system));
            }
        };
        for (what, matrix) in [("∂ẏ/∂y", &linear.a), ("∂ẏ/∂τ", &linear.b), ("∂ẏ/∂p", &linear.p)] {
            check_finite(t, what, matrix.as_slice())?;
        }
        let named = |(c, name): &(usize, _)| format!("{}.{name}", system.compiled().contact_name(*c));
        Ok(Linearization {
            unknowns: (0..y.len()).map(|k| system.name_unknown(k)).collect(),
            parameters: linear.parameters.iter().map(named).collect(),
            a: linear.a,
            b: linear.b,
            p: linear.p,
        })
    }
}

/// Mass matrix of the tree at positions `q`, armature included; `n_v` × `n_v`.
pub(super) fn fill_mass_matrix(system: &mut Machine, t: f64, q: &[f64], mass: &mut DMatrix<f64>) -> Result<()> {
    let (compiled, work) = system.scratch();
    crba(&compiled.model.tree, work, q, mass).map_err(|source| Error::Mechanics { t, source })?;
    compiled.model.without_transfers(mass);
    check_finite(t, "the mass matrix", mass.as_slice())
}

/// Only finite numbers leave.
pub(super) fn check_finite(t: f64, what: &str, numbers: &[f64]) -> Result<()> {
    if numbers.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(Error::NotFinite { t, what: what.into() }) }
}
