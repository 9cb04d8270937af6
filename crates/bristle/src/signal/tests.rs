use super::*;
use approx::{assert_abs_diff_eq, assert_relative_eq};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::f64::consts::PI;

fn read(text: &str) -> Result<Signal, ron::error::SpannedError> {
    ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME).from_str(text)
}

fn sine(amplitude: f64, frequency: f64, phase: f64) -> Signal {
    Signal::Sine { amplitude, frequency, phase, offset: 0.0 }
}

/// All corners up to `until`.
fn corners(signal: &Signal, until: f64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut t = 0.0;
    while let Some(next) = signal.next_corner(t) {
        assert!(next > t, "{signal:?}: corner {next} after {t}");
        if next > until {
            break;
        }
        times.push(next);
        t = next;
    }
    times
}

#[test]
fn signals_read_as_the_design_spells_them() {
    assert_eq!(read("Constant(2.5)").unwrap(), Signal::Constant(2.5));
    assert_eq!(read("Ramp(rate: 0.4)").unwrap(), Signal::Ramp { rate: 0.4, start: 0.0 });
    assert_eq!(
        read("Sine(amplitude: 0.2, frequency: 1.0)").unwrap(),
        Signal::Sine { amplitude: 0.2, frequency: 1.0, phase: 0.0, offset: 0.0 }
    );
    assert_eq!(read("Table([(0, 1), (2.0, 3.0)])").unwrap(), Signal::Table(vec![(0.0, 1.0), (2.0, 3.0)]));
    assert_eq!(read("Steps([(0.0, 0.0), (0.5, 1.0)])").unwrap(), Signal::Steps(vec![(0.0, 0.0), (0.5, 1.0)]));
    let nested =
        read("Piecewise([(0.0, Ramp(rate: 0.4)), (3.0, Sum([Constant(1.0), Sine(amplitude: 1.0)]))])").unwrap();
    assert_eq!(
        nested,
        Signal::Piecewise(vec![
            (0.0, Signal::Ramp { rate: 0.4, start: 0.0 }),
            (3.0, Signal::Sum(vec![Signal::Constant(1.0), sine(1.0, 0.0, 0.0)]))
        ])
    );
    assert_eq!(read(&ron::to_string(&nested).unwrap()).unwrap(), nested);
    assert!(read("Sine(amplitude: 0.2, omega: 1.0)").unwrap_err().to_string().contains("omega"));
    assert!(read("Square(amplitude: 0.2)").is_err());
}

#[test]
fn values_on_both_sides_of_corners_and_jumps() {
    let ramp = Signal::Ramp { rate: 2.0, start: 1.0 };
    assert_eq!((ramp.value(0.5), ramp.value(1.0), ramp.value(2.5)), (0.0, 0.0, 3.0));
    assert_eq!((ramp.derivative(1.0), ramp.sample(1.0, Piece::Before(1.0)).derivative), (2.0, 0.0));

    let table = Signal::Table(vec![(1.0, 1.0), (2.0, 3.0), (4.0, 3.0), (5.0, 0.0)]);
    for (t, value) in [(0.0, 1.0), (1.0, 1.0), (1.5, 2.0), (2.0, 3.0), (3.0, 3.0), (4.5, 1.5), (9.0, 0.0)] {
        assert_eq!(table.value(t), value);
        assert_eq!(table.value_before(t), value);
    }
    assert_eq!((table.derivative(1.0), table.derivative(4.0), table.derivative(5.0)), (2.0, -3.0, 0.0));

    let steps = Signal::Steps(vec![(0.5, 1.0), (1.0, -2.0)]);
    assert_eq!((steps.value(0.4), steps.value_before(0.5), steps.value(0.5)), (0.0, 0.0, 1.0));
    assert_eq!((steps.value_before(1.0), steps.value(1.0)), (1.0, -2.0));

    let parts = Signal::Piecewise(vec![(0.0, Signal::Ramp { rate: 0.4, start: 0.0 }), (3.0, Signal::Constant(0.0))]);
    assert_eq!((parts.value_before(3.0), parts.value(3.0)), (0.4 * 3.0, 0.0));
    // one piece extended across a jump, as a step that ends at the jump needs it
    assert_eq!(parts.sample(3.0, Piece::After(2.0)).value, 0.4 * 3.0);
    assert_eq!(parts.sample(5.0, Piece::After(2.0)).value, 2.0);
    assert_eq!(parts.value(-1.0), 0.0);
}

/// A random signal, nested up to two deep.
fn random_signal(rng: &mut Pcg64, depth: u32) -> Signal {
    let mut number = |low: f64, high: f64| rng.random_range(low..high);
    let points = |rng: &mut Pcg64| {
        let mut t = rng.random_range(-1.0..1.0);
        (0..4)
            .map(|_| {
                t += rng.random_range(0.1..2.0);
                (t, rng.random_range(-2.0..2.0))
            })
            .collect::<Vec<_>>()
    };
    match number(0.0, if depth == 0 { 5.0 } else { 7.0 }) as u32 {
        0 => Signal::Constant(number(-2.0, 2.0)),
        1 => Signal::Ramp { rate: number(-1.0, 1.0), start: number(-1.0, 3.0) },
        2 => Signal::Sine {
            amplitude: number(-2.0, 2.0),
            frequency: number(-8.0, 8.0),
            phase: number(-7.0, 7.0),
            offset: number(-1.0, 1.0),
        },
        3 => Signal::Table(points(rng)),
        4 => Signal::Steps(points(rng)),
        5 => Signal::Piecewise(points(rng).iter().map(|p| (p.0, random_signal(rng, depth - 1))).collect()),
        _ => Signal::Sum((0..3).map(|_| random_signal(rng, depth - 1)).collect()),
    }
}

#[test]
fn derivatives_match_differences_of_one_piece() {
    let mut rng = Pcg64::seed_from_u64(1);
    for _ in 0..2000 {
        let signal = random_signal(&mut rng, 2);
        let t = rng.random_range(-1.0..8.0);
        let piece = Piece::After(t);
        let (h, at) = (1e-4, signal.sample(t, piece));
        let (down, up) = (signal.sample(t - h, piece), signal.sample(t + h, piece));
        assert_abs_diff_eq!(at.derivative, (up.value - down.value) / (2.0 * h), epsilon = 2e-5);
        assert_abs_diff_eq!(at.second_derivative, (up.derivative - down.derivative) / (2.0 * h), epsilon = 2e-4);
    }
}

#[test]
fn between_corners_signals_are_smooth_and_monotone() {
    let mut rng = Pcg64::seed_from_u64(2);
    for _ in 0..300 {
        let signal = random_signal(&mut rng, 2);
        let mut from = 0.0;
        for to in corners(&signal, 8.0).into_iter().chain([8.0]) {
            let piece = Piece::After(from);
            // no jump inside: the piece after `from` is the signal up to `to`
            let samples: Vec<f64> = (0..=50).map(|i| from + (to - from) * f64::from(i) / 50.0).collect();
            for &t in &samples[..50] {
                assert_eq!(signal.value(t), signal.sample(t, piece).value, "{signal:?} at {t}");
            }
            assert_eq!(signal.value_before(to), signal.sample(to, piece).value);
            // no extremum inside: values lie between those at the ends, up to the accepted ripple of sums (nine
            // sines of up to 2)
            let (a, b) = (signal.value(from), signal.value_before(to));
            for &t in &samples {
                let value = signal.sample(t, piece).value;
                assert!(value >= a.min(b) - 4e-5 && value <= a.max(b) + 4e-5, "{signal:?} between {from} and {to}");
            }
            from = to;
        }
    }
}

#[test]
fn extrema_of_a_sine_are_its_corners() {
    let times = corners(&sine(0.3, 2.0, 0.5), 10.0);
    assert_eq!(times.len(), 7);
    for (k, t) in times.iter().enumerate() {
        assert_relative_eq!(*t, (PI / 2.0 + PI * k as f64 - 0.5) / 2.0, max_relative = 1e-15);
    }
    assert_eq!(corners(&sine(0.3, -2.0, -0.5), 10.0), times);
    assert_eq!(corners(&sine(0.0, 2.0, 0.0), 10.0), [0.0; 0]);
    assert_eq!(corners(&sine(1.0, 0.0, 0.3), 10.0), [0.0; 0]);
}

#[test]
fn the_extremum_of_a_ramp_and_a_sine_is_found_exactly() {
    // d/dt (sin 3t + t) = 0 at cos 3t = −1/3
    let sum = Signal::Sum(vec![sine(1.0, 3.0, 0.0), Signal::Ramp { rate: 1.0, start: 0.0 }]);
    let first = f64::acos(-1.0 / 3.0) / 3.0;
    let second = (2.0 * PI - f64::acos(-1.0 / 3.0)) / 3.0;
    let times = corners(&sum, 2.0 * PI / 3.0 - 1e-3);
    for extremum in [first, second] {
        assert!(times.iter().any(|t| (t - extremum).abs() < 1e-14), "{extremum} not among {times:?}");
    }
    // quarter periods and two extrema, nothing else
    assert_eq!(times.len(), 5);
}

#[test]
fn extrema_of_random_sums_of_sines_are_found() {
    let mut rng = Pcg64::seed_from_u64(3);
    for _ in 0..100 {
        let waves: Vec<Signal> = (0..3)
            .map(|_| sine(rng.random_range(0.2..1.0), rng.random_range(0.5..9.0), rng.random_range(-3.0..3.0)))
            .collect();
        let sum = Signal::Sum(waves);
        let times = corners(&sum, 10.0);
        // on a fine grid, no value lies outside those at the two corners around it, up to the ripple of the header
        let mut k = 0;
        for i in 0..20_000 {
            let t = 5e-4 * f64::from(i);
            while k < times.len() && times[k] <= t {
                k += 1;
            }
            let (Some(&to), Some(from)) = (times.get(k), if k == 0 { Some(0.0) } else { times.get(k - 1).copied() })
            else {
                continue;
            };
            let (f, a, b) = (sum.value(t), sum.value(from), sum.value(to));
            assert!(f >= a.min(b) - 6e-6 && f <= a.max(b) + 6e-6, "{sum:?}: extremum near {t} missed");
        }
    }
}

#[test]
fn a_clamped_signal_has_corners_where_it_is_cut() {
    // the first clutch of BENCHMARKS M01: cos(0.4 π t), open from 1.25 s, loaded again from 3.75 s
    let force = sine(1.0, 0.4 * PI, PI / 2.0);
    let mut t = 0.0;
    let mut times = Vec::new();
    while times.len() < 4 {
        t = force.next_corner_clamped(t).unwrap();
        times.push(t);
    }
    for (t, expected) in times.iter().zip([1.25, 2.5, 3.75, 5.0]) {
        assert_abs_diff_eq!(*t, expected, epsilon = 1e-14);
    }
    assert_eq!(force.sample_clamped(2.0, Piece::After(2.0)), Sample::default());
    // linear signals without end are clamped, too
    let ramp = Signal::Ramp { rate: 0.25, start: 1.0 };
    assert_eq!(ramp.next_corner_clamped(0.0), Some(1.0));
    assert_eq!(ramp.next_corner_clamped(1.0), Some(5.0));
    assert_eq!(ramp.next_corner_clamped(5.0), None);
    assert_eq!(ramp.sample_clamped(9.0, Piece::After(9.0)).value, 1.0);
}

#[test]
fn unusable_signals_are_refused_with_their_place() {
    let found = read("Sum([Constant(1.0), Piecewise([(0.0, Table([(1.0, 0.0), (1.0, 2.0)]))]), Sine(amplitude: inf)])")
        .unwrap()
        .validate();
    let paths: Vec<&str> = found.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["Sum[1].Piecewise[0].Table[1]", "Sum[2].Sine.amplitude"]);
    assert!(found[0].reason.contains("later than 1"));
    for empty in ["Table([])", "Steps([])", "Piecewise([])", "Sum([])"] {
        assert_eq!(read(empty).unwrap().validate().len(), 1, "{empty}");
    }
    assert!(read("Ramp(rate: -1.0, start: -3.0)").unwrap().validate().is_empty());
}

/// A dither late in a run: at ωt of 1e7 … 1e17 corners follow one another without repetition, and none is lost
/// while time resolves them.
#[test]
fn corners_of_sums_advance_at_any_time() {
    let mut rng = Pcg64::seed_from_u64(4);
    for _ in 0..300 {
        let frequency = 10_f64.powf(rng.random_range(0.0..6.0));
        let start = 10_f64.powf(rng.random_range(0.0..11.0));
        let terms = vec![
            sine(rng.random_range(0.1..2.0), frequency, rng.random_range(-7.0..7.0)),
            Signal::Constant(rng.random_range(-1.0..1.0)),
        ];
        let sum = Signal::Sum(if rng.random() {
            terms
        } else {
            [terms, vec![sine(0.5, frequency * rng.random_range(0.1..3.0), 0.0)]].concat()
        });
        let (mut t, quarter) = (start, 0.5 * PI / frequency);
        let mut n = 0;
        while let Some(next) = sum.next_corner(t).filter(|t| *t < start + 20.0 * quarter) {
            assert!(next > t, "{sum:?}: {next} after {t}");
            (t, n) = (next, n + 1);
            assert!(n <= 300, "{sum:?} from {start}: corners crowd at {t}");
        }
        if frequency * start < 1e13 {
            assert!(n >= 19, "{sum:?} from {start}: {n} corners");
        }
    }
    // scenes that made no progress in the past
    for (frequency, start) in [(62832.0, 500.0), (1000.0, 1e5)] {
        let sum = Signal::Sum(vec![sine(1.0, frequency, 0.3), Signal::Constant(0.5)]);
        let (mut t, mut n) = (start, 0);
        while let Some(next) = sum.next_corner(t).filter(|t| *t < start + 2.0 * PI / frequency * 100.0) {
            (t, n) = (next, n + 1);
        }
        // four quarters in each period, and no corner twice
        assert!((399..=401).contains(&n), "{n}");
    }
}

#[test]
fn unusable_signals_still_answer() {
    // signals that `validate` refuses must not hang or panic either
    for odd in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300, 5e-324] {
        let sum = Signal::Sum(vec![
            Signal::Sine { amplitude: odd, frequency: odd, phase: odd, offset: odd },
            sine(1.0, 3.0, 0.0),
            sine(1.0, odd, 0.0),
            Signal::Table(vec![(odd, odd), (0.0, odd)]),
            Signal::Piecewise(vec![(odd, Signal::Ramp { rate: odd, start: odd }), (0.0, Signal::Sum(vec![]))]),
        ]);
        for t in [odd, 0.0, 1e18] {
            let _ = (sum.value(t), sum.value_before(t), sum.next_corner(t), sum.next_corner_clamped(t));
        }
    }
}
