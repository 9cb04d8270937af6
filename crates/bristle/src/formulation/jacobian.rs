//! Derivatives of the right-hand side, for implicit steppers.
//!
//! With A = ∂a/∂τ = M⁻¹ over the joints that can move and τ_q, τ_v, τ_s, τ_I the derivatives of the efforts on the right of (1):
//!
//! ```text
//!             q                 v                s           I
//!   q̇  |      0                 1                0           0     |
//!   v̇  |  ∂a/∂q + A τ_q    ∂a/∂v + A τ_v       A τ_s       A τ_I   |
//!   ṡ  |      0              r ∂ṡ/∂slip        ∂ṡ/∂s         0     |
//!   İ  |     −1                 0                0           0     |
//! ```
//!
//! Rows and columns of stuck joints are left out. Free joints, whose charts add terms, are left to finite differences.

use super::machine::{Machine, load_signal};
use bristle_friction::FrictionLaw;
use bristle_integrate::Trouble;
use bristle_integrate::linear::Matrix;
use bristle_multibody::aba_derivatives;
use nalgebra::DMatrix;

impl Machine {
    /// ∂f/∂y at (t, y), or `false` where it is not known.
    pub(super) fn fill_jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, Trouble> {
        if !self.free.is_empty() {
            return Ok(false);
        }
        self.scatter(y);
        self.place().map_err(|e| self.trouble(e))?;
        self.efforts(t);
        let n_v = self.v.len();
        let mut derivatives =
            self.derivatives.take().unwrap_or_else(|| Box::new(std::array::from_fn(|_| DMatrix::zeros(n_v, n_v))));
        let [dq, dv, dtau] = &mut *derivatives;
        let Self { compiled, work, q, v, tau, held, .. } = self;
        let result = aba_derivatives(&compiled.model, work, q, v, tau, held, [dq, dv, dtau]);
        if result.is_ok() {
            self.assemble(t, &derivatives, jac);
        }
        self.derivatives = Some(derivatives);
        result.map_err(|e| self.trouble(e))?;
        Ok(true)
    }

    /// The blocks above.
    fn assemble(&self, t: f64, [dq, dv, dtau]: &[DMatrix<f64>; 3], jac: &mut Matrix) {
        let Self { compiled, active, v, state, mode, .. } = self;
        let n = active.len();
        jac.clear();
        for (r, &i) in active.iter().enumerate() {
            jac[(r, n + r)] = 1.0;
            for (c, &j) in active.iter().enumerate() {
                jac[(n + r, c)] = dq[(i, j)];
                jac[(n + r, n + c)] = dv[(i, j)];
            }
        }
        // A · (derivative of the effort on velocity j) in an unknown
        let push = |jac: &mut Matrix, column: usize, j: usize, slope: f64| {
            for (r, &i) in active.iter().enumerate() {
                jac[(n + r, column)] += dtau[(i, j)] * slope;
            }
        };
        // where velocity j stands among the unknowns, unless it is stuck
        let place = |j: usize| active.binary_search(&j).ok();

        for s in &compiled.springs {
            if let Some(c) = place(s.v) {
                push(jac, c, s.v, -s.stiffness);
            }
        }
        for d in &compiled.dampers {
            if let Some(c) = place(d.v) {
                push(jac, n + c, d.v, -d.damping);
            }
        }
        let mut next = 2 * n;
        for (k, contact) in compiled.contacts.iter().enumerate() {
            let Some(c) = place(contact.v) else { continue };
            let (arm, j) = (contact.arm, contact.v);
            let slip = arm * v[j];
            let (load, _) = contact.normal(&load_signal(contact.signal(), t, self.piece));
            if let Some(law) = contact.law.event_driven() {
                push(jac, n + c, j, -arm * arm * load * law.sliding(mode[k], slip).1);
                continue;
            }
            let now = contact.law.evaluate(slip, state[k]);
            let n_states = contact.law.n_states();
            push(jac, n + c, j, -arm * arm * load * now.effort_v);
            for s in 0..n_states {
                push(jac, next + s, j, -arm * load * now.effort_state[s]);
                jac[(next + s, n + c)] = arm * now.rate_v[s];
                for other in 0..n_states {
                    jac[(next + s, next + other)] = now.rate_state[s][other];
                }
            }
            next += n_states;
        }
        for drive in &compiled.drives {
            let [in_q, in_v, in_integral] = drive.slopes();
            if let Some(c) = place(drive.v) {
                push(jac, c, drive.v, in_q);
                push(jac, n + c, drive.v, in_v);
            }
            if drive.has_integral() {
                push(jac, next, drive.v, in_integral);
                if let Some(c) = place(drive.v) {
                    jac[(next, c)] = -1.0;
                }
                next += 1;
            }
        }
    }
}
