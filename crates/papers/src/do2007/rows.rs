//! Tables 2 and 3: friction-force errors of each method against the baseline, and our rows under theirs.
//!
//! ```text
//! E = |f_L − f_L of the baseline|,   E_RMS = √(1/T ∫ E² dτ),   baseline: RK4 at h = 10⁻⁵, linear between its steps
//! ```
//!
//! Errors are taken at each method's own steps. Rows with a variable step are run a second time by
//! [`program`](super::program), with the clock that adds the step just chosen instead of the one just taken. The
//! baseline has an error of its own: between two of its steps friction has a kink where the velocity changes sign, and
//! for a row that steps onto the kink the baseline is the chord beside it, 2.2·10⁻⁴. So every row is also compared with
//! a tight run that stops at the row's own steps.

use super::super::document::{Document, count, digits};
use super::super::experiment::Found;
use super::super::scoreboard::Verdict;
use super::super::series::{Difference, difference};
use super::super::{Effort, Progress};
use super::clock::{self, Programs};
use super::slider;
use super::ways::{Place, Way, ways};
use bristle::Error;
use bristle_plot::chart::{self, Panel};
use std::fmt::Write;

/// A row of a table.
pub struct Row {
    pub way: Way,
    pub steps: usize,
    pub error: Difference,
    /// Largest error against a tight run at the row's steps, at most [`MOST_STOPS`] of them.
    truth: Option<f64>,
    /// Shortest and longest step.
    range: (f64, f64),
    /// Of the baseline's time.
    time: f64,
}

/// All rows, and the steps of the baseline.
pub struct Rows {
    pub rows: Vec<Row>,
    pub programs: Programs,
    baseline: usize,
    fastest: f64,
}

/// Largest number of stops of the tight run.
const MAX_STOPS: usize = 50_000;

/// Largest error of the friction force at the steps of a run, against a tight run that stops at them.
fn against_truth(found: &Found) -> Result<f64, Error> {
    let mut sim = slider().tolerance("Radau5", 1e-11, 1e-12).simulation()?;
    let mut worst = 0.0_f64;
    let stride = found.t.len().div_ceil(MAX_STOPS);
    for (&t, &friction) in found.t.iter().zip(found.column(0)).step_by(stride) {
        if t > sim.time() {
            sim.step(t - sim.time())?;
        }
        worst = worst.max((friction - sim.friction_effort("slide")?).abs());
    }
    Ok(worst)
}

/// Runs all rows.
pub fn measure(effort: Effort, progress: &Progress) -> Result<Rows, Error> {
    progress.say("do2007: baseline, Runge–Kutta at 1e-5");
    let baseline = slider().step("Rk4", 1e-5).every_step().run()?;
    let base = (&baseline.t[..], baseline.column(0));
    let mut rows = Vec::new();
    for way in ways(effort) {
        progress.say(&format!("do2007: {}", way.label));
        let run = slider().solver(way.method, &way.control);
        let found = run.clone().every_step().run()?;
        let error = match &found.failure {
            None => difference((&found.t, found.column(0)), base),
            Some(_) => Difference { max: f64::INFINITY, rms: f64::INFINITY },
        };
        let truth = if found.failure.is_none() { Some(against_truth(&found)?) } else { None };
        // a second time without the rows: they cost more than the steps
        let wall = if effort == Effort::Full { run.every(1.0).run()?.wall } else { found.wall };
        rows.push(Row {
            steps: found.stats.n_accepted,
            error,
            truth,
            range: found.step,
            time: wall.as_secs_f64(),
            way,
        });
    }
    progress.say("do2007: baseline, time");
    let whole = match effort {
        Effort::Full => slider().step("Rk4", 1e-5).every(1.0).run()?.wall,
        Effort::Short => baseline.wall,
    };
    let whole = whole.as_secs_f64();
    rows.iter_mut().for_each(|row| row.time /= whole);
    progress.say("do2007: the program of the paper");
    let programs = Programs::run(base);
    Ok(Rows { rows, programs, baseline: baseline.stats.n_accepted, fastest: baseline.largest(1) })
}

/// Puts the tables and the work–precision picture into the report.
pub fn write(document: &mut Document, measured: &Rows) {
    document.compare("baseline.steps", 2.828e6, measured.baseline as f64);
    document.note("baseline.fastest", measured.fastest);
    for row in &measured.rows {
        let name = |what: &str| format!("{}.{what}", row.way.name);
        let values = [("steps", row.steps as f64), ("max", row.error.max), ("rms", row.error.rms)];
        match row.way.print {
            Some(print) => {
                for ((what, ours), printed) in values.into_iter().zip([print.steps, print.max, print.rms]) {
                    document.compare(name(what), printed, ours);
                }
            }
            None => values.into_iter().for_each(|(what, ours)| document.note(name(what), ours)),
        }
        document.note(name("shortest_step"), row.range.0);
        document.note(name("longest_step"), row.range.1);
        if let Some(truth) = row.truth {
            document.note(name("truth"), truth);
        }
    }
    clock::verdicts(document, measured);
    clock::write(document, measured);
    document.heading("Tables 2 and 3: the rows in detail");
    document.words(format!(
        "The baseline is fourth-order Runge–Kutta at a step of 10⁻⁵: {} steps (print: 2.828×10⁶). Largest velocity: {} \
         (the paper's λ_max of 2.62×10⁴ belongs to {:.0}). E is the difference of the friction force from the \
         baseline, linear between the baseline's steps, at each row's own steps, as in the paper. *True max E* is \
         against a run of `Radau5` at 10⁻¹¹ that stops at the row's steps ({} of them at most): the baseline cannot \
         show errors below 2.2·10⁻⁴ to a method that steps exactly onto v = 0, where friction has a kink between two \
         steps of the baseline. Times are percent of the baseline's, printed and here.",
        count(measured.baseline),
        digits(measured.fastest, 6),
        2.62e4 * super::EPSILON / super::ALPHA,
        count(MAX_STOPS),
    ));
    table(document, "table2", measured, Place::Explicit);
    table(document, "table3", measured, Place::Implicit);
    document.heading("Rows of our own");
    table(document, "ours", measured, Place::Ours);
    // by the true error: the baseline hides what is below 2.2e-4
    let mut words =
        String::from("**Error control of order five needs fewer steps than every row for the same true error.**");
    for name in ["rk4_constant", "ode45", "radau3_constant"] {
        let Some((row, under)) =
            measured.rows.iter().find(|row| row.way.name == name).and_then(|row| Some((row, row.truth?)))
        else {
            continue;
        };
        let fit = measured
            .rows
            .iter()
            .filter(|row| row.way.place == Place::Ours && row.truth.is_some_and(|truth| truth <= under));
        let Some(ours) = fit.min_by_key(|row| row.steps) else { continue };
        let gain = row.steps as f64 / ours.steps as f64;
        let _ = write!(
            words,
            " {} ({} steps, {}): {} in {} steps with {}, {} times fewer.",
            row.way.label,
            count(row.steps),
            digits(under, 2),
            ours.way.label,
            count(ours.steps),
            ours.truth.map_or("–".into(), |truth| digits(truth, 2)),
            digits(gain, 2)
        );
        document.note(format!("gain_over_{name}"), gain);
    }
    document.words(words);
    let gain = document.value("gain_over_radau3_constant");
    document.claim(
        "conclusions",
        "For large systems with LuGre friction Radau-IIA at a constant step is the best method",
        if gain > 1.0 { Verdict::Contradicted } else { Verdict::Reproduced },
        format!(
            "among the paper's own rows yes; error control of order five needs {} times fewer steps for the same error",
            digits(gain, 2)
        ),
    );
    let mut panel = Panel::new("", "steps", "true max E").log_x().log_y().y_range(1e-9, 10.0);
    for (k, (label, place)) in
        [("explicit", Place::Explicit), ("implicit", Place::Implicit), ("ours", Place::Ours)].into_iter().enumerate()
    {
        let rows = measured.rows.iter().filter(|row| row.way.place == place && row.error.max.is_finite());
        let points: Vec<(&str, f64, f64)> =
            rows.filter_map(|row| Some((row.way.point, row.steps as f64, row.truth?))).collect();
        panel = panel.points(label, &points, k);
    }
    let printed: Vec<(&str, f64, f64)> = measured
        .rows
        .iter()
        .filter_map(|row| {
            let print = row.way.print?;
            // one name for two points at the same place
            let is_same = row.truth.is_some_and(|truth| (truth / print.max - 1.0).abs() < 0.1);
            Some((if is_same { "" } else { row.way.point }, print.steps, print.max))
        })
        .collect();
    panel = panel.points("as printed", &printed, 6);
    document.figure(
        "work_precision",
        chart::draw("do2007: largest error of the friction force against steps", 1, &[panel]),
        "Largest error of the friction force against steps: the paper's rows as run here (true error) and as printed \
         (error against the baseline), and error-controlled Radau5 by tolerance.",
    );
}

fn table(document: &mut Document, name: &str, measured: &Rows, place: Place) {
    let head = ["method", "step", "steps", "max E", "true max E", "RMS", "time % (print)", "time %"];
    let rows = measured.rows.iter().filter(|row| row.way.place == place).map(|row| {
        vec![
            row.way.label.into(),
            format!("`{}`", row.way.control),
            count(row.steps),
            digits(row.error.max, 3),
            row.truth.map_or("–".into(), |truth| digits(truth, 2)),
            digits(row.error.rms, 3),
            row.way.print.map_or("–".into(), |print| digits(print.time, 3)),
            digits(100.0 * row.time, 3),
        ]
    });
    let baseline = (place != Place::Ours).then(|| {
        let none = || "n/a".to_owned();
        let mut row: Vec<String> = vec!["Runge–Kutta (baseline)".into(), "`Constant(step: 1e-5)`".into()];
        row.extend([count(measured.baseline), none(), none(), none(), "100".into(), "100".into()]);
        row
    });
    document.table(name, &head, baseline.into_iter().chain(rows).collect());
}
