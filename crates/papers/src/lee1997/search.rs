//! A double pendulum that satisfies the sentence on figure 5: joint 2 sticks 0.7 s into the simulation and is free
//! again 0.1 s later.
//!
//! The print gives no parameters. With masses of 1 and 0.5 kg and μ = 0.4 and 0.6 fixed, lengths, starting angles and
//! radii of the pins are searched: random draws over the ranges below, then random steps about the best that shrink
//! whenever many in a row are no better. The random numbers are always the same, so the search always ends at the same
//! pendulum.
//!
//! ```text
//! J = |t_stick − 0.7| + |t_free − t_stick − 0.1|,    of the first time that the elbow sticks
//! ```

use super::super::experiment::Experiment;
use super::super::random::Random;
use super::{DOUBLE, stuck};
use bristle::Error;
use rayon::prelude::*;

/// Parameters of the search: upper and lower length, m; θ₀, β₀, rad; radii of the pins, m.
pub type Parameters = [f64; 6];
pub const NAMES: [&str; 6] =
    ["upper length, m", "lower length, m", "θ₀, rad", "β₀, rad", "radius of pin 1, mm", "radius of pin 2, mm"];
const LOW: Parameters = [0.2, 0.2, 0.3, -1.5, 2e-3, 10e-3];
const HIGH: Parameters = [1.0, 1.0, 1.57, 1.5, 40e-3, 100e-3];

/// Times of the sentence, s.
pub const STICKS: f64 = 0.7;
pub const STAYS: f64 = 0.1;

/// Time that a candidate is run for, and that the figure shows, s.
const LOOK: f64 = 1.2;
pub const PLOTTED: f64 = 3.0;

/// A pendulum that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub parameters: Parameters,
    /// Times at which the elbow first sticks and breaks away, s.
    pub span: (f64, f64),
    /// J
    pub off: f64,
    /// Number of pendulums that were tried.
    pub tried: usize,
}

/// The double pendulum with these parameters. Links are slender rods.
pub fn pendulum(&[upper, lower, theta, beta, r1, r2]: &Parameters) -> Experiment {
    let rod = |mass: f64, length: f64| {
        let j = mass * length * length / 12.0;
        format!("Diagonal({j:?}, 0.0, {j:?})")
    };
    let at = |y: f64| format!("(0.0, {y:?}, 0.0)");
    Experiment::new(DOUBLE)
        .set("links.upper.center_of_mass", at(-0.5 * upper))
        .set("links.lower.center_of_mass", at(-0.5 * lower))
        .set("links.upper.inertia", rod(1.0, upper))
        .set("links.lower.inertia", rod(0.5, lower))
        .set("joints.elbow.placement.translation", at(-upper))
        .number("joints.shoulder.position", theta)
        .number("joints.elbow.position", beta)
        .number("joints.shoulder.load.radius", r1)
        .number("joints.elbow.load.radius", r2)
}

/// Times at which the elbow first sticks and breaks away, and J.
fn judge(parameters: &Parameters) -> Result<((f64, f64), f64), Error> {
    let run = pendulum(parameters).number("duration", LOOK).tolerance("Dopri5", 1e-7, 1e-9).every(LOOK);
    let found = run.keep(&["elbow.position"]).run()?;
    let first = stuck(&found, "elbow").into_iter().find(|span| span.0 > 0.0);
    let span = first.unwrap_or((f64::INFINITY, f64::INFINITY));
    let off = (span.0 - STICKS).abs() + (span.1 - span.0 - STAYS).abs();
    Ok((span, if off.is_finite() && found.failure.is_none() { off } else { f64::INFINITY }))
}

/// The search.
pub fn search(draws: usize, rounds: usize) -> Result<Found, Error> {
    let mut random = Random::new(1997);
    let draw =
        |random: &mut Random| -> Parameters { std::array::from_fn(|k| LOW[k] + (HIGH[k] - LOW[k]) * random.next()) };
    let drawn: Vec<Parameters> = (0..draws).map(|_| draw(&mut random)).collect();
    let best = |tried: Vec<Parameters>, before: Option<Found>| -> Result<Option<Found>, Error> {
        let judged = tried.par_iter().map(|p| Ok((*p, judge(p)?))).collect::<Result<Vec<_>, Error>>()?;
        let n = before.map_or(0, |found| found.tried) + judged.len();
        // the first of the best: the order of threads does not matter
        let candidates = judged.into_iter().map(|(parameters, (span, off))| Found { parameters, span, off, tried: n });
        let all = before.into_iter().map(|found| Found { tried: n, ..found }).chain(candidates);
        Ok(all.min_by(|a, b| a.off.total_cmp(&b.off)))
    };
    let nothing = || Error::Unsupported { name: "search".into(), what: "no pendulum was tried".into() };
    let mut found = best(drawn, None)?.ok_or_else(nothing)?;
    let mut reach = 0.1;
    for _ in 0..rounds {
        let tried = (0..24).map(|_| {
            let step = |k: usize, r: f64| (HIGH[k] - LOW[k]) * reach * (2.0 * r - 1.0);
            std::array::from_fn(|k| (found.parameters[k] + step(k, random.next())).clamp(LOW[k], HIGH[k]))
        });
        let next = best(tried.collect(), Some(found))?.ok_or_else(nothing)?;
        if next.off == found.off {
            reach *= 0.6;
        }
        found = next;
        // a tenth of the last digit of the sentence is accurate enough
        if found.off < 1e-3 {
            break;
        }
    }
    Ok(found)
}
