//! The bearing over time: figures 4, 5 and 6.

use super::super::document::Document;
use super::super::experiment::Found;
use super::super::{Effort, Progress};
use super::{BEARING, CLASSIC, bearing};
use bristle::Error;
use bristle::friction::FrictionLaw;
use bristle_plot::chart::{self, Panel, Style};

/// Scaled deflection z/z_N and its rate, z_N = 1/σ₀: the state that is integrated.
fn bristles(found: &Found) -> Result<[Vec<f64>; 2], Error> {
    let scene = bristle::Scene::parse(BEARING.text, BEARING.path)?;
    let Some(law) = &scene.joints[0].friction else {
        return Ok([Vec::new(), Vec::new()]);
    };
    let scaled: Vec<f64> = found.column(3).iter().map(|z| law.sigma0() * z).collect();
    let rate = found.column(2).iter().zip(&scaled).map(|(&v, &s)| law.rates(v, [s, 0.0])[0]).collect();
    Ok([scaled, rate])
}

/// Time spans in which the bearing is at rest.
fn stuck(found: &Found) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut is_stuck = false;
    for (&t, &v) in found.t.iter().zip(found.column(2)) {
        match (v == 0.0, spans.last_mut()) {
            (true, Some(span)) if is_stuck => span.1 = t,
            (true, _) => spans.push((t, t)),
            (false, _) => {}
        }
        is_stuck = v == 0.0;
    }
    spans
}

/// Puts the figures into the report.
pub fn write(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    progress.say("aberger2002: figures 4 to 6");
    // the scenes' own tolerance, 1e-6
    let found = bearing(BEARING).every(1e-3).run()?;
    let classic = bearing(CLASSIC).every(1e-3).run()?;
    let [z, rate] = bristles(&found)?;
    let spring: Vec<f64> = found.t.iter().map(|t| 0.1 * t).collect();
    document.heading("The bearing over time: figures 4, 5 and 6");
    let panel = Panel::new("", "t, s", "rad/s, rad")
        .curve("angular velocity", &found.t, found.column(2), Style::Line)
        .curve("angle of the inertia", &found.t, found.column(1), Style::Line)
        .curve("angle of the spring's end", &found.t, &spring, Style::Dashed);
    document.figure(
        "figure4",
        chart::draw("Figure 4: speed and angles", 1, &[panel]),
        "Figure 4: angular velocity, angle of the inertia and angle of the spring's end.",
    );
    let panels = [
        Panel::new("scaled deflection", "t, s", "z/z_N").curve("", &found.t, &z, Style::Line),
        Panel::new("its rate", "t, s", "ż/z_N, 1/s").curve("", &found.t, &rate, Style::Line),
    ];
    document.figure(
        "figure5",
        chart::draw("Figure 5: bristle deflection and its rate, z_N = 1e-5", 1, &panels),
        "Figure 5: scaled deflection of the bristles and its rate, every millisecond.",
    );
    let panel = Panel::new("", "t, s", "friction torque, N·m")
        .curve("LuGre", &found.t, found.column(0), Style::Line)
        .curve("classic", &classic.t, classic.column(0), Style::Dashed)
        .shade(&stuck(&classic));
    document.figure(
        "figure6",
        chart::draw("Figure 6: LuGre and classic friction", 1, &[panel]),
        "Figure 6: friction torque with LuGre and with classic friction. Shaded: the classic bearing sticks.",
    );
    document.words(format!(
        "Classic friction breaks away at {:.4} N·m each time, LuGre at {:.4}, so with classic friction every slip \
         comes later; the peaks where the inertia stops belong to LuGre with its Stribeck effect, which the table of \
         the classic friction leaves out. As in the paper.",
        classic.largest(0),
        found.largest(0)
    ));
    if effort == Effort::Full {
        document.columns(
            "figure4_6",
            &[
                ("t", &found.t),
                ("angle", found.column(1)),
                ("velocity", found.column(2)),
                ("torque", found.column(0)),
                ("z/z_N", &z),
                ("rate of z/z_N", &rate),
                ("torque, classic", classic.column(0)),
            ],
        );
    }
    Ok(())
}
