//! Dry friction whose level is a table over speed (event-driven).
//!
//! ```text
//! L(|v|): linear between points (speed, level), extended linearly beyond both ends    (1)
//! τ_f   = L(|v|) sign(v)                           v ≠ 0                 (2)
//! |τ_f| ≤ p L(0), whatever equilibrium requires    v = 0, stuck          (3)
//! ```
//!
//! p `peak`. Measured curves and Modelica's `tau_pos` tables; two points suffice for f + k|v|.

use crate::{Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, State, check, sign};

/// Dry friction from a table of speeds and levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// (slip speed, level per unit load), speeds ≥ 0 and increasing, levels ≥ 0. One point is a constant level.
    pub points: Vec<(f64, f64)>,
    /// Level that a stuck joint holds, as a multiple p of the level at zero speed; ≥ 1.
    pub peak: f64,
}

impl Table {
    /// The first of the two points between which a speed lies, the share of the second in the level there, and the
    /// slope.
    pub(crate) fn shares(&self, speed: f64) -> (usize, f64, f64) {
        if self.points.len() < 2 {
            return (0, 0.0, 0.0);
        }
        let i = self.points.partition_point(|p| p.0 <= speed).clamp(1, self.points.len() - 1);
        let (a, b) = (self.points[i - 1], self.points[i]);
        (i - 1, (speed - a.0) / (b.0 - a.0), (b.1 - a.1) / (b.0 - a.0))
    }

    /// The slip speeds between which L is linear and `speed` lies; a corner belongs to the segment above it. The
    /// first segment begins at −∞, where L is extended to, the last has no end.
    pub fn segment(&self, speed: f64) -> [f64; 2] {
        let n = self.points.len();
        let i = self.points.partition_point(|p| p.0 <= speed).clamp(1, n.saturating_sub(1).max(1));
        [
            if i < 2 { f64::NEG_INFINITY } else { self.points[i - 1].0 },
            if i + 1 >= n { f64::INFINITY } else { self.points[i].0 },
        ]
    }

    /// L of (1) and its slope; a negative `speed` lies on the extension of the first segment.
    fn level(&self, speed: f64) -> (f64, f64) {
        let (a, b) = match self.points.as_slice() {
            [] => return (0.0, 0.0),
            [only] => return (only.1, 0.0),
            points => {
                // the segment that holds the speed, or the end one nearest to it
                let i = points.partition_point(|p| p.0 <= speed).clamp(1, points.len() - 1);
                (points[i - 1], points[i])
            }
        };
        let slope = (b.1 - a.1) / (b.0 - a.0);
        (a.1 + slope * (speed - a.0), slope)
    }
}

impl FrictionLaw for Table {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.points.is_empty() {
            found.push(Finding::new("points", f64::NAN, "`points` must hold at least one (speed, level)"));
        }
        for (i, &(speed, level)) in self.points.iter().enumerate() {
            let mut wrong = |k: usize, value: f64, reason: String| {
                found.push(Finding { point: Some((i, k)), ..Finding::new("points", value, reason) });
            };
            for (k, what, value) in [(0, "speed", speed), (1, "level", level)] {
                if !(value >= 0.0 && value.is_finite()) {
                    let what = format!("the {what} of `points[{i}]`");
                    wrong(k, value, check::out_of_range(&what, value, "0 or more"));
                }
            }
            if i > 0 && speed >= 0.0 && speed <= self.points[i - 1].0 {
                let before = self.points[i - 1].0;
                wrong(0, speed, format!("speeds must increase: {speed:?} comes after {before:?}"));
            }
        }
        let at_zero = self.level(0.0).0;
        if found.is_empty() && at_zero < 0.0 {
            let reason =
                format!("`points` extend to the level {} at zero speed; it must be 0 or more", check::rounded(at_zero));
            found.push(Finding::new("points", at_zero, reason));
        }
        check::peak(&mut found, self.peak);
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        // a falling last segment ends in friction that drives
        let Some(&(speed, level)) = self.points.last() else { return Vec::new() };
        let slope = self.level(speed).1;
        if slope < 0.0 {
            let end = speed - level / slope;
            let reason = format!(
                "the last segment falls, so friction drives the motion above the slip speed {}; add a point",
                check::rounded(end)
            );
            return vec![Finding::new("points", end, reason)];
        }
        Vec::new()
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        // (2), with sign(0) = 0
        let (level, slope) = self.level(v.abs());
        Evaluation { effort: level * sign(v), effort_v: slope, ..Default::default() }
    }

    fn steady_state(&self, _: f64) -> State {
        [0.0; 2]
    }

    fn time_constant(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn stored_energy(&self, _: State) -> f64 {
        0.0
    }

    fn dissipated_power(&self, v: f64, _: State) -> f64 {
        self.level(v.abs()).0 * v.abs()
    }

    fn implicit_step(&self, _: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        // a rising level is implicit in v, a falling one is frozen
        let (level, slope) = self.level(v_level.abs());
        let rise = slope.max(0.0);
        let effort = (level + rise * (v.abs() - v_level.abs())) * sign(v);
        ImplicitStep { state, effort, effort_v: rise }
    }
}

impl EventDriven for Table {
    fn stiction_level(&self) -> f64 {
        self.peak * self.level(0.0).0
    }

    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        self.level(speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use approx::assert_relative_eq;

    fn bearing() -> Table {
        Table { points: vec![(0.1, 1.04), (0.5, 1.2), (1.0, 1.2), (2.0, 2.0)], peak: 1.5 }
    }

    #[test]
    fn level_is_linear_between_points_and_beyond_both_ends() {
        let law = bearing();
        for (v, level) in [(0.0, 1.0), (0.1, 1.04), (0.3, 1.12), (0.75, 1.2), (1.5, 1.6), (4.0, 3.6)] {
            assert_relative_eq!(law.kinetic_level(v).0, level, max_relative = 1e-14);
            assert_relative_eq!(law.steady_effort(-v), -level * sign(v), max_relative = 1e-14);
        }
        assert_relative_eq!(law.stiction_level(), 1.5, max_relative = 1e-14);
        assert_relative_eq!(law.sliding(Mode::Backward, 0.5).0, -0.8, max_relative = 1e-14);
        assert_eq!(Table { points: vec![(3.0, 0.7)], peak: 1.0 }.kinetic_level(9.0), (0.7, 0.0));
    }

    #[test]
    fn segments_end_at_corners() {
        let (law, inf) = (bearing(), f64::INFINITY);
        let below = [-inf, 0.5];
        for (v, segment) in
            [(0.0, below), (0.1, below), (0.3, below), (0.5, [0.5, 1.0]), (0.9, [0.5, 1.0]), (3.0, [1.0, inf])]
        {
            assert_eq!(law.segment(v), segment, "{v}");
        }
        assert_eq!(Table { points: vec![(3.0, 0.7)], peak: 1.0 }.segment(9.0), [-inf, inf]);
        assert_eq!(Table { points: vec![(0.0, 0.7), (1.0, 1.0)], peak: 1.0 }.segment(9.0), [-inf, inf]);
    }

    #[test]
    fn tables_that_cannot_be_read_are_refused() {
        let reasons = |points: Vec<(f64, f64)>| Table { points, peak: 1.0 }.validate();
        assert!(reasons(vec![])[0].reason.contains("at least one"));
        assert!(reasons(vec![(0.0, 1.0), (0.0, 2.0)])[0].reason.contains("0.0 comes after 0.0"));
        assert!(reasons(vec![(-1.0, 1.0)])[0].reason.contains("speed of `points[0]` is -1.0"));
        assert!(reasons(vec![(0.0, -1.0)])[0].reason.contains("level of `points[0]` is -1.0"));
        assert!(reasons(vec![(1.0, 0.1), (2.0, 1.0)])[0].reason.contains("zero speed"));
        assert!(reasons(vec![(f64::NAN, 1.0)])[0].reason.contains("finite"));
        assert_eq!(reasons(vec![(0.0, 1.0), (1.0, -1.0)])[0].point, Some((1, 1)));
        assert!(bearing().validate().is_empty() && bearing().warnings().is_empty());
    }

    #[test]
    fn a_table_that_ends_falling_is_warned_about() {
        let found = Table { points: vec![(0.0, 2.0), (1.0, 1.0)], peak: 1.0 }.warnings();
        assert_eq!(found[0].value, 2.0);
    }
}
