//! After an event: time events, changes of dimension, the end of a run.

use crate::events::tight;
use bristle_integrate::{Driver, EvalError, FiredEvent, Method, Outcome, Restart, System, Trace};

/// y' = slope, the slope jumping at known times; switches only in `switch`.
struct Steps {
    times: Vec<f64>,
    done: usize,
}

impl System for Steps {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = if self.done.is_multiple_of(2) { 1.0 } else { -y[0] };
        Ok(())
    }

    fn next_time_event(&self, _t: f64) -> Option<f64> {
        self.times.get(self.done).copied()
    }

    fn switch(
        &mut self,
        t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        assert_eq!(fired, [FiredEvent::Time]);
        assert_eq!(t, self.times[self.done]);
        self.done += 1;
        Ok(Restart::fresh(1))
    }
}

#[test]
fn steps_end_exactly_on_time_events() {
    for method in [Method::Dopri5, Method::Radau5] {
        let mut steps = Steps { times: vec![0.3, 0.7, 0.7 + 1e-9, 1.1], done: 0 };
        let mut trace = Trace::steps();
        let mut driver = Driver::new(&mut steps, 0.0, &[0.0], tight(method)).unwrap();
        driver.advance(&mut steps, 1.5, &mut trace).unwrap();
        assert_eq!(driver.stats().n_time_events, 4);
        assert!([0.3, 0.7, 0.7 + 1e-9, 1.1].iter().all(|t| trace.t.contains(t)));
        // up by 0.3, decay over 0.4, up by 1e-9, decay over 0.4, up by 0.4
        let exact = ((0.3 * (-0.4f64).exp()) + 1e-9) * (0.7 + 1e-9 - 1.1f64).exp() + 0.4;
        assert!((driver.y()[0] - exact).abs() < 1e-11, "{method:?}: {} {exact}", driver.y()[0]);
    }
}

/// A sliding block that sticks: (x, v) while sliding, nothing while stuck; pulled free at a known time.
#[derive(Debug)]
struct Block {
    stuck_at: Option<f64>,
    stops: Vec<f64>,
}

impl System for Block {
    fn dim(&self) -> usize {
        if self.stuck_at.is_some() { 0 } else { 2 }
    }

    fn max_dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        if self.stuck_at.is_none() {
            (dy[0], dy[1]) = (y[1], -2.0);
        }
        Ok(())
    }

    fn n_events(&self) -> usize {
        usize::from(self.stuck_at.is_none())
    }

    fn max_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        if let Some(g) = g.first_mut() {
            *g = y[1];
        }
        Ok(())
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        Some((t / 2.0).floor() * 2.0 + 2.0)
    }

    fn switch(&mut self, t: f64, y: &mut [f64], _quad: &mut [f64], fired: &[FiredEvent]) -> Result<Restart, EvalError> {
        if fired.contains(&FiredEvent::Time) {
            // a kick every 2 s
            let x = self.stuck_at.take().unwrap_or(y[0]);
            (y[0], y[1]) = (x, 1.0);
            Ok(Restart::fresh(2))
        } else {
            self.stops.push(t);
            self.stuck_at = Some(y[0]);
            Ok(Restart::fresh(0))
        }
    }
}

#[test]
fn dimension_changes_down_to_zero() {
    for method in [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }] {
        let mut block = Block { stuck_at: Some(0.0), stops: vec![] };
        let mut driver = Driver::new(&mut block, 0.0, &[], tight(method)).unwrap();
        driver.advance(&mut block, 7.0, &mut ()).unwrap();
        // kicks at 2, 4, 6; each slide lasts 0.5 s and covers 0.25 m
        assert_eq!(block.stops.len(), 3, "{method:?}");
        for (stop, kick) in block.stops.iter().zip([2.0, 4.0, 6.0]) {
            assert!((stop - (kick + 0.5)).abs() < 1e-9, "{method:?}: {stop}");
        }
        assert!((block.stuck_at.unwrap() - 0.75).abs() < 1e-9, "{method:?}: {block:?}");
        assert!(driver.y().is_empty());
    }
}

/// Falls freely and terminates on the ground.
struct Drop;

impl System for Drop {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], -2.0);
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0];
        Ok(())
    }

    fn switch(
        &mut self,
        _t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        Ok(Restart::terminate(2))
    }
}

#[test]
fn an_event_may_end_the_run() {
    let mut driver = Driver::new(&mut Drop, 0.0, &[1.0, 0.0], tight(Method::Dopri5)).unwrap();
    let mut trace = Trace::uniform(0.0, 0.25);
    assert_eq!(driver.advance(&mut Drop, 5.0, &mut trace), Ok(Outcome::Terminated));
    assert!((driver.t() - 1.0).abs() < 1e-12);
    assert_eq!(trace.t, [0.0, 0.25, 0.5, 0.75, 1.0][..trace.t.len()]);
    assert!(trace.t.len() >= 4);
    assert_eq!(trace.events.len(), 1);
    for (t, y) in trace.t.iter().zip(&trace.y) {
        assert!((y[0] - (1.0 - t * t)).abs() < 1e-12);
    }
}
