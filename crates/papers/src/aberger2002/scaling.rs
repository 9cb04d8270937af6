//! Scaling of the bristle state and the event hint at ż = 0 (figures 2 and 3): the bearing under error control without
//! and with them.
//!
//! ```text
//! error allowed in a state y:  rtol |y| + atol,  rtol = atol = Tol;   z ≈ 10⁻⁵ against σ₀z ≈ 1
//! ```

use super::super::document::{Document, count, digits};
use super::super::experiment::Found;
use super::super::series::difference;
use super::super::{Effort, Progress};
use super::{BEARING, INTERVAL, UNIT, UNSCALED, bearing};
use crate::scoreboard::Verdict;
use bristle::Error;
use bristle_plot::chart::{self, Panel, Style};
use rayon::prelude::*;

const KINKS: [(&str, &str); 3] = [("Off", "nothing"), ("Velocity", "v = 0"), ("Deflection", "ż = 0")];

struct Case {
    method: &'static str,
    tolerance: f64,
    is_scaled: bool,
    kinks: (&'static str, &'static str),
}

struct Row {
    case: Case,
    by_step: Found,
    /// Torque at every step, N·m.
    torque: Vec<f64>,
    /// Largest errors of torque and angle at the output points.
    error: f64,
    angle: f64,
}

fn cases(effort: Effort) -> Vec<Case> {
    let mut cases = Vec::new();
    for (method, tolerances) in [("Radau5", &[1e-4, 1e-5, 1e-6][..]), ("Dopri5", &[1e-4, 1e-6][..])] {
        for &tolerance in tolerances {
            for is_scaled in [false, true] {
                // an explicit method is slow here: a short report has it only once without and once with scaling
                let is_short = effort == Effort::Short && method == "Dopri5";
                if is_short && tolerance != 1e-4 {
                    continue;
                }
                let kinks = if is_short { &KINKS[..1] } else { &KINKS[..] };
                cases.extend(kinks.iter().map(|&kinks| Case { method, tolerance, is_scaled, kinks }));
            }
        }
    }
    cases
}

fn measure(case: Case, reference: &Found) -> Result<Row, Error> {
    let (scene, unit) = if case.is_scaled { (BEARING, 1.0) } else { (UNSCALED, UNIT) };
    let run = bearing(scene)
        .solver(case.method, &format!("Elementary(rtol: {0:?}, atol: {0:?})", case.tolerance))
        .set("solver.kinks", case.kinks.0)
        .at_most(2_000_000);
    let in_newton_metres = |found: &Found| -> Vec<f64> { found.column(0).iter().map(|torque| unit * torque).collect() };
    let by_step = run.clone().every_step().run()?;
    let at_points = run.every(INTERVAL).run()?;
    let error = difference((&at_points.t, &in_newton_metres(&at_points)), (&reference.t, reference.column(0))).max;
    let angle = difference((&at_points.t, at_points.column(1)), (&reference.t, reference.column(1))).max;
    let torque = in_newton_metres(&by_step);
    Ok(Row { case, by_step, torque, error, angle })
}

impl Row {
    fn break_away(&self) -> f64 {
        self.torque.iter().fold(0.0, |most: f64, &x| most.max(x))
    }

    fn name(&self) -> String {
        let Case { method, tolerance, is_scaled, kinks } = &self.case;
        let scale = if *is_scaled { "scaled" } else { "unscaled" };
        format!("scaling.{}.{tolerance:e}.{scale}.{}", method.to_lowercase(), kinks.0.to_lowercase())
    }

    fn cells(&self) -> Vec<String> {
        let Case { method, tolerance, is_scaled, kinks } = &self.case;
        let stats = &self.by_step.stats;
        vec![
            format!("`{method}`"),
            format!("{tolerance:e}"),
            if *is_scaled { "σ₀z" } else { "z" }.into(),
            kinks.1.into(),
            count(stats.n_accepted),
            count(stats.n_rejected + stats.n_failed),
            count(stats.n_events),
            digits(self.break_away(), 5),
            digits(self.error, 2),
            digits(self.angle, 2),
        ]
    }
}

/// Verdict on *locating ż = 0 improves the results*, from errors without and with ż = 0 located, by tolerance: less
/// than half of the error at every tolerance, more than twice at every one, or neither.
fn hint(nothing: [f64; 3], located: [f64; 3]) -> Verdict {
    let pairs = || nothing.iter().zip(located);
    if pairs().all(|(nothing, located)| located < 0.5 * nothing) {
        Verdict::Reproduced
    } else if pairs().all(|(nothing, located)| located > 2.0 * nothing) {
        Verdict::Contradicted
    } else {
        Verdict::NotComparable
    }
}

/// Puts table and figures into the report.
pub fn write(document: &mut Document, reference: &Found, effort: Effort, progress: &Progress) -> Result<(), Error> {
    progress.say("aberger2002: scaling and event hints");
    let rows =
        cases(effort).into_par_iter().map(|case| measure(case, reference)).collect::<Result<Vec<Row>, Error>>()?;
    for row in &rows {
        document.note(format!("{}.break_away", row.name()), row.break_away());
        document.note(format!("{}.error", row.name()), row.error);
        document.note(format!("{}.angle", row.name()), row.angle);
        document.note(format!("{}.events", row.name()), row.by_step.stats.n_events as f64);
        document.note(format!("{}.steps", row.name()), row.by_step.stats.n_accepted as f64);
    }
    document.heading("Scaling of z and event hints: figures 2 and 3");
    document.words(
        "The engine integrates σ₀z, which is the paper's scaling with z_N = 1/σ₀. \
         `scenes/papers/aberger2002/bearing_unscaled.ron` undoes it: the same bearing with torques in units of 1e5 \
         N·m, so that σ₀ = 1 and the state has the size of z. `Solver(kinks: …)` chooses what is located as an event: \
         nothing, v = 0 (the default) or ż = 0 (the paper's hint). Relative and absolute tolerance are equal and taken \
         as they are, by the textbook rule (`Elementary`): under `Error` the engine bounds the errors of bristles by \
         the scales of their law, and scaling makes no difference. Errors are largest differences from the tight run \
         at the output points; an error in torque of 0.4 to 0.5 is a slip at the wrong time, a larger one another \
         motion.",
    );
    let head = [
        "method",
        "Tol",
        "state",
        "located",
        "steps",
        "rejected",
        "events",
        "break-away, N·m",
        "torque error, N·m",
        "angle error, rad",
    ];
    document.table("scaling", &head, rows.iter().map(Row::cells).collect());
    let find = |method: &str, tolerance: f64, is_scaled: bool, kinks: &str| {
        rows.iter().find(|row| {
            let case = &row.case;
            (case.method, case.tolerance, case.is_scaled, case.kinks.0) == (method, tolerance, is_scaled, kinks)
        })
    };
    // figure 2: without and with scaling, by an explicit and by an implicit method
    let pairs = ["Dopri5", "Radau5"].map(|method| {
        let title = format!("{method}, nothing located");
        let mut panel = Panel::new(&title, "t, s", "friction torque, N·m");
        for (label, is_scaled, style) in
            [("without scaling", false, Style::Line), ("with scaling", true, Style::Dashed)]
        {
            if let Some(row) = find(method, 1e-4, is_scaled, "Off") {
                panel = panel.curve(label, &row.by_step.t, &row.torque, style);
            }
        }
        panel
    });
    document.figure(
        "figure2",
        chart::draw("Figure 2: friction torque, tolerance 1e-4", 1, &pairs),
        "Figure 2: friction torque without and with scaling of z at a tolerance of 1e-4, by an explicit method (above) \
         and by a stiffly accurate one (below).",
    );
    let mut panel = Panel::new("", "t, s", "friction torque, N·m");
    for (tolerance, style) in [(1e-4, Style::Line), (1e-6, Style::Dashed)] {
        if let Some(row) = find("Radau5", tolerance, true, "Deflection") {
            panel = panel.curve(&format!("Tol = {tolerance:e}"), &row.by_step.t, &row.torque, style);
        }
    }
    document.figure(
        "figure3",
        chart::draw("Figure 3: friction torque, Radau5, scaled, ż = 0 located", 1, &[panel]),
        "Figure 3: friction torque with tolerances 1e-4 and 1e-6, scaled and with ż = 0 located, as in the paper.",
    );
    let torque = |row: Option<&Row>| row.map_or(f64::NAN, Row::break_away);
    let angle = |row: Option<&Row>| row.map_or(f64::NAN, |row| row.angle);
    let [loose, tight] = [1e-4, 1e-6].map(|tolerance| torque(find("Radau5", tolerance, true, "Deflection")));
    document.compare("break_away.1e-4", 1.5, loose);
    document.compare("break_away.1e-6", 1.48, tight);
    // errors of the angle as one string each: without and with scaling; nothing, v = 0 and ż = 0 located
    let scaling = |method: &str, tolerance: f64, kinks: &str| {
        let [off, on] = [false, true].map(|is_scaled| digits(angle(find(method, tolerance, is_scaled, kinks)), 2));
        format!("{off} rad without and {on} with it")
    };
    let hints = |kinks: &str| [1e-4, 1e-5, 1e-6].map(|tolerance| angle(find("Radau5", tolerance, true, kinks)));
    let [nothing, velocity, deflection] = ["Off", "Velocity", "Deflection"].map(hints);
    let listed = |errors: [f64; 3]| errors.map(|error| digits(error, 2)).join(", ");
    document.claim(
        "section 1.2, figure 2",
        "Without scaling z the results at 1e-4 are wrong: false oscillations and break-away; with scaling they improve",
        Verdict::of(angle(find("Dopri5", 1e-4, false, "Off")) > 10.0 * angle(find("Dopri5", 1e-4, true, "Off"))),
        format!(
            "`Dopri5`: angle off by {}; `Radau5`, damped by itself, does not need it: {}",
            scaling("Dopri5", 1e-4, "Off"),
            scaling("Radau5", 1e-4, "Off")
        ),
    );
    document.claim(
        "section 1.2, figure 3",
        "Locating ż = 0 improves the results",
        hint(nothing, deflection),
        format!(
            "`Radau5` at 1e-4, 1e-5, 1e-6: angle off by {} rad with ż = 0 located, {} with nothing, {} with v = 0; \
             DASSL was not at hand",
            listed(deflection),
            listed(nothing),
            listed(velocity)
        ),
    );
    document.claim(
        "section 1.2, figure 3",
        "The tolerance moves break-away: 1.5 N·m at 1e-4, 1.48 at 1e-6",
        // both to the digits printed, and apart
        Verdict::of((1.45..1.55).contains(&loose) && (1.475..1.485).contains(&tight) && loose > tight + 0.01),
        format!("{} and {}", digits(loose, 4), digits(tight, 4)),
    );
    document.words(format!(
        "**Scaling matters to a method that is not damped by itself.** `Dopri5` without it has false oscillations in \
         the torque, as the paper reports of DASSL, here while the inertia sticks; it breaks away early, at {} N·m, \
         and then finds no stick-slip at all; the angle is off by {}. `Radau5` damps the bristle whether the error \
         estimate sees it or not, and gets stick-slip without scaling too. At 1e-4 the moment of break-away is luck: \
         its error is {}, nothing located, and {}, v = 0 located. At 1e-6 it is {}, and {}.",
        digits(torque(find("Dopri5", 1e-4, false, "Off")), 3),
        scaling("Dopri5", 1e-4, "Off"),
        scaling("Radau5", 1e-4, "Off"),
        scaling("Radau5", 1e-4, "Velocity"),
        scaling("Radau5", 1e-6, "Off"),
        scaling("Radau5", 1e-6, "Velocity"),
    ));
    document.words(format!(
        "**The hint.** At 1e-4, scaled, `Radau5` breaks away at {} N·m with ż = 0 located (print: ≈ 1.5), at {} with \
         nothing located and at {} with v = 0 located; the true value is {}. At 1e-6 with ż = 0 located it is {} \
         (print: ≈ 1.48). At 1e-4, 1e-5 and 1e-6 the angle is off by {} rad with ż = 0 located, {} with v = 0, where \
         |v| has its kink, and {} with nothing located: no hint is the better one at every tolerance. That ż = 0 \
         improves its runs is the paper's observation of DASSL, which was not at hand.",
        digits(loose, 4),
        digits(torque(find("Radau5", 1e-4, true, "Off")), 4),
        digits(torque(find("Radau5", 1e-4, true, "Velocity")), 4),
        digits(reference.largest(0), 4),
        digits(tight, 4),
        listed(deflection),
        listed(velocity),
        listed(nothing),
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_must_help_at_every_tolerance() {
        let nothing = [0.085, 1.9e-5, 2.5e-6];
        assert_eq!(hint(nothing, [0.081, 1.2e-5, 4.7e-6]), Verdict::NotComparable);
        assert_eq!(hint(nothing, nothing.map(|error| 0.4 * error)), Verdict::Reproduced);
        assert_eq!(hint(nothing, nothing.map(|error| 3.0 * error)), Verdict::Contradicted);
        assert_eq!(hint(nothing, [f64::NAN; 3]), Verdict::NotComparable);
    }
}
