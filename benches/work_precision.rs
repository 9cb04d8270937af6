//! Error against cost, stepper by stepper, problem by problem.
//!
//! ```text
//!     cargo bench -p bristle-integrate --bench work_precision -- [--quick] [--csv FILE]     FILE from crates/integrate
//! ```
//!
//! The first tables give, for every stepper on every problem of `tests/steppers/problems`, the relative error of the
//! end values and its cost; the last one gives the friction force of the LuGre slider at the stepper's own step points.
//! Times are the shortest of several runs.

#[path = "../crates/integrate/tests/steppers/problems/mod.rs"]
mod problems;

use std::io::Write;
use std::time::{Duration, Instant};

use bristle_integrate::{Control, Driver, Error, Form, Method, Options, Sink, Stats, Trace};
use problems::{CarAxis, Hires, Pendulum, Pleiades, Problem, Robertson, Slider, VanDerPol};

const ALPHA: Method = Method::GeneralizedAlpha { spectral_radius: 0.8 };

/// One line of a table.
struct Row {
    problem: &'static str,
    method: String,
    control: String,
    outcome: Result<(f64, Stats, Duration), Error>,
}

struct Bench {
    is_quick: bool,
    csv: Option<std::fs::File>,
}

fn main() {
    let mut bench = Bench { is_quick: false, csv: None };
    let mut is_bench = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => bench.is_quick = true,
            "--csv" => {
                let path = arguments.next().expect("--csv needs a file");
                let mut file = std::fs::File::create(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
                let head = "problem,method,control,error,accepted,rejected,failed,rhs,residual,\
                            difference_columns,jacobian,factor,solve,newton,events,seconds";
                writeln!(file, "{head}").expect("the file can be written");
                bench.csv = Some(file);
            }
            "--bench" => is_bench = true, // argument of `cargo bench`
            other => panic!("unknown argument {other}; there are --quick and --csv FILE"),
        }
    }

    // `cargo test --benches` only checks that it runs
    bench.is_quick |= !is_bench;

    let tolerances = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];
    let low = &tolerances[..6];
    let (stiff, smooth) = ([Method::Radau5, ALPHA], [Method::Radau5, Method::Dopri5, ALPHA]);

    bench.title::<VanDerPol>();
    bench.errors(&VanDerPol::default(), &[Method::Radau5], &tolerances);
    bench.errors(&VanDerPol::default(), &[ALPHA], low);
    bench.errors(&VanDerPol::default(), &[Method::Dopri5], &[1e-4, 1e-6]);
    bench.fixed(&VanDerPol::default(), &[Method::Radau3, Method::Trapezoidal, ALPHA], &[1e-6]);
    bench.fixed(&VanDerPol::default(), &[Method::Rk4, Method::Euler, Method::MixedEuler], &[5e-7]);

    bench.title::<Robertson>();
    bench.errors(&Robertson, &[Method::Radau5], &tolerances[2..]);
    bench.errors(&Robertson, &[ALPHA], &[1e-7, 1e-8]);

    bench.title::<Hires>();
    bench.errors(&Hires, &[Method::Radau5], &tolerances);
    bench.errors(&Hires, &[ALPHA], low);
    bench.errors(&Hires, &[Method::Dopri5], &[1e-4, 1e-6, 1e-8, 1e-10]);
    bench.fixed(&Hires, &[Method::Radau3, Method::Trapezoidal, Method::Rk4], &[1e-2, 2.5e-3]);
    bench.fixed(&Hires, &[Method::Euler, Method::MixedEuler], &[1e-3]);

    bench.title::<Pleiades>();
    bench.errors(&Pleiades, &smooth[..2], &tolerances);
    bench.errors(&Pleiades, &[ALPHA], &[1e-3, 1e-5, 1e-7]);
    bench.fixed(&Pleiades, &[Method::Rk4, Method::Radau3, Method::Trapezoidal], &[1e-3, 2.5e-4]);
    bench.fixed(&Pleiades, &[Method::Euler, Method::MixedEuler], &[2.5e-4]);

    bench.title::<CarAxis>();
    bench.errors(&CarAxis, &[Method::Radau5], &tolerances);
    bench.errors(&CarAxis, &[ALPHA], &[1e-4, 1e-6]);
    bench.fixed(&CarAxis, &[Method::Radau3, ALPHA], &[1e-3, 2.5e-4]);

    bench.title::<Pendulum>();
    bench.errors(&Pendulum::new(Form::Explicit), &smooth, &tolerances);
    bench.fixed(&Pendulum::new(Form::Explicit), &[Method::Rk4, Method::Radau3], &[1e-2, 2.5e-3]);
    bench.fixed(&Pendulum::new(Form::Residual), &[Method::Trapezoidal, ALPHA], &[1e-2, 2.5e-3]);
    bench.fixed(&Pendulum::new(Form::Explicit), &[Method::Euler, Method::MixedEuler], &[1e-3]);

    bench.title::<Slider>();
    bench.errors(&Slider::with_event(), &stiff, &tolerances);
    bench.errors(&Slider::with_event(), &[Method::Dopri5], &[1e-4, 1e-6, 1e-8]);
    bench.fixed(&Slider::without_event(), &[Method::Radau3, Method::Trapezoidal], &[1e-2, 2.5e-3]);
    bench.fixed(&Slider::without_event(), &[ALPHA], &[5e-3, 1.25e-3]);
    bench.fixed(&Slider::without_event(), &[Method::Rk4, Method::Euler, Method::MixedEuler], &[1e-3, 2.5e-5]);

    bench.friction_curve();
    cheapest_runs(bench.is_quick);
}

impl Bench {
    fn title<P: Problem>(&self) {
        println!(
            "\n{:<12} {:<22} {:>8} {:>9} {:>8} {:>5} {:>9} {:>7} {:>8} {:>8} {:>10}",
            P::NAME,
            "",
            "",
            "error",
            "steps",
            "rej",
            "rhs",
            "jac",
            "factor",
            "solve",
            "ms"
        );
    }

    /// Error-controlled runs with rtol = atol.
    fn errors<P: Problem>(&mut self, problem: &P, methods: &[Method], tolerances: &[f64]) {
        for &method in methods {
            let tolerances = if self.is_quick { &tolerances[..1] } else { tolerances };
            for &tol in tolerances {
                self.run(problem, method, Control::error(tol, tol), format!("{tol:.0e}"));
            }
        }
    }

    /// Runs with a constant step.
    fn fixed<P: Problem>(&mut self, problem: &P, methods: &[Method], steps: &[f64]) {
        for &method in methods {
            let steps = if self.is_quick { &steps[..1] } else { steps };
            for &step in steps {
                self.run(problem, method, Control::Constant { step }, format!("h {step:.1e}"));
            }
        }
    }

    fn run<P: Problem>(&mut self, problem: &P, method: Method, control: Control, label: String) {
        let outcome = timed(problem, &Options::new(method, control), if self.is_quick { 1 } else { 5 });
        self.print(&Row { problem: P::NAME, method: name(method), control: label, outcome });
    }

    fn print(&mut self, row: &Row) {
        let Row { problem, method, control, .. } = row;
        let (error, stats, time) = match &row.outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                let text = error.to_string();
                let reason = text.split(" at t").next().unwrap_or_default();
                println!("{:<12} {method:<22} {control:>8}   {reason}", "");
                return;
            }
        };
        let evaluations = stats.n_rhs + stats.n_residual + stats.n_difference_columns;
        println!(
            "{:<12} {method:<22} {control:>8} {error:>9.1e} {:>8} {:>5} {evaluations:>9} {:>7} {:>8} {:>8} {:>10.3}",
            "",
            stats.n_accepted,
            stats.n_rejected + stats.n_failed,
            stats.n_jacobian,
            stats.n_factor,
            stats.n_solve,
            1e3 * time.as_secs_f64()
        );
        self.write(problem, method, control, *error, stats, *time);
    }

    fn write(&mut self, problem: &str, method: &str, control: &str, error: f64, s: &Stats, time: Duration) {
        if let Some(file) = &mut self.csv {
            let line = writeln!(
                file,
                "{problem},{method},{control},{error:e},{},{},{},{},{},{},{},{},{},{},{},{:e}",
                s.n_accepted,
                s.n_rejected,
                s.n_failed,
                s.n_rhs,
                s.n_residual,
                s.n_difference_columns,
                s.n_jacobian,
                s.n_factor,
                s.n_solve,
                s.n_newton,
                s.n_events,
                time.as_secs_f64()
            );
            line.expect("the file can be written");
        }
    }

    /// Largest friction-force error of the LuGre slider at own step points, beside scipy's Radau with the same
    /// restarts.
    fn friction_curve(&mut self) {
        println!("\nLuGre slider: largest friction-force error (N) at own step points, kinks at v = 0 located");
        println!(
            "{:<22} {:>8} {:>11} {:>8} {:>9} {:>8} {:>10}",
            "", "rtol", "max error", "steps", "rhs", "factor", "ms"
        );
        for (steps, error) in [(573, 1.9e-5), (911, 1.1e-6), (2584, 3.1e-9)] {
            println!("{:<22} {:>8} {error:>11.1e} {steps:>8}", "scipy Radau", "");
        }
        let all = [1e-3, 1e-4, 1e-5, 1e-6, 3e-7, 1e-7, 1e-8, 3e-9, 1e-9, 1e-10];
        for (method, tolerances) in
            [(Method::Radau5, &all[..]), (ALPHA, &all[..7]), (Method::Dopri5, &[1e-5, 1e-7, 1e-9][..])]
        {
            let tolerances = if self.is_quick { &tolerances[..1] } else { tolerances };
            for &rtol in tolerances {
                let options = Options::new(method, Control::error(rtol, rtol));
                let label = format!("{rtol:.0e}");
                let outcome = friction_error(&options).and_then(|error| {
                    let (_, stats, time) = timed(&Slider::with_event(), &options, if self.is_quick { 1 } else { 20 })?;
                    Ok((error, stats, time))
                });
                match &outcome {
                    Ok((error, stats, time)) => {
                        println!(
                            "{:<22} {label:>8} {error:>11.1e} {:>8} {:>9} {:>8} {:>10.3}",
                            name(method),
                            stats.n_accepted,
                            stats.n_rhs,
                            stats.n_factor,
                            1e3 * time.as_secs_f64()
                        );
                        self.write("LuGre slider (force at own steps)", &name(method), &label, *error, stats, *time);
                    }
                    Err(error) => println!("{:<22} {label:>8}   {error}", name(method)),
                }
            }
        }
    }
}

/// The cheapest of Radau5's runs, over a fine grid of tolerances, that reaches a friction-force error: the curve is not
/// smooth, because a break-away amplifies earlier errors and they may cancel.
fn cheapest_runs(is_quick: bool) {
    let n_grid = if is_quick { 3 } else { 33 };
    let mut runs = vec![];
    for k in 0..n_grid {
        let rtol = 10f64.powf(-3.0 - 0.25 * f64::from(k));
        let options = Options::new(Method::Radau5, Control::error(rtol, rtol));
        if let (Ok(error), Ok((_, stats, time))) =
            (friction_error(&options), timed(&Slider::with_event(), &options, 10))
        {
            runs.push((error, stats, time));
        }
    }
    println!("\nLuGre slider: Radau5's cheapest run for a friction-force error");
    println!("{:>8} {:>8} {:>9} {:>8} {:>10}", "", "steps", "rhs", "factor", "ms");
    for level in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9] {
        let within = runs.iter().filter(|(error, ..)| *error <= level);
        if let Some((_, stats, time)) = within.min_by_key(|(_, stats, _)| stats.n_accepted) {
            let ms = 1e3 * time.as_secs_f64();
            println!("{level:>8.0e} {:>8} {:>9} {:>8} {ms:>10.3}", stats.n_accepted, stats.n_rhs, stats.n_factor);
        }
    }
}

fn name(method: Method) -> String {
    match method {
        Method::GeneralizedAlpha { spectral_radius } => format!("GeneralizedAlpha({spectral_radius})"),
        other => format!("{other:?}"),
    }
}

/// End error and statistics, and the shortest time of up to `repeats` runs (fewer if they take long).
fn timed<P: Problem>(problem: &P, options: &Options, repeats: usize) -> Result<(f64, Stats, Duration), Error> {
    let ((t, y), t_end) = (problem.start(), problem.t_end());
    let options = Options { max_steps: 6_000_000, ..options.clone() };
    let mut best: Option<(f64, Stats, Duration)> = None;
    let all = Instant::now();
    for _ in 0..repeats {
        let mut system = problem.clone();
        let start = Instant::now();
        let mut driver = Driver::new(&mut system, t, &y, options.clone())?;
        driver.advance(&mut system, t_end, &mut ())?;
        let time = start.elapsed();
        if best.is_none_or(|(_, _, shortest)| time < shortest) {
            best = Some((problem.error(driver.y()), *driver.stats(), time));
        }
        if all.elapsed() > Duration::from_millis(500) {
            break;
        }
    }
    Ok(best.expect("at least one run"))
}

/// Largest friction-force error at own step points, against a run at 1e-13 interpolated there.
fn friction_error(options: &Options) -> Result<f64, Error> {
    let mut slider = Slider::with_event();
    let (t, y) = slider.start();
    let mut trace = Trace::steps();
    Driver::new(&mut slider, t, &y, options.clone())?.advance(&mut slider, Slider::TAU_END, &mut trace)?;

    let mut reference = Slider::with_event();
    let tight = Options::new(Method::Radau5, Control::error(1e-13, 1e-13));
    let mut comparison = Comparison { trace: &trace, next: 0, worst: 0.0 };
    Driver::new(&mut reference, t, &y, tight)?.advance(&mut reference, Slider::TAU_END, &mut comparison)?;
    Ok(comparison.worst)
}

/// Compares friction forces at the times of a trace.
struct Comparison<'a> {
    trace: &'a Trace,
    next: usize,
    worst: f64,
}

impl Sink<Slider> for Comparison<'_> {
    fn next_sample(&self) -> f64 {
        self.trace.t.get(self.next).copied().unwrap_or(f64::INFINITY)
    }

    fn sample(&mut self, slider: &mut Slider, _t: f64, y: &[f64], _quad: &[f64]) {
        let error = (slider.friction(&self.trace.y[self.next]) - slider.friction(y)).abs();
        self.worst = self.worst.max(error);
        self.next += 1;
    }
}
