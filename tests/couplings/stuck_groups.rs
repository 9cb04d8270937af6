//! Rigid groups of shafts locked by several clutches and brakes.

use super::*;

/// Shafts with dry friction, a gear, a clutch and two brakes that form one rigid group, under 9 sin 3t N·m on the
/// first.
fn held_many_times() -> String {
    let first = "drive: Effort(Sine(amplitude: 9.0, frequency: 3.0)), friction: Coulomb(coulomb: 1.0)";
    let second = "friction: Coulomb(coulomb: 0.5, stiction: 0.7)";
    let couplings = "couplings: [Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: -1.6), \
             Clutch(name: \"k\", joints: (\"j1\", \"j3\"), friction: Coulomb(coulomb: 2.0)), \
             Brake(name: \"b3\", joint: \"j3\", friction: Coulomb(coulomb: 1.5)), \
             Brake(name: \"b2\", joint: \"j2\", friction: Coulomb(coulomb: 0.9))]";
    format!("{}, {couplings}", inertias(&[0.5, 0.7, 0.4], &[first, second, ""]))
}

#[test]
fn group_sticks_until_all_are_at_limits() {
    // 1 at the first shaft, (0.7 + 0.9)/1.6 through the gear, 1.5 through the clutch: 3.5 N·m, static levels throughout
    let expected = (3.5_f64 / 9.0).asin() / 3.0;
    for (method, control, near) in
        [("Dopri5", TIGHT, 1e-9), ("Radau5", TIGHT, 1e-9), ("RealTime", "Constant(step: 1e-4)", 2e-4)]
    {
        let recording = simulation(&held_many_times(), method, control).run_until(0.2).unwrap();
        let first: Vec<_> = recording.events().iter().take(4).collect();
        for event in &first {
            assert_near(method, event.t, expected, near);
        }
        let mut names: Vec<&str> = first.iter().map(|event| event.joint.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["b2", "b3", "j1", "j2"], "{method}");
        // until then no contact exceeds its limit, and together they carry the load
        let at = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
        let (t, efforts) = (at("t"), ["j1", "j2", "b2", "b3", "k"].map(|name| at(&format!("{name}.friction"))));
        // the forces of a fixed step are those of its middle
        let early = if method == "RealTime" { 0.5e-4 } else { 0.0 };
        for k in (0..t.len()).filter(|&k| t[k] < expected - 1e-3) {
            let f = efforts.each_ref().map(|effort| effort[k]);
            let limits = [1.0, 0.7, 0.9, 1.5, 2.0];
            assert!(f.iter().zip(limits).all(|(f, limit)| f.abs() <= limit * (1.0 + 1e-9)), "{method} {f:?}");
            assert_near("sum", f[0] - (f[1] + f[2]) / 1.6 + f[3], 9.0 * (3.0 * (t[k] - early).max(0.0)).sin(), 1e-9);
            assert_near("clutch", f[3], f[4], 1e-9);
        }
    }
}

#[test]
fn weak_clutch_sticks_with_strong_ones() {
    // a ring of four shafts; a: 1.5 sliding and 2.5 static, parallel to a chain with a limit of 7
    let clutch = |name: &str, a: u32, b: u32, friction: &str| {
        format!("Clutch(name: \"{name}\", joints: (\"j{a}\", \"j{b}\"), friction: Coulomb({friction})), ")
    };
    let couplings = clutch("p", 1, 2, "coulomb: 8.0")
        + &clutch("q", 2, 3, "coulomb: 7.0")
        + &clutch("r", 3, 4, "coulomb: 9.0")
        + &clutch("weak", 1, 4, "coulomb: 1.5, stiction: 2.5");
    let joints = ["drive: Effort(Sine(amplitude: 30.0, frequency: 2.0))", "", "", "damping: 3.0"];
    let fields = format!("{}, couplings: [{couplings}]", inertias(&[0.5, 0.3, 0.3, 1.5], &joints));
    let run = |method: &str, control: &str| simulation(&fields, method, control).run_until(3.0).unwrap();
    let tight = run("Dopri5", TIGHT);
    let off = [2e-4, 5e-5].map(|h| {
        let found = run("RealTime", &format!("Constant(step: {h:?})"));
        let ends = ["j1", "j2", "j3", "j4"].map(|joint| {
            let last = |recording: &Recording| recording.last(&format!("{joint}.position")).unwrap();
            (last(&found) - last(&tight)).abs()
        });
        ends.into_iter().fold(0.0, f64::max)
    });
    assert!(off[0] < 1e-3 && off[0] / off[1] > 3.0, "{off:?}");
    // stuck contacts have slip 0.0 in both
    let slips = tight.channel("q.velocity").unwrap().zip(tight.channel("q.mode").unwrap());
    assert!(slips.filter(|slip| slip.1 == 0.0).all(|slip| slip.0 == 0.0));
}

#[test]
fn open_contact_is_free_at_rest() {
    let brake = |signal: &str| {
        format!(
            "couplings: [Brake(name: \"k\", joint: \"j1\", friction: Coulomb(coulomb: 1.0), \
             load: Signal(max: 1.0, signal: {signal}))]"
        )
    };
    let pushed = ["drive: Effort(Ramp(rate: 1.0))"];
    let load = "friction: Coulomb(coulomb: 1.0), load: Signal(max: 1.0, signal: Ramp(rate: 0.1))";
    let viscous = "drive: Effort(Ramp(rate: 1.0, start: 1.0)), friction: Coulomb(coulomb: 0.0, viscous: 0.3)";
    let gear = "couplings: [Gear(name: \"g\", joints: (\"j2\", \"j3\"), ratio: 2.0)]";
    let clutch = "couplings: [Clutch(name: \"k\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 1.0), \
                  load: Signal(max: 2.0, signal: Steps([(0.0, 1.0), (0.5, 0.0)])))]";
    let coasting = ["velocity: 3.0, drive: Effort(Ramp(rate: 1.0, start: 1.0))", "velocity: 3.0"];
    // after 1 s of an effort that grows from 0, with 0.3 of viscous friction: (e^(−0.3) − 1)/0.09 + 1/0.3
    let slowed = ((-0.3_f64).exp() - 1.0) / 0.09 + 1.0 / 0.3;
    let cases = [
        ("open brake", format!("{}, {}", inertias(&[1.0], &pushed), brake("Constant(0.0)")), vec![2.0]),
        (
            "brake that closes too slowly",
            format!("{}, {}", inertias(&[1.0], &pushed), brake("Ramp(rate: 0.1)")),
            vec![1.8],
        ),
        ("the same in a joint", inertias(&[1.0], &[&format!("{}, {load}", pushed[0])]), vec![1.8]),
        ("no dry friction", format!("{}, {gear}", inertias(&[1.0; 3], &[viscous, "", ""])), vec![slowed]),
        ("clutch that opens", format!("{}, {clutch}", inertias(&[1.0; 2], &coasting)), vec![3.5, 3.0]),
    ];
    for (what, fields, expected) in cases {
        for (method, control) in [("Dopri5", TIGHT), ("Radau5", TIGHT), ("Rk4", "Constant(step: 1e-2)")] {
            let recording = simulation(&fields, method, control).run_until(2.0).unwrap();
            for (k, expected) in expected.iter().enumerate() {
                assert_near(what, recording.last(&format!("j{}.velocity", k + 1)).unwrap(), *expected, 1e-8);
            }
        }
    }
}

#[test]
fn opening_clutch_has_one_event() {
    // 1 − t on the first shaft: it reverses at 2 s; the stuck clutch opens at 0.5 s and closes at 3 s
    let clutch = "couplings: [Clutch(name: \"k\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 1.0), \
                  load: Signal(max: 2.0, signal: Steps([(0.0, 1.0), (0.5, 0.0), (3.0, 1.0)])))]";
    let drive = "drive: Effort(Table([(0.0, 0.0), (0.5, 0.0), (0.5001, 1.0), (3.5, -2.0)]))";
    let fields = format!("{}, {clutch}, output: Output(interval: 0.1)", inertias(&[1.0; 2], &[drive, ""]));
    let recording = simulation(&fields, "Dopri5", TIGHT).run_until(3.1).unwrap();
    let events: Vec<_> =
        recording.events().iter().map(|event| (event.t, event.from.direction(), event.to.direction())).collect();
    assert_eq!(events, [(0.5, 0.0, 1.0)]);
    // its mode is recorded meanwhile
    let mode: Vec<f64> = recording.channel("k.mode").unwrap().collect();
    let slip: Vec<f64> = recording.channel("k.velocity").unwrap().collect();
    assert!(slip[10] > 0.0 && slip[28] < 0.0, "{slip:?}");
    assert_eq!([mode[3], mode[10], mode[28]], [0.0, 1.0, -1.0]);
}

#[test]
fn coupled_clutches_list_mode_changes() {
    let recording = Simulation::new(&scene("coupled_clutches", &[])).unwrap().run_until(1.5).unwrap();
    let names: Vec<&str> = recording.events().iter().map(|event| event.joint.as_str()).collect();
    assert_eq!(names, ["clutch 2", "clutch 1", "clutch 1", "clutch 1", "clutch 1", "clutch 3"]);
}
