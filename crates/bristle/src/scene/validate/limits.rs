//! Limits of a joint: bounds in order, a start between them, a prescribed motion between them.

use super::{At, Check, Must};
use crate::scene::{Drive, Joint, Limits};
use crate::signal::Signal;

/// Corners of a signal examined at most.
const MAX_CORNERS: usize = 100_000;

impl Check<'_> {
    pub(super) fn limits(&mut self, of: At, joint: &Joint, limits: &Limits) {
        let at = of.key("limits");
        self.number(at.key("restitution"), limits.restitution, Must::BeWithin(0.0, 1.0));
        let mut are_fine = true;
        for (key, bound) in [("lower", limits.lower), ("upper", limits.upper)] {
            are_fine &= bound.is_none_or(|bound| self.number(at.key(key), bound, Must::BeFinite));
        }
        if !are_fine {
            return;
        }
        if let (Some(lower), Some(upper)) = (limits.lower, limits.upper)
            && lower >= upper
        {
            let reason = format!("the limits of `{}` are {lower:?} and {upper:?}: there is no room", joint.name);
            self.report(at, reason, "`lower` must be less than `upper`");
            return;
        }
        if limits.lower.is_none() && limits.upper.is_none() {
            let help = "write `lower`, `upper` or both, or leave `limits` out";
            self.report(at, format!("the limits of `{}` have no bound", joint.name), help);
        }
        if let Some(Drive::Motion(signal)) = &joint.drive {
            if let Some(Leave { t, bound, reached }) = leaves(signal, limits, self.scene.duration) {
                let reason = format!(
                    "the motion of `{}` leaves its limits at t = {t:?} s: beyond {bound:?}, to {reached:?}",
                    joint.name
                );
                self.report(of.key("drive"), reason, "keep the motion within the limits, or widen them");
            }
            return;
        }
        // a coupled joint at 0 takes the position that its coupling determines
        let q = joint.position.scalar();
        if q == 0.0 && self.scene.couplings.iter().any(|coupling| coupling.constrains(&joint.name)) {
            return;
        }
        let beyond = [limits.lower.filter(|&lower| q < lower), limits.upper.filter(|&upper| q > upper)];
        if let Some(bound) = beyond.into_iter().flatten().next() {
            let reason = format!("`{}` starts at {q:?}, outside its limits: the stop is at {bound:?}", joint.name);
            let is_given = self.is_given(of.key("position"));
            let place = if is_given { of.key("position") } else { at };
            self.report(place, reason, format!("start it between them, say at `position: {bound:?}`"));
        }
    }
}

/// A motion that leaves its limits.
struct Leave {
    /// Time at which it does, s.
    t: f64,
    bound: f64,
    /// Position at the next corner or extremum.
    reached: f64,
}

/// The first time, up to `end`, at which a signal leaves the limits. A signal is monotone between its corners.
fn leaves(signal: &Signal, limits: &Limits, end: f64) -> Option<Leave> {
    // an extremum at the bound may be beyond it by rounding
    let size = limits.lower.map_or(0.0, f64::abs).max(limits.upper.map_or(0.0, f64::abs));
    let passed = |value: f64| {
        let rounding = 64.0 * f64::EPSILON * size.max(value.abs());
        let low = limits.lower.filter(|lower| value < lower - rounding);
        low.or(limits.upper.filter(|upper| value > upper + rounding))
    };
    let (mut from, mut t) = (0.0, 0.0);
    for _ in 0..MAX_CORNERS {
        let reached = signal.value_before(t);
        if let Some(bound) = passed(reached) {
            // to the bound itself, whatever is forgiven
            let is_beyond = |t| (signal.value(t) - bound) * (reached - bound) > 0.0;
            return Some(Leave { t: crossing(from, t, is_beyond), bound, reached });
        }
        let reached = signal.value(t);
        if let Some(bound) = passed(reached) {
            return Some(Leave { t, bound, reached });
        }
        if t >= end {
            return None;
        }
        from = t;
        t = signal.next_corner(t).map_or(end, |corner| corner.min(end));
    }
    None
}

/// The time at which something begins that is not so at `low` and is so at `high`, by bisection to neighbouring
/// numbers.
fn crossing(mut low: f64, mut high: f64, has_begun: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            return high;
        }
        if has_begun(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}
