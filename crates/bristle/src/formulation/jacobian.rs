//! Derivatives for implicit steppers.
//!
//! With P = S + κ n̂ the rows of joints that read their load off the reaction, all others P = S, the derivatives of (1) at constant P are
//! those of the friction-loaded recursion, since ∂N/∂x = n̂ᵀ ∂f/∂x. With A = M_P⁻¹ over the joints that can move and τ_q, τ_v, τ_s, τ_I
//! the derivatives of the efforts on the right of (1), friction at constant reactions included:
//!
//! ```text
//!             q                 v                s           I
//!   q̇  |      0                 1                0           0     |
//!   v̇  |  ∂a/∂q + A τ_q    ∂a/∂v + A τ_v       A τ_s       A τ_I   |
//!   ṡ  |      0              r ∂ṡ/∂slip        ∂ṡ/∂s         0     |
//!   İ  |     −1                 0                0           0     |
//! ```
//!
//! In the residual form the second row is Pᵀ ∂f/∂q − τ_q, Pᵀ ∂f/∂v − τ_v, −τ_s, −τ_I, and ∂F/∂a = M_P.
//!
//! Rows and columns of joints that are stuck or led are left out. Free joints, whose charts add terms, and the differentiated
//! equations are left to finite differences.

use super::efforts::load_signal;
use super::machine::{Failure, Machine};
use crate::scene::Formulation;
use bristle_friction::FrictionLaw;
use bristle_integrate::Trouble;
use bristle_integrate::linear::Matrix;
use bristle_multibody::{aba_derivatives, axis_row, rows_derivatives};
use nalgebra::DMatrix;

/// An entry in which an unknown acts.
enum Slope {
    /// On the effort of velocity `v`.
    Effort { column: usize, v: usize, slope: f64 },
    /// On the rate of unknown `row`.
    Rate { row: usize, column: usize, slope: f64 },
}

impl Machine {
    /// ∂f/∂y at (t, y), or `false` where it is not known.
    pub(super) fn fill_jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, Trouble> {
        if !self.free.is_empty() || self.formulation == Formulation::Jerk {
            return Ok(false);
        }
        self.scatter(t, y);
        self.place().map_err(|e| self.trouble(e.into()))?;
        self.efforts(t);
        let mut derivatives = self.take_matrices();
        let result = self.derive(&mut derivatives);
        if result.is_ok() {
            self.assemble(t, &derivatives, jac);
        }
        self.derivatives = Some(derivatives);
        result.map_err(|e| self.trouble(e))?;
        Ok(true)
    }

    pub(super) fn take_matrices(&mut self) -> Box<[DMatrix<f64>; 3]> {
        let n_v = self.v.len();
        self.derivatives.take().unwrap_or_else(|| Box::new(std::array::from_fn(|_| DMatrix::zeros(n_v, n_v))))
    }

    /// ∂a/∂q, ∂a/∂v, ∂a/∂τ.
    fn derive(&mut self, [dq, dv, dtau]: &mut [DMatrix<f64>; 3]) -> Result<(), Failure> {
        if self.pressed.is_empty() && self.driven.is_empty() {
            let Self { compiled, work, q, v, tau, held, .. } = self;
            return Ok(aba_derivatives(&compiled.model, work, q, v, tau, held, [dq, dv, dtau])?);
        }
        let accuracy = self.accuracy;
        self.accelerate(accuracy)?;
        self.read_reactions()?;
        self.load_rows();
        let Self { compiled, work, q, v, a, rows, held, .. } = self;
        Ok(rows_derivatives(&compiled.model, work, q, v, a, rows, held, [dq, dv, dtau])?)
    }

    /// P = S + κ n̂ by the reactions found last.
    pub(super) fn load_rows(&mut self) {
        for &c in &self.pressed {
            let contact = &self.compiled.contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            let axis = axis_row(&self.compiled.model, contact.joint);
            self.rows[contact.joint] = axis + bearing.press(&self.force[c]).1 * self.kappa[c];
        }
    }

    /// The blocks above.
    fn assemble(&self, t: f64, [dq, dv, dtau]: &[DMatrix<f64>; 3], jac: &mut Matrix) {
        let active = &self.active;
        let n = active.len();
        jac.clear();
        for (r, &i) in active.iter().enumerate() {
            jac[(r, n + r)] = 1.0;
            for (c, &j) in active.iter().enumerate() {
                jac[(n + r, c)] = dq[(i, j)];
                jac[(n + r, n + c)] = dv[(i, j)];
            }
        }
        self.slopes(t, |slope| match slope {
            Slope::Effort { column, v, slope } => {
                for (r, &i) in active.iter().enumerate() {
                    jac[(n + r, column)] += dtau[(i, v)] * slope;
                }
            }
            Slope::Rate { row, column, slope } => jac[(row, column)] = slope,
        });
    }

    /// ∂F/∂y and ∂F/∂y' of the residual form; `dq`, `dv` and `mass` are Pᵀ∂f/∂q, Pᵀ∂f/∂v and M_P.
    pub(super) fn assemble_residual(
        &self,
        t: f64,
        [dq, dv, mass]: &[DMatrix<f64>; 3],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) {
        let active = &self.active;
        let n = active.len();
        df_dy.clear();
        df_ddy.clear();
        for (r, &i) in active.iter().enumerate() {
            df_dy[(r, n + r)] = -1.0;
            df_ddy[(r, r)] = 1.0;
            for (c, &j) in active.iter().enumerate() {
                df_dy[(n + r, c)] = dq[(i, j)];
                df_dy[(n + r, n + c)] = dv[(i, j)];
                df_ddy[(n + r, n + c)] = mass[(i, j)];
            }
        }
        for k in 2 * n..df_ddy.n() {
            df_ddy[(k, k)] = 1.0;
        }
        self.slopes(t, |slope| match slope {
            Slope::Effort { column, v, slope } => {
                if let Ok(r) = active.binary_search(&v) {
                    df_dy[(n + r, column)] -= slope;
                }
            }
            Slope::Rate { row, column, slope } => df_dy[(row, column)] = -slope,
        });
    }

    /// Every slope of efforts and rates in the unknowns, reactions held constant.
    fn slopes(&self, t: f64, mut visit: impl FnMut(Slope)) {
        let Self { compiled, active, v, state, mode, load, .. } = self;
        let n = active.len();
        // where velocity j stands among the unknowns, unless it is none
        let place = |j: usize| active.binary_search(&j).ok();
        for s in &compiled.springs {
            if let Some(column) = place(s.v) {
                visit(Slope::Effort { column, v: s.v, slope: -s.stiffness });
            }
        }
        for d in &compiled.dampers {
            if let Some(c) = place(d.v) {
                visit(Slope::Effort { column: n + c, v: d.v, slope: -d.damping });
            }
        }
        let mut next = 2 * n;
        for (k, contact) in compiled.contacts.iter().enumerate() {
            let (arm, j) = (contact.arm, contact.v);
            let (place, slip) = (place(j), arm * v[j]);
            let n_load = match contact.bearing {
                Some(_) => load[k],
                None => contact.normal(&load_signal(contact.signal(), t, self.piece)).0,
            };
            if let Some(law) = contact.law.event_driven() {
                if let Some(c) = place {
                    let slope = -arm * arm * n_load * law.sliding(mode[k], slip).1;
                    visit(Slope::Effort { column: n + c, v: j, slope });
                }
                continue;
            }
            let now = contact.law.evaluate(slip, state[k]);
            let n_states = contact.law.n_states();
            if let Some(c) = place {
                visit(Slope::Effort { column: n + c, v: j, slope: -arm * arm * n_load * now.effort_v });
            }
            for s in 0..n_states {
                visit(Slope::Effort { column: next + s, v: j, slope: -arm * n_load * now.effort_state[s] });
                if let Some(c) = place {
                    visit(Slope::Rate { row: next + s, column: n + c, slope: arm * now.rate_v[s] });
                }
                for other in 0..n_states {
                    visit(Slope::Rate { row: next + s, column: next + other, slope: now.rate_state[s][other] });
                }
            }
            next += n_states;
        }
        for drive in &compiled.drives {
            let [in_q, in_v, in_integral] = drive.slopes();
            if let Some(c) = place(drive.v) {
                visit(Slope::Effort { column: c, v: drive.v, slope: in_q });
                visit(Slope::Effort { column: n + c, v: drive.v, slope: in_v });
            }
            if drive.has_integral() {
                visit(Slope::Effort { column: next, v: drive.v, slope: in_integral });
                if let Some(c) = place(drive.v) {
                    visit(Slope::Rate { row: next, column: c, slope: -1.0 });
                }
                next += 1;
            }
        }
    }
}
