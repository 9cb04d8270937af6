//! Slip modes of event-driven laws and the table of their transitions, one joint at a time.
//!
//! `holding` is the friction per unit load that would keep the joint at rest; `limit` the stiction level.
//!
//! | from | event | to |
//! |---|---|---|
//! | Forward | v falls to 0 | Stuck if \|holding\| ≤ limit, else that of holding (Backward; Forward when grazing) |
//! | Backward | v rises to 0 | Stuck if \|holding\| ≤ limit, else the direction of holding |
//! | Stuck | holding rises past +limit | Forward |
//! | Stuck | holding falls past −limit | Backward |
//!
//! A joint that breaks away leaves against the friction that could not hold it, even where its acceleration is zero
//! at that instant. Where several joints are at rest together the holding efforts depend on all modes, and the choice
//! is made for all of them at once; this table is what each of them then obeys.

/// State of slip of a joint with event-driven friction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mode {
    /// Slip velocity negative.
    Backward,
    /// Locked: slip velocity exactly zero.
    #[default]
    Stuck,
    /// Slip velocity positive.
    Forward,
}

/// An event of one joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlipEvent {
    /// The slip velocity of a sliding joint reached zero.
    Reversal,
    /// The holding effort of a stuck joint reached its limit.
    BreakAway,
}

impl Mode {
    /// −1, 0 or 1: the sign of the slip velocity, and of the friction while sliding.
    pub fn direction(self) -> f64 {
        match self {
            Mode::Backward => -1.0,
            Mode::Stuck => 0.0,
            Mode::Forward => 1.0,
        }
    }

    /// The mode with the sign of `v`; `Stuck` for 0 (and NaN).
    pub fn of_sign(v: f64) -> Mode {
        if v > 0.0 {
            Mode::Forward
        } else if v < 0.0 {
            Mode::Backward
        } else {
            Mode::Stuck
        }
    }

    /// The mode of a joint at rest: `Stuck` up to and including the limit, beyond it the direction of `holding`.
    pub fn at_rest(holding: f64, limit: f64) -> Mode {
        if holding.abs() > limit { Mode::of_sign(holding) } else { Mode::Stuck }
    }

    /// The table above: the mode after `event`. A break-away leaves in the direction of `holding` even exactly at the
    /// limit.
    pub fn after(self, event: SlipEvent, holding: f64, limit: f64) -> Mode {
        match (self, event) {
            (Mode::Stuck, SlipEvent::BreakAway) => Mode::of_sign(holding),
            (Mode::Stuck, SlipEvent::Reversal) => Mode::Stuck,
            (sliding, SlipEvent::BreakAway) => sliding,
            (_, SlipEvent::Reversal) => Mode::at_rest(holding, limit),
        }
    }

    /// A function of time that is positive while the mode lasts and zero at its event: the slip speed while sliding,
    /// the margin `limit − |holding|` while stuck.
    pub fn margin(self, v: f64, holding: f64, limit: f64) -> f64 {
        match self {
            Mode::Stuck => limit - holding.abs(),
            sliding => sliding.direction() * v,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_at_rest_sticks_up_to_its_limit() {
        for mode in [Mode::Forward, Mode::Backward] {
            assert_eq!(mode.after(SlipEvent::Reversal, 1.0, 1.0), Mode::Stuck);
            assert_eq!(mode.after(SlipEvent::Reversal, -1.0, 1.0), Mode::Stuck);
            assert_eq!(mode.after(SlipEvent::Reversal, 1.0 + 1e-15, 1.0), Mode::Forward);
            assert_eq!(mode.after(SlipEvent::Reversal, -1.1, 1.0), Mode::Backward);
        }
    }

    #[test]
    fn a_stuck_joint_breaks_away_against_friction() {
        assert_eq!(Mode::Stuck.after(SlipEvent::BreakAway, 1.0, 1.0), Mode::Forward);
        assert_eq!(Mode::Stuck.after(SlipEvent::BreakAway, -1.0, 1.0), Mode::Backward);
        assert_eq!(Mode::Stuck.after(SlipEvent::Reversal, 5.0, 1.0), Mode::Stuck);
    }

    #[test]
    fn margins_are_positive_inside_a_mode() {
        assert_eq!(Mode::Forward.margin(0.5, 9.0, 1.0), 0.5);
        assert_eq!(Mode::Backward.margin(-0.5, 9.0, 1.0), 0.5);
        assert_eq!(Mode::Stuck.margin(0.0, -0.75, 1.0), 0.25);
    }

    #[test]
    fn non_finite_numbers_have_an_answer() {
        assert_eq!(Mode::at_rest(f64::NAN, 1.0), Mode::Stuck);
        assert_eq!(Mode::at_rest(f64::INFINITY, 1.0), Mode::Forward);
        assert_eq!(Mode::of_sign(-0.0), Mode::Stuck);
    }
}
