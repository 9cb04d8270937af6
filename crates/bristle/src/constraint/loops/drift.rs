//! γ: accelerations of dependent velocities that do not come from the independent ones, A γ = −J̇ v.

use super::{Chart, LoopFailure, Loops};
use crate::constraint::coordinates::Coordinates;
use crate::model::Model;
use bristle_multibody::{Error, Work, accelerations, point_acceleration};

impl Loops {
    /// γ of (9) at (q, v) into the drift of `coordinates`. Needs the table of [`Loops::close`] at q.
    pub fn fill_drift(
        &mut self,
        model: &Model,
        work: &mut Work,
        chart: &Chart,
        (q, v): (&[f64], &[f64]),
        coordinates: &mut Coordinates,
    ) -> Result<(), LoopFailure> {
        accelerations(&model.tree, work, q, v, &self.zero)?;
        // in the room of the gaps
        let mut bias = std::mem::take(&mut self.gap);
        let filled = self.fill_bias(model, work, &mut bias);
        self.fill_table(model, &chart.base, |row| -bias[row]);
        self.gap = bias;
        filled?;
        self.eliminate(&chart.dependent)?;
        for (step, drift) in coordinates.drift.iter_mut().enumerate().take(chart.dependent.len()) {
            *drift = self.solution(step);
        }
        for (d, drift) in coordinates.drift.iter_mut().skip(chart.dependent.len()).enumerate() {
            let of = chart.base.terms_of(d).iter().filter_map(|&(i, c)| {
                let step = chart.dependent.iter().position(|&other| other == i)?;
                Some(c * self.solution(step))
            });
            *drift = of.fold(0.0, std::ops::Add::add);
        }
        Ok(())
    }

    /// J̇ v, from accelerations without those of the joints in `work`.
    pub fn bias(&self, model: &Model, work: &Work) -> Result<Vec<f64>, Error> {
        let mut bias = vec![0.0; self.n_rows];
        self.fill_bias(model, work, &mut bias).map(|()| bias)
    }

    fn fill_bias(&self, model: &Model, work: &Work, bias: &mut [f64]) -> Result<(), Error> {
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            let mut side = [[0.0; 6]; 2];
            for (side, (&body, frame)) in side.iter_mut().zip(closure.bodies.iter().zip(&closure.placements)) {
                if body > 0 {
                    let point = &frame.translation.vector;
                    *side = point_acceleration(&model.tree, work, &self.poses, body, point)?.to_array();
                }
            }
            for k in 0..closure.n_rows() {
                bias[first + k] = side[1][closure.component(k)] - side[0][closure.component(k)];
            }
        }
        Ok(())
    }
}
