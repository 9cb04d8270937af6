//! Signals: finite values, increasing times.

use super::{At, Check, Must};
use crate::scene::Signal;

impl Check<'_> {
    pub(super) fn signal(&mut self, at: At, signal: &Signal) {
        let list = at.index(0);
        match signal {
            Signal::Constant(c) => _ = self.number(list, *c, Must::BeFinite),
            Signal::Ramp { rate, start } => {
                self.number(at.key("rate"), *rate, Must::BeFinite);
                self.number(at.key("start"), *start, Must::BeFinite);
            }
            Signal::Sine { amplitude, frequency, phase, offset } => {
                let parts = [("amplitude", amplitude), ("frequency", frequency), ("phase", phase), ("offset", offset)];
                for (key, value) in parts {
                    self.number(at.key(key), *value, Must::BeFinite);
                }
            }
            Signal::Table(points) | Signal::Steps(points) => {
                let linear = matches!(signal, Signal::Table(_));
                let jump =
                    if linear { "for a jump use `Steps` or `Piecewise`" } else { "each value holds from its time on" };
                self.times(list, points.iter().map(|point| point.0), jump);
                for (i, point) in points.iter().enumerate() {
                    let entry = list.index(i);
                    self.number(entry.index(1), point.1, Must::BeFinite);
                }
            }
            // read with the scene, which has reported what is wrong with it
            Signal::Log { .. } => {}
            Signal::Piecewise(parts) => {
                self.times(list, parts.iter().map(|part| part.0), "each signal holds from its time on");
                for (i, part) in parts.iter().enumerate() {
                    let entry = list.index(i);
                    self.signal(entry.index(1), &part.1);
                }
            }
            Signal::Sum(terms) => {
                if terms.is_empty() {
                    self.report_alone(list, "a sum needs at least one signal", "");
                }
                for (i, term) in terms.iter().enumerate() {
                    self.signal(list.index(i), term);
                }
            }
        }
    }

    /// A list has at least one time, and its times increase.
    fn times(&mut self, at: At, times: impl ExactSizeIterator<Item = f64>, help: &str) {
        if times.len() == 0 {
            self.report_alone(at, "this list needs at least one entry", "write `[(time, value), …]`");
        }
        let mut before = f64::NEG_INFINITY;
        for (i, t) in times.enumerate() {
            let entry = at.index(i);
            if self.number(entry.index(0), t, Must::BeFinite) && t <= before {
                let reason = format!("times must increase: {t:?} comes after {before:?}");
                self.report_alone(entry.index(0), reason, help);
            }
            before = t;
        }
    }
}
