//! How many events of each kind a run had.

use bristle::EventKind;

/// Numbers of events by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventCounts {
    /// Changes of mode: a joint sticks, breaks away or reverses.
    pub mode_changes: usize,
    /// Impacts on stops, and ends of bounces.
    pub impacts: usize,
    /// Releases from stops.
    pub releases: usize,
}

impl EventCounts {
    /// Counts events.
    pub fn of(kinds: impl IntoIterator<Item = EventKind>) -> Self {
        let mut counts = Self::default();
        for kind in kinds {
            let count = match kind {
                EventKind::Mode => &mut counts.mode_changes,
                EventKind::Stop => &mut counts.impacts,
                EventKind::Open => &mut counts.releases,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Those that there were, such as `3 changes of mode` and `1 impact`.
    pub fn in_words(&self) -> impl Iterator<Item = String> {
        let counts = [
            (self.mode_changes, "change of mode", "changes of mode"),
            (self.impacts, "impact", "impacts"),
            (self.releases, "release", "releases"),
        ];
        let words = |(n, one, many)| format!("{n} {}", if n == 1 { one } else { many });
        counts.into_iter().filter(|count| count.0 > 0).map(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impacts_are_no_changes_of_mode() {
        let counts = EventCounts::of([EventKind::Stop, EventKind::Mode, EventKind::Stop, EventKind::Open]);
        assert_eq!(counts, EventCounts { mode_changes: 1, impacts: 2, releases: 1 });
        assert_eq!(counts.in_words().collect::<Vec<_>>().join(", "), "1 change of mode, 2 impacts, 1 release");
        assert_eq!(EventCounts::of([]).in_words().count(), 0);
    }
}
