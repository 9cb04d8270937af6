//! A machine about its present state, in small.
//!
//! ```text
//! ẏ = f(y, τ, p),      δẏ = A δy + B δτ + P δp
//! ∂v̇/∂τ = M_P⁻¹        ∂v̇/∂p = −M_P⁻¹ r N ∂law/∂p        ∂ṡ/∂p = ∂rate/∂p
//! ```
//!
//! A is the Jacobian of [`super::jacobian`]; y are the unknowns there, so that joints which are stuck or led are left out. p are the parameters
//! of the friction laws; for a joint that slides its column is not zero, for one that is stuck it is. Under a load that is the joint's own
//! reaction, M_P already holds how the load follows the acceleration.

use super::machine::Machine;
use crate::compile::Compiled;
use crate::error::Error;
use bristle_friction::{FrictionLaw, Law, Mode, State};
use bristle_integrate::linear::Matrix;
use bristle_integrate::{System, Trouble};
use bristle_multibody::{Work, rnea};
use nalgebra::DMatrix;

/// How a law changes with one of its parameters, at constant slip and state.
pub(crate) struct ParameterSlope {
    /// The parameter's name.
    pub name: &'static str,
    /// Of the effort per unit load.
    pub effort: f64,
    /// Of the rate of the first state.
    pub rate: f64,
}

/// A, B and P of (t, y), and the contact and name of every column of P; `None` where they are not known.
pub(crate) type Linear = Option<(DMatrix<f64>, DMatrix<f64>, DMatrix<f64>, Vec<(usize, &'static str)>)>;

impl Machine {
    /// The machine and its scratch.
    pub(crate) fn scratch(&mut self) -> (&Compiled, &mut Work) {
        (&self.compiled, &mut self.work)
    }

    /// Efforts that callers would have to apply for `a` at (q, v), into `tau`; joints with modes slide the way they move or are to move.
    /// Leaves the arrays of the machine there: look somewhere else afterwards.
    pub(crate) fn required(
        &mut self,
        t: f64,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        tau: &mut [f64],
    ) -> crate::error::Result<()> {
        let failed = |source| Error::Mechanics { t, source };
        // what is stuck keeps its place, its velocity and its mode
        let (modes, v_kept, a_kept) = (self.mode.clone(), self.v.clone(), self.a.clone());
        self.known = None;
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        self.a.copy_from_slice(a);
        for (mode, contact) in self.mode.iter_mut().zip(&self.compiled.contacts) {
            let (v, a) = (contact.rate(v), contact.rate(a));
            *mode = Mode::of_sign(if v == 0.0 { a } else { v });
        }
        self.efforts(t);
        let required = rnea(&self.compiled.model, &mut self.work, q, v, a).map_err(failed);
        (self.v, self.a) = (v_kept, a_kept);
        self.mode = modes;
        let required = required?;
        for (k, (tau, required)) in tau.iter_mut().zip(required).enumerate() {
            *tau = required - (self.tau[k] - self.compiled.effort[k]);
        }
        for &c in &self.pressed {
            let contact = &self.compiled.contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            let load = bearing.press(&self.work.reaction(contact.joint)).0;
            tau[contact.v] += self.kappa[c] * load;
        }
        Ok(())
    }

    /// A, B and P at (t, y).
    pub(crate) fn linear(&mut self, t: f64, y: &[f64]) -> Result<Linear, Trouble> {
        let (n, n_y, n_v) = (self.active.len(), y.len(), self.v.len());
        let mut jacobian = Matrix::new(n_y);
        if !self.jacobian(t, y, &mut jacobian)? {
            return Ok(None);
        }
        let a = DMatrix::from_fn(n_y, n_y, |i, j| jacobian[(i, j)]);
        let Some(derivatives) = &self.derivatives else { return Ok(None) };
        let by_effort = &derivatives[2];
        let mut b = DMatrix::zeros(n_y, n_v);
        for (r, &i) in self.active.iter().enumerate() {
            (0..n_v).for_each(|k| b[(n + r, k)] = by_effort[(i, k)]);
        }

        let (mut columns, mut names, mut next) = (Vec::new(), Vec::new(), 2 * n);
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let slip = contact.arm * contact.rate(&self.v);
            for slope in parameter_slopes(&contact.law, self.mode[c], slip, self.state[c]) {
                let mut column = vec![0.0; n_y];
                let effort = -contact.arm * self.load[c] * slope.effort;
                for (r, &i) in self.active.iter().enumerate() {
                    column[n + r] = effort * by_effort[(i, contact.v)];
                    if let Some(b) = contact.b {
                        column[n + r] -= effort * by_effort[(i, b)];
                    }
                }
                if contact.law.n_states() > 0 {
                    column[next] = slope.rate;
                }
                columns.push(column);
                names.push((c, slope.name));
            }
            next += contact.law.n_states();
        }
        let p = DMatrix::from_fn(n_y, columns.len(), |i, j| columns[j][i]);
        Ok(Some((a, b, p, names)))
    }
}

/// ∂/∂p of a law, parameter by parameter. A table has none; a law that yields only beyond a deflection is not taken apart.
pub(crate) fn parameter_slopes(law: &Law, mode: Mode, v: f64, state: State) -> Vec<ParameterSlope> {
    let slope = |name, effort, rate| ParameterSlope { name, effort, rate };
    let direction = mode.direction();
    // exp(−|v/v_s|ⁿ)
    let weakening = |v_s: Option<f64>, exponent: f64| v_s.map_or(0.0, |v_s| (-(v / v_s).abs().powf(exponent)).exp());
    match law {
        Law::Coulomb(_) => {
            vec![slope("coulomb", direction, 0.0), slope("viscous", direction.abs() * v, 0.0)]
        }
        Law::Stribeck(law) => {
            let e = weakening(law.stribeck_velocity, law.exponent);
            vec![
                slope("coulomb", direction * (1.0 - e), 0.0),
                slope("stiction", direction * e, 0.0),
                slope("viscous", direction.abs() * v, 0.0),
            ]
        }
        Law::Tanh(law) => {
            vec![slope("coulomb", (v / law.stribeck_velocity).tanh(), 0.0), slope("viscous", v, 0.0)]
        }
        Law::Dahl(law) => {
            // ṡ = σ₀ (v − |v| s / f_c)
            let by_level = v.abs() * state[0] / (law.coulomb * law.coulomb);
            vec![
                slope("coulomb", 0.0, law.sigma0 * by_level),
                slope("sigma0", 0.0, v - v.abs() * state[0] / law.coulomb),
            ]
        }
        Law::LuGre(_) | Law::LuGre2(_) => {
            let (law, driven) = match law {
                Law::LuGre2(second) => (&second.lugre, v + second.beta * state[1]),
                Law::LuGre(first) => (first, v),
                _ => return Vec::new(),
            };
            // ż = v − |v| s/g, τ = s + σ₁(v) ż + σ₂ v, ṡ = σ₀ ż
            let (g, _) = law.level(v);
            let e = weakening(law.stribeck_velocity, law.exponent);
            let (z_rate, by_level) = (v - v.abs() * state[0] / g, v.abs() * state[0] / (g * g));
            let fade = law.damping_velocity.map_or(1.0, |v_d| (-(v / v_d) * (v / v_d)).exp());
            let level =
                |name, part: f64| slope(name, law.sigma1 * fade * by_level * part, law.sigma0 * by_level * part);
            vec![
                level("coulomb", 1.0 - e),
                level("stiction", e),
                slope("sigma0", 0.0, z_rate),
                slope("sigma1", fade * z_rate, 0.0),
                slope("sigma2", driven, 0.0),
            ]
        }
        Law::Table(_) | Law::ElastoPlastic(_) => Vec::new(),
    }
}
