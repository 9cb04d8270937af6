//! Derivatives of recorded values y(t, x; p).
//!
//! ```text
//! dy/dp = (y(x + ε δx; p + ε) − y(x − ε δx; p − ε)) / 2ε           ε δx small
//!       = (y(x; p + ε) − y(x; p − ε)) / 2ε + (y(x + h δx; p) − y(x − h δx; p)) / 2h         else
//! ```

use super::{Tangents, moved_along};
use crate::stick_slip::machine::Machine;
use bristle_integrate::{EvalError, System};

/// Half-width of a twin's difference, relative to a difference along its δx, up to which both are taken as one: the
/// truncation error is then 1e-8.
const TOGETHER: f64 = 100.0;

impl Tangents {
    /// δ of `values` at (t, y) within the last step, one list per parameter; with `has_rates`, the rates of `values` in
    /// time as one more.
    pub fn derive<E>(
        &mut self,
        t: f64,
        y: &[f64],
        has_rates: bool,
        mut values: impl FnMut(&mut Machine, f64, &[f64], &mut Vec<f64>) -> Result<(), E>,
    ) -> Result<Vec<Vec<f64>>, E>
    where
        E: From<EvalError>,
    {
        self.interpolate(t);
        self.complete(t, y);
        self.probe.dynamics.scatter(t, y);
        let x = self.probe.full();
        let (mut plus, mut minus, mut moved) = (Vec::new(), Vec::new(), vec![0.0; y.len()]);
        let mut all = Vec::with_capacity(self.dx.len() + 1);
        for p in 0..self.dx.len() {
            let direction = self.dx[p].clone();
            let reach = self.reach_with_samples(self.reach(&direction), p);
            let twin = &mut self.twins[p];
            // p and x at once, if x does not move far by it
            let half = 0.5 * twin.width;
            let is_short = reach == 0.0 || half <= TOGETHER * reach;
            for (machine, side, into) in [(&mut twin.plus, half, &mut plus), (&mut twin.minus, -half, &mut minus)] {
                let side = if is_short { side } else { 0.0 };
                machine.dynamics.scatter(t, y);
                let own = machine.full();
                machine.put_full(&moved_along(&own, &direction, side));
                self.held.move_samples(machine, p, side);
                machine.dynamics.gather(&mut moved);
                let taken = values(machine, t, &moved, into);
                self.held.move_samples(machine, p, 0.0);
                machine.put_full(&own);
                taken?;
            }
            let mut derivative: Vec<f64> = plus.iter().zip(&minus).map(|(a, b)| (a - b) / twin.width).collect();
            if !is_short {
                for (side, into) in [(reach, &mut plus), (-reach, &mut minus)] {
                    self.move_probe(&x, &direction, side);
                    self.held.move_samples(&mut self.probe, p, side);
                    self.probe.dynamics.gather(&mut moved);
                    values(&mut self.probe, t, &moved, into)?;
                }
                derivative
                    .iter_mut()
                    .zip(plus.iter().zip(&minus))
                    .for_each(|(d, (a, b))| *d += (a - b) / (2.0 * reach));
                self.held.move_samples(&mut self.probe, p, 0.0);
            }
            all.push(derivative);
        }
        self.probe.put_full(&x);
        if !has_rates {
            return Ok(all);
        }
        let mut dy = vec![0.0; y.len()];
        self.probe.rhs(t, y, &mut dy)?;
        let instant = self.instant(t);
        for (side, into) in [(instant, &mut plus), (-instant, &mut minus)] {
            moved.iter_mut().zip(y.iter().zip(&dy)).for_each(|(moved, (y, dy))| *moved = y + side * dy);
            values(&mut self.probe, t + side, &moved, into)?;
        }
        self.probe.put_full(&x);
        all.push(plus.iter().zip(&minus).map(|(a, b)| (a - b) / (2.0 * instant)).collect());
        Ok(all)
    }
}
