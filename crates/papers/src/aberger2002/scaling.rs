//! Scaling of the bristle state and the hint at ż = 0 (figures 2 and 3): what error control makes of the bearing
//! without and with them.
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
                // an explicit method is slow here: a short run takes it only once without and once with scaling
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
    let all = [
        find("Dopri5", 1e-4, false, "Off"),
        find("Dopri5", 1e-4, true, "Off"),
        find("Radau5", 1e-4, false, "Off"),
        find("Radau5", 1e-4, true, "Off"),
        find("Radau5", 1e-4, false, "Velocity"),
        find("Radau5", 1e-4, true, "Velocity"),
        find("Radau5", 1e-4, true, "Deflection"),
        find("Radau5", 1e-6, true, "Deflection"),
        find("Radau5", 1e-6, false, "Off"),
        find("Radau5", 1e-6, true, "Off"),
    ];
    if let [Some(d), Some(ds), Some(r), Some(rs), Some(rv), Some(rsv), Some(rsd), Some(fine), Some(u6), Some(s6)] = all
    {
        let angle = |row: &Row| digits(row.angle, 2);
        let five = |kinks: &str| find("Radau5", 1e-5, true, kinks).map_or("–".into(), angle);
        document.compare("break_away.1e-4", 1.5, rsd.break_away());
        document.compare("break_away.1e-6", 1.48, fine.break_away());
        document.claim(
            "section 1.2, figure 2",
            "Without scaling z the results at 1e-4 are wrong: false oscillations and break-away; with scaling they \
             improve",
            if d.angle > 10.0 * ds.angle { Verdict::Reproduced } else { Verdict::Contradicted },
            format!(
                "`Dopri5`: angle off by {} rad without, {} with scaling; `Radau5`, damped by itself, minds less",
                angle(d),
                angle(ds)
            ),
        );
        document.claim(
            "section 1.2, figure 3",
            "Locating ż = 0 improves the results",
            if rsd.angle < rs.angle && rsd.angle < rsv.angle { Verdict::Reproduced } else { Verdict::Contradicted },
            format!(
                "not for `Radau5` at 1e-4: {} rad with ż = 0, {} with v = 0, {} with nothing located; DASSL was \
                not at hand",
                angle(rsd),
                angle(rsv),
                angle(rs)
            ),
        );
        document.claim(
            "section 1.2, figure 3",
            "The tolerance moves break-away: 1.5 N·m at 1e-4, 1.48 at 1e-6",
            if (rsd.break_away() - 1.5).abs() < 0.02 && (fine.break_away() - 1.48).abs() < 0.01 {
                Verdict::Reproduced
            } else {
                Verdict::Contradicted
            },
            format!("{} and {}", digits(rsd.break_away(), 4), digits(fine.break_away(), 4)),
        );
        document.words(format!(
            "**Scaling matters, and most to a method that is not damped by itself.** `Dopri5` without it has false \
             oscillations in the torque, as the paper reports of DASSL, here while the inertia sticks; it breaks away \
             early, at {} N·m, and then finds no stick-slip at all; the angle is off by {} rad, with scaling by {}. \
             `Radau5` damps the bristle whether the error estimate sees it or not. It gets stick-slip without scaling \
             too, and at 1e-4 with nothing located its error is {} without scaling and {} with it: at that tolerance \
             the moment of break-away is luck. With v = 0 located scaling takes it from {} to {} rad; at 1e-6, nothing \
             located, from {} to {}.",
            digits(d.break_away(), 3),
            angle(d),
            angle(ds),
            angle(r),
            angle(rs),
            angle(rv),
            angle(rsv),
            angle(u6),
            angle(s6),
        ));
        document.words(format!(
            "**The hint.** At 1e-4, scaled, `Radau5` breaks away at {} N·m with ż = 0 located (print: ≈ 1.5), at {} \
             with nothing located and at {} with v = 0 located; the true value is {}. At 1e-6 with ż = 0 located it is \
             {} (print: ≈ 1.48), and what is located makes little difference. In these runs of `Radau5` v = 0, where \
             |v| has its kink, is the better hint at loose tolerances: the angle is off by {} rad at 1e-4 and {} at \
             1e-5, with ż = 0 by {} and {}, with nothing located by {} and {}. The paper's own observation, that ż = 0 \
             improves its runs of DASSL, is about another method; it is not reproduced here.",
            digits(rsd.break_away(), 4),
            digits(rs.break_away(), 4),
            digits(rsv.break_away(), 4),
            digits(reference.largest(0), 4),
            digits(fine.break_away(), 4),
            angle(rsv),
            five("Velocity"),
            angle(rsd),
            five("Deflection"),
            angle(rs),
            five("Off"),
        ));
    }
    Ok(())
}
