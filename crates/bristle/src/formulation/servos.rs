//! Servos of a machine: samples, regimes and the event functions of their saturations. See [`crate::model::servo`].

use super::machine::Machine;
use crate::model::servo::Servo;

impl Machine {
    /// Takes the samples that are due at `t`, and sets the regimes of continuous servos.
    pub(super) fn update_servos(&mut self, t: f64) {
        let Self { compiled, state, point, .. } = self;
        for (drive, servo_state) in compiled.inputs.drives.iter().zip(&mut state.servos) {
            let Some(servo) = drive.servo() else { continue };
            let (q, v) = (point.xi[drive.v], point.v[drive.v]);
            let target = drive.signal().sample(t, state.piece).value;
            servo.sample(target, t, q, v, servo_state);
        }
        self.set_regimes(t);
    }

    /// Sets the regimes of continuous servos to those of the point of evaluation.
    pub(super) fn set_regimes(&mut self, t: f64) {
        for k in 0..self.state.servos.len() {
            let (demand, bound) = self.demand(k, t);
            self.state.servos[k].regime = Servo::regime(demand, bound);
        }
    }

    /// Whether drive number `k` takes a sample at `t`.
    pub(super) fn is_sample_due(&self, k: usize, t: f64) -> bool {
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
    pub(super) fn saturation(&self, k: usize, t: f64) -> f64 {
        let (demand, bound) = self.demand(k, t);
        Servo::corner(self.state.servos[k].regime, demand, bound)
    }

    /// Performs the event of a saturation.
    pub(super) fn pass_saturation(&mut self, k: usize, t: f64) {
        let demand = self.demand(k, t).0;
        let regime = &mut self.state.servos[k].regime;
        *regime = if *regime == 0.0 { demand.signum() } else { 0.0 };
    }
}
