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
            if let Some((t, position, bound)) = leaves(signal, limits, self.scene.duration) {
                let reason = format!(
                    "the motion of `{}` reaches {position:?} at t = {t:?} s, beyond the limit {bound:?}",
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

/// The first corner or extremum, up to `end`, at which a signal is beyond the limits: time, value, bound. A signal is
/// monotone between its corners.
fn leaves(signal: &Signal, limits: &Limits, end: f64) -> Option<(f64, f64, f64)> {
    let mut t = 0.0;
    for _ in 0..MAX_CORNERS {
        for value in [signal.value_before(t), signal.value(t)] {
            // an extremum at the bound may be beyond it by rounding
            let size = limits.lower.map_or(0.0, f64::abs).max(limits.upper.map_or(0.0, f64::abs));
            let rounding = 64.0 * f64::EPSILON * size.max(value.abs());
            let low = limits.lower.filter(|lower| value < lower - rounding);
            if let Some(bound) = low.or(limits.upper.filter(|upper| value > upper + rounding)) {
                return Some((t, value, bound));
            }
        }
        if t >= end {
            return None;
        }
        t = signal.next_corner(t).map_or(end, |corner| corner.min(end));
    }
    None
}
