//! Lee, Hesterman, Jones: Simulation of friction in oscillating mechanisms (1997).
//!
//! Pendulums whose pin friction depends on the pin's load: table 1 as ratios at equal error, figures 3 and 5, and
//! chains of more links. Times are measured as in `bristle bench pendulum`. A pendulum for the one sentence on figure 5
//! that has numbers is found in [`search`].

mod search;
mod table_1;

use super::document::{Document, digits};
use super::experiment::{Experiment, Found, PaperScene, paper_scene};
use super::scoreboard::Verdict;
use super::{Effort, Progress};
use crate::bench::chains;
use bristle::Error;
use bristle::friction::Mode;
use bristle_plot::chart::{self, Panel, Style};
use bristle_plot::spans::spans;
use table_1::{key, label};

const SINGLE: PaperScene = paper_scene!("lee1997/single.ron");
const DOUBLE: PaperScene = paper_scene!("lee1997/double.ron");

/// Turning points of the single pendulum and the time of its final stick, s, as printed by
/// `tests/witnesses/lee1997_pendulums.py`.
const TURNS: [f64; 7] =
    [0.9344688309, 1.8194616493, 2.6766861331, 3.5167061462, 4.3458061167, 5.1682495448, 5.9872851019];
/// Its final angle, rad; and the times at which the elbow of the double pendulum first sticks and breaks away, s: from
/// the same script.
const REST: f64 = -0.0370979359;
const ELBOW: [f64; 2] = [3.1816449436, 3.3563062604];

/// The report.
pub fn report(effort: Effort, progress: &Progress) -> Result<Document, Error> {
    let mut document =
        Document::new("lee1997", "lee1997 — Lee, Hesterman, Jones: Simulation of friction in oscillating mechanisms");
    document.words(
        "Friction in a pin is proportional to the pin's load, the load depends on the acceleration, and the \
         acceleration on the friction. The paper solves this by iteration at every step (implicit) or differentiates \
         the equations once and integrates the acceleration (explicit, here `Jerk`). It prints no masses, lengths or \
         coefficients, so times compare only as ratios; the scenes are `scenes/papers/lee1997/single.ron` and \
         `double.ron`, the latter with the lengths, angles and radii of a search.",
    );
    progress.say("lee1997: search for figure 5");
    let found = search::search(700, 60)?;
    figure_5(&mut document, &found)?;
    table_1::report(&mut document, &found, effort, progress)?;
    figures(&mut document, progress)?;
    agreement(&mut document, progress)?;
    chains_of_more(&mut document, effort, progress)?;
    Ok(document)
}

/// The pendulum found by the search, and its motion.
fn figure_5(document: &mut Document, found: &search::Found) -> Result<(), Error> {
    document.heading("Figure 5: a double pendulum that meets the sentence");
    let channels = ["position", "velocity", "acceleration"];
    let names: Vec<String> =
        ["shoulder", "elbow"].iter().flat_map(|joint| channels.map(|channel| format!("{joint}.{channel}"))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = search::pendulum(&found.parameters).number("duration", search::PLOTTED).keep(&names).run()?;
    let span = stuck(&run, "elbow").into_iter().find(|span| span.0 > 0.0).unwrap_or((f64::NAN, f64::NAN));
    let (sticks, stays) = (span.0, span.1 - span.0);
    document.compare("figure5.sticks", search::STICKS, sticks);
    document.compare("figure5.stays", search::STAYS, stays);
    document.note("figure5.tried", found.tried as f64);
    document.words(format!(
        "The one sentence with numbers: *in the acceleration of link 1 when joint 2 becomes stuck 0.7 seconds into the \
         simulation, and again 0.1 seconds later when joint 2 becomes free again*. The command searches for a double \
         pendulum that does so (masses 1 and 0.5 kg, slender rods, μ = 0.4 and 0.6; {} pendulums tried, always the \
         same): the elbow sticks at {} s and is free {} s later. **Many pendulums meet one sentence**: that this one \
         does says that the sentence can be met, not that it is the paper's.",
        found.tried,
        digits(sticks, 4),
        digits(stays, 4)
    ));
    let shown = |k: usize| if k > 3 { 1e3 * found.parameters[k] } else { found.parameters[k] };
    let rows = search::NAMES.iter().enumerate().map(|(k, name)| vec![(*name).into(), digits(shown(k), 5)]);
    document.table("figure5_parameters", &["parameter", "found"], rows.collect());
    // the acceleration of link 1 jumps at both
    let acceleration = run.column(2);
    let jump = |t: f64| {
        let k = run.t.partition_point(|&at| at < t);
        if k == 0 || k + 1 >= run.t.len() { f64::NAN } else { (acceleration[k + 1] - acceleration[k - 1]).abs() }
    };
    let jumps = (jump(span.0), jump(span.1));
    document.note("figure5.jump_sticks", jumps.0);
    document.note("figure5.jump_frees", jumps.1);
    let (upper, lower) = (panels(&run, "shoulder", 0, "θ"), panels(&run, "elbow", 3, "β"));
    let both: Vec<Panel> = upper.into_iter().zip(lower).flat_map(|(upper, lower)| [upper, lower]).collect();
    document.figure(
        "figure5",
        chart::draw("Figure 5: a double pendulum that sticks at 0.7 s", 2, &both),
        "Figure 5: the double pendulum of the search. What one joint does shows as a jump in the acceleration of both. \
         Shaded: stuck.",
    );
    let holds = (sticks - search::STICKS).abs() < 0.01 && (stays - search::STAYS).abs() < 0.01;
    document.claim(
        "section 5, figure 5",
        "Joint 2 sticks at 0.7 s and is free 0.1 s later; both show in the acceleration of link 1",
        if holds { Verdict::Fitted } else { Verdict::NotComparable },
        format!(
            "with parameters found by a search: sticks at {} s for {} s, the acceleration of link 1 changes by {} and \
             {} rad/s²",
            digits(sticks, 4),
            digits(stays, 3),
            digits(jumps.0, 2),
            digits(jumps.1, 2)
        ),
    );
    bands(document, found)
}

/// Dependence of the two times on each parameter.
fn bands(document: &mut Document, found: &search::Found) -> Result<(), Error> {
    let [upper, lower, ..] = found.parameters;
    // the inertia of a slender rod, and other shapes
    let inertia = |run: Experiment, link: &str, j: f64| {
        run.set(&format!("links.{link}.inertia"), format!("Diagonal({j:?}, 0.0, {j:?})"))
    };
    let rod = |mass: f64, length: f64| mass * length * length / 12.0;
    let friction = |run: Experiment, field: &str, value: f64| {
        let place = |joint: &str| format!("joints.{joint}.friction.{field}");
        run.number(&place("shoulder"), value).number(&place("elbow"), value)
    };
    // parameters of the search, then fixed ones
    let n = search::NAMES.len();
    let fixed = [
        "mass of the lower link (0.5 kg)",
        "inertia of the upper link (a rod's)",
        "inertia of the lower link (a rod's)",
        "μ_k (0.4)",
        "μ_s (0.6)",
    ];
    let changed = |k: usize, factor: f64| {
        let mut parameters = found.parameters;
        if k < n {
            parameters[k] *= factor;
        }
        let run = search::pendulum(&parameters).number("duration", search::PLOTTED).keep(&["elbow.position"]);
        match k.wrapping_sub(n) {
            0 => inertia(run.number("links.lower.mass", factor * 0.5), "lower", rod(factor * 0.5, lower)),
            1 => inertia(run, "upper", factor * rod(1.0, upper)),
            2 => inertia(run, "lower", factor * rod(0.5, lower)),
            3 => friction(run, "coulomb", factor * 0.4),
            4 => friction(run, "stiction", factor * 0.6),
            _ => run,
        }
    };
    let mut rows = Vec::new();
    for (k, name) in search::NAMES.into_iter().chain(fixed).enumerate() {
        let mut row = vec![name.to_owned()];
        for factor in [0.95, 1.05] {
            let run = changed(k, factor).run()?;
            let span = stuck(&run, "elbow").into_iter().find(|span| span.0 > 0.0).unwrap_or((f64::NAN, f64::NAN));
            let cell = |x: f64| if x.is_finite() { digits(x, 3) } else { "–".into() };
            row.extend([cell(span.0), cell(span.1 - span.0)]);
        }
        rows.push(row);
    }
    document.words("How much the sentence says of each parameter: 5 % less and more (–: does not stick).");
    document.table(
        "figure5_bands",
        &["parameter", "− 5 %: sticks at, s", "for, s", "+ 5 %: sticks at, s", "for, s"],
        rows,
    );
    Ok(())
}

/// Spans in which a joint is stuck.
fn stuck(found: &Found, joint: &str) -> Vec<(f64, f64)> {
    let of_joint = || found.events.iter().filter(|event| event.joint == joint);
    let changes: Vec<(f64, bool)> = of_joint().map(|event| (event.t, event.to == Mode::Stuck)).collect();
    let begins_stuck = of_joint().next().is_some_and(|event| event.from == Mode::Stuck);
    let ends = found.t.first().copied().zip(found.t.last().copied()).unwrap_or_default();
    spans(begins_stuck, &changes, ends)
}

/// Angle, velocity and acceleration of a joint over time, stick phases shaded.
fn panels(found: &Found, joint: &str, first: usize, symbol: &str) -> Vec<Panel<'static>> {
    let stuck = stuck(found, joint);
    [("angle, rad", ""), ("velocity, rad/s", "′"), ("acceleration, rad/s²", "″")]
        .iter()
        .enumerate()
        .map(|(k, (name, prime))| {
            Panel::new(&format!("{symbol}{prime}, {joint}"), "time, s", name).shade(&stuck).curve(
                "",
                &found.t,
                found.column(first + k),
                Style::Line,
            )
        })
        .collect()
}

fn figures(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("lee1997: figures");
    document.heading("Figure 3, and events against an independent script");
    let single = Experiment::new(SINGLE).keep(&["hinge.position", "hinge.velocity", "hinge.acceleration"]).run()?;
    document.figure(
        "figure3",
        chart::draw("Figure 3: single pendulum", 1, &panels(&single, "hinge", 0, "θ")),
        "Figure 3: angle, velocity and acceleration of the single pendulum; the acceleration jumps at each turn. \
         Shaded: stuck.",
    );
    let channels = ["position", "velocity", "acceleration"];
    let names: Vec<String> =
        ["shoulder", "elbow"].iter().flat_map(|joint| channels.map(|channel| format!("{joint}.{channel}"))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let double = Experiment::new(DOUBLE).keep(&names).run()?;
    for (name, found) in [("single", &single), ("double", &double)] {
        let keys: Vec<&str> = if name == "single" { channels.to_vec() } else { names.clone() };
        let columns: Vec<(&str, &[f64])> = std::iter::once(("t", &found.t[..]))
            .chain(keys.iter().enumerate().map(|(k, key)| (*key, found.column(k))))
            .collect();
        document.columns(&format!("{name}_pendulum"), &columns);
    }

    document.claim(
        "section 4, figure 3",
        "The acceleration of the pendulum jumps whenever the velocity passes zero",
        Verdict::of(single.events.len() >= 7),
        format!("{} located turns, each with a jump", single.events.iter().filter(|event| event.t > 0.0).count()),
    );
    // events, beside those of the script
    let turns: Vec<f64> = single.events.iter().map(|event| event.t).filter(|t| *t > 0.0).collect();
    let worst = turns.iter().zip(TURNS).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    document.note("single.changes", turns.len() as f64);
    document.note("single.worst_event", if turns.len() == TURNS.len() { worst } else { f64::INFINITY });
    let rest = single.column(0).last().copied().unwrap_or(f64::NAN);
    document.note("single.rest_error", (rest - REST).abs());
    document.note("double.changes", double.events.iter().filter(|event| event.t > 0.0).count() as f64);
    let first = stuck(&double, "elbow").into_iter().find(|span| span.0 > 0.0).unwrap_or((f64::NAN, f64::NAN));
    let elbow = (first.0 - ELBOW[0]).abs().max((first.1 - ELBOW[1]).abs());
    document.note("double.elbow_error", elbow);
    document.words(format!(
        "Against `crates/papers/tests/witnesses/lee1997_pendulums.py`, which shares no code with the engine: the six \
         turns and the final stop of the single pendulum are within {} s, the place it stops at within {} rad; the \
         double pendulum of `double.ron` changes mode {} times in 6 s, and its elbow first sticks and lets go within \
         {} s of the script's times.",
        digits(worst, 2),
        digits((rest - REST).abs(), 2),
        double.events.iter().filter(|event| event.t > 0.0).count(),
        digits(elbow, 2)
    ));
    Ok(())
}

/// The three forms give the same motion.
fn agreement(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("lee1997: formulations");
    document.heading("The forms agree");
    let mut rows = Vec::new();
    for (name, scene, channels) in
        [("single", SINGLE, &["hinge.position"][..]), ("double", DOUBLE, &["shoulder.position", "elbow.position"][..])]
    {
        let run = |formulation: &str, method: &str| {
            let run = Experiment::new(scene).set("formulation", formulation).keep(channels);
            run.tolerance(method, 1e-10, 1e-12).every(0.02).run()
        };
        let base = run("Implicit", "Dopri5")?;
        for (formulation, method) in [("Jerk", "Dopri5"), ("Residual", "Radau5"), ("Implicit", "Radau5")] {
            let found = run(formulation, method)?;
            let worst = (0..channels.len())
                .flat_map(|k| base.column(k).iter().zip(found.column(k)))
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            let worst = if found.t.len() == base.t.len() { worst } else { f64::INFINITY };
            document.note(format!("{name}.{}_{}.apart", formulation.to_lowercase(), method.to_lowercase()), worst);
            rows.push(vec![
                name.into(),
                format!("`{formulation}`, `{method}`"),
                digits(worst, 2),
                found.events.len().to_string(),
            ]);
        }
    }
    document.table("agreement", &["pendulum", "form", "largest difference of an angle, rad", "changes of mode"], rows);
    let worst = ["single", "double"]
        .iter()
        .flat_map(|name| {
            ["jerk_dopri5", "residual_radau5", "implicit_radau5"]
                .map(|form| document.value(&format!("{name}.{form}.apart")))
        })
        .fold(0.0, f64::max);
    document.claim(
        "sections 4 and 5",
        "Implicit and explicit forms give identical results within the tolerance",
        Verdict::of(worst < 1e-7),
        format!("within {} rad at rtol 10⁻¹⁰, three forms and two families of steppers", digits(worst, 2)),
    );
    document.words(
        "Against `Implicit` with `Dopri5`, all at rtol 10⁻¹⁰. The paper finds its two forms *identical within the \
         simulation tolerances*: confirmed, for three forms and two families of steppers.",
    );
    Ok(())
}

fn chains_of_more(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    document.heading("More links: cost per joint");
    let repeats = if effort == Effort::Full { 40 } else { 1 };
    let failed = |reason: String| Error::Unsupported { name: "chains".into(), what: reason };
    let costs =
        chains::measure(repeats, &mut |what: &str| progress.say(&format!("lee1997: {what}"))).map_err(failed)?;
    let lengths: Vec<f64> = chains::LENGTHS.iter().map(|n| *n as f64).collect();
    let mut panel = Panel::new("", "links", "ns per evaluation and joint").log_x();
    let mut rows = Vec::new();
    for cost in &costs {
        panel = panel.curve(label(cost.way), &lengths, &cost.times, Style::Line);
        rows.push(
            std::iter::once(label(cost.way).to_owned()).chain(cost.times.iter().map(|t| digits(*t, 3))).collect(),
        );
        let (Some(at_16), Some(at_256)) = (cost.times.get(3), cost.times.get(7)) else { continue };
        document.note(format!("chains.{}.growth_16_256", key(cost.way)), at_256 / at_16);
    }
    let head: Vec<String> = std::iter::once("ns per evaluation and joint; links".to_owned())
        .chain(chains::LENGTHS.iter().map(ToString::to_string))
        .collect();
    document.table("chains", &head.iter().map(String::as_str).collect::<Vec<_>>(), rows);
    document.figure(
        "chains",
        chart::draw("Cost of one evaluation per joint, chains of pins", 1, &[panel]),
        "Time of one evaluation of the equations per joint for hanging chains: the work is nearly proportional to the \
         number of links.",
    );
    Ok(())
}
