//! Roots of functions of one variable, in number, order and direction.

use super::*;
use std::convert::Infallible;

/// Searches one function on [0, h].
fn search(h: f64, samples: usize, direction: Direction, f: impl Fn(f64) -> f64) -> (Vec<Crossing>, usize) {
    let mut locator = Locator::new(1, samples);
    locator.start_values(1)[0] = f(0.0);
    locator.begin();
    locator.set_direction(0, direction);
    let mut n = 0;
    let found = locator.search(h, 1e-15, 1e-14, |s, g| {
        n += 1;
        g[0] = f(s);
        Ok::<(), Infallible>(())
    });
    (found.unwrap().to_vec(), n)
}

#[test]
fn root_is_bracketed_to_resolution() {
    // cos x = x at 0.739085133215160641655…
    let (found, n) = search(1.0, 4, Direction::Any, |s| s - s.cos());
    assert_eq!(found.len(), 1);
    assert!(found[0].rising && found[0].after > found[0].before);
    assert!(found[0].after - found[0].before <= 1.0e-15);
    assert!((found[0].after - 0.739_085_133_215_160_6).abs() < 3e-15, "{:?}", found[0]);
    assert!(n <= 4 + 10, "{n} evaluations");
}

#[test]
fn hard_functions_are_bracketed_too() {
    // a triple root, a step, a pole-like slope: no interpolation helps, bisection must
    for f in [|s: f64| (s - 0.3).powi(3), |s: f64| if s < 0.3 { -1.0 } else { 1.0 }, |s: f64| (s - 0.3).cbrt()] {
        let (found, n) = search(1.0, 4, Direction::Any, f);
        assert_eq!(found.len(), 1);
        assert!((found[0].after - 0.3).abs() < 1e-14, "{:?}", found[0]);
        assert!(n < 130, "{n} evaluations");
    }
}

#[test]
fn direction_is_respected() {
    let sine = |s: f64| (std::f64::consts::PI * (s + 0.5)).sin(); // falls at 0.5, rises at 1.5
    assert!((search(2.0, 8, Direction::Any, sine).0[0].after - 0.5).abs() < 1e-14);
    assert!((search(2.0, 8, Direction::Falling, sine).0[0].after - 0.5).abs() < 1e-14);
    assert!((search(2.0, 8, Direction::Rising, sine).0[0].after - 1.5).abs() < 1e-14);
    assert!(search(1.0, 8, Direction::Rising, sine).0.is_empty());
}

#[test]
fn smooth_dip_between_samples_is_found() {
    // roots 0.55 and 0.57 between the samples 0.5 and 0.75: no sample sees a sign change
    let dip = |s: f64| (s - 0.55) * (s - 0.57);
    assert!((search(1.0, 4, Direction::Any, dip).0[0].after - 0.55).abs() < 1e-14);
    assert!((search(1.0, 4, Direction::Rising, dip).0[0].after - 0.57).abs() < 1e-14);
    // a dip that stays clear of zero is not an event
    assert!(search(1.0, 4, Direction::Any, |s| (s - 0.56) * (s - 0.56) + 1e-6).0.is_empty());
    // nor is one that touches it
    assert!(search(1.0, 4, Direction::Any, |s| (s - 0.56) * (s - 0.56)).0.is_empty());
}

#[test]
fn sharp_dip_between_samples_is_found() {
    // |s − bottom| of two steepnesses, 0.01 below zero at the bottom: at most 0.02 wide, samples 0.25 apart
    for bottom in [0.1, 0.3, 0.37, 0.55, 0.62, 0.7, 0.9] {
        for steepness in [1.0, 3.0] {
            let valley = |s: f64| {
                let w = s - bottom;
                (if w < 0.0 { -w } else { steepness * w }) - 0.01 + 0.02 * w * w
            };
            let (found, n) = search(1.0, 4, Direction::Falling, valley);
            assert_eq!(found.len(), 1, "{bottom}");
            assert!(n < 30, "{n}");
            // the same above zero is no event
            let clear = search(1.0, 4, Direction::Falling, |s| valley(s) + 0.02);
            assert!(clear.0.is_empty() && clear.1 < 16, "{}", clear.1);
        }
    }
}

#[test]
fn earlier_dip_comes_first() {
    // both in the first of four intervals: roots 0.04 and 0.22 of the dip, 0.08 of the other
    let mut locator = Locator::new(2, 4);
    let f = |s: f64| [0.08 - s, (s - 0.04) * (s - 0.22)];
    for i in 0..2 {
        locator.set_direction(i, Direction::Falling);
    }
    locator.start_values(2).copy_from_slice(&f(0.0));
    locator.begin();
    let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
        g.copy_from_slice(&f(s));
        Ok::<(), Infallible>(())
    });
    let found = found.unwrap();
    assert_eq!(found.iter().map(|crossing| crossing.index).collect::<Vec<_>>(), [1]);
    assert!((found[0].after - 0.04).abs() < 1e-14);
}

#[test]
fn only_first_roots_are_bracketed() {
    // roots 0.26 to 0.74 in mixed order; one root takes some ten evaluations
    let mut locator = Locator::new(97, 4);
    let root = |i: usize| 0.26 + 0.005 * ((96 - i) * 40 % 97) as f64;
    let f = |s: f64, i: usize| (root(i) - s) * (1.0 + s);
    locator.start_values(97).iter_mut().enumerate().for_each(|(i, g)| *g = f(0.0, i));
    locator.begin();
    let mut evaluations = 0;
    let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
        evaluations += 1;
        g.iter_mut().enumerate().for_each(|(i, g)| *g = f(s, i));
        Ok::<(), Infallible>(())
    });
    let found = found.unwrap();
    assert_eq!(found.iter().map(|crossing| crossing.index).collect::<Vec<_>>(), [96]);
    assert!((found[0].after - 0.26).abs() < 1e-14);
    assert!(evaluations < 100, "{evaluations}");
}

#[test]
fn start_at_zero_fires_on_return() {
    let (found, _) = search(1.0, 4, Direction::Any, |s| s * (0.6 - s));
    assert_eq!(found.len(), 1);
    assert!((found[0].after - 0.6).abs() < 1e-14 && !found[0].rising);
    assert!(search(1.0, 4, Direction::Any, |s| s).0.is_empty());
    assert!(search(1.0, 4, Direction::Any, |_| 0.0).0.is_empty());
}

#[test]
fn start_at_zero_with_early_return_fires() {
    for back in [0.1, 1e-3, 1e-5, 1e-7] {
        let (found, _) = search(1.0, 4, Direction::Falling, |s| s * (back - s));
        assert_eq!(found.len(), 1, "{back}");
        assert!((found[0].after - back).abs() < 1e-14);
    }
}

#[test]
fn start_past_a_root_fires_on_return() {
    // a bouncing ball: below the ground by round-off, up at once, down again long before the first sample
    for back in [0.1, 1e-3, 1e-5, 1e-7] {
        let ball = |s: f64| s * (back - s) - 1e-20;
        let (falling, _) = search(1.0, 4, Direction::Falling, ball);
        assert_eq!(falling.len(), 1, "{back}");
        assert!((falling[0].after - back).abs() < 1e-10 && !falling[0].rising);
        let (any, _) = search(1.0, 4, Direction::Any, ball);
        assert!(any.len() == 1 && any[0].rising && any[0].after < 1e-10, "{back}: {any:?}");
    }
    // round-off of either sign around the start is not an event, nor is going on
    let rough = |s: f64| if s < 1e-3 { 5e-18 - 1e-17 * (1e9 * s).cos() } else { -s };
    assert!(search(1.0, 4, Direction::Any, rough).0.is_empty());
    assert!(search(1.0, 4, Direction::Any, |s| -s - 1e-18).0.is_empty());
}

#[test]
fn two_roots_beside_the_ends_of_a_step_are_found() {
    // no sample inside the step is nearer to zero than its end
    for (a, b) in [(0.02, 0.03), (0.1, 0.11), (0.93, 0.95), (0.89, 0.9)] {
        let dip = |s: f64| (s - a) * (s - b) * (1.0 + 0.3 * s);
        let (found, n) = search(1.0, 4, Direction::Any, dip);
        assert!(found.len() == 1 && (found[0].after - a).abs() < 1e-14, "{a} {b}: {found:?}");
        assert!(n < 30, "{n}");
    }
    // smooth functions without a dip cost nothing extra
    for smooth in [|s: f64| 1.0 + s, |s: f64| (-s).exp(), |s: f64| 2.0 - s * s, |s: f64| s * s + 1e-2] {
        assert_eq!(search(1.0, 4, Direction::Any, smooth).1, 4);
    }
}

#[test]
fn root_on_the_end_is_found_in_the_next_step() {
    let f = |s: f64| 1.0 - s;
    let mut locator = Locator::new(1, 4);
    locator.start_values(1)[0] = f(0.0);
    locator.begin();
    let g0 = |s: f64, g: &mut [f64]| {
        g[0] = f(s);
        Ok::<(), Infallible>(())
    };
    assert!(locator.search(1.0, 1e-15, 1e-14, g0).unwrap().is_empty());
    locator.advance_to_end();
    let g1 = |s: f64, g: &mut [f64]| {
        g[0] = f(1.0 + s);
        Ok::<(), Infallible>(())
    };
    let found = locator.search(1.0, 1e-15, 1e-14, g1).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].after < 1e-14);
}

#[test]
fn coincident_roots_are_reported_together() {
    let mut locator = Locator::new(3, 4);
    let f = |s: f64| [s - 0.4, 0.8 - 2.0 * s, s - 0.7];
    locator.start_values(3).copy_from_slice(&f(0.0));
    locator.begin();
    let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
        g.copy_from_slice(&f(s));
        Ok::<(), Infallible>(())
    });
    let mut indices: Vec<_> = found.unwrap().iter().map(|c| c.index).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1]);
}
