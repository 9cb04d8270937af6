//! The quick comparison compares equal errors. Times are not tested: they depend on the machine.

use super::chains::{Chain, LENGTHS, WAYS};
use super::pendulum::{Effort, Pendulum, Way, measure};
use super::table;

#[test]
fn variants_of_pendulum_have_equal_error() {
    for pendulum in Pendulum::all().unwrap() {
        let measured = measure(&pendulum, Effort { repeats: 1, ..Effort::QUICK }, &mut |_| {}).unwrap();
        assert_eq!(measured.iter().map(|m| m.way).collect::<Vec<_>>(), Way::ALL, "{}", pendulum.name);
        for m in &measured {
            println!("{} {m:?}", pendulum.name);
            assert!(m.error > Effort::QUICK.error / 1.7 && m.error < Effort::QUICK.error * 1.7, "{m:?}");
            assert!(m.steps > 10 && m.evaluations > m.steps, "{m:?}");
            let has_friction = !matches!(m.way, Way::Frictionless | Way::Crossings);
            assert_eq!(m.sweeps > 0, has_friction, "{m:?}");
            assert!(m.substitutions >= m.sweeps, "{m:?}");
        }
        let events = |way: Way| measured.iter().find(|m| m.way == way).unwrap().events;
        assert_eq!(events(Way::Frictionless), 0);
        assert!(events(Way::Crossings) >= 5);
        // the same motion
        assert_eq!(events(Way::Jerk), events(Way::Implicit));
        assert_eq!(events(Way::Residual), events(Way::Implicit));

        let text = table::text(&pendulum, &measured);
        assert_eq!(text.lines().count(), 4 + Way::ALL.len());
        assert_eq!(text.contains("| 3.33 |") && text.contains("| 13.18 |"), pendulum.n_links() == 1, "{text}");
    }
}

#[test]
fn chains_of_all_lengths_are_evaluated() {
    for way in WAYS {
        for n in LENGTHS {
            assert!(Chain::new(n, way).unwrap().evaluate().is_finite(), "{n} {way:?}");
        }
    }
}

#[test]
fn bounded_slider_is_not_yet_right() {
    use super::slider::{END, bounded};
    // first order: half the step, half the error
    let [coarse, fine] = [1e-3, 5e-4].map(|h| bounded("RealTime", h).unwrap() - END);
    assert!(fine.abs() < 1e-3 && (coarse / fine - 2.0).abs() < 0.3, "{coarse:e} {fine:e}");
    // beyond its limit of stability by far
    assert_eq!(bounded("Rk4", 1e-2), None);
    // bristles implicit, the rest explicit: bounded, but at another position
    assert!((bounded("MixedEuler", 0.2).unwrap() - END).abs() > END / 38.0);
}
