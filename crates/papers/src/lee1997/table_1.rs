//! Table 1: simulation times as ratios, each with its interval, and the claims that rest on them.
//!
//! The print gives neither the pendulums nor the machine, so ratios are compared: medians over rounds in which all
//! variants alternate, with their 95 % intervals ([`Ratio`]), for both pendulums and for single pendulums with other
//! radii, coefficients and inertias. The ratios of the work, which do not depend on the machine, are beside them. A
//! printed ratio is *reproduced* where it lies in the interval of ours for both pendulums, *contradicted* where it lies
//! outside of the interval of every pendulum tried, all on the same side, and *not comparable* otherwise.

use super::super::document::{Document, count, digits};
use super::super::experiment::Experiment;
use super::super::scoreboard::Verdict;
use super::super::{Effort, Progress};
use super::{SINGLE, search};
use crate::bench::pendulum::{self, Measured, Pendulum, Ratio, Way};
use crate::bench::table;
use bristle::Error;

/// A ratio of table 1 that is a claim of the paper.
struct Claimed {
    /// In names of numbers.
    key: &'static str,
    over: (Way, Way),
    claim: &'static str,
    /// Text beside the numbers.
    remark: &'static str,
    /// Ratios of single pendulums with other parameters.
    bands: Vec<Ratio>,
}

fn claimed() -> [Claimed; 3] {
    let new = |key, over, claim, remark| Claimed { key, over, claim, remark, bands: Vec::new() };
    [
        new(
            "implicit_over_explicit",
            (Way::Implicit, Way::Jerk),
            "The implicit form takes 3.96 and 3.78 times as long as the explicit one",
            "Newton on the recursion costs a sweep or two",
        ),
        new(
            "explicit_over_frictionless",
            (Way::Jerk, Way::Frictionless),
            "The explicit form takes 8.3 and 15 times as long as no friction",
            "over a run of ours: the paper's is not known",
        ),
        new(
            "crossings_over_frictionless",
            (Way::Crossings, Way::Frictionless),
            "Locating velocity zero crossings takes 2.5 and 5.3 times as long as ignoring them",
            "the paper calls its own way fairly crude",
        ),
    ]
}

/// The measurement of a variant.
fn of(measured: &[Measured], way: Way) -> Option<&Measured> {
    measured.iter().find(|m| m.way == way)
}

/// The ratio of the times of two variants.
fn ratio(measured: &[Measured], (a, b): (Way, Way)) -> Ratio {
    let none = Ratio { median: f64::NAN, low: f64::NAN, high: f64::NAN };
    of(measured, a).zip(of(measured, b)).map_or(none, |(a, b)| Ratio::of(a, b))
}

/// The ratio that the paper prints.
fn printed(pendulum: &Pendulum, (a, b): (Way, Way)) -> f64 {
    table::paper(pendulum, a).zip(table::paper(pendulum, b)).map_or(f64::NAN, |(a, b)| a / b)
}

/// Verdicts on printed ratios: `ours` has those of the same pendulums, `bands` those of other parameters.
fn verdict(prints: &[f64], ours: &[Ratio], bands: &[Ratio]) -> Verdict {
    let holds = |print: f64, ratio: &Ratio| ratio.low <= print && print <= ratio.high;
    if prints.iter().zip(ours).all(|(&print, ratio)| holds(print, ratio)) {
        return Verdict::Reproduced;
    }
    let pairs = || prints.iter().copied().zip(ours).chain(bands.iter().map(|ratio| (prints[0], ratio)));
    let is_below = pairs().all(|(print, ratio)| ratio.high < print);
    let is_above = pairs().all(|(print, ratio)| print < ratio.low);
    if is_below || is_above { Verdict::Contradicted } else { Verdict::NotComparable }
}

/// A ratio with its interval.
fn shown(ratio: &Ratio) -> String {
    format!("{} ({} to {})", digits(ratio.median, 3), digits(ratio.low, 3), digits(ratio.high, 3))
}

/// The table, the ratios and the claims.
pub fn report(
    document: &mut Document,
    found: &search::Found,
    effort: Effort,
    progress: &Progress,
) -> Result<(), Error> {
    document.heading("Table 1: simulation times, as ratios");
    let error = match effort {
        Effort::Full => pendulum::Effort { error: 1e-7, repeats: 41 },
        Effort::Short => pendulum::Effort { repeats: 21, ..pendulum::Effort::QUICK },
    };
    document.words(format!(
        "Every row is brought to the same error, {} rad, by its tolerance, before it is timed. Then all rows take \
         turns for {} rounds; times are those of the quickest run, ratios are medians over the rounds. *Crossings \
         located* has friction of level zero, so that turning points are events as in the rows with friction. \
         *Residual* is ours: the implicit stepper `Radau5` takes the equations unsolved. Timed are the plotted runs, \
         sticking included: 8 s of the single pendulum, which sticks for good at 5.99 s, and 3 s of the double \
         pendulum of figure 5.",
        digits(error.error, 1),
        error.repeats
    ));
    let double = search::pendulum(&found.parameters).scene()?;
    let pendulums = [
        Pendulum { duration: 8.0, ..Pendulum::single()? },
        Pendulum { name: "double", scene: double, duration: search::PLOTTED },
    ];
    let mut measured = Vec::new();
    for pendulum in &pendulums {
        let rows = pendulum::measure(pendulum, error, &mut |what: &str| progress.say(&format!("lee1997: {what}")))?;
        table_of(document, pendulum, &rows);
        measured.push(rows);
    }
    let mut claims = claimed();
    bands(document, &mut claims, effort, progress)?;
    ratios(document, &claims, &pendulums, &measured);
    document.claim(
        "section 6",
        "Accelerations should be found two orders of magnitude more accurately than the integration",
        Verdict::NotAttempted,
        "taken over as the engine's default; not varied",
    );
    let work = |what: fn(&Measured) -> usize| {
        let implicit = measured.last().and_then(|rows| of(rows, Way::Implicit));
        implicit.map_or(f64::NAN, |m| what(m) as f64 / m.evaluations as f64)
    };
    document.words(format!(
        "Where the paper's implicit form costs about four times its explicit form, ours cost nearly the same. The \
         iteration here is Newton's on the recursion over the links itself: a sweep is as cheap as one of forward \
         dynamics without friction, and the start lies on the line through the last two accelerations. On the double \
         pendulum an evaluation takes {} sweeps and {} substitutions. So the explicit form has little left to save; \
         that the acceleration is a state of its own remains its advantage. The paper's advice to locate the \
         discontinuities stands; the paper calls its own way of locating them fairly crude, and locating costs less \
         here: one extra step and a restart at each, so the ratios to the pendulum with crossings located are smaller \
         than its own as well.",
        digits(work(|m| m.sweeps), 2),
        digits(work(|m| m.substitutions), 2)
    ));
    Ok(())
}

/// The three ratios, printed and ours, with their intervals and the ratios of the work, and the claims.
fn ratios(document: &mut Document, claims: &[Claimed], pendulums: &[Pendulum; 2], measured: &[Vec<Measured>]) {
    let mut rows = Vec::new();
    for claim in claims {
        let (a, b) = claim.over;
        let prints = pendulums.each_ref().map(|pendulum| printed(pendulum, claim.over));
        let ours: Vec<Ratio> = measured.iter().map(|rows| ratio(rows, claim.over)).collect();
        for (k, (pendulum, rows_of)) in pendulums.iter().zip(measured).enumerate() {
            let evaluations = of(rows_of, a)
                .zip(of(rows_of, b))
                .map_or(f64::NAN, |(a, b)| a.evaluations as f64 / b.evaluations as f64);
            rows.push(vec![
                format!("{} over {}{}", label(a), label(b)[..1].to_lowercase(), &label(b)[1..]),
                pendulum.name.into(),
                digits(prints[k], 3),
                shown(&ours[k]),
                digits(evaluations, 3),
            ]);
            document.compare(format!("{}.{}", pendulum.name, claim.key), prints[k], ours[k].median);
            document.note(format!("{}.{}.low", pendulum.name, claim.key), ours[k].low);
            document.note(format!("{}.{}.high", pendulum.name, claim.key), ours[k].high);
            document.note(format!("{}.{}.evaluations", pendulum.name, claim.key), evaluations);
        }
        let finding = format!(
            "single {}, double {}, median and 95 % interval; {}",
            shown(&ours[0]),
            shown(&ours[1]),
            claim.remark
        );
        document.claim("table 1", claim.claim, verdict(&prints, &ours, &claim.bands), finding);
    }
    document.words(
        "The ratios that the paper draws its conclusions from. Ours: median over the rounds, and the interval that \
         holds the true median with 95 % confidence; the last column is the ratio of evaluations of the equations, \
         which no machine can change. A verdict of the scoreboard is drawn from the intervals: *contradicted* where \
         the printed ratio lies outside of the intervals of both pendulums and of all of the table before, on the same \
         side.",
    );
    document.table("table1_ratios", &["ratio", "pendulum", "printed", "ours", "evaluations"], rows);
}

/// The same ratios for other pendulums than ours: the print gives neither radii nor coefficients nor inertias. (The
/// mass of a single pendulum cancels.)
fn bands(document: &mut Document, claims: &mut [Claimed], effort: Effort, progress: &Progress) -> Result<(), Error> {
    let error = match effort {
        Effort::Full => pendulum::Effort { error: 1e-6, repeats: 21 },
        Effort::Short => pendulum::Effort { repeats: 21, ..pendulum::Effort::QUICK },
    };
    let cases: [(&str, &str, [&str; 2]); 3] = [
        ("radius of the pin", "joints.hinge.load.radius", ["0.05", "0.2"]),
        ("μ_k", "joints.hinge.friction.coulomb", ["0.2", "0.6"]),
        (
            "inertia about the centre of mass",
            "links.SINGLE.inertia",
            ["Diagonal(0.0416666, 0.0, 0.0416666)", "Diagonal(0.1666666, 0.0, 0.1666666)"],
        ),
    ];
    let link = Experiment::new(SINGLE).scene()?.links.first().map(|link| link.name.clone()).unwrap_or_default();
    let mut rows = Vec::new();
    for (name, path, values) in cases {
        for (value, factor) in values.into_iter().zip(["× ½", if name == "μ_k" { "× 1.5" } else { "× 2" }]) {
            let scene = Experiment::new(SINGLE).set(&path.replace("SINGLE", &link), value).scene()?;
            let pendulum = Pendulum { name: "single", scene, duration: 8.0 };
            let measured = pendulum::measure(&pendulum, error, &mut |what: &str| {
                progress.say(&format!("lee1997: bands, {what}"))
            })?;
            let mut row = vec![format!("{name} {factor}")];
            for claim in &mut *claims {
                let ratio = ratio(&measured, claim.over);
                row.push(shown(&ratio));
                claim.bands.push(ratio);
            }
            rows.push(row);
        }
    }
    for claim in claims {
        let medians = || claim.bands.iter().map(|ratio| ratio.median);
        document.note(format!("bands.{}.low", claim.key), medians().fold(f64::INFINITY, f64::min));
        document.note(format!("bands.{}.high", claim.key), medians().fold(0.0, f64::max));
    }
    document.words("Other single pendulums, each parameter by itself: medians and intervals of the three ratios.");
    let head = ["changed", "implicit over explicit", "explicit over no friction", "crossings located over no friction"];
    document.table("table1_bands", &head, rows);
    Ok(())
}

fn table_of(document: &mut Document, pendulum: &Pendulum, measured: &[Measured]) {
    let order = [Way::Jerk, Way::Implicit, Way::Residual, Way::Frictionless, Way::Crossings];
    let mut rows = Vec::new();
    for m in order.iter().filter_map(|way| measured.iter().find(|m| m.way == *way)) {
        let mut row = vec![label(m.way).to_owned(), table::paper(pendulum, m.way).map_or("–".into(), |s| digits(s, 4))];
        for base in [Way::Frictionless, Way::Crossings] {
            let ours = ratio(measured, (m.way, base)).median;
            let print = Some(printed(pendulum, (m.way, base))).filter(|ratio| ratio.is_finite());
            row.push(print.map_or("–".into(), |ratio| digits(ratio, 3)));
            row.push(digits(ours, 3));
            let name = format!("{}.{}.over_{}", pendulum.name, key(m.way), key(base));
            match print {
                Some(ratio) => document.compare(name, ratio, ours),
                None => document.note(name, ours),
            }
        }
        row.extend([m.steps, m.evaluations, m.sweeps, m.substitutions, m.events].map(count));
        row.push(digits(m.error, 2));
        row.push(digits(1e6 * m.time.as_secs_f64(), 3));
        rows.push(row);
        document.note(format!("{}.{}.events", pendulum.name, key(m.way)), m.events as f64);
        document.note(format!("{}.{}.error", pendulum.name, key(m.way)), m.error);
    }
    let head = [
        pendulum.name,
        "time, s (print)",
        "÷ frictionless (print)",
        "ours",
        "÷ crossings (print)",
        "ours",
        "steps",
        "evaluations",
        "sweeps",
        "substitutions",
        "events",
        "error, rad",
        "time, µs",
    ];
    document.table(&format!("table1_{}", pendulum.name), &head, rows);
}

/// In tables.
pub fn label(way: Way) -> &'static str {
    match way {
        Way::Frictionless => "No friction",
        Way::Crossings => "No friction, crossings located",
        Way::Implicit => "Implicit",
        Way::Jerk => "Explicit (`Jerk`)",
        Way::Residual => "`Residual` (ours)",
    }
}

/// In names of numbers.
pub fn key(way: Way) -> &'static str {
    match way {
        Way::Frictionless => "frictionless",
        Way::Crossings => "crossings",
        Way::Implicit => "implicit",
        Way::Jerk => "explicit",
        Way::Residual => "residual",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_the_whole_interval() {
        let ratio = |low, high| Ratio { median: 0.5 * (low + high), low, high };
        let prints = [4.0, 3.8];
        let far = [ratio(0.9, 1.2), ratio(1.0, 1.1)];
        assert_eq!(verdict(&prints, &far, &[ratio(0.8, 3.9)]), Verdict::Contradicted);
        // one pendulum of the band reaches the print
        assert_eq!(verdict(&prints, &far, &[ratio(0.8, 4.1)]), Verdict::NotComparable);
        // above and below
        assert_eq!(verdict(&prints, &[ratio(0.9, 1.2), ratio(5.0, 6.0)], &[]), Verdict::NotComparable);
        assert_eq!(verdict(&prints, &[ratio(3.0, 4.5), ratio(3.7, 3.9)], &[]), Verdict::Reproduced);
        assert_eq!(verdict(&prints, &[ratio(3.0, 4.5), ratio(1.0, 1.1)], &[]), Verdict::NotComparable);
        // nothing measured
        assert_eq!(verdict(&prints, &[ratio(f64::NAN, f64::NAN); 2], &[]), Verdict::NotComparable);
    }
}
