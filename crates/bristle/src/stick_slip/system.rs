//! The machine as the system of a stepper.

use super::machine::Machine;
use crate::dynamics::diagnostics::Stiff;
use crate::solver::{Formulation, Slip};
use bristle_friction::FrictionLaw;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{Direction, EvalError, FiredEvent, Form, Restart, StepRules, System};

impl System for Machine {
    fn dim(&self) -> usize {
        self.dynamics.n_unknowns(self.dynamics.coordinates.active.len())
    }

    fn max_dim(&self) -> usize {
        self.dynamics.n_unknowns(self.dynamics.point.v.len())
    }

    fn form(&self) -> Form {
        let is_residual = self.dynamics.scheme.formulation == Formulation::Residual || self.dynamics.is_constrained();
        if is_residual { Form::Residual } else { Form::Explicit }
    }

    fn index(&self, i: usize) -> u8 {
        self.dynamics.index_of(i)
    }

    fn second_order(&self) -> usize {
        // in the chart of a free joint ξ̇ is not v; in the jerk form there are three unknowns per velocity
        if self.dynamics.compiled.model.free.is_empty() && self.dynamics.scheme.formulation != Formulation::Jerk {
            self.dynamics.coordinates.active.len()
        } else {
            0
        }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        self.dynamics.fill_rhs(t, y, dy)?;
        self.check_loads();
        Ok(())
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        self.dynamics.fill_residual(t, y, dy, r)?;
        self.check_loads();
        Ok(())
    }

    fn jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        self.dynamics.fill_jacobian(t, y, jac)
    }

    fn residual_jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        self.dynamics.fill_residual_jacobian(t, y, dy, df_dy, df_ddy)
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }

    fn n_quadratures(&self) -> usize {
        2 + self.dynamics.compiled.model.heated.len() + self.dynamics.compiled.model.heated_elements.len()
    }

    fn quadratures(&mut self, t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        self.dynamics.fill_ledger(t, y, dy, rate)
    }

    fn n_events(&self) -> usize {
        if self.dynamics.is_real_time() || self.dynamics.is_constrained() { 0 } else { self.count_events() }
    }

    fn events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        self.fill_events(t, y, g)
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        let next = self.dynamics.state.next_corner.unwrap_or(f64::INFINITY).min(self.next_rest());
        Some(next).filter(|&next| next > t && next.is_finite() && !self.dynamics.is_real_time())
    }

    fn switch(&mut self, t: f64, y: &mut [f64], quad: &mut [f64], fired: &[FiredEvent]) -> Result<Restart, EvalError> {
        self.checkpoint();
        self.pass_events(t, y, quad, fired).map_err(|failure| {
            // the driver expects the former number of unknowns
            self.rollback();
            self.dynamics.diagnostics.failure = Some(failure);
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
        self.dynamics.scatter(t, y);
        let slips = self.dynamics.compiled.inputs.contacts.iter().map(|contact| {
            let (v, law) = (contact.arm * contact.rate(&self.dynamics.point.v), &contact.law);
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
        self.dynamics.scheme.step_control.rule_step(slips)
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, EvalError> {
        if self.dynamics.is_real_time() {
            return self.accept_real_time(y);
        }
        if !self.dynamics.scheme.is_controlled {
            self.note_overdeflected(t, y);
        }
        if self.dynamics.is_constrained() {
            return Ok(false);
        }
        let is_jerk = self.dynamics.scheme.formulation == Formulation::Jerk;
        if self.dynamics.compiled.model.free.is_empty()
            && self.dynamics.compiled.model.reaction_loaded.is_empty()
            && !is_jerk
            && !self.dynamics.state.is_any_unarmed
            && !self.dynamics.loops.is_any()
            && !self.dynamics.state.is_any_gap_unarmed
            && self.dynamics.compiled.with_stops().next().is_none()
        {
            return Ok(false);
        }
        self.dynamics.scatter(t, y);
        self.check_stops().map_err(|failure| {
            self.dynamics.diagnostics.failure = Some(failure);
            EvalError::Fatal { code: 0 }
        })?;
        if self.dynamics.state.is_any_unarmed {
            self.dynamics.state.is_any_unarmed = self.arm_events();
        }
        if self.dynamics.state.is_any_gap_unarmed {
            self.dynamics.state.is_any_gap_unarmed = self.arm_gaps();
        }
        let mut moved = self.dynamics.move_charts().map_err(|_| EvalError::Retry)?;
        if self.dynamics.loops.is_any() {
            moved |= self.dynamics.accept_loops();
        }
        if is_jerk {
            moved |= self.dynamics.correct_drift(t).map_err(|e| self.dynamics.record_failure(e))?;
        }
        if !self.dynamics.compiled.model.reaction_loaded.is_empty() {
            self.dynamics.note_near_jams(t);
            self.accept_loads(t).map_err(|e| self.dynamics.record_failure(e))?;
        }
        if moved {
            self.dynamics.gather(y);
        }
        Ok(moved)
    }

    fn stability_limited(&mut self, t: f64, h: f64, component: usize) {
        if self.dynamics.diagnostics.stiff.is_none() {
            let (joint, contact) = self.dynamics.owner(component);
            let contact = contact.or_else(|| self.dynamics.steepest(component));
            self.dynamics.diagnostics.stiff = Some(Stiff { t, h, joint, contact });
        }
    }
}

impl Machine {}
