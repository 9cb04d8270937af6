//! The mechanics of the machine where it is: what efforts a motion takes, inertia, Jacobians, and the equations in small.
//!
//! ```text
//! τ = M a + c + K (q − q₀) + d v + τ_f − τ_drives                inverse dynamics, friction by the law with its present bristles
//! δẏ = A δy + B δτ + P δp                                        about the present state
//! ```

use super::{Handle, Simulation, explain};
use crate::error::{Error, Result};
use bristle_friction::FrictionLaw;
use bristle_integrate::Trouble;
use bristle_multibody::{crba, jacobian, kinematics, poses};
use nalgebra::{DMatrix, Matrix6xX, Vector3};

/// Equations of motion about a state, linear in what is small.
#[derive(Debug, Clone, PartialEq)]
pub struct Linearization {
    /// Names of the unknowns: positions and velocities of the joints that can move, `NAME.position`, `NAME.velocity`, then bristle
    /// states `NAME.s` = σ₀z and `NAME.w`, then integrals of controllers.
    pub unknowns: Vec<String>,
    /// ∂ẏ/∂y.
    pub a: DMatrix<f64>,
    /// ∂ẏ/∂τ, one column per velocity, in the order of [`Simulation::velocities`].
    pub b: DMatrix<f64>,
    /// Names of the friction parameters, `NAME.coulomb` and so on.
    pub parameters: Vec<String>,
    /// ∂ẏ/∂p, one column per parameter.
    pub p: DMatrix<f64>,
}

impl Simulation {
    /// Efforts, `n_v`, that callers would have to apply at positions `q` and velocities `v` for the accelerations `a`: friction,
    /// dampers, springs and drives act as they do now, bristles with their present deflection. A joint with event-driven friction slides
    /// the way it moves, or at v = 0 the way a points; where both are 0 its friction is taken as nothing. `tau` keeps the result.
    pub fn inverse_dynamics(&mut self, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64]) -> Result<()> {
        let model = &self.compiled().model;
        let lengths = [("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v), ("tau", &*tau, model.n_v)];
        for (what, given, n) in lengths {
            if given.len() != n {
                let range = "the number of coordinates of the machine";
                return Err(Error::Number { name: what.into(), what: "length", value: given.len() as f64, range });
            }
        }
        if let Some(&value) = q.iter().chain(v).chain(a).find(|x| !x.is_finite()) {
            return Err(Error::Number { name: "state".into(), what: "a number", value, range: "finite" });
        }
        if !self.compiled().coupled.ties.is_empty() {
            let what = "inverse dynamics of coordinates that are tied together".into();
            return Err(Error::Unsupported { name: "couplings".into(), what });
        }
        let t = self.driver.t();
        let result = self.system.required(t, q, v, a, tau);
        // back to where the simulation is
        self.system.look(t, self.driver.y())?;
        result
    }

    /// Mass matrix at the present positions, armature included; `n_v` × `n_v`.
    pub fn mass_matrix(&mut self) -> Result<DMatrix<f64>> {
        let (t, q) = (self.driver.t(), &self.state.mechanics.q);
        let (compiled, work) = self.system.scratch();
        let mut mass = DMatrix::zeros(compiled.model.n_v, compiled.model.n_v);
        crba(&compiled.model, work, q, &mut mass).map_err(|source| Error::Mechanics { t, source })?;
        Ok(mass)
    }

    /// Jacobian of a point on a link, given in link axes: world axes, angular part first; 6 × `n_v`.
    pub fn jacobian(&mut self, link: impl Handle, point: [f64; 3]) -> Result<Matrix6xX<f64>> {
        let (i, _) = self.link_number(link)?;
        let (t, state) = (self.driver.t(), &self.state.mechanics);
        let (compiled, work) = self.system.scratch();
        let model = &compiled.model;
        let mut places = bristle_multibody::Poses::new(model);
        let mut found = Matrix6xX::zeros(model.n_v);
        kinematics(model, work, &state.q, &state.v)
            .and_then(|_| poses(model, work, &mut places))
            .and_then(|()| jacobian(model, &places, i, &Vector3::from(point), &mut found))
            .map_err(|source| Error::Mechanics { t, source })?;
        Ok(found)
    }

    /// The equations about the present state, analytic. Free joints and the jerk form are not known in this way and are refused.
    pub fn linearize(&mut self) -> Result<Linearization> {
        self.look_at_world()?;
        let (t, y) = (self.driver.t(), self.driver.y().to_vec());
        let linear = match self.system.linear(t, &y) {
            Ok(linear) => linear,
            Err(trouble) => {
                let code = if let Trouble::Fatal { code } = trouble { Some(code) } else { None };
                let error = bristle_integrate::Error::System { t, h: 0.0, code, state: y };
                return Err(explain(error, &mut self.system));
            }
        };
        let Some((a, b, p, names)) = linear else {
            let what = "linearisation with free joints or in the jerk form".to_owned();
            return Err(Error::Unsupported { name: "solver".into(), what });
        };
        let compiled = self.system.compiled();
        let n_states: usize = compiled.contacts.iter().map(|contact| contact.law.n_states()).sum();
        let n_integrals = self.state.integrals.len();
        let n = (y.len() - n_states - n_integrals) / 2;
        let of = |k: usize, what: &str| format!("{}.{what}", compiled.model.joint_names[self.system.unknown(k).1]);
        let mut unknowns: Vec<String> = (0..n).map(|k| of(k, "position")).collect();
        unknowns.extend((n..2 * n).map(|k| of(k, "velocity")));
        for (c, contact) in compiled.contacts.iter().enumerate() {
            let states = &["s", "w"][..contact.law.n_states()];
            unknowns.extend(states.iter().map(|what| format!("{}.{what}", compiled.contact_name(c))));
        }
        unknowns.extend((y.len() - n_integrals..y.len()).map(|k| of(k, "integral")));
        let parameters = names.iter().map(|(c, name)| format!("{}.{name}", compiled.contact_name(*c))).collect();
        self.system.look(t, &y)?;
        Ok(Linearization { unknowns, a, b, parameters, p })
    }
}
