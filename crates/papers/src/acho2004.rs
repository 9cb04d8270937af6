//! Acho, Moreno, Guerra: Second-order LuGre friction model (2004).
//!
//! ```text
//! ż = v − |v|z/g(v)        ẇ = v − f(w),  f(w) = w³/α − w        F = σ₀z + σ₁ż + σ₂(v + βw)
//! ```
//!
//! Each experiment with the first- and with the second-order model, and the bounds of property 1 on z and w.

use super::document::{Document, digits};
use super::experiment::{Experiment, Found, PaperScene, paper_scene};
use super::random::Random;
use super::scoreboard::Verdict;
use super::series::{interpolate, range};
use super::{Effort, Progress};
use bristle::Error;
use bristle_plot::chart::{self, Panel, Style};

const PID: PaperScene = paper_scene!("acho2004/pid.ron");
const STICK_SLIP: PaperScene = paper_scene!("acho2004/stick_slip.ron");
const LAG: PaperScene = paper_scene!("acho2004/lag.ron");
const PRESLIDING: PaperScene = paper_scene!("acho2004/presliding.ron");
const BOUNDS: PaperScene = paper_scene!("acho2004/bounds.ron");

/// The second-order model with the parameters of table I.
const SECOND: &str = "LuGre2(sigma0: 1e5, sigma1: 316.22776601683796, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, \
    stribeck_velocity: 1e-3, alpha: 3.0, beta: 1.0)";
const ALPHA: f64 = 3.0;
const SIGMA0: f64 = 1e5;
const SIGMA2: f64 = 0.4;
const STICTION: f64 = 1.5;

/// The force of `presliding.ron` over time, N and s.
const FORCE_T: [f64; 6] = [0.0, 20.0, 40.0, 80.0, 100.0, 140.0];
const FORCE: [f64; 6] = [0.0, 1.425, 1.425, -1.425, -1.425, 1.425];

/// Position of the mass in second-order stick-slip after 15 s, m: `tests/witnesses/acho2004_stick_slip.py` prints it to
/// 10⁻¹¹.
const POSITION_AT_15: f64 = 0.439951342511893;

/// The report.
pub fn report(effort: Effort, progress: &Progress) -> Result<Document, Error> {
    let mut document = Document::new("acho2004", "acho2004 — Acho, Moreno, Guerra: Second-order LuGre friction model");
    document.words(
        "The paper adds a second bristle state w to LuGre friction, with the dynamics of a van der Pol oscillator's \
         nonlinearity, and shows five experiments with both models. It prints no numbers but the parameters, and of \
         the figures we have the captions and what the text says of them, so axes and scales are ours. The bias and \
         amplitude of the velocity in figures 5 and 6 are not printed: 1.5 ± 1 mm/s is ours, after Canudas de Wit et \
         al.; so are the ramps of figure 7. The last section has bands over both. The scenes are in \
         `scenes/papers/acho2004`.",
    );
    limit_cycle(&mut document, progress)?;
    stick_slip(&mut document, progress)?;
    lag(&mut document, progress)?;
    presliding(&mut document, progress)?;
    nonlinear_function(&mut document);
    bands(&mut document)?;
    bounds(&mut document, effort, progress)?;
    Ok(document)
}

/// An experiment with the first- and the second-order model.
fn both(run: &Experiment, channels: &[&str]) -> Result<[Found; 2], Error> {
    let with_w: Vec<&str> = channels.iter().copied().chain(["slide.w"]).collect();
    Ok([run.clone().keep(channels).run()?, run.clone().set("joints.slide.friction", SECOND).keep(&with_w).run()?])
}

const MODELS: [&str; 2] = ["a) first order, eq. (1)", "b) second order, eq. (2)"];

/// The curves of a figure as CSV, both models side by side.
fn columns(document: &mut Document, name: &str, found: &[Found; 2], channels: &[&str]) {
    let heads: Vec<String> = ["first", "second"]
        .iter()
        .flat_map(|model| {
            std::iter::once("t").chain(channels.iter().copied()).map(move |what| format!("{model}.{what}"))
        })
        .collect();
    let curves = found
        .iter()
        .flat_map(|found| std::iter::once(&found.t[..]).chain((0..channels.len()).map(move |k| found.column(k))));
    let columns: Vec<(&str, &[f64])> = heads.iter().map(String::as_str).zip(curves).collect();
    document.columns(name, &columns);
}

fn limit_cycle(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("acho2004: PID control");
    document.heading("Figure 2: PID control");
    let found = both(&Experiment::new(PID), &["slide.position", "slide.friction"])?;
    columns(document, "figure2", &found, &["position", "friction"]);
    let panels: Vec<Panel> = found
        .iter()
        .zip(MODELS)
        .map(|(found, model)| {
            Panel::new(model, "time, s", "position, m").curve("", &found.t, found.column(0), Style::Line)
        })
        .collect();
    document.figure(
        "figure2",
        chart::draw("Figure 2: PID control", 1, &panels),
        "Figure 2: position under PID control, both models.",
    );
    // the last third: remaining amplitude
    let swing = |found: &Found| {
        let late: Vec<f64> = found.t.iter().zip(found.column(0)).filter(|(t, _)| **t > 66.0).map(|(_, x)| *x).collect();
        let (low, high) = range(late.iter().copied());
        high - low
    };
    let (first, second) = (swing(&found[0]), swing(&found[1]));
    document.note("pid.swing_first", first);
    document.note("pid.swing_second", second);
    document.claim(
        "section III.A, figure 2",
        "PID control with friction has a limit cycle, with both models",
        Verdict::of(first > 0.01 && second > 0.01),
        format!("still {} m and {} m to and fro after 66 s", digits(first, 3), digits(second, 3)),
    );
    document.words(format!(
        "Neither arrives: after 66 s the position still goes to and fro by {} m with the first-order model and by {} m \
         with the second.",
        digits(first, 3),
        digits(second, 3)
    ));
    Ok(())
}

fn stick_slip(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("acho2004: stick-slip");
    document.heading("Figure 4: stick-slip");
    let found = both(&Experiment::new(STICK_SLIP), &["slide.position", "slide.velocity", "slide.friction"])?;
    columns(document, "figure4", &found, &["position", "velocity", "friction"]);
    let mut panels = Vec::new();
    for (found, model) in found.iter().zip(MODELS) {
        let end: Vec<f64> = found.t.iter().map(|t| 0.1 * t).collect();
        panels.push(
            Panel::new(model, "time, s", "position, m").curve("mass x", &found.t, found.column(0), Style::Line).curve(
                "end of the spring y",
                &found.t,
                &end,
                Style::Dashed,
            ),
        );
        panels.push(Panel::new("friction", "time, s", "F, N").curve("", &found.t, found.column(2), Style::Line));
    }
    let order = [panels[0].clone(), panels[2].clone(), panels[1].clone(), panels[3].clone()];
    document.figure(
        "figure4",
        chart::draw("Figure 4: stick-slip motion", 2, &order),
        "Figure 4: stick-slip motion, both models.",
    );
    let x = found[1].column(0).last().copied().unwrap_or(f64::NAN);
    let w = found[1].column(3).last().copied().unwrap_or(f64::NAN);
    document.note("stick_slip.position_error", (x - POSITION_AT_15).abs());
    document.note("stick_slip.w", w);
    let slips = |found: &Found| found.column(1).windows(2).filter(|v| v[0] < 0.02 && v[1] >= 0.02).count();
    document.note("stick_slip.slips_first", slips(&found[0]) as f64);
    document.note("stick_slip.slips_second", slips(&found[1]) as f64);
    document.claim(
        "section III.B, figure 4",
        "Both models show stick-slip",
        Verdict::of(slips(&found[0]) > 0 && slips(&found[1]) > 0),
        format!("{} slips in 15 s with the first-order model, {} with the second", slips(&found[0]), slips(&found[1])),
    );
    document.words(format!(
        "Slips in 15 s: {} with the first-order model, {} with the second. w goes to {} and adds {} N to friction for \
         good, so that break-away comes later. The second-order run ends at {} m, within {} m of an independent script \
         (`acho2004_stick_slip.py`).",
        slips(&found[0]),
        slips(&found[1]),
        digits(w, 4),
        digits(SIGMA2 * w, 3),
        digits(x, 6),
        digits((x - POSITION_AT_15).abs(), 2)
    ));
    Ok(())
}

fn lag(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("acho2004: frictional lag");
    document.heading("Figures 5 and 6: frictional lag");
    let mut drift = [f64::NAN; 2];
    for (k, (figure, omega)) in [("figure5", 1.0), ("figure6", 25.0)].into_iter().enumerate() {
        let drive =
            format!("Motion(Sum([Ramp(rate: 1.5e-3), Sine(amplitude: {:?}, frequency: {omega:?})]))", 1e-3 / omega);
        let run =
            Experiment::new(LAG).set("joints.slide.drive", drive).every(2.0 * std::f64::consts::PI / omega / 200.0);
        // steady deflection, and w at 0: a prescribed joint would start both steady, and the transient would be missing
        let second = run.clone().set("joints.slide.friction", SECOND).set("joints.slide.bristle", "(z: 1e-5, w: 0.0)");
        let found = [
            run.clone().keep(&["slide.velocity", "slide.friction"]).run()?,
            second.keep(&["slide.velocity", "slide.friction", "slide.w"]).run()?,
        ];
        columns(document, figure, &found, &["velocity", "friction"]);
        let mut panels = Vec::new();
        for (found, model) in found.iter().zip(MODELS) {
            let v: Vec<f64> = found.column(0).iter().map(|v| 1e3 * v).collect();
            panels.push(Panel::new(model, "velocity, mm/s", "F, N").curve("", &v, found.column(1), Style::Line));
        }
        let title = format!("Figure {}: velocity varied at {omega} rad/s", figure.trim_start_matches("figure"));
        document.figure(figure, chart::draw(&title, 2, &panels), format!("{title}; 50 s."));
        // friction at the slow end of the loop, near the beginning and at the end
        let second = &found[1];
        let mut hint = 0;
        let mut at = |t: f64| interpolate(&second.t, second.column(1), t, &mut hint);
        let period = 2.0 * std::f64::consts::PI / omega;
        let last = second.t.last().copied().unwrap_or(0.0);
        drift[k] = (at(last) - at(last - period)).abs();
        document.note(format!("{figure}.climb"), at(last) - at(0.0));
        document.note(format!("{figure}.drift_last_period"), drift[k]);
        document.note(format!("{figure}.w_end"), second.column(2).last().copied().unwrap_or(f64::NAN));
    }
    document.claim(
        "section III.C, figures 5 and 6",
        "The second-order model has multi-loop behaviour in the lag curve",
        if drift.iter().all(|d| *d < 1e-6) { Verdict::Explained } else { Verdict::Reproduced },
        "loop over loop while w climbs from 0 to √α; then every period repeats the one before to rounding: a \
         transient, no property of the cycle",
    );
    document.words(format!(
        "Both models lag: friction is larger while the velocity grows. The second-order model draws loop over loop, as \
         the paper says. **The loops belong to a transient:** w leaves 0, climbs to √α = 1.732, and lifts the curve by \
         σ₂βw. Once it has arrived the loop closes: from the last period but one to the last, friction at the same \
         phase changes by {} N at 1 rad/s and {} N at 25 rad/s. After that the curve is LuGre's, {} N higher.",
        digits(drift[0], 2),
        digits(drift[1], 2),
        digits(SIGMA2 * ALPHA.sqrt(), 3)
    ));
    Ok(())
}

fn presliding(document: &mut Document, progress: &Progress) -> Result<(), Error> {
    progress.say("acho2004: pre-sliding");
    document.heading("Figure 7: pre-sliding");
    let found = both(&Experiment::new(PRESLIDING), &["slide.position", "slide.friction"])?;
    columns(document, "figure7", &found, &["position", "friction"]);
    let mut panels = Vec::new();
    let mut spans = Vec::new();
    for (found, model) in found.iter().zip(MODELS) {
        // friction and applied force; they differ by mass times acceleration
        let applied: Vec<f64> = found.t.iter().map(|&t| interpolate(&FORCE_T, &FORCE, t, &mut 0)).collect();
        panels.push(
            Panel::new(model, "displacement, m", "N")
                .curve("friction force F", found.column(0), found.column(1), Style::Line)
                .curve("force applied", found.column(0), &applied, Style::Dashed),
        );
        let x = found.column(0).iter().map(|x| 1e6 * x);
        spans.push(range(x));
    }
    let w = found[1].column(2);
    panels.push(Panel::new("w of the second-order model", "time, s", "w").curve("", &found[1].t, w, Style::Line));
    panels.push(Panel::new("displacement of the second-order model", "time, s", "m").curve(
        "",
        &found[1].t,
        found[1].column(0),
        Style::Line,
    ));
    document.figure(
        "figure7",
        chart::draw("Figure 7: pre-sliding displacement", 2, &panels),
        "Figure 7: friction force and applied force over displacement, in metres, for both models; below, what the \
         second does over time.",
    );
    let [first, second] = [spans[0].1 - spans[0].0, spans[1].1 - spans[1].0];
    document.note("presliding.span_first", first);
    document.note("presliding.span_second", second);
    document.note("presliding.w_end", w.last().copied().unwrap_or(f64::NAN));
    let (low, high) = w.iter().fold((0.0_f64, 0.0_f64), |(low, high), w| (low.min(*w), high.max(*w)));
    document.note("presliding.w_low", low);
    document.note("presliding.w_high", high);
    document.claim(
        "section III.D, figure 7",
        "Second-order pre-sliding has two vertical jumps and a larger displacement",
        if second > first { Verdict::Explained } else { Verdict::Contradicted },
        format!(
            "there are the two jumps, and {} m instead of {} µm: with the printed parameters σ₂β√α = {} N makes the \
             mass slide, so it is pre-sliding no longer",
            digits(1e-6 * second, 3),
            digits(first, 3),
            digits(SIGMA2 * ALPHA.sqrt(), 3)
        ),
    );
    document.words(format!(
        "The displacement spans {} µm with the first-order model and {} m with the second. The text too calls it \
         bigger with the second, but **with the printed parameters this is no longer pre-sliding:** w settles at {} \
         while the force is on its way up, which adds σ₂β√α = {} N to friction on that side and takes as much away on \
         the other, where 1.425 N then exceed break-away. The mass slides until its velocity has carried w over to {}, \
         and comes to rest. At each end of the loop the force changes while the mass stands still: the two vertical \
         parts that the paper calls jumps.",
        digits(first, 3),
        digits(1e-6 * second, 3),
        digits(ALPHA.sqrt(), 4),
        digits(SIGMA2 * ALPHA.sqrt(), 3),
        digits(-ALPHA.sqrt(), 4)
    ));
    Ok(())
}

/// Dependence of the span of figure 7 on the ramp, and of the rise of figures 5 and 6 on the velocity, neither of which
/// is printed.
fn bands(document: &mut Document) -> Result<(), Error> {
    document.heading("Bands: what the print does not give");
    let mut rows = Vec::new();
    for factor in [0.25, 1.0, 4.0] {
        let points: Vec<String> =
            FORCE_T.iter().zip(FORCE).map(|(t, f)| format!("({:?}, {f:?})", t * factor)).collect();
        let run = Experiment::new(PRESLIDING)
            .set("joints.slide.drive", format!("Effort(Table([{}]))", points.join(", ")))
            .number("duration", 140.0 * factor);
        let found = both(&run, &["slide.position"])?;
        let spans = found.map(|found| found.range(0)).map(|(low, high)| high - low);
        document.note(format!("bands.ramp.{factor}.second"), spans[1]);
        rows.push(vec![format!("ramps of the force × {factor}"), digits(1e6 * spans[0], 3), digits(spans[1], 3)]);
    }
    document.table("bands_presliding", &["figure 7", "first order, µm", "second order, m"], rows);
    let mut rows = Vec::new();
    for (bias, amplitude) in [(1.5e-3, 1e-3), (0.75e-3, 0.5e-3), (3e-3, 2e-3), (15e-3, 10e-3)] {
        let drive = format!("Motion(Sum([Ramp(rate: {bias:?}), Sine(amplitude: {amplitude:?}, frequency: 1.0)]))");
        let run = Experiment::new(LAG)
            .set("joints.slide.drive", drive)
            .set("joints.slide.friction", SECOND)
            .set("joints.slide.bristle", "(z: 1e-5, w: 0.0)");
        let found = run.keep(&["slide.friction", "slide.w"]).run()?;
        let last = |k: usize| found.column(k).last().copied().unwrap_or(f64::NAN);
        document.note(format!("bands.lag.{bias}.w"), last(1));
        rows.push(vec![
            format!("{} ± {} mm/s", 1e3 * bias, 1e3 * amplitude),
            digits(last(1), 5),
            digits(SIGMA2 * last(1), 3),
        ]);
    }
    document.table("bands_lag", &["figure 5, velocity at 1 rad/s", "w after 50 s", "lift of the curve, N"], rows);
    document.words(
        "Slower or quicker ramps and other velocities change nothing in kind: the second-order mass slides \
        by metres, and the lag curve is lifted once by σ₂βw.",
    );
    Ok(())
}

/// Figure 8: f(w) and the properties that section IV lists.
fn nonlinear_function(document: &mut Document) {
    document.heading("Figure 8: the function f(w)");
    let w: Vec<f64> = (-300..=300).map(|k| f64::from(k) / 100.0).collect();
    let f = |w: f64| w * w * w / ALPHA - w;
    let values: Vec<f64> = w.iter().map(|&w| f(w)).collect();
    // w f(w) < 0 within ±√α, f′ ≤ 0 within ±√(α/3)
    let (region, falling) = (ALPHA.sqrt(), (ALPHA / 3.0).sqrt());
    let panel = Panel::new("", "w", "f(w)")
        .shade(&[(-falling, falling)])
        .curve("f(w) = w³/α − w", &w, &values, Style::Line)
        .curve("±√α", &[-region, region], &[0.0, 0.0], Style::Points);
    document.figure(
        "figure8",
        chart::draw("Figure 8: the nonlinear function f(w), α = 3", 1, &[panel]),
        "Figure 8: f(w) of eq. (2). Shaded: f′(w) ≤ 0; points: where f changes sign again.",
    );
    let slope = (f(1e-6) - f(-1e-6)) / 2e-6;
    let holds = f(0.0) == 0.0 && slope < 0.0 && f(1e3) > 1e6 && f(-1e3) < -1e6;
    document.note("figure8.slope_at_0", slope);
    document.note("figure8.region", region);
    document.claim(
        "section IV, figure 8",
        "f(0) = 0, f′(0) < 0, f goes to ±∞ with w; α sets the active region",
        Verdict::of(holds),
        format!(
            "f′(0) = {}; w f(w) < 0 within ±√α = ±{}, but f′ ≤ 0 only within ±√(α/3) = ±{}",
            digits(slope, 3),
            digits(region, 4),
            digits(falling, 4)
        ),
    );
    document.words(format!(
        "The paper calls *active* the region with w f(w) < 0 *and* f′(w) ≤ 0. The first holds within ±√α = ±{}, the \
         second within ±√(α/3) = ±{}: both only within the latter. w is driven out of it and settles at ±√α.",
        digits(region, 4),
        digits(falling, 4)
    ));
}

/// The largest root of w³/α − w = b.
fn largest_root(b: f64) -> f64 {
    // beyond it the cubic grows: Newton from above
    let mut w = 2.0 * (ALPHA.sqrt() + (b * ALPHA).cbrt());
    for _ in 0..60 {
        w -= (w * w * w / ALPHA - w - b) / (3.0 * w * w / ALPHA - 1.0);
    }
    w
}

/// A velocity of five cosines, never faster than `b`, as a motion.
fn random_motion(b: f64, random: &mut Random) -> String {
    let parts: Vec<f64> = (0..5).map(|_| 0.05 + random.next()).collect();
    let sum: f64 = parts.iter().sum();
    let sines: Vec<String> = parts
        .iter()
        .map(|part| {
            let (frequency, phase) =
                (10f64.powf(2.0 * random.next() - 1.0), 2.0 * std::f64::consts::PI * random.next());
            format!("Sine(amplitude: {:?}, frequency: {frequency:?}, phase: {phase:?})", b * part / sum / frequency)
        })
        .collect();
    format!("Motion(Sum([{}]))", sines.join(", "))
}

fn bounds(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    document.heading("Property 1: bounds on z and w");
    let n = if effort == Effort::Full { 40 } else { 4 };
    let mut random = Random::new(2004);
    let mut rows = Vec::new();
    let mut panels = Vec::new();
    for b in [0.01, 0.3, 2.0] {
        let (printed, bound) = ((b * ALPHA).cbrt(), largest_root(b));
        let (mut most_w, mut most_z, mut beyond, mut fastest) = (0.0_f64, 0.0_f64, 0, 0.0_f64);
        let mut panel = Panel::new(&format!("∣v∣ ≤ {b} m/s"), "time, s", "w");
        for k in 0..n {
            progress.say(&format!("acho2004: bounds, {b} m/s, {} of {n}", k + 1));
            let run = Experiment::new(BOUNDS)
                .set("joints.slide.friction", SECOND)
                .set("joints.slide.bristle", "(z: 0.0, w: 0.0)")
                .set("joints.slide.drive", random_motion(b, &mut random));
            let found = run.keep(&["slide.z", "slide.w", "slide.velocity"]).run()?;
            if let Some(reason) = found.failure {
                return Err(Error::Unsupported { name: "bounds".into(), what: reason });
            }
            let most = |k: usize| found.magnitude(k);
            beyond += usize::from(most(1) > printed);
            (most_z, most_w, fastest) = (most_z.max(most(0)), most_w.max(most(1)), fastest.max(most(2)));
            if k < 6 {
                panel = panel.colored("", &found.t, found.column(1), Style::Line, 0);
            }
        }
        for (sign, name) in [(1.0, "printed bound"), (-1.0, "")] {
            panel = panel.colored(name, &[0.0, 40.0], &[sign * printed; 2], Style::Dashed, 1);
        }
        for (sign, name) in [(1.0, "true bound"), (-1.0, "")] {
            panel = panel.colored(name, &[0.0, 40.0], &[sign * bound; 2], Style::Dashed, 2);
        }
        panels.push(panel);
        rows.push(vec![
            b.to_string(),
            digits(fastest, 3),
            digits(printed, 3),
            digits(bound, 4),
            digits(most_w, 4),
            format!("{beyond} of {n}"),
            digits(1e6 * STICTION / SIGMA0, 3),
            digits(1e6 * most_z, 4),
        ]);
        document.note(format!("bounds.{b}.printed"), printed);
        document.note(format!("bounds.{b}.true"), bound);
        document.note(format!("bounds.{b}.w"), most_w);
        document.note(format!("bounds.{b}.z_over_bound"), most_z * SIGMA0 / STICTION);
        document.note(format!("bounds.{b}.beyond"), beyond as f64 / f64::from(n));
    }
    let head = [
        "b, m/s",
        "largest ∣v∣",
        "(bα)^⅓, printed",
        "true bound",
        "largest ∣w∣",
        "runs beyond the printed bound",
        "bound on z, µm",
        "largest ∣z∣, µm",
    ];
    document.table("bounds", &head, rows);
    document.figure(
        "bounds",
        chart::draw("w for random velocities, with both bounds", 1, &panels),
        "w from 0 under random velocities with ∣v∣ ≤ b: it leaves the printed bound and stays within the true one.",
    );
    let holds = document.value("bounds.0.01.w") <= document.value("bounds.0.01.printed");
    document.claim(
        "property 1",
        "∣w∣ enters and keeps within (bα)^⅓ for ∣v∣ ≤ b",
        Verdict::of(holds),
        format!(
            "b = 0.01: the bound is {}, w reaches {}; true is max(∣w₀∣, largest root of w³/α − w = b) = {}",
            digits(document.value("bounds.0.01.printed"), 3),
            digits(document.value("bounds.0.01.w"), 4),
            digits(document.value("bounds.0.01.true"), 4)
        ),
    );
    document.claim(
        "property 1",
        "∣z∣ ≤ a for 0 < g ≤ a",
        if [0.01, 0.3, 2.0].iter().all(|b| document.value(&format!("bounds.{b}.z_over_bound")) <= 1.0) {
            Verdict::Reproduced
        } else {
            Verdict::Contradicted
        },
        "in every random run",
    );
    document.words(
        "The bound on z holds. **The printed bound on w, (bα)^⅓, does not:** the proof takes w³/α − w for less than \
         w³/α where it has to be at least b, and at b = 0.01 gives 0.31, while w settles near ±√α = 1.732. What holds \
         is ∣w∣ ≤ max(∣w₀∣, the largest root of w³/α − w = b): beyond that root ẇ points back. It tends to √α, not to \
         0, as b does. That w stays bounded, which is what the property is used for, is true.",
    );
    Ok(())
}
