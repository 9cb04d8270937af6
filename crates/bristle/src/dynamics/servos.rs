//! Servos of a machine: samples, regimes and the event functions of their saturations. See [`crate::model::servo`].

use super::Dynamics;
use crate::model::saturation::{corner, regime_of};
use crate::signal::Piece;

impl Dynamics {
    /// Takes the samples that are due at `t`, and sets the regimes of continuous servos.
    pub(crate) fn update_servos(&mut self, t: f64) {
        let Self { compiled, state, point, .. } = self;
        for (drive, servo_state) in compiled.inputs.drives.iter().zip(&mut state.servos) {
            let Some(servo) = drive.servo() else { continue };
            let (q, v) = (point.xi[drive.v], point.v[drive.v]);
            let target = drive.signal().sample(t, state.piece).value;
            servo.sample(target, t, q, v, servo_state);
        }
        self.set_regimes(t);
    }

    /// Sets the regimes of continuous servos and of effort limits to those of the point of evaluation.
    pub(crate) fn set_regimes(&mut self, t: f64) {
        for k in 0..self.state.servos.len() {
            let (demand, bound) = self.demand(k, t);
            self.state.servos[k].regime = regime_of(demand, bound);
        }
        self.set_limit_regimes(t);
    }

    /// Whether drive number `k` takes a sample at `t`.
    pub(crate) fn is_sample_due(&self, k: usize, t: f64) -> bool {
        let servo = self.compiled.inputs.drives[k].servo().filter(|servo| servo.is_sampled());
        servo.is_some_and(|servo| servo.number(t) != self.state.servos[k].number)
    }

    /// supply e and B of drive number `k` at the point of evaluation.
    fn demand(&self, k: usize, t: f64) -> (f64, f64) {
        let drive = &self.compiled.inputs.drives[k];
        let target = drive.signal().sample(t, self.state.piece).value;
        let (q, v) = (self.point.xi[drive.v], self.point.v[drive.v]);
        drive.servo().map_or((0.0, f64::INFINITY), |servo| servo.demand(target, t, self.state.piece, q, v))
    }

    /// Event function of the saturation of drive number `k`.
    pub(crate) fn saturation(&self, k: usize, t: f64) -> f64 {
        let (demand, bound) = self.demand(k, t);
        corner(self.state.servos[k].regime, demand, bound)
    }

    /// Performs the event of a saturation.
    pub(crate) fn pass_saturation(&mut self, k: usize, t: f64) {
        let demand = self.demand(k, t).0;
        let regime = &mut self.state.servos[k].regime;
        *regime = if *regime == 0.0 { demand.signum() } else { 0.0 };
    }

    /// Selects the pieces of the signals that are valid just after `t`.
    pub(crate) fn enter_piece(&mut self, t: f64) {
        self.state.piece = Piece::After(t);
        self.update_servos(t);
        let drives = self.compiled.inputs.drives.iter().filter_map(|drive| drive.next_corner(t));
        let loads = self.compiled.inputs.contacts.iter().filter_map(|c| c.signal()?.next_corner_clamped(t));
        self.state.next_corner = drives.chain(loads).reduce(f64::min);
    }
}
