//! The machine as the system of a stepper.

use super::diagnostics::Stiff;
use super::machine::Machine;
use crate::scene::{Formulation, Slip};
use bristle_friction::FrictionLaw;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{Direction, EvalError, FiredEvent, Form, Restart, StepRules, System};
use bristle_multibody::{chart_point, chart_rate};

/// Rotation from the centre of the chart at which the centre moves, rad: far from the singularity at 2π, and rare
/// enough that the evaluation lost with each move does not matter.
const CHART_RADIUS: f64 = 0.5;

impl System for Machine {
    fn dim(&self) -> usize {
        self.n_unknowns(self.coordinates.active.len())
    }

    fn max_dim(&self) -> usize {
        self.n_unknowns(self.point.v.len())
    }

    fn form(&self) -> Form {
        if self.scheme.formulation == Formulation::Residual { Form::Residual } else { Form::Explicit }
    }

    fn second_order(&self) -> usize {
        // in the chart of a free joint ξ̇ is not v; in the jerk form there are three unknowns per velocity
        if self.compiled.model.free.is_empty() && self.scheme.formulation != Formulation::Jerk {
            self.coordinates.active.len()
        } else {
            0
        }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        self.scatter(t, y);
        self.place().map_err(|e| self.record_failure(e))?;
        self.efforts(t);
        let accuracy = self.scheme.accuracy;
        self.accelerate(t, accuracy).map_err(|e| self.record_failure(e))?;
        let n = self.coordinates.active.len();
        if self.scheme.formulation == Formulation::Jerk {
            self.fill_jerks(t, &mut dy[2 * n..3 * n])?;
        } else {
            self.state.predictor.record(t, &self.point.a);
        }
        self.check_loads();
        self.fill_rates(t, dy)?;
        self.point.known = Some(t);
        Ok(())
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        self.fill_residual(t, y, dy, r)
    }

    fn jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        self.fill_jacobian(t, y, jac)
    }

    fn residual_jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        self.fill_residual_jacobian(t, y, dy, df_dy, df_ddy)
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }

    fn n_quadratures(&self) -> usize {
        2 + self.compiled.model.heated.len() + self.compiled.model.heated_elements.len()
    }

    fn quadratures(&mut self, t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        self.fill_ledger(t, y, dy, rate)
    }

    fn n_events(&self) -> usize {
        if self.is_real_time() { 0 } else { self.count_events() }
    }

    fn events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        self.fill_events(t, y, g)
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        let next = self.state.next_corner.unwrap_or(f64::INFINITY).min(self.next_rest());
        Some(next).filter(|&next| next > t && next.is_finite() && !self.is_real_time())
    }

    fn switch(&mut self, t: f64, y: &mut [f64], quad: &mut [f64], fired: &[FiredEvent]) -> Result<Restart, EvalError> {
        self.checkpoint();
        self.pass_events(t, y, quad, fired).map_err(|failure| {
            // the driver expects the former number of unknowns
            self.rollback();
            self.diagnostics.failure = Some(failure);
            EvalError::Fatal { code: 0 }
        })
    }

    fn system_step(&mut self, t: f64, h: f64, y: &[f64], y_new: &mut [f64], quad: &mut [f64]) -> Result<(), EvalError> {
        self.real_time_step(t, h, y, y_new, quad)
    }
}

impl StepRules for Machine {
    fn max_step(&self, _t: f64, y: &[f64]) -> f64 {
        self.longest(y)
    }

    fn bound_tolerances(&mut self, t: f64, h: f64, y: &[f64], each: &mut [f64]) {
        self.bound_bristle_tolerances(t, h, y, each);
    }

    fn attempt(&mut self, _t: f64, h: f64) {
        self.set_kink_step(h);
    }

    fn violation(&mut self, t: f64, h: f64, y0: &[f64], y: &[f64], dy: &[f64]) -> f64 {
        self.bristle_violation(t, h, y0, y, dy)
    }

    fn has_violation(&self) -> bool {
        self.has_bristles()
    }

    fn prescribed_step(&mut self, t: f64, y: &[f64]) -> f64 {
        self.scatter(t, y);
        let slips = self.compiled.inputs.contacts.iter().map(|contact| {
            let (v, law) = (contact.arm * contact.rate(&self.point.v), &contact.law);
            let v_s = law.stribeck_velocity();
            Slip {
                speed: v_s.map_or(f64::INFINITY, |v_s| v.abs() / v_s),
                rate: match v_s {
                    Some(v_s) if law.n_states() > 0 => law.sigma0() * v_s / law.coulomb_level(),
                    _ => f64::INFINITY,
                },
                time_constant: law.time_constant(v),
            }
        });
        self.scheme.step_control.rule_step(slips)
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, EvalError> {
        if self.is_real_time() {
            return self.accept_real_time(y);
        }
        if !self.scheme.is_controlled {
            self.note_overdeflected(t, y);
        }
        let is_jerk = self.scheme.formulation == Formulation::Jerk;
        if self.compiled.model.free.is_empty()
            && self.compiled.model.reaction_loaded.is_empty()
            && !is_jerk
            && !self.state.is_any_unarmed
            && !self.loops.is_any()
            && !self.state.is_any_gap_unarmed
        {
            return Ok(false);
        }
        self.scatter(t, y);
        if self.state.is_any_unarmed {
            self.state.is_any_unarmed = self.arm_events();
        }
        if self.state.is_any_gap_unarmed {
            self.state.is_any_gap_unarmed = self.arm_gaps();
        }
        let mut moved = self.move_charts().map_err(|_| EvalError::Retry)?;
        if self.loops.is_any() {
            moved |= self.accept_loops();
        }
        if is_jerk {
            moved |= self.correct_drift(t).map_err(|e| self.record_failure(e))?;
        }
        if !self.compiled.model.reaction_loaded.is_empty() {
            self.note_near_jams(t);
            self.accept_loads(t).map_err(|e| self.record_failure(e))?;
        }
        if moved {
            self.gather(y);
        }
        Ok(moved)
    }

    fn stability_limited(&mut self, t: f64, h: f64, component: usize) {
        if self.diagnostics.stiff.is_none() {
            let (joint, contact) = self.owner(component);
            let contact = contact.or_else(|| self.steepest(component));
            self.diagnostics.stiff = Some(Stiff { t, h, joint, contact });
        }
    }
}

impl Machine {
    /// (2), (3) and (4) into `dy`, with known accelerations.
    pub(super) fn fill_rates(&mut self, t: f64, dy: &mut [f64]) -> Result<(), EvalError> {
        chart_rate(&self.compiled.model.tree, &self.point.xi, &self.point.v, &mut self.xi_rate)
            .map_err(|e| self.record_failure(e.into()))?;
        let n = self.coordinates.active.len();
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            dy[k] = self.xi_rate[i];
            dy[n + k] = self.point.a[i];
        }
        let mut next = self.per_velocity() * n;
        for (rate, contact) in self.point.rate.iter().zip(self.compiled.inputs.contacts.iter()) {
            for rate in &rate[..contact.law.n_states()] {
                dy[next] = *rate;
                next += 1;
            }
        }
        for drive in self.compiled.inputs.drives.iter().filter(|drive| drive.has_integral()) {
            dy[next] = drive.signal().sample(t, self.state.piece).value - self.point.q[drive.q];
            next += 1;
        }
        Ok(())
    }

    /// Moves the centres of the charts of free joints that have rotated far; whether there were any.
    pub(super) fn move_charts(&mut self) -> Result<bool, bristle_multibody::Error> {
        let mut moved = false;
        let model = &self.compiled.model.tree;
        for &k in &self.compiled.model.free {
            let [tx, ty, tz] = [self.point.xi[k], self.point.xi[k + 1], self.point.xi[k + 2]];
            if tx * tx + ty * ty + tz * tz > CHART_RADIUS * CHART_RADIUS {
                if !moved {
                    chart_point(model, &self.state.q_ref, &self.point.xi, &mut self.point.q)?;
                }
                moved = true;
                let range = model.q_range(self.compiled.model.joint_of[k]);
                self.state.q_ref[range.clone()].copy_from_slice(&self.point.q[range]);
                self.point.xi[k..k + 6].fill(0.0);
            }
        }
        Ok(moved)
    }
}
