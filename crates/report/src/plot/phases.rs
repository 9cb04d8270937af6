//! When joints were stuck.
//!
//! Events have the instants themselves; where there are none, the mode channel has them to a row. A bristle has no
//! modes and never quite stops: it counts as stuck while it slips more slowly than a hundredth of its Stribeck
//! velocity. A joint that rests on its stop is stuck, too; [`contacts`] tells when.

use crate::results::Results;
use bristle::friction::Law;
use bristle::scene::Load;
use bristle::{EventKind, Scene};
use bristle_plot::spans::spans;

/// The part of the Stribeck velocity below which a bristle counts as stuck.
const SLOW: f64 = 1e-2;
/// The same, of the largest velocity of a run, where a law has no Stribeck velocity.
const SLOW_OF_FASTEST: f64 = 1e-4;

/// Phases of one joint with stick-slip friction.
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
        let is_stuck = match (first, modes.and_then(|modes| modes.first())) {
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
        phases.stuck = spans(is_stuck, &changes, (start, end));
        phases.changes = changes.into_iter().map(|(at, _)| at).collect();
    }
    // joints without friction that rest on a stop all the time have neither modes nor events
    for contact in contacts(results, t) {
        if !all.iter().any(|phases| phases.joint == contact.joint) {
            all.push(contact);
        }
    }
    all
}

/// When joints rested on their stops: from an impact without rebound, or the end of bounces, to the release. Without
/// events, where the rows have an effort of the stop.
pub fn contacts(results: &Results, t: &[f64]) -> Vec<Phases> {
    let (Some(&start), Some(&end)) = (t.first(), t.last()) else { return Vec::new() };
    let joints = results.names.iter().filter_map(|name| name.strip_suffix(".stop"));
    let of = |joint: &str| {
        let effort = results.channel(&format!("{joint}.stop")).unwrap_or(&[]);
        let events = results.events.iter().filter(|event| event.joint == joint && event.event != EventKind::Mode);
        let mut changes: Vec<(f64, bool)> =
            events.map(|event| (event.t, event.event == EventKind::Stop && event.to == 0)).collect();
        let is_closed = match changes.first() {
            Some(&(_, is_closed)) => !is_closed && effort.first().is_some_and(|effort| *effort != 0.0),
            None => effort.first().is_some_and(|effort| *effort != 0.0),
        };
        if changes.is_empty() {
            let changed =
                effort.windows(2).zip(t.iter().skip(1)).filter(|(pair, _)| (pair[0] != 0.0) != (pair[1] != 0.0));
            changes = changed.map(|(pair, &t)| (t, pair[1] != 0.0)).collect();
        }
        Phases { joint: joint.to_owned(), stuck: spans(is_closed, &changes, (start, end)), changes: Vec::new() }
    };
    joints.map(of).filter(|phases| !phases.stuck.is_empty()).collect()
}

/// A joint or coupling with bristles, and the velocity below which it counts as stuck; `None` if the law does not say.
pub type Slow = (String, Option<f64>);

/// Joints and couplings of a scene that have bristles.
pub fn bristles(scene: &Scene) -> Vec<Slow> {
    let joints = scene.joints.iter().filter_map(|joint| Some((&joint.name[..], joint.friction.as_ref()?, &joint.load)));
    let couplings = scene.couplings.iter().filter_map(|coupling| {
        let (law, load) = coupling.friction()?;
        Some((coupling.name(), law, load))
    });
    let mut all = Vec::new();
    for (name, law, load) in joints.chain(couplings) {
        let velocity = match law.base() {
            Law::Dahl(_) => None,
            Law::LuGre(law) => law.stribeck_velocity,
            Law::LuGre2(law) => law.lugre.stribeck_velocity,
            Law::ElastoPlastic(law) => law.lugre.stribeck_velocity,
            _ => continue,
        };
        // slip is joint rate times lever
        let arm = if let Load::Pin { radius } | Load::Thrust { radius } = load { *radius } else { 1.0 };
        all.push((name.to_owned(), velocity.map(|velocity| SLOW * velocity / arm)));
    }
    all
}

/// When bristles hardly slipped, over three rows and more, with a load on them.
pub fn slow(results: &Results, t: &[f64], bristles: &[Slow]) -> Vec<Phases> {
    let mut all = Vec::new();
    for (name, velocity) in bristles {
        let Some(v) = results.channel(&format!("{name}.velocity")) else { continue };
        let load = results.channel(&format!("{name}.load"));
        let fastest = v.iter().fold(0.0_f64, |fastest, v| fastest.max(v.abs()));
        let limit = velocity.unwrap_or(SLOW_OF_FASTEST * fastest);
        let is_stuck = |k: usize| v[k].abs() <= limit && load.is_none_or(|load| load.get(k).is_some_and(|n| *n > 0.0));
        let mut phases = Phases { joint: name.clone(), stuck: Vec::new(), changes: Vec::new() };
        let mut since = None;
        for k in 0..=v.len().min(t.len()) {
            match (since, k < v.len().min(t.len()) && is_stuck(k)) {
                (None, true) => since = Some(k),
                (Some(first), false) => {
                    if k - first >= 3 {
                        phases.stuck.push((t[first], t[k - 1]));
                    }
                    since = None;
                }
                _ => {}
            }
        }
        all.push(phases);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultEvent;

    fn event(t: f64, joint: &str, from: i8, to: i8) -> ResultEvent {
        ResultEvent { t, joint: joint.into(), from, to, event: EventKind::Mode }
    }

    #[test]
    fn stops_are_closed_from_impact_to_release() {
        let t: Vec<f64> = (0..6).map(f64::from).collect();
        let columns =
            vec![t.clone(), vec![0.0, 0.0, 0.0, 2.0, 2.0, 0.0], vec![3.0; 6], vec![3.0, 0.0, 0.0, 0.0, 1.0, 1.0]];
        let mut results = Results {
            names: ["t", "a.stop", "b.stop", "c.stop"].map(String::from).to_vec(),
            columns,
            events: Vec::new(),
        };
        let stop = |t: f64, to: i8, event: EventKind| ResultEvent { event, ..self::event(t, "a", -1, to) };
        // without events the rows have to do
        let spans =
            |results: &Results| contacts(results, &t).into_iter().map(|c| (c.joint, c.stuck)).collect::<Vec<_>>();
        let rest = [("b".to_owned(), vec![(0.0, 5.0)]), ("c".to_owned(), vec![(0.0, 1.0), (4.0, 5.0)])];
        assert_eq!(spans(&results), [vec![("a".to_owned(), vec![(3.0, 5.0)])], rest.to_vec()].concat());
        // a rebound, the end of the bounces, a release
        results.events =
            vec![stop(1.5, 1, EventKind::Stop), stop(2.5, 0, EventKind::Stop), stop(4.5, 1, EventKind::Open)];
        assert_eq!(spans(&results)[0], ("a".to_owned(), vec![(2.5, 4.5)]));
        // joints without friction count as stuck there
        assert!(phases(&results, &t).iter().any(|phases| phases.joint == "b" && phases.stuck == [(0.0, 5.0)]));
    }

    #[test]
    fn slow_bristles_count_as_stuck() {
        let text = r#"Scene(links: [Link(name: "a", mass: 1.0)], joints: [Joint(name: "j", parent: "world", child: "a",
            kind: Revolute(axis: (0, 0, 1)), load: Pin(radius: 0.1),
            friction: LuGre(sigma0: 1e5, sigma1: 300, coulomb: 1, stiction: 1.5, stribeck_velocity: 0.01))])"#;
        let bristles = bristles(&Scene::parse(text, "pin").unwrap());
        // a hundredth of 0.01 m/s at 0.1 m
        assert_eq!(bristles, [("j".to_owned(), Some(1e-3))]);
        let t: Vec<f64> = (0..12).map(f64::from).collect();
        let v = vec![0.0, 5e-4, 0.0, 0.5, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let load = vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let names = ["j.velocity", "j.load"].map(String::from).to_vec();
        let results = Results { names, columns: vec![v, load], events: Vec::new() };
        // one row alone is a turn; without load there is nothing to be stuck to
        assert_eq!(slow(&results, &t, &bristles)[0].stuck, [(0.0, 2.0), (8.0, 11.0)]);
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
}
