//! When joints were stuck.
//!
//! Events have the instants themselves; where there are none, the mode channel has them to a row.

use crate::results::Results;

/// What became of one joint with stick-slip friction.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    /// Name of the joint.
    pub joint: String,
    /// From when to when it was stuck, s, in order.
    pub stuck: Vec<(f64, f64)>,
    /// When its mode changed, s, in order.
    pub changes: Vec<f64>,
}

/// Phases of every joint that has a mode, in the order of the channels.
pub fn phases(results: &Results, t: &[f64]) -> Vec<Phases> {
    let joints = results.names.iter().filter_map(|name| name.strip_suffix(".mode"));
    let mut all: Vec<Phases> =
        joints.map(|joint| Phases { joint: joint.to_owned(), stuck: Vec::new(), changes: Vec::new() }).collect();
    // events of joints whose modes were not recorded
    for event in &results.events {
        if !all.iter().any(|phases| phases.joint == event.joint) {
            all.push(Phases { joint: event.joint.clone(), stuck: Vec::new(), changes: Vec::new() });
        }
    }
    let (Some(&start), Some(&end)) = (t.first(), t.last()) else { return all };
    for phases in &mut all {
        let modes = results.channel(&format!("{}.mode", phases.joint));
        let mut changes: Vec<(f64, bool)> = results
            .events
            .iter()
            .filter(|event| event.joint == phases.joint)
            .map(|event| (event.t, event.to == 0))
            .collect();
        let first = results.events.iter().find(|event| event.joint == phases.joint);
        let mut is_stuck = match (first, modes.and_then(|modes| modes.first())) {
            (Some(event), _) => event.from == 0,
            (None, Some(&mode)) => mode == 0.0,
            (None, None) => false,
        };
        if changes.is_empty()
            && let Some(modes) = modes
        {
            let changed = modes.windows(2).zip(t.iter().skip(1)).filter(|(pair, _)| pair[0] != pair[1]);
            changes = changed.map(|(pair, &t)| (t, pair[1] == 0.0)).collect();
        }
        let mut since = start;
        for &(at, becomes_stuck) in &changes {
            if is_stuck && at > since {
                phases.stuck.push((since, at));
            }
            (since, is_stuck) = (at, becomes_stuck);
        }
        if is_stuck && end > since {
            phases.stuck.push((since, end));
        }
        phases.changes = changes.into_iter().map(|(at, _)| at).collect();
    }
    all
}

/// Spans that touch, or come nearer to one another than `gap`, as one: a picture shows no more.
pub fn merged(spans: &[(f64, f64)], gap: f64) -> Vec<(f64, f64)> {
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for &(from, to) in spans {
        match merged.last_mut() {
            Some(last) if from - last.1 < gap => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultEvent;

    fn event(t: f64, joint: &str, from: i8, to: i8) -> ResultEvent {
        ResultEvent { t, joint: joint.into(), from, to }
    }

    #[test]
    fn events_give_the_instants_and_modes_the_rows() {
        let t: Vec<f64> = (0..6).map(f64::from).collect();
        let mut results = Results {
            names: vec!["t".into(), "a.mode".into()],
            columns: vec![t.clone(), vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0]],
            events: Vec::new(),
        };
        let by_rows = Phases { joint: "a".into(), stuck: vec![(0.0, 2.0), (4.0, 5.0)], changes: vec![2.0, 4.0] };
        assert_eq!(phases(&results, &t), [by_rows]);
        results.events = vec![event(1.25, "a", 0, 1), event(2.0, "b", 1, -1), event(3.5, "a", 1, 0)];
        let a = Phases { joint: "a".into(), stuck: vec![(0.0, 1.25), (3.5, 5.0)], changes: vec![1.25, 3.5] };
        let b = Phases { joint: "b".into(), stuck: Vec::new(), changes: vec![2.0] };
        assert_eq!(phases(&results, &t), [a, b]);
    }

    #[test]
    fn stuck_throughout_or_never() {
        let t = [0.0, 1.0, 2.0];
        let table = |mode: f64| Results {
            names: vec!["t".into(), "a.mode".into()],
            columns: vec![t.to_vec(), vec![mode; 3]],
            events: Vec::new(),
        };
        assert_eq!(phases(&table(0.0), &t)[0].stuck, [(0.0, 2.0)]);
        assert_eq!(phases(&table(-1.0), &t)[0].stuck, []);
    }

    #[test]
    fn spans_closer_than_a_gap_are_one() {
        let spans = [(0.0, 1.0), (1.05, 2.0), (3.0, 3.01), (3.5, 4.0)];
        assert_eq!(merged(&spans, 0.1), [(0.0, 2.0), (3.0, 3.01), (3.5, 4.0)]);
        assert_eq!(merged(&[], 0.1), []);
    }
}
