//! The gearbox at fixed steps, which the paper could not get: every printed set, three inertias, three steps, method by method.

use super::super::document::{Document, digits};
use super::super::{Effort, Progress};
use crate::bench::gearbox::{INERTIAS, OTHERS, SETS, STEPS, Set, difference, speeds};
use bristle::Error;
use rayon::prelude::*;

/// More than this part of the largest speed is no answer.
const WRONG: f64 = 0.1;

/// Errors of one box: by method, then step; `None` where the run failed or its error is not below the speed itself.
struct Row<'a> {
    set: &'a Set,
    inertia: f64,
    errors: Vec<Vec<Option<f64>>>,
}

fn measure(set: &Set, inertia: f64) -> Result<Row<'_>, Error> {
    let reference = speeds(set, inertia, "Radau5", "Error(rtol: 1e-8, atol: 1e-10)")?;
    let error = |method: &str, step: f64| {
        let found = speeds(set, inertia, method, &format!("Constant(step: {step:?})")).ok()?;
        Some(difference(&found, &reference)).filter(|error| *error < 1.0)
    };
    let errors = methods().map(|method| STEPS.iter().map(|&step| error(method, step)).collect()).collect();
    Ok(Row { set, inertia, errors })
}

fn methods() -> impl Iterator<Item = &'static str> {
    std::iter::once("RealTime").chain(OTHERS)
}

/// Steps that `Rk4` is given, longest first, s.
const SMALL: [f64; 7] = [250e-6, 100e-6, 50e-6, 20e-6, 10e-6, 5e-6, 2e-6];

/// The longest of [`SMALL`] at which `Rk4` gets through, and its error.
fn explicit(set: &Set, inertia: f64) -> Result<Option<(f64, f64)>, Error> {
    let reference = speeds(set, inertia, "Radau5", "Error(rtol: 1e-8, atol: 1e-10)")?;
    Ok(SMALL.iter().find_map(|&step| {
        let found = speeds(set, inertia, "Rk4", &format!("Constant(step: {step:?})")).ok()?;
        Some((step, difference(&found, &reference))).filter(|(_, error)| *error < WRONG)
    }))
}

/// Explicit steps small enough.
fn write_explicit(document: &mut Document, effort: Effort) -> Result<(), Error> {
    let set = &SETS[0];
    let inertias = if effort == Effort::Full { &INERTIAS[..] } else { &INERTIAS[1..2] };
    let found = inertias.par_iter().map(|&inertia| explicit(set, inertia)).collect::<Result<Vec<_>, _>>()?;
    // a clutch that sticks is a damper σ₁N
    let limit = |inertia: f64| 2.785 * inertia / (set.sigma1 * set.load);
    let rows = inertias.iter().zip(&found).map(|(&inertia, found)| {
        let (step, error) = found.map_or(("none".into(), "–".into()), |(h, e)| (digits(1e6 * h, 2), digits(e, 2)));
        vec![format!("{inertia}"), digits(1e6 * limit(inertia), 2), step, error]
    });
    document.words(format!(
        "**A step small enough is stable with an explicit method as well.** A clutch of table 6 that sticks is a damper σ₁N = {} N·m·s; on an inertia J alone Runge–Kutta is stable with it up to h = 2.785 J/(σ₁N). Steps of {} µs, longest first, \
         until one gets through:",
        set.sigma1 * set.load,
        SMALL.map(|h| digits(1e6 * h, 2)).join(", ")
    ));
    document.table(
        "explicit_step",
        &["inertia, kg·m²", "2.785 J/(σ₁N), µs", "`Rk4` gets through at, µs", "error of the output speed"],
        rows.collect(),
    );
    for (inertia, found) in inertias.iter().zip(&found) {
        document.note(format!("fixed.rk4.longest.{inertia}"), found.map_or(0.0, |(step, _)| step));
    }
    document.words(
        "So the statement that no step is small enough does not hold for this box and this model of a clutch. Why it held in the paper cannot be told from the print: the inertias are not given, and its clutches close with the z they opened with (next section).",
    );
    Ok(())
}

/// Puts the tables into the report.
pub fn write(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    progress.say("aberger2002: gearbox at fixed steps");
    let cases: Vec<(&Set, f64)> =
        SETS.iter().flat_map(|set| INERTIAS.iter().map(move |&inertia| (set, inertia))).collect();
    // a short run takes one set of each table
    let cases: Vec<(&Set, f64)> =
        if effort == Effort::Full { cases } else { [1, 11].into_iter().map(|k| cases[k]).collect() };
    let rows = cases.into_par_iter().map(|(set, inertia)| measure(set, inertia)).collect::<Result<Vec<_>, _>>()?;
    document.heading("A fixed step for LuGre clutches");
    document.words(
        "The paper: *the model with LuGre clutches is unstable when using integration algorithms with a fixed step-size, even if the step-size is very small*. Here is the three-speed box with the data of tables 6 (μ_C = 0.5) and 7 (0.12, with 42 N \
         instead of 10 N, so that all boxes carry the same torque) and their variants, with three inertias of the small shafts, at three fixed steps. The car of the second study is printed only as a figure; its clutch data run in this box. Largest error of the output \
         speed over 4 s, relative to the largest speed, against `Radau5` at 1e-8. A dash: the run failed, or was off by more than the speed itself.",
    );
    let milliseconds = STEPS.map(|step| format!("{}", 1e3 * step));
    let mut head: Vec<String> = vec!["σ₀".into(), "σ₁".into(), "μ_C".into(), "inertia".into()];
    for method in methods() {
        head.extend(milliseconds.iter().map(|ms| format!("`{method}` {ms} ms")));
    }
    let cells = rows.iter().map(|row| {
        let set = row.set;
        let mut cells = vec![
            format!("{:.0e}", set.sigma0),
            format!("{}", set.sigma1),
            format!("{}", set.coulomb),
            format!("{}", row.inertia),
        ];
        cells.extend(row.errors.iter().flatten().map(|error| error.map_or("–".into(), |error| digits(error, 2))));
        cells
    });
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    document.table("fixed_step", &head, cells.collect());

    let n = rows.len() * STEPS.len();
    let mut counted = Vec::new();
    for (k, method) in methods().enumerate() {
        let errors: Vec<Option<f64>> = rows.iter().flat_map(|row| row.errors[k].iter().copied()).collect();
        let failed = errors.iter().filter(|error| error.is_none()).count();
        let wrong = errors.iter().flatten().filter(|error| **error > WRONG).count();
        let worst = errors.iter().flatten().fold(0.0_f64, |worst, &error| worst.max(error));
        let name = method.to_lowercase();
        document.note(format!("fixed.{name}.failed"), failed as f64);
        document.note(format!("fixed.{name}.wrong"), wrong as f64);
        document.note(format!("fixed.{name}.worst"), worst);
        counted.push(vec![
            format!("`{method}`"),
            n.to_string(),
            failed.to_string(),
            wrong.to_string(),
            digits(worst, 2),
        ]);
    }
    document.note("fixed.cases", n as f64);
    document.table(
        "fixed_step_counts",
        &[
            "method",
            "runs",
            "failed or off by more than the speed",
            "off by more than a tenth",
            "largest error where not failed",
        ],
        counted,
    );
    let worst = |k: usize| rows.iter().flat_map(|row| &row.errors[k]).flatten().fold(0.0_f64, |worst, &e| worst.max(e));
    let failed = |k: usize| rows.iter().flat_map(|row| &row.errors[k]).filter(|error| error.is_none()).count();
    let mut words = format!(
        "**`RealTime` is stable in {} of {n} runs**, with an error of {} % at most. ",
        n - failed(0),
        digits(100.0 * worst(0), 2)
    );
    for (k, method) in methods().enumerate().skip(1) {
        words += &format!(
            "`{method}` fails in {} of {n}, its largest error elsewhere is {}. ",
            failed(k),
            digits(worst(k), 2)
        );
    }
    words += "What fails is not the fixed step but what is done in it. An explicit method needs h σ₀ω/g below its limit, microseconds here, and a clutch that sticks adds a frequency that grows as the inertias shrink. \
              Methods that treat the bristles implicitly and the rest explicitly stay bounded, but couple clutches through velocities that are a step old. `RealTime` solves velocities and bristles together, \
              each bristle eliminated in closed form, so that the step is a convex problem with one solution, Stribeck weakening aside. `Radau3` is the most accurate where its Newton iteration converges, but its work per step has no bound and it can fail.";
    document.words(words);
    write_explicit(document, effort)
}
