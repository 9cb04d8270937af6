//! Dymore user's manual: the Coulomb and LuGre friction models.
//!
//! Figure 1, and the manual's two rules for the step against control by error:
//!
//! ```text
//! Coulomb    Δt = Δt_min + (Δt_max − Δt_min) tanh⁴ ν        ν = |V|/(v_s v̄_min)
//! LuGre      Ω Δt = Δτ_min max(1, ν)^α                      Ω = σ₀ v_s/μ_k
//! ```
//!
//! Each rule is run with its steps scaled by powers of two, so that it becomes a curve of error over steps; error
//! control becomes one by its tolerance. Then steps and times are compared at equal error.

use super::document::{Document, count, digits};
use super::experiment::{Experiment, Found, PaperScene, paper_scene};
use super::scoreboard::Verdict;
use super::{Effort, Progress, do2007};
use bristle::Error;
use bristle_plot::chart::{self, Panel, Style};

const REGULARISED: PaperScene = paper_scene!("dymore/regularised.ron");
const SINGLE_TANH: PaperScene = paper_scene!("dymore/single_tanh.ron");
const DOUBLE_TANH: PaperScene = paper_scene!("dymore/double_tanh.ron");
const SINGLE_LUGRE: PaperScene = paper_scene!("dymore/single_lugre.ron");
const DOUBLE_LUGRE: PaperScene = paper_scene!("dymore/double_lugre.ron");

/// Which of the two rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Coulomb,
    LuGre,
}

impl Rule {
    /// With steps `scale` times the manual's.
    fn control(self, scale: f64) -> String {
        match self {
            Self::Coulomb => format!("DymoreCoulomb(min: {:?}, max: {:?})", 1e-4 * scale, 1e-3 * scale),
            Self::LuGre => format!("DymoreLuGre(min: {:?})", 0.02 * scale),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Coulomb => "DymoreCoulomb",
            Self::LuGre => "DymoreLuGre",
        }
    }
}

/// A machine on which a rule is tried.
struct Case {
    name: &'static str,
    title: &'static str,
    scene: PaperScene,
    rule: Rule,
    /// Channels whose largest error counts, at instants this far apart.
    channels: &'static [&'static str],
    interval: f64,
}

const CASES: [Case; 5] = [
    Case {
        name: "slider",
        title: "do2007 slider, LuGre",
        scene: do2007::SLIDER,
        rule: Rule::LuGre,
        channels: &["slide.friction"],
        interval: 0.01,
    },
    Case {
        name: "single_tanh",
        title: "single pendulum, regularised",
        scene: SINGLE_TANH,
        rule: Rule::Coulomb,
        channels: &["hinge.position"],
        interval: 0.05,
    },
    Case {
        name: "double_tanh",
        title: "double pendulum, regularised",
        scene: DOUBLE_TANH,
        rule: Rule::Coulomb,
        channels: &["shoulder.position", "elbow.position"],
        interval: 0.05,
    },
    Case {
        name: "single_lugre",
        title: "single pendulum, LuGre",
        scene: SINGLE_LUGRE,
        rule: Rule::LuGre,
        channels: &["hinge.position"],
        interval: 0.05,
    },
    Case {
        name: "double_lugre",
        title: "double pendulum, LuGre",
        scene: DOUBLE_LUGRE,
        rule: Rule::LuGre,
        channels: &["shoulder.position", "elbow.position"],
        interval: 0.05,
    },
];

/// One run.
#[derive(Clone, Copy)]
struct Point {
    /// Scale of the rule, or tolerance.
    setting: f64,
    steps: usize,
    evaluations: usize,
    seconds: f64,
    error: f64,
}

/// Runs of one method with one step control.
struct Curve {
    label: String,
    points: Vec<Point>,
}

impl Curve {
    /// The cost of an error, by lines between the points in a log-log picture. Where even the loosest point is more
    /// accurate, its cost, an upper bound; `None` below the smallest error.
    fn at(&self, error: f64, cost: impl Fn(&Point) -> f64) -> Option<f64> {
        let mut points: Vec<&Point> = self.points.iter().filter(|point| point.error.is_finite()).collect();
        points.sort_by(|a, b| a.error.total_cmp(&b.error));
        if let Some(loosest) = points.last().filter(|point| point.error < error) {
            return Some(cost(loosest));
        }
        let pair = points.windows(2).find(|pair| (pair[0].error..=pair[1].error).contains(&error))?;
        let along = (error / pair[0].error).ln() / (pair[1].error / pair[0].error).ln();
        Some((cost(pair[0]).ln() + along * (cost(pair[1]) / cost(pair[0])).ln()).exp())
    }
}

/// The report.
pub fn report(effort: Effort, progress: &Progress) -> Result<Document, Error> {
    let mut document = Document::new("dymore", "dymore — Dymore user's manual: the Coulomb and LuGre friction models");
    document.words(
        "The manual gives friction as coefficient × normal force, Coulomb friction made continuous by a tanh, and \
         LuGre friction with an exponent γ; and for each a rule that chooses the step from the slip velocity alone. \
         Three misprints: the second default of the Coulomb rule, printed *c2 = Δt_min*, is Δt_max; in eq. (3) the \
         direction is V_r/‖V_r‖, not V_r/V_s; Ω = σ₀v_s/μ_k, called the time constant of the LuGre model, is a rate, \
         1/s. And one gap: T_s, the last of the strategy parameters (1 s for Coulomb, 5 for LuGre), is listed and \
         never defined. **That it caps the step, Δt ≤ T_s and ΩΔt ≤ T_s, is our guess.** The rules are `DymoreCoulomb` \
         and `DymoreLuGre` in a scene.",
    );
    figure_1(&mut document)?;
    document.heading("The rules against control by error");
    document.words(
        "A rule never rejects a step and knows nothing of the rest of the machine. It is run with implicit methods as \
         such codes have them, `Radau3` and `GeneralizedAlpha`, and with `Radau5`, so that method and choice of step \
         can be told apart; its steps scaled by powers of two; 1 is the manual's default. Beside it: the engine's \
         error control. The error is the largest of the friction force (slider) or of an angle (pendulums) over all \
         instants of output, against `Radau5` at 10⁻¹¹. *Gain* is how many times fewer steps, and how many times less \
         time, error control needs for the error of that row; ≥ where it is more accurate at every tolerance tried; \
         – where the row is more accurate than all of them.",
    );
    for case in
        CASES.iter().filter(|case| effort == Effort::Full || case.name == "slider" || case.name == "single_tanh")
    {
        compare(&mut document, case, effort, progress)?;
    }
    let least = document.quantities.iter().filter(|q| q.name.ends_with("gain_in_steps")).map(|q| q.ours);
    let least = least.fold(f64::INFINITY, f64::min);
    document.note("least_gain_in_steps", least);
    document.words(format!(
        "The rules do what they are meant to: short steps wherever the slip velocity is small. But a step follows from \
         the velocity, not from what happens: a bristle at rest, where nothing happens for seconds, gets the same \
         shortest steps as the break-away that follows, and so does every turn of a pendulum. At the manual's defaults \
         error control needs at least {} times fewer steps for the same error or a smaller one. A part of that is the \
         order of the method: the rows of the rule with `Radau5` have it too, and what is left of the gain there is \
         the choice of steps alone. A rule has one advantage, it cannot reject a step; and it cannot tell when it was \
         wrong.",
        digits(least, 2)
    ));
    dahl(&mut document)?;
    creep(&mut document)?;
    cap(&mut document)?;
    verdicts(&mut document);
    Ok(document)
}

/// Effect of the guess about T_s.
fn cap(document: &mut Document) -> Result<(), Error> {
    document.heading("T_s, a guess");
    let mut rows = Vec::new();
    for t_s in [0.5, 5.0, 50.0] {
        let run = Experiment::new(do2007::SLIDER).solver("Radau5", &format!("DymoreLuGre(t_s: {t_s:?})"));
        let found = run.keep(&["slide.friction"]).every(0.01).run()?;
        document.note(format!("cap.{t_s}.steps"), found.stats.n_accepted as f64);
        rows.push(vec![format!("{t_s}"), count(found.stats.n_accepted), digits(found.step.1, 3)]);
    }
    document.table("cap", &["T_s", "steps on the slider, `Radau5`", "longest step"], rows);
    let is_idle = document.value("cap.5.steps") == document.value("cap.50.steps");
    document.words(if is_idle {
        "Read as a cap, the default of 5 does not bind on the slider (ten times as much gives the same steps), so \
         nothing above rests on the guess; a tenth of it does bind, where the slider slips fast."
    } else {
        "Read as a cap, the default of 5 binds where the slider slips fast: counts of that phase rest on the guess."
    });
    Ok(())
}

/// Verdicts on the manual's statements.
fn verdicts(document: &mut Document) {
    let error = document.value("figure1.error");
    document.claim(
        "eq. (3), figure 1",
        "Coulomb friction made continuous: μ_k tanh(V_r/v_s) along V_r",
        Verdict::of(error < 1e-9),
        format!("to {}; the direction is V_r/‖V_r‖, printed V_r/V_s", digits(error, 1)),
    );
    let creep = document.value("creep.rate");
    document.claim(
        "section 1",
        "The continuous law replaces sticking by creep",
        Verdict::of(creep > 1e-3),
        format!("a pendulum that dry friction holds creeps at {} rad/s", digits(creep, 2)),
    );
    let gain = document.value("least_gain_in_steps");
    document.claim(
        "eqs. (4) and (8)",
        "It is necessary to let the friction rule dictate the step",
        if gain > 1.0 { Verdict::Contradicted } else { Verdict::Reproduced },
        format!("error control does without, with at least {} times fewer steps at equal error", digits(gain, 2)),
    );
    let apart = document.value("dahl.apart");
    document.claim(
        "section 2",
        "With σ₁ = σ₂ = 0 and μ_s = μ_k LuGre is Dahl's model",
        Verdict::of(apart < 1e-7),
        format!("friction forces differ by {} at most", digits(apart, 1)),
    );
    document.claim(
        "section 1",
        "Default c₂ = Δt_min = 1e-3 s",
        Verdict::Explained,
        "a misprint for Δt_max: c₁ is Δt_min already",
    );
    document.claim(
        "eq. (8)",
        "Ω = σ₀v_s/μ_k is the time constant of the LuGre model",
        Verdict::Contradicted,
        "it is a rate: ΩΔt is without dimension",
    );
    document.claim(
        "sections 1 and 2",
        "T_s = 1 s and 5, the fourth strategy parameter",
        Verdict::NotComparable,
        "never defined; read here as a cap, a guess",
    );
}

fn figure_1(document: &mut Document) -> Result<(), Error> {
    document.heading("Figure 1: Coulomb friction made continuous");
    let run = |law: Option<&str>| {
        let run = Experiment::new(REGULARISED).keep(&["slide.velocity", "slide.friction"]);
        let run = if let Some(law) = law { run.set("joints.slide.friction", law) } else { run };
        run.run()
    };
    let (sharp, smooth) = (run(Some("Coulomb(coulomb: 1.0)"))?, run(None)?);
    let columns = [
        ("V, Coulomb", sharp.column(0)),
        ("Coulomb", sharp.column(1)),
        ("V", smooth.column(0)),
        ("continuous", smooth.column(1)),
    ];
    document.columns("figure1", &columns);
    let panel = Panel::new("", "V_r/v_s", "friction coefficient")
        .curve("Coulomb", sharp.column(0), sharp.column(1), Style::Line)
        .curve("continuous, μ_k tanh(V_r/v_s)", smooth.column(0), smooth.column(1), Style::Dashed);
    document.figure(
        "figure1",
        chart::draw("Figure 1: friction coefficient", 1, &[panel]),
        "Figure 1: friction over velocity, from a block on a prescribed motion; μ_k = 1.",
    );
    // at V = v_s
    let at_one =
        smooth.column(0).iter().zip(smooth.column(1)).min_by(|a, b| (a.0 - 1.0).abs().total_cmp(&(b.0 - 1.0).abs()));
    if let Some((v, friction)) = at_one {
        document.note("figure1.error", (friction - v.tanh()).abs());
    }
    Ok(())
}

/// The largest error of a run over the rows of a reference.
fn error(found: &Found, reference: &Found, n: usize) -> f64 {
    if found.failure.is_some() || found.t.len() != reference.t.len() {
        return f64::INFINITY;
    }
    let pairs = (0..n).flat_map(|k| found.column(k).iter().zip(reference.column(k)));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |worst, e| if e.is_nan() { f64::INFINITY } else { worst.max(e) })
}

fn curve(case: &Case, label: String, runs: Vec<(f64, Experiment)>, reference: &Found) -> Result<Curve, Error> {
    let mut points = Vec::new();
    for (setting, run) in runs {
        let found = run.at_most(400_000).run()?;
        points.push(Point {
            setting,
            steps: found.stats.n_accepted,
            evaluations: found.stats.n_rhs + found.stats.n_residual,
            seconds: found.wall.as_secs_f64(),
            error: error(&found, reference, case.channels.len()),
        });
    }
    Ok(Curve { label, points })
}

fn compare(document: &mut Document, case: &Case, effort: Effort, progress: &Progress) -> Result<(), Error> {
    let Case { name, title, scene, rule, channels, interval } = *case;
    progress.say(&format!("dymore: {title}: reference"));
    let run = || Experiment::new(scene).keep(channels).every(interval);
    let reference = run().tolerance("Radau5", 1e-11, 1e-13).run()?;

    let (scales, tolerances) = match effort {
        Effort::Full => (&[16.0, 8.0, 4.0, 2.0, 1.0, 0.5][..], 3..=10),
        Effort::Short => (&[4.0, 1.0][..], 3..=9),
    };
    let mut rules = Vec::new();
    for method in ["Radau3", "GeneralizedAlpha", "Radau5"] {
        progress.say(&format!("dymore: {title}: {} with {method}", rule.name()));
        let runs = scales.iter().map(|&scale| (scale, run().solver(method, &rule.control(scale)))).collect();
        rules.push(curve(case, format!("{} with {method}", rule.name()), runs, &reference)?);
    }
    let mut controlled = Vec::new();
    let methods: &[&str] = if rule == Rule::Coulomb { &["Radau5", "Dopri5"] } else { &["Radau5"] };
    for &method in methods {
        progress.say(&format!("dymore: {title}: error control with {method}"));
        let runs = tolerances.clone().map(|k| {
            let rtol = 10f64.powi(-k);
            (rtol, run().tolerance(method, rtol, 0.01 * rtol))
        });
        controlled.push(curve(case, format!("Error with {method}"), runs.collect(), &reference)?);
    }

    let mut rows = Vec::new();
    // a rule with Radau5 is compared with error control of Radau5: the choice of steps alone
    let best = |rule: &Curve, error: f64, cost: fn(&Point) -> f64| {
        let is_same = |curve: &&Curve| !rule.label.ends_with("Radau5") || curve.label.ends_with("Radau5");
        controlled.iter().filter(is_same).filter_map(|curve| curve.at(error, cost)).min_by(f64::total_cmp)
    };
    let row = |curve: &Curve, setting: String, point: &Point, gains: [String; 2]| {
        let costs = [count(point.steps), count(point.evaluations), digits(point.error, 2)];
        [curve.label.clone(), setting].into_iter().chain(costs).chain(gains).collect::<Vec<_>>()
    };
    for curve in &rules {
        for point in &curve.points {
            let steps = best(curve, point.error, |p| p.steps as f64).map(|ours| point.steps as f64 / ours);
            let time = best(curve, point.error, |p| p.seconds).map(|ours| point.seconds / ours);
            let is_bound = controlled.iter().all(|curve| curve.points.iter().all(|p| p.error < point.error));
            let least = if is_bound { "≥ " } else { "" };
            let gain = |gain: Option<f64>| gain.map_or("–".into(), |gain| format!("{least}{}", digits(gain, 2)));
            rows.push(row(curve, format!("× {}", point.setting), point, [gain(steps), gain(time)]));
            if point.setting == 1.0 {
                let method = curve.label.rsplit(' ').next().unwrap_or_default().to_lowercase();
                document.note(format!("{name}.{method}.steps"), point.steps as f64);
                document.note(format!("{name}.{method}.error"), point.error);
                if let Some(steps) = steps {
                    document.note(format!("{name}.{method}.gain_in_steps"), steps);
                }
            }
        }
    }
    for curve in &controlled {
        let row = |point: &Point| row(curve, format!("rtol {:.0e}", point.setting), point, Default::default());
        rows.extend(curve.points.iter().map(row));
    }
    let mut panel = Panel::new("", "steps", "largest error").log_x().log_y();
    for curve in rules.iter().chain(&controlled) {
        let (x, y): (Vec<f64>, Vec<f64>) =
            curve.points.iter().filter(|p| p.error.is_finite()).map(|p| (p.steps as f64, p.error)).unzip();
        let is_rule = rules.iter().any(|rule| rule.label == curve.label);
        let named = curve.points.iter().filter(|p| p.error.is_finite());
        let name = |p: &Point| if is_rule { format!("×{}", p.setting) } else { format!("{:.0e}", p.setting) };
        panel = panel.curve(&curve.label, &x, &y, Style::Line).named(named.map(name).collect());
    }
    document.heading(title);
    document.table(
        name,
        &["steps by", "setting", "steps", "evaluations", "largest error", "gain in steps", "gain in time"],
        rows,
    );
    document.figure(
        name,
        chart::draw(title, 1, &[panel]),
        format!(
            "{title}: largest error over steps. Numbers at the \
        points: multiples of the rule's steps, or relative tolerances."
        ),
    );
    Ok(())
}

/// LuGre without damping, viscosity and excess stiction is Dahl's model.
fn dahl(document: &mut Document) -> Result<(), Error> {
    document.heading("LuGre and Dahl");
    let run =
        |law: &str| Experiment::new(do2007::SLIDER).set("joints.slide.friction", law).keep(&["slide.friction"]).run();
    let (lugre, dahl) = (
        run("LuGre(sigma0: 70.71067811865476, sigma1: 0.0, coulomb: 1.0)")?,
        run("Dahl(coulomb: 1.0, sigma0: 70.71067811865476)")?,
    );
    let apart = error(&lugre, &dahl, 1);
    document.note("dahl.apart", apart);
    document.words(format!(
        "With σ₁ = σ₂ = 0 and μ_s = μ_k the manual calls LuGre identical to Dahl's model. On the slider the two laws, \
         which are separate code, give friction forces that differ by {} at most.",
        digits(apart, 2)
    ));
    Ok(())
}

/// The continuous law at rest.
fn creep(document: &mut Document) -> Result<(), Error> {
    document.heading("Sticking is replaced by creeping");
    let found = Experiment::new(SINGLE_TANH).keep(&["hinge.position", "hinge.velocity"]).run()?;
    let at = |t: f64| found.t.iter().position(|&at| at >= t).map_or(f64::NAN, |k| found.column(0)[k]);
    let (start, end) = (at(6.5), found.column(0).last().copied().unwrap_or(f64::NAN));
    document.note("creep.rate", (end - start).abs() / 1.5);
    document.words(format!(
        "The single pendulum with dry friction stands still from 5.99 s on, at −0.0371 rad, to the bit. With the \
         continuous law it creeps at {} rad/s towards the bottom, {} rad between 6.5 and 8 s, as the manual says it \
         does. The engine has the law for comparison; `Coulomb` and `Stribeck` stick exactly and cost less.",
        digits((end - start).abs() / 1.5, 2),
        digits((end - start).abs(), 2)
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_interpolated_or_bounded() {
        let point = |steps, error| Point { setting: 1.0, steps, evaluations: 0, seconds: 0.0, error };
        let curve = Curve { label: String::new(), points: vec![point(100, 1e-3), point(200, 1e-5)] };
        let steps = |error| curve.at(error, |point| point.steps as f64);
        assert!(steps(1e-4).is_some_and(|steps| (steps - 20_000_f64.sqrt()).abs() < 1e-9));
        // even the loosest is more accurate; none is accurate enough
        assert_eq!((steps(1e-2), steps(1e-6)), (Some(100.0), None));
    }
}
