//! The one-way clutch: its torque factor jumps where the deflection changes sign, which is an event.
//!
//! ```text
//! τ = (σ₀z + σ₁ż + σ₂ω) · N,    N = c_max F_n,max  while z < 0,   N = F_n  else
//! ```

use super::super::Progress;
use super::super::document::{Document, digits};
use super::super::experiment::{Experiment, Found, PaperScene, paper_scene};
use super::super::series::difference;
use crate::scoreboard::Verdict;
use bristle::Error;
use bristle_plot::chart::{self, Panel, Style};

/// Motor, one-way clutch, flywheel.
const ONE_WAY: PaperScene = paper_scene!("aberger2002/one_way_clutch.ron");

const CHANNELS: [&str; 6] =
    ["wheel.velocity", "motor.velocity", "freewheel.friction", "freewheel.load", "freewheel.velocity", "freewheel.z"];

fn clutch() -> Experiment {
    Experiment::new(ONE_WAY).keep(&CHANNELS)
}

/// The same with an ideal clutch.
fn ideal() -> Experiment {
    Experiment::new(ONE_WAY)
        .set("couplings.freewheel.friction", "Coulomb(coulomb: 1.0, stiction: 1.5, viscous: 0.1)")
        .tolerance("Dopri5", 1e-9, 1e-11)
        .keep(&CHANNELS[..5])
}

/// Changes of the factor from step to step: time, and torque before and after.
fn jumps(found: &Found) -> Vec<(f64, f64, f64)> {
    let (torque, load) = (found.column(2), found.column(3));
    (1..found.t.len()).filter(|&k| load[k] != load[k - 1]).map(|k| (found.t[k], torque[k - 1], torque[k])).collect()
}

/// Puts the experiment into the report.
pub fn write(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("aberger2002: one-way clutch");
    let by_step = clutch().every_step().run()?;
    let bristles = clutch().run()?;
    let ideal = ideal().run()?;
    let real_time = clutch().step("RealTime", 1e-3).run()?;
    let jumps = jumps(&by_step);
    let against = |a: &Found, b: &Found| difference((&a.t, a.column(0)), (&b.t, b.column(0))).max;
    let (softness, fixed) = (against(&bristles, &ideal), against(&real_time, &bristles));
    document.note("one_way.jumps", jumps.len() as f64);
    document.note("one_way.events", by_step.stats.n_events as f64);
    document.note("one_way.softness", softness);
    document.note("one_way.real_time", fixed);

    document.heading("The one-way clutch");
    document.words(
        "The paper's one-way clutch is locked while z < 0 and then acts with c_max = 100 times its largest normal \
         force, else with the force of its signal. At z = 0 the factor jumps, and with it the part of the torque that \
         does not vanish there, σ₁ż + σ₂ω. The scene is `scenes/papers/aberger2002/one_way_clutch.ron`, with the \
         parameters of the paper's listing; the paper shows no experiment with it, so motor, wheel and drive are ours. \
         Every change of the factor:",
    );
    let rows = jumps.iter().map(|&(t, before, after)| {
        let what = if after.abs() > before.abs() { "locks" } else { "lets go" };
        vec![digits(t, 6), what.into(), digits(before, 4), digits(after, 4)]
    });
    document.table("one_way", &["t, s", "", "torque before, N·m", "torque after, N·m"], rows.collect());
    let lock = jumps.iter().max_by(|a, b| a.2.abs().total_cmp(&b.2.abs())).copied().unwrap_or_default();
    let panels = [
        Panel::new("speeds", "t, s", "rad/s")
            .curve("wheel, LuGre", &bristles.t, bristles.column(0), Style::Line)
            .curve("motor, LuGre", &bristles.t, bristles.column(1), Style::Line)
            .curve("wheel, ideal", &ideal.t, ideal.column(0), Style::Dashed),
        Panel::new("torque", "t, s", "N·m").curve("LuGre", &bristles.t, bristles.column(2), Style::Line).curve(
            "ideal",
            &ideal.t,
            ideal.column(2),
            Style::Dashed,
        ),
        Panel::new("bristles as it locks", "t, s", "z, rad").x_range(lock.0 - 5e-4, lock.0 + 1.5e-3).curve(
            "",
            &by_step.t,
            by_step.column(5),
            Style::Line,
        ),
        Panel::new("torque as it locks", "t, s", "N·m").x_range(lock.0 - 5e-4, lock.0 + 1.5e-3).curve(
            "",
            &by_step.t,
            by_step.column(2),
            Style::Line,
        ),
    ];
    document.figure(
        "one_way",
        chart::draw("One-way clutch: LuGre and ideal", 2, &panels),
        "The one-way clutch with LuGre friction and an ideal one; below, one locking close up.",
    );
    document.words(format!(
        "Each jump is located as an event of its own ({} events in all, the others are v = 0). When the clutch locks \
         at t = {} s its slip has not yet died away, and σ₁ż comes to count {:.0} times as much: the torque goes from \
         {} to {} N·m in an instant. That is how the model is written; an ideal one-way clutch has no such stroke. The \
         wheel's speed differs from that with an ideal clutch (`Coulomb`, same levels) by {} rad/s at most. `RealTime` \
         at 1 ms steps across the jumps without locating them and is within {} rad/s of the tight run.",
        by_step.stats.n_events,
        digits(lock.0, 5),
        lock.2 / lock.1,
        digits(lock.1, 3),
        digits(lock.2, 4),
        digits(softness, 2),
        digits(fixed, 2),
    ));
    document.claim(
        "section 2.1.2",
        "A one-way clutch locked while z < 0, with c_max = 100 times the normal force",
        Verdict::of(softness < 0.01),
        format!(
            "locks and lets go as an ideal one to {} rad/s; the paper shows no experiment with it",
            digits(softness, 2)
        ),
    );
    Ok(())
}
