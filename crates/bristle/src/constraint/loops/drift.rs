//! γ: accelerations of dependent velocities that do not come from the independent ones, A γ = −J̇ v; and the part of
//! their jerks that does not,
//!
//! ```text
//! J q⃛ = −J̈ v − 2 J̇ a           q⃛_d = T q⃛_i + γ₂,     A γ₂ = −J̈ v − 2 J̇ a
//! ```

use super::{Chart, LoopFailure, Loops};
use crate::constraint::coordinates::Coordinates;
use crate::model::Model;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Error, Work, accelerations, point_acceleration, point_jerk};
use nalgebra::Vector3;

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
        let of = |body: usize, point: &Vector3<f64>| point_acceleration(&model.tree, work, &self.poses, body, point);
        let filled = self.fill_bias(model, of, &mut bias);
        self.solve_bias(model, chart, bias, filled)?;
        let Coordinates { drift, .. } = coordinates;
        self.spread(chart, |d, value| drift[d] = value);
        Ok(())
    }

    /// Adds γ₂ to the jerks of the dependent velocities. Needs the table of [`Loops::close`] at q, and in `work` the
    /// rates of accelerations at jerks of zero.
    pub fn add_jerk_drift(
        &mut self,
        model: &Model,
        work: &Work,
        chart: &Chart,
        coordinates: &Coordinates,
        jerk: &mut [f64],
    ) -> Result<(), LoopFailure> {
        let mut bias = std::mem::take(&mut self.gap);
        let of = |body: usize, point: &Vector3<f64>| point_jerk(&model.tree, work, &self.poses, body, point);
        let filled = self.fill_bias(model, of, &mut bias);
        self.solve_bias(model, chart, bias, filled)?;
        self.spread(chart, |d, value| jerk[coordinates.dependent[d]] += value);
        Ok(())
    }

    /// Solves A x = −bias; the room of `bias` is that of the gaps.
    fn solve_bias(
        &mut self,
        model: &Model,
        chart: &Chart,
        bias: Vec<f64>,
        filled: Result<(), Error>,
    ) -> Result<(), LoopFailure> {
        self.fill_table(model, &chart.base, |row| -bias[row]);
        self.gap = bias;
        filled?;
        self.eliminate(&chart.dependent)
    }

    /// The solution of the table for every dependent velocity, by its number: those of the loops, then those that
    /// couplings make of them.
    fn spread(&self, chart: &Chart, mut set: impl FnMut(usize, f64)) {
        let n = chart.dependent.len();
        (0..n).for_each(|step| set(step, self.solution(step)));
        for d in 0..chart.base.dependent.len() {
            let of = chart.base.terms_of(d).iter().filter_map(|&(i, c)| {
                let step = chart.dependent.iter().position(|&other| other == i)?;
                Some(c * self.solution(step))
            });
            set(n + d, of.fold(0.0, std::ops::Add::add));
        }
    }

    /// J̇ v, from accelerations without those of the joints in `work`.
    pub fn bias(&self, model: &Model, work: &Work) -> Result<Vec<f64>, Error> {
        let mut bias = vec![0.0; self.n_rows];
        let of = |body: usize, point: &Vector3<f64>| point_acceleration(&model.tree, work, &self.poses, body, point);
        self.fill_bias(model, of, &mut bias).map(|()| bias)
    }

    fn fill_bias(
        &self,
        model: &Model,
        of: impl Fn(usize, &Vector3<f64>) -> Result<Motion, Error>,
        bias: &mut [f64],
    ) -> Result<(), Error> {
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            let mut side = [[0.0; 6]; 2];
            for (side, (&body, frame)) in side.iter_mut().zip(closure.bodies.iter().zip(&closure.placements)) {
                if body > 0 {
                    *side = of(body, &frame.translation.vector)?.to_array();
                }
            }
            for k in 0..closure.n_rows() {
                bias[first + k] = side[1][closure.component(k)] - side[0][closure.component(k)];
            }
        }
        Ok(())
    }
}
