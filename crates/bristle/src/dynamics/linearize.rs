//! Linearisation of a machine about its present state.
//!
//! ```text
//! ẏ = f(y, τ, p),      δẏ = A δy + B δτ + P δp
//! ∂v̇/∂τ = M_P⁻¹        ∂v̇/∂p = −M_P⁻¹ r N ∂law/∂p        ∂ṡ/∂p = ∂rate/∂p
//! ```
//!
//! A is the Jacobian of [`super::jacobian`]; y are its unknowns, without stuck, prescribed and dependent joints. The
//! positions of a free joint are a small rotation and a small displacement from its pose, in its own axes. p are the
//! parameters of the friction laws; the column of a stuck contact is zero. While the effort of a joint is at its
//! limit, its drive has no slope in A and its column of B is zero. Under a load that is the joint's own reaction, M_P
//! contains the dependence of the load on the acceleration.
//!
//! The equations of motion (1) to (4) are the same for every formulation and for the fixed-step method, and so is their
//! linearisation.

use super::Dynamics;
use super::effort_limits::is_saturated;
use super::efforts::transmitted_share;
use super::point::Point;
use super::state::State;
use crate::error::Error;
use crate::model::Compiled;
use crate::solver::{Constraints, Formulation};
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_integrate::linear::Matrix;
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

impl Dynamics {
    /// The machine and its scratch.
    pub(crate) fn scratch(&mut self) -> (&Compiled, &mut Work) {
        (&self.compiled, &mut self.work)
    }

    /// Puts the machine into the implicit form at (t, y), charts centred there; its unknowns.
    pub(crate) fn solve_at(&mut self, t: f64, y: &[f64]) -> Result<Vec<f64>, Error> {
        self.scatter(t, y);
        self.place().map_err(|failure| self.explain(t, failure))?;
        for &k in &self.compiled.model.free {
            let range = self.compiled.model.tree.q_range(self.compiled.model.joint_of[k]);
            self.state.q_ref[range.clone()].copy_from_slice(&self.point.q[range]);
            self.point.xi[k..k + 6].fill(0.0);
        }
        self.scheme.formulation = Formulation::Implicit;
        let is_constrained = std::mem::take(&mut self.scheme.constraints) != Constraints::Reduced;
        if std::mem::take(&mut self.scheme.is_real_time) || is_constrained {
            self.lock();
        }
        let mut y = vec![0.0; self.n_unknowns(self.coordinates.active.len())];
        self.gather(&mut y);
        Ok(y)
    }

    /// A, B and P at (t, y), for a machine after [`Dynamics::solve_at`].
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
            let share = |k: usize| transmitted_share(&self.compiled, &self.point, k);
            (0..n_v).for_each(|k| b[(n + r, k)] = share(k) * by_effort[(i, k)]);
        }
        for k in 0..self.compiled.inputs.effort_limits.len() {
            if is_saturated((&self.compiled, &self.scheme), &self.state, &self.point, k, t) {
                b.column_mut(self.compiled.inputs.effort_limits[k].v).fill(0.0);
            }
        }
        let Self { compiled, state, point, coordinates, .. } = self;
        let (p, parameters) = by_parameters(compiled, state, point, &coordinates.active, by_effort, n_y);
        Ok(Linear { a, b, p, parameters })
    }

    /// Name of unknown number `k` of a machine after [`Dynamics::solve_at`].
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

/// Columns of P, and the contact and name of each; `by_effort` is ∂v̇/∂τ.
fn by_parameters(
    compiled: &Compiled,
    state: &State,
    point: &Point,
    active: &[usize],
    by_effort: &DMatrix<f64>,
    n_y: usize,
) -> (DMatrix<f64>, Vec<(usize, Cow<'static, str>)>) {
    let n = active.len();
    let (mut columns, mut parameters, mut next) = (Vec::new(), Vec::new(), 2 * n);
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let slip = contact.arm * contact.rate(&point.v);
        let slopes = contact.law.parameter_slopes(state.mode[c].direction(), slip, point.bristles[c]);
        // a stop without friction has a law whose parameters nobody gave
        for slope in slopes.into_iter().filter(|_| !contact.is_stop_alone()) {
            let mut column = vec![0.0; n_y];
            let effort = -contact.arm * point.load[c] * slope.effort;
            for (r, &i) in active.iter().enumerate() {
                column[n + r] = effort * by_effort[(i, contact.v)];
                if let Some(b) = contact.b {
                    column[n + r] -= effort * by_effort[(i, b)];
                }
            }
            for (s, rate) in slope.rate.iter().enumerate().take(contact.law.n_states()) {
                column[next + s] = if point.frozen[c] { 0.0 } else { *rate };
            }
            columns.push(column);
            parameters.push((c, slope.name));
        }
        next += contact.law.n_states();
    }
    (DMatrix::from_fn(n_y, columns.len(), |i, j| columns[j][i]), parameters)
}
