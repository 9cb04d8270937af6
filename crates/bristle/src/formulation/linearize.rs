//! Linearisation of a machine about its present state.
//!
//! ```text
//! ẏ = f(y, τ, p),      δẏ = A δy + B δτ + P δp
//! ∂v̇/∂τ = M_P⁻¹        ∂v̇/∂p = −M_P⁻¹ r N ∂law/∂p        ∂ṡ/∂p = ∂rate/∂p
//! ```
//!
//! A is the Jacobian of [`super::jacobian`]; y are its unknowns, without stuck, prescribed and dependent joints. The
//! positions of a free joint are a small rotation and a small displacement from its pose, in its own axes. p are the
//! parameters of the friction laws; the column of a stuck contact is zero. Under a load that is the joint's own
//! reaction, M_P contains the dependence of the load on the acceleration.
//!
//! The equations of motion (1) to (4) are the same for every formulation and for the fixed-step method, and so is their
//! linearisation.

use super::machine::Machine;
use crate::error::Error;
use crate::model::Compiled;
use crate::scene::Formulation;
use bristle_friction::FrictionLaw;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{EvalError, System};
use bristle_multibody::Work;
use nalgebra::DMatrix;
use std::borrow::Cow;

/// A, B and P at (t, y), and the contact and name of every column of P.
pub(crate) struct Linear {
    pub a: DMatrix<f64>,
    pub b: DMatrix<f64>,
    pub p: DMatrix<f64>,
    pub parameters: Vec<(usize, Cow<'static, str>)>,
}

impl Machine {
    /// The machine and its scratch.
    pub(crate) fn scratch(&mut self) -> (&Compiled, &mut Work) {
        (&self.compiled, &mut self.work)
    }

    /// A copy of the machine in the implicit form at (t, y), charts centred there, and its unknowns.
    pub(crate) fn solved_at(&self, t: f64, y: &[f64]) -> Result<(Self, Vec<f64>), Error> {
        let mut machine = self.clone();
        machine.scatter(t, y);
        machine.place().map_err(|failure| self.explain(t, failure))?;
        for &k in &machine.compiled.model.free {
            let range = machine.compiled.model.tree.q_range(machine.compiled.model.joint_of[k]);
            machine.state.q_ref[range.clone()].copy_from_slice(&machine.point.q[range]);
            machine.point.xi[k..k + 6].fill(0.0);
        }
        machine.scheme.formulation = Formulation::Implicit;
        if machine.real_time.take().is_some() {
            // in `RealTime` every velocity is an unknown, stuck or not
            machine.lock();
        }
        let mut y = vec![0.0; machine.dim()];
        machine.gather(&mut y);
        Ok((machine, y))
    }

    /// A, B and P at (t, y), for a machine made by [`Machine::solved_at`].
    pub(crate) fn linear(&mut self, t: f64, y: &[f64]) -> Result<Linear, EvalError> {
        let (n, n_y, n_v) = (self.coordinates.active.len(), y.len(), self.point.v.len());
        let mut jacobian = Matrix::new(n_y);
        let derivatives = if self.loops.is_any() {
            let mut derivatives = self.take_matrices();
            self.difference_in_loops(t, y, &mut jacobian, &mut derivatives[2])?;
            derivatives
        } else {
            self.fill_jacobian_at_centre(t, y, &mut jacobian)?;
            self.take_matrices()
        };
        let a = DMatrix::from_fn(n_y, n_y, |i, j| jacobian[(i, j)]);
        let by_effort = &derivatives[2];
        let mut b = DMatrix::zeros(n_y, n_v);
        for (r, &i) in self.coordinates.active.iter().enumerate() {
            (0..n_v).for_each(|k| b[(n + r, k)] = by_effort[(i, k)]);
        }

        let (mut columns, mut parameters, mut next) = (Vec::new(), Vec::new(), 2 * n);
        for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
            let slip = contact.arm * contact.rate(&self.point.v);
            for slope in contact.law.parameter_slopes(self.state.mode[c].direction(), slip, self.point.bristles[c]) {
                let mut column = vec![0.0; n_y];
                let effort = -contact.arm * self.point.load[c] * slope.effort;
                for (r, &i) in self.coordinates.active.iter().enumerate() {
                    column[n + r] = effort * by_effort[(i, contact.v)];
                    if let Some(b) = contact.b {
                        column[n + r] -= effort * by_effort[(i, b)];
                    }
                }
                for (s, rate) in slope.rate.iter().enumerate().take(contact.law.n_states()) {
                    column[next + s] = if self.point.frozen[c] { 0.0 } else { *rate };
                }
                columns.push(column);
                parameters.push((c, slope.name));
            }
            next += contact.law.n_states();
        }
        let p = DMatrix::from_fn(n_y, columns.len(), |i, j| columns[j][i]);
        Ok(Linear { a, b, p, parameters })
    }

    /// Name of unknown number `k` of a machine made by [`Machine::solved_at`].
    pub(crate) fn name_unknown(&self, k: usize) -> String {
        let n = self.coordinates.active.len();
        let names = &self.compiled.model.tree.joint_names;
        if k >= 2 * n {
            let mut next = 2 * n;
            for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
                let n_states = contact.law.n_states();
                if k < next + n_states {
                    return format!("{}.{}", self.compiled.contact_name(c), ["s", "w"][k - next]);
                }
                next += n_states;
            }
            return format!("{}.integral", names[self.unknown(k).1]);
        }
        let v = self.coordinates.active[k % n];
        let (joint, is_velocity) = (self.compiled.model.joint_of[v], k >= n);
        let part = v - self.compiled.model.tree.v_index[joint];
        let what = match (self.compiled.model.free.contains(&(v - part)), is_velocity) {
            (false, false) => "position",
            (false, true) => "velocity",
            (true, false) => {
                ["rotation.x", "rotation.y", "rotation.z", "displacement.x", "displacement.y", "displacement.z"][part]
            }
            (true, true) => {
                ["velocity.wx", "velocity.wy", "velocity.wz", "velocity.vx", "velocity.vy", "velocity.vz"][part]
            }
        };
        format!("{}.{what}", names[joint])
    }
}
