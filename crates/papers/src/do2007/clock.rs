//! The paper's own program: the rows with an error of its clock, an iteration that stops early and four output points
//! to a step.
//!
//! ```text
//! correct: step(y, h); t += h; h = rule(y)        slipped: step(y, h); h = rule(y); t += h
//! ```

use super::super::document::{Document, count, digits};
use super::super::scoreboard::Verdict;
use super::super::series::{Difference, difference, interpolate};
use super::program::{self, Clock, Method, Newton, Output, Rule};
use super::rows::{Row, Rows};
use super::ways::{Place, Print};
use bristle_plot::chart::{self, Panel, Style};

/// A row of the paper's program.
struct Programmed {
    /// Name of the row it belongs to.
    name: &'static str,
    steps: usize,
    error: Difference,
}

impl Programmed {
    fn new(name: &'static str, output: &Output, base: (&[f64], &[f64])) -> Self {
        Self { name, steps: output.steps(), error: difference((&output.tau, &output.friction), base) }
    }
}

/// The rows with a step rule, as in the paper's program.
const RULES: [(&str, Method, Rule); 4] = [
    ("rk4_time_constant", Method::Rk4, Rule::TimeConstant),
    ("rk4_velocity", Method::Rk4, Rule::Velocity(1e-4, 1e-3)),
    ("radau3_velocity", Method::Radau3(Newton::Converged), Rule::Velocity(1e-2, 2e-2)),
    ("radau3_time_constant", Method::Radau3(Newton::Converged), Rule::Switch(1e-2, 5e-2)),
];

/// Results of the paper's program.
pub struct Programs {
    /// The rows of [`RULES`].
    correct: Vec<Programmed>,
    slipped: Vec<Programmed>,
    /// The constant Radau row with its iteration stopped early.
    loose: Programmed,
    /// `ode45` at 1e-8 with four output points to a step.
    refined: Programmed,
    /// The same at tolerances up to a quarter smaller and larger: points, max E and RMS, lowest and highest.
    refined_band: [(f64, f64); 3],
    /// For the picture: the velocity row of Runge–Kutta, both clocks.
    shown: [Output; 2],
    /// The baseline about the first break-away.
    base: (Vec<f64>, Vec<f64>),
    window: (f64, f64),
}

impl Programs {
    /// Runs it.
    pub fn run(base: (&[f64], &[f64])) -> Self {
        let row = |clock: Clock| -> Vec<Programmed> {
            RULES
                .iter()
                .map(|&(name, method, rule)| Programmed::new(name, &program::run(method, rule, clock), base))
                .collect()
        };
        let loose = program::run(Method::Radau3(Newton::Loose), Rule::Constant(1e-2), Clock::Correct);
        let shown = [Clock::Correct, Clock::Slipped].map(|clock| program::run(RULES[1].1, RULES[1].2, clock));
        // about the instant at which the slipped row is furthest from the baseline
        let slipped = &shown[1];
        let mut hint = 0;
        let errors = slipped
            .tau
            .iter()
            .zip(&slipped.friction)
            .map(|(&t, f)| (t, (f - interpolate(base.0, base.1, t, &mut hint)).abs()));
        let worst = errors.fold((0.0, 0.0), |worst, error| if error.1 > worst.1 { error } else { worst }).0;
        let window = (worst - 0.01, worst + 0.01);
        let near = |t: &f64| (window.0..window.1).contains(t);
        let (t, f) = base.0.iter().zip(base.1).filter(|(t, _)| near(t)).unzip();
        let refined = |tolerance: f64| Programmed::new("ode45", &program::ode45(tolerance, tolerance, 4), base);
        let mut refined_band = [(f64::INFINITY, 0.0); 3];
        for k in -4..=4 {
            let row = refined(1e-8 * 1.25_f64.powf(0.25 * f64::from(k)));
            for (band, x) in refined_band.iter_mut().zip([row.steps as f64 + 1.0, row.error.max, row.error.rms]) {
                *band = (f64::min(band.0, x), f64::max(band.1, x));
            }
        }
        Self {
            correct: row(Clock::Correct),
            slipped: row(Clock::Slipped),
            loose: Programmed::new("radau3_constant", &loose, base),
            refined: refined(1e-8),
            refined_band,
            shown,
            base: (t, f),
            window,
        }
    }

    fn slipped(&self, name: &str) -> Option<&Programmed> {
        self.slipped.iter().find(|row| row.name == name)
    }
}

/// Format of a cell of the three columns.
fn three(steps: f64, max: f64, rms: f64) -> [String; 3] {
    [count(steps as usize), digits(max, 3), digits(rms, 3)]
}

/// The table with three columns: correct, with the slip, printed.
pub fn write(document: &mut Document, measured: &Rows) {
    let programs = &measured.programs;
    document.heading("Tables 2 and 3 in three columns: correct, with a slip of the clock, printed");
    document.words(
        "The paper finds variable steps far worse than constant ones and puts it down to *a shift in the solution \
         compared to the baseline*. That shift has a cause. Let the clock that feeds u(τ) and labels the output \
         advance by the step that has just been *chosen* for the next step, instead of the one just *taken*: `step(y, \
         h); h = rule(y); t += h`. With a constant step the two are the same. With a rule they are not, and all twelve \
         numbers printed for the four rows with a rule come out. The equations of the paper are integrated for this by \
         a program of their own; with the correct clock it gives the rows of the engine. **Very probably this slip is \
         what the print shows.** Three other slips were tried: of the labels alone, of u(τ) alone, and a clock one \
         step late; none of them gives more than one of the rows. Printed counts are points, one more than steps.",
    );
    let mut rows = Vec::new();
    for row in measured.rows.iter().filter(|row| row.way.place != Place::Ours) {
        let Some(print) = row.way.print else { continue };
        let none = || ["=".to_owned(), "=".to_owned(), "=".to_owned()];
        let correct = three(row.steps as f64, row.error.max, row.error.rms);
        let (slipped, mark) = match (programs.slipped(row.way.name), row.way.name) {
            (Some(slip), _) => (three(slip.steps as f64, slip.error.max, slip.error.rms), "**explained** by the slip"),
            (None, "radau3_constant") => {
                let loose = &programs.loose;
                (
                    three(loose.steps as f64, loose.error.max, loose.error.rms),
                    "**fitted**: iteration stopped early (no slip)",
                )
            }
            (None, "ode45") => {
                let refined = &programs.refined;
                (
                    three(refined.steps as f64 + 1.0, refined.error.max, refined.error.rms),
                    "RMS **explained** by four output points a step (no slip); points and max E see below",
                )
            }
            (None, _) => (none(), "**reproduced**"),
        };
        let mut cells = vec![row.way.label.to_owned()];
        let printed = three(print.steps, print.max, print.rms);
        for k in 0..3 {
            cells.extend([correct[k].clone(), slipped[k].clone(), printed[k].clone()]);
        }
        cells.push(mark.into());
        rows.push(cells);
    }
    let head = [
        "method",
        "steps: correct",
        "with the slip",
        "printed",
        "max E: correct",
        "with the slip",
        "printed",
        "RMS: correct",
        "with the slip",
        "printed",
        "",
    ];
    document.table("clock", &head, rows);
    for row in &programs.slipped {
        let print = measured.rows.iter().find(|measured| measured.way.name == row.name).and_then(|row| row.way.print);
        if let Some(print) = print {
            // points, as the print counts
            document.compare(format!("slipped.{}.points", row.name), print.steps, row.steps as f64 + 1.0);
            document.compare(format!("slipped.{}.max", row.name), print.max, row.error.max);
            document.compare(format!("slipped.{}.rms", row.name), print.rms, row.error.rms);
        }
    }
    let engine =
        |name: &str| measured.rows.iter().find(|row| row.way.name == name).map_or(f64::NAN, |row| row.error.max);
    let apart = programs.correct.iter().map(|row| (row.error.max / engine(row.name) - 1.0).abs()).fold(0.0, f64::max);
    document.note("program.apart_from_engine", apart);
    document.compare("loose.max", 9.33e-2, programs.loose.error.max);
    document.compare("loose.rms", 2.11e-3, programs.loose.error.rms);
    document.compare("refined.points", 1.476e5, programs.refined.steps as f64 + 1.0);
    document.compare("refined.max", 1.68e-4, programs.refined.error.max);
    document.compare("refined.rms", 1.89e-7, programs.refined.error.rms);
    for (what, (low, high)) in ["points", "max", "rms"].into_iter().zip(programs.refined_band) {
        document.note(format!("refined.{what}.low"), low);
        document.note(format!("refined.{what}.high"), high);
    }
    let [correct, slipped] = &programs.shown;
    let (t, f) = &programs.base;
    let panels = [
        Panel::new("f_L where the slipped row is furthest from the baseline", "τ", "f_L")
            .x_range(programs.window.0, programs.window.1)
            .curve("baseline", t, f, Style::Line)
            .curve("correct clock", &correct.tau, &correct.friction, Style::Dashed)
            .curve("slipped clock", &slipped.tau, &slipped.friction, Style::Line),
        Panel::new("what the slipped clock is off by", "τ", "shown − true").curve(
            "",
            &slipped.tau,
            &slipped.off,
            Style::Line,
        ),
    ];
    document.figure(
        "clock",
        chart::draw("Runge–Kutta by velocity: the clock and the friction force", 1, &panels),
        "The row *Runge–Kutta (velocity)* with the correct and with the slipped clock. Where the step changes the \
         clock is off by the difference of the two steps until it changes back; f_L is steep there.",
    );
    let by = |name: &str| measured.rows.iter().find(|row| row.way.name == name).map_or(f64::NAN, |row| row.error.max);
    let [points, max, rms] = programs.refined_band;
    document.words(format!(
        "**Without the slip the verdict against variable steps reverses.** Runge–Kutta by time constant has the \
         smallest error of the explicit rows with Runge–Kutta, {} against {} at the constant step; by velocity it is \
         at {}. Radau-IIA by velocity is as accurate as at the constant step ({} and {}) with half of its steps. Only \
         the coarse switch by time constant is worse, {}. The largest errors of program and engine with the correct \
         clock differ by {} % at most.",
        digits(by("rk4_time_constant"), 2),
        digits(by("rk4_constant"), 2),
        digits(by("rk4_velocity"), 2),
        digits(by("radau3_velocity"), 3),
        digits(by("radau3_constant"), 3),
        digits(by("radau3_time_constant"), 3),
        digits(100.0 * apart, 1),
    ));
    document.words(format!(
        "**Radau-IIA at the constant step** is printed at 0.0933 and 2.11e-3; a converged iteration gives {} and {}. \
         If Newton's method starts from the stages of the step before and stops as soon as they change by less than a \
         tenth, the print comes out: {} and {}. That is *fitted*: about a hundred ways to stop were tried, and the \
         paper describes none. **ode45** prints four points to a step by default (`Refine` = 4), three of them on its \
         interpolant; the pair with MATLAB's published rule for the step then gives {} points, {} and {} (print: \
         147,600, 1.68e-4, 1.89e-7). At tolerances up to a quarter smaller and larger: {} to {} points, max E {} to \
         {}, RMS {} to {}. So the RMS is explained: it is small because most of the points lie where nothing happens. \
         {} The number of points, {} % above the print and nearly the same at every tolerance, is not explained: the \
         program itself was not at hand.",
        digits(by("radau3_constant"), 3),
        digits(
            measured.rows.iter().find(|row| row.way.name == "radau3_constant").map_or(f64::NAN, |row| row.error.rms),
            3
        ),
        digits(programs.loose.error.max, 3),
        digits(programs.loose.error.rms, 3),
        count(programs.refined.steps + 1),
        digits(programs.refined.error.max, 3),
        digits(programs.refined.error.rms, 3),
        count(points.0 as usize),
        count(points.1 as usize),
        digits(max.0, 3),
        digits(max.1, 3),
        digits(rms.0, 3),
        digits(rms.1, 3),
        if holds(max, 1.68e-4) {
            "The largest error depends on where output points fall beside the kink of the baseline; it scatters \
             tenfold, and the print lies within."
        } else {
            "The largest error depends on where output points fall beside the kink of the baseline; the print lies \
             outside of the range seen."
        },
        digits(100.0 * (points.0 / 1.476e5 - 1.0), 1),
    ));
}

fn holds((low, high): (f64, f64), x: f64) -> bool {
    low <= x && x <= high
}

/// Verdicts on the claims of tables 2 and 3.
pub fn verdicts(document: &mut Document, measured: &Rows) {
    use Verdict::{Contradicted, Explained, Fitted, NotComparable, Reproduced};
    for row in measured.rows.iter().filter(|row| row.way.place != Place::Ours) {
        let Some(print) = row.way.print else { continue };
        let place = if row.way.place == Place::Explicit { "table 2" } else { "table 3" };
        if row.way.name == "ode45" {
            ode45(document, place, row, print, &measured.programs);
            continue;
        }
        let three = |points: f64, max: f64, rms: f64| {
            format!("{}, {}, {}", count(points as usize), digits(max, 3), digits(rms, 3))
        };
        let claim = format!("{}: points, max E, RMS {}", row.way.label, three(print.steps, print.max, print.rms));
        // to the last of three printed digits, of four in the number of points; the print counts points, one more than
        // steps
        let is_print = |steps: usize, error: &Difference| {
            (error.max / print.max - 1.0).abs() < 6e-3
                && (error.rms / print.rms - 1.0).abs() < 6e-3
                && ((steps as f64 + 1.0) / print.steps - 1.0).abs() < 5e-4
        };
        let ours = three(row.steps as f64 + 1.0, row.error.max, row.error.rms);
        let other = match row.way.name {
            "radau3_constant" => Some((&measured.programs.loose, Fitted, "iteration stopped early")),
            name => measured.programs.slipped(name).map(|row| (row, Explained, "slip of the clock")),
        };
        let (verdict, finding) = match other {
            None => (if is_print(row.steps, &row.error) { Reproduced } else { Contradicted }, ours),
            Some((other, verdict, why)) => {
                let verdict = if is_print(other.steps, &other.error) { verdict } else { Contradicted };
                let theirs = three(other.steps as f64 + 1.0, other.error.max, other.error.rms);
                (verdict, format!("correct: {ours}; {why}: {theirs}"))
            }
        };
        document.claim(place, &claim, verdict, finding);
    }
    let by = |name: &str| measured.rows.iter().find(|row| row.way.name == name).map_or(f64::NAN, |row| row.error.max);
    let holds = by("rk4_velocity") > 10.0 * by("rk4_constant") && by("radau3_velocity") > 2.0 * by("radau3_constant");
    document.claim(
        "section 5.2",
        "Variable steps perform poorly, with explicit and implicit methods",
        if holds { Reproduced } else { Contradicted },
        format!(
            "with the correct clock: Runge–Kutta {} and {} against {} at the constant step; Radau by velocity {} \
             against {} with half the steps",
            digits(by("rk4_time_constant"), 2),
            digits(by("rk4_velocity"), 2),
            digits(by("rk4_constant"), 2),
            digits(by("radau3_velocity"), 3),
            digits(by("radau3_constant"), 3)
        ),
    );
    document.claim(
        "tables 2 and 3",
        "Computing times, percent of the baseline",
        NotComparable,
        "interpreted code of 2007; both are in the tables",
    );
}

/// The three figures of `ode45`, each by itself. The program is emulated by its published rule: a figure that is
/// reproduced is explained; one that is not, or that scatters tenfold with the last digits of the tolerance, is not
/// comparable.
fn ode45(document: &mut Document, place: &str, row: &Row, print: Print, programs: &Programs) {
    let [points, max, rms] = programs.refined_band;
    let refined = &programs.refined;
    let verdict = |is_explained: bool| if is_explained { Verdict::Explained } else { Verdict::NotComparable };
    let whole = |x: f64| count(x as usize);
    document.claim(
        place,
        &format!("ode45 at 1e-8: RMS {}", digits(print.rms, 3)),
        verdict(holds(rms, print.rms)),
        format!(
            "{} at the ends of steps of `Dopri5`; {} with four output points a step, {} to {} at tolerances up to a \
             quarter smaller and larger",
            digits(row.error.rms, 3),
            digits(refined.error.rms, 3),
            digits(rms.0, 3),
            digits(rms.1, 3)
        ),
    );
    document.claim(
        place,
        &format!("ode45 at 1e-8: max E {}", digits(print.max, 3)),
        Verdict::NotComparable,
        format!(
            "{}; {} with four output points a step, {} to {} at tolerances up to a quarter smaller and larger: where \
             the points fall beside the kink of the baseline decides",
            digits(row.error.max, 3),
            digits(refined.error.max, 3),
            digits(max.0, 3),
            digits(max.1, 3)
        ),
    );
    document.claim(
        place,
        &format!("ode45 at 1e-8: {} points", whole(print.steps)),
        verdict(holds(points, print.steps)),
        format!(
            "{} with one output point a step; {} with four, {} to {} at tolerances up to a quarter smaller and larger; \
             the program itself was not at hand",
            whole(row.steps as f64 + 1.0),
            whole(refined.steps as f64 + 1.0),
            whole(points.0),
            whole(points.1)
        ),
    );
}
