//! Sensitivity of the gearbox results to parameters that the paper does not print: each of them halved and doubled.

use super::super::document::{Document, digits};
use super::super::experiment::{Experiment, Found, PaperScene};
use super::super::series::{difference, range};
use super::super::{Effort, Progress};
use super::shifts::{CHANNELS, IDEAL, caught};
use super::{CLUTCHES, GEARBOX};
use bristle::Error;
use rayon::prelude::*;

/// A change of the scene.
struct Case {
    what: &'static str,
    label: String,
    set: Vec<(String, String)>,
}

/// Quantities that are compared.
struct Row {
    /// Largest torque of C1 at the ends of steps, bristles following their law and frozen, over N μ.
    peak: [f64; 2],
    /// Largest difference of the load's speed from ideal clutches, part of the largest.
    speed: f64,
    /// Delay of second gear relative to ideal clutches, s.
    later: f64,
    /// Largest error of `RealTime` at 1 ms, part of the largest speed.
    real_time: f64,
}

/// The normal forces rise and fall within `ramp`.
pub fn signals(ramp: f64) -> Vec<(String, String)> {
    let table = |points: &[(f64, f64)]| -> String {
        if ramp == 0.0 {
            let steps: Vec<String> = points.iter().map(|(t, value)| format!("({t:?}, {value:?})")).collect();
            return format!("Steps([{}])", steps.join(", "));
        }
        let mut before = 1.0 - points[0].1;
        let mut corners = Vec::new();
        for &(t, value) in points {
            corners.push(format!("({t:?}, {before:?}), ({:?}, {value:?})", t + ramp));
            before = value;
        }
        format!("Table([{}])", corners.join(", "))
    };
    let of = |name: &str, points: &[(f64, f64)]| (format!("couplings.{name}.load.signal"), table(points));
    vec![
        of("c1", &[(0.0, 1.0)]),
        of("c2", &[(2.75, 1.0)]),
        of("b1", &[(0.0, 1.0), (1.5, 0.0)]),
        of("b2", &[(1.5, 1.0), (2.75, 0.0)]),
    ]
}

fn cases(effort: Effort) -> Vec<Case> {
    let diagonal = |link: &str, j: f64| (format!("links.{link}.inertia"), format!("Diagonal({j:?}, {j:?}, {j:?})"));
    let mut cases = vec![Case { what: "as it is", label: String::new(), set: Vec::new() }];
    for ramp in [0.0, 0.01, 0.2] {
        cases.push(Case { what: "ramp of the normal forces", label: format!("{} ms", 1e3 * ramp), set: signals(ramp) });
    }
    for factor in [0.5, 2.0] {
        let label = || format!("× {factor}");
        let small = ["sun shaft", "ring shaft", "sun wheel"].map(|link| diagonal(link, 0.1 * factor)).to_vec();
        cases.push(Case { what: "inertia of the small shafts", label: label(), set: small });
        cases.push(Case {
            what: "inertia of the input shaft",
            label: label(),
            set: vec![diagonal("input shaft", factor)],
        });
        cases.push(Case {
            what: "inertia of the load",
            label: label(),
            set: vec![diagonal("output shaft", 5.0 * factor)],
        });
        let torque = ("joints.input.drive".to_owned(), format!("Effort(Constant({:?}))", 1.5 * factor));
        cases.push(Case { what: "driving torque", label: label(), set: vec![torque] });
        let damping = ("joints.output.damping".to_owned(), format!("{:?}", 0.3 * factor));
        cases.push(Case { what: "damping of the load", label: label(), set: vec![damping] });
    }
    for ratio in [1.5, 3.0] {
        let set = ["set 1", "set 2"].map(|name| (format!("couplings.{name}.ratio"), format!("{ratio:?}"))).to_vec();
        cases.push(Case { what: "ratio of the planetary sets", label: format!("{ratio}"), set });
    }
    if effort == Effort::Short {
        cases.truncate(3);
    }
    cases
}

fn run(case: &Case) -> Result<Row, Error> {
    let of = |scene: PaperScene| Experiment::new(scene).set_all(case.set.iter().cloned());
    let peak = |run: Experiment| -> Result<f64, Error> {
        let found = run.tolerance("Radau5", 1e-6, 1e-8).every_step().keep(&["c1.friction"]).run()?;
        Ok(found.magnitude(0) / 5.0)
    };
    let law = of(GEARBOX).tolerance("Radau5", 1e-6, 1e-8).every(1e-3).keep(&CHANNELS).run()?;
    let ideal = of(IDEAL).tolerance("Dopri5", 1e-7, 1e-9).every(1e-3).keep(&CHANNELS).run()?;
    let fixed = of(GEARBOX).step("RealTime", 1e-3).every(1e-3).keep(&CHANNELS).run()?;
    let apart = |a: &Found, b: &Found| difference((&a.t, a.column(0)), (&b.t, b.column(0))).max / b.largest(0);
    Ok(Row {
        peak: [peak(of(GEARBOX))?, peak(of(GEARBOX).couplings(&CLUTCHES, "open", "Frozen"))?],
        speed: apart(&law, &ideal),
        later: caught(&law, 3, 1.5) - caught(&ideal, 3, 1.5),
        real_time: apart(&fixed, &law),
    })
}

/// Puts the table into the report.
pub fn write(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    progress.say("aberger2002: bands");
    let cases = cases(effort);
    let found = cases.par_iter().map(run).collect::<Result<Vec<Row>, Error>>()?;
    let rows = cases.iter().zip(&found).map(|(case, row)| {
        vec![
            case.what.into(),
            case.label.clone(),
            digits(row.peak[0], 3),
            digits(row.peak[1], 3),
            digits(100.0 * row.speed, 2),
            if row.later.is_finite() { digits(1e3 * row.later, 2) } else { "–".into() },
            digits(100.0 * row.real_time, 2),
        ]
    });
    document.heading("Bands: what the print does not give");
    document.words(
        "Inertias, ratios, ramps, torque and load of the three-speed box are not printed. Each is changed by itself, \
         with the bristles of table 6. *C1 over N μ*: largest torque at the end of a step, with bristles that follow \
         their law while a clutch is open, and frozen. *Speed*: largest difference of the load's speed from ideal \
         clutches. *Later*: second gear is reached so much later than with ideal clutches (–: not reached). \
         *RealTime*: error at 1 ms.",
    );
    document.table(
        "bands",
        &["changed", "to", "C1 over N μ, law", "C1 over N μ, frozen", "speed, %", "later, ms", "`RealTime`, %"],
        rows.collect(),
    );
    let band = |value: fn(&Row) -> f64| range(found.iter().map(value).filter(|x| x.is_finite()));
    for (name, (low, high)) in [
        ("peak_law", band(|row| row.peak[0])),
        ("peak_frozen", band(|row| row.peak[1])),
        ("speed", band(|row| row.speed)),
        ("later", band(|row| row.later)),
        ("real_time", band(|row| row.real_time)),
    ] {
        document.note(format!("bands.{name}.low"), low);
        document.note(format!("bands.{name}.high"), high);
    }
    let (law, frozen, speed, real_time) =
        (band(|row| row.peak[0]), band(|row| row.peak[1]), band(|row| row.speed), band(|row| row.real_time));
    document.words(format!(
        "So, whatever the box was: C1 exceeds N μ by a factor of {} to {} with bristles that follow their law and of \
         {} to {} with frozen ones; the speed differs from that with ideal clutches by {} to {} %; and `RealTime` at 1 \
         ms is within {} %. The height of a peak with frozen bristles is the ramp's: normal forces that jump meet the \
         whole slip, N σ₁ω, those that rise slowly find the bristles bent before they press.",
        digits(law.0, 3),
        digits(law.1, 3),
        digits(frozen.0, 3),
        digits(frozen.1, 3),
        digits(100.0 * speed.0, 2),
        digits(100.0 * speed.1, 2),
        digits(100.0 * real_time.1, 2)
    ));
    Ok(())
}
