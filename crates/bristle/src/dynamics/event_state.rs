//! Data of events that a step reads from the step before: kinks, stops, the last event of each contact.

use crate::model::stops::with_stop;
use crate::model::{Contact, End};
use bristle_integrate::archive::{Archive, Archived};

/// Data of the kinks of one contact.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kink {
    /// û of each part of the load; zero where the part has no direction.
    pub way: [[f64; 2]; 2],
    /// |w| at the beginning of the step.
    pub size: [f64; 2],
    /// Position of the joint at which each û was set, rad or m.
    pub position: [f64; 2],
    /// The load in the last stage: its parts, the position of the joint, θ.
    pub parts: [[f64; 2]; 2],
    pub at: f64,
    pub noise: f64,
    /// Length of the step attempted last, s; 0 before the first one.
    pub h: f64,
    /// h in θ of each part, and whether û is of the beginning of this step.
    pub time: [f64; 2],
    pub is_recent: [bool; 2],
    /// Whether the load was near zero, or reversed, in a stage of this step.
    pub is_near: bool,
    /// The table's corners next to the slip speed.
    pub segment: [f64; 2],
}

/// Effect of an event on a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContactEvent {
    /// None.
    No,
    /// Zero crossing of its velocity.
    ComesToRest,
    /// Its effort has reached the limit.
    BreaksAway,
}

/// State of the stops of one contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StopState {
    /// The closed stop, on which the joint rests.
    pub closed: Option<End>,
    /// ε of the gap at each end; 0 once the gap has exceeded it.
    pub shift: [f64; 2],
    /// The sequence of bounces: its end of the range, the times of its first and last impact, the speed of the last
    /// one.
    pub bouncing: Option<End>,
    pub begun: f64,
    pub last: f64,
    pub speed: f64,
    /// Time at which a summed sequence of bounces ends; infinite if there is none.
    pub rest_at: f64,
}

impl Default for StopState {
    fn default() -> Self {
        Self {
            closed: None,
            shift: [0.0; 2],
            bouncing: None,
            begun: 0.0,
            last: 0.0,
            speed: 0.0,
            rest_at: f64::INFINITY,
        }
    }
}

impl Archived for StopState {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { closed, shift, bouncing, begun, last, speed, rest_at } = self;
        for end in [closed, bouncing] {
            archive.choice(end, &[None, Some(End::Lower), Some(End::Upper)]);
        }
        shift.archive(archive);
        [begun, last, speed, rest_at].into_iter().for_each(|number| number.archive(archive));
    }
}

/// Limits of the effort of a contact at rest under the loads `n`, with the closed stop of `state`.
pub(crate) fn limits_at_rest(contact: &Contact, state: &StopState, n: [f64; 2]) -> [f64; 2] {
    with_stop(contact.limits(n), state.closed)
}
