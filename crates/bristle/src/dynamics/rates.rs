//! The right-hand side: (2), (3) and (4) with the accelerations of (1).

use super::Dynamics;
use crate::solver::Formulation;
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_multibody::{chart_point, chart_rate};

/// Rotation from the centre of the chart at which the centre moves, rad: far from the singularity at 2π, and rare
/// enough that the evaluation lost with each move does not matter.
const CHART_RADIUS: f64 = 0.5;

impl Dynamics {
    /// Rates of the unknowns at (t, y) into `dy`.
    pub fn fill_rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
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
        self.fill_rates(t, dy)?;
        self.point.known = Some(t);
        Ok(())
    }

    /// (2), (3) and (4) into `dy`, with known accelerations.
    pub(crate) fn fill_rates(&mut self, t: f64, dy: &mut [f64]) -> Result<(), EvalError> {
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
    pub(crate) fn move_charts(&mut self) -> Result<bool, bristle_multibody::Error> {
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
