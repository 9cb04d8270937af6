//! `bristle fit`: fit parameters of a scene to logs, write the fitted scene, a table and a page, print a summary.

mod laws;
mod names;
mod output;

use crate::error_text::explained;
use crate::interrupt::Interrupt;
use crate::limits::seconds;
use crate::{Outcome, target};
use anyhow::{Context, Result};
use bristle::Error;
use bristle::fit::{Fit, FitFile, Fitted, Log, Method, Progress, Watch};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How a fit is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Way {
    InverseDynamics,
    OutputError,
}

/// Fit parameters of a scene to measurements.
#[derive(Args)]
#[command(after_help = "\
A fit file names the scene, the logs, and the numbers that are free:

  Fit(
      scene: \"axis.ron\",                                            // or a robot (URDF), friction: \"friction.ron\"
      logs: [Log(
          file: \"train.csv\", time: \"t_s\", skip: 0.05,
          set: { \"joints.slide.drive.target\": Column(\"reference_m\") },  // Held(\"…\"): last value; Value(\"400.0\")
          compare: [
              Compare(channel: \"slide.drive\", column: \"force_N\", band: 60.0),   // Hz, low-pass on both sides
              Compare(channel: \"slide.position\", column: \"position_m\", noise: 5e-8),
          ],
      )],
      hold_out: [Log(file: \"pulses.csv\", like: 0)],
      free: {
          \"links.carriage.mass\": Free(95.0, (10.0, 500.0)),          // start, bounds
          \"joints.slide.friction.coulomb\": Free(20.0, (0.1, 200.0)),
          \"joints.slide.friction.stiction\": Excess(\"coulomb\", 1.0, (0.0, 50.0)),
          \"joints.*.damping\": Free(1.0, (0.0, 100.0)),               // one each; Tied(…): one for all
          \"logs.*.delay\": Tied(0.0, (0.0, 0.03)),                    // s; inputs act later by it
          \"logs.*.initial\": Measured,                               // or Estimated: part of the fit
      },
      prior: { \"links.carriage.mass\": (95.0, 2.0) },                 // mean, deviation
      method: OutputError(starts: 8),                                // or InverseDynamics(band: 20.0)
  )

Results are NAME.fitted.ron (a scene), NAME.fit.csv (values and deviations) and NAME.fit.html (measured against
simulated, residuals, logs that were held out) in the current directory. Ctrl-C ends with the best values so far.

Examples:
  bristle fit axis.fit.ron
  bristle fit axis.fit.ron --check
  bristle fit axis.ron --log run.csv:position_m=slide.position --free joints.slide.friction.coulomb=20
  bristle fit axis.fit.ron --law 'joints.slide.friction=Coulomb,Stribeck,LuGre'
  bristle fit axis.fit.ron --law 'joints.slide.friction=Coulomb(coulomb: 20),Tanh(coulomb: 20, stribeck_velocity: 0.01)'

Exit codes: 0 done, 1 no start converged or the fit was stopped, 2 the input was refused.")]
pub struct FitCommand {
    /// Fit file; or a scene (RON) or robot (URDF) with --log and --free
    #[arg(value_name = "FIT")]
    file: PathBuf,
    /// A log of a scene: FILE:COLUMN=CHANNEL,…; a path of a signal in place of a channel makes the column an input
    #[arg(long, value_name = "LOG")]
    log: Vec<String>,
    /// A free number of a scene, with its start: PATH=START or PATH=START:LOW:HIGH
    #[arg(long, value_name = "PATH=START")]
    free: Vec<String>,
    /// Any value of the scene by its path; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Fit every one of these laws in place of the one at a path, and compare them: PATH=LAW,LAW,…; by name, with
    /// levels of the present one, or written out
    #[arg(long, value_name = "PATH=LAWS")]
    law: Option<String>,
    /// Only look: logs, units, what each log can tell at the start values
    #[arg(long)]
    check: bool,
    /// Starts: the given one, and others at random in the bounds
    #[arg(long, value_name = "N")]
    starts: Option<usize>,
    /// Seed of the random starts
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// In place of the method of the fit file
    #[arg(long, value_name = "M")]
    method: Option<Way>,
    /// Corner frequency of inverse dynamics, Hz
    #[arg(long, value_name = "HZ", default_value_t = 20.0)]
    band: f64,
    /// Beginning of the names of all results, in place of NAME
    #[arg(long, value_name = "PREFIX")]
    out: Option<PathBuf>,
    /// Time on the clock at most, s: beyond, the fit ends with the best values so far and exit code 1
    #[arg(long, value_name = "S", value_parser = seconds, allow_hyphen_values = true)]
    max_time: Option<Duration>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// No summary, no warnings, no progress
    #[arg(short, long)]
    quiet: bool,
}

impl FitCommand {
    pub fn execute(&self) -> Outcome {
        let start = Instant::now();
        match self.try_execute(start) {
            Ok(outcome) => outcome,
            Err(error) => {
                say!("{}", explained(&error, &self.file));
                self.say_late(start);
                match error.downcast_ref::<Error>() {
                    Some(error) if !error.is_refusal() => Outcome::Failed,
                    _ => Outcome::Refused,
                }
            }
        }
    }

    fn is_late(&self, start: Instant) -> bool {
        self.max_time.is_some_and(|time| start.elapsed() >= time)
    }

    fn say_late(&self, start: Instant) {
        if let Some(time) = self.max_time.filter(|_| self.is_late(start)) {
            say!("the limit of {} s on the clock is met (--max-time)", time.as_secs_f64());
        }
    }

    fn try_execute(&self, start: Instant) -> Result<Outcome> {
        let (mut fit, inputs) = self.read()?;
        if let Some(starts) = self.starts {
            fit = fit.starts(starts);
        }
        if let Some(seed) = self.seed {
            fit = fit.seed(seed);
        }
        match self.method {
            Some(Way::InverseDynamics) => fit = fit.method(Method::InverseDynamics { band: self.band }),
            Some(Way::OutputError) => fit = fit.method(Method::OutputError),
            None => {}
        }
        let interrupt = Interrupt::listen()?;
        if self.check {
            let is_stopped = || interrupt.is_asked() || self.is_late(start);
            let watch = Watch { is_stopped: &is_stopped, ..Watch::NONE };
            fit.check_with(&watch)?.iter().for_each(|line| say!("{line}"));
            return Ok(Outcome::Done);
        }
        let doubts = self.doubts(&fit, &interrupt, start)?;
        if let Some(laws) = &self.law {
            return laws::compare(self, &fit, laws, (&interrupt, start));
        }
        let names = self.names();
        let logs = fit.scene().log_files();
        let inputs: Vec<&Path> = inputs.iter().chain(&logs).map(PathBuf::as_path).collect();
        names.iter().try_for_each(|name| target::check(name, &inputs))?;
        let begin = Instant::now();
        let fitted = self.solve(&fit, &interrupt, start)?;
        let wall = begin.elapsed();
        if bristle::memory::has_run_out() {
            say!("error: memory ran out; this is the fit so far");
        }
        if fitted.is_stopped() {
            self.say_late(start);
        }
        // what one output cannot do keeps back no other
        let failures = output::write(&fitted, &names)?;
        failures.iter().for_each(|error| say!("error: {error:#}"));
        if !self.quiet {
            say!("{}", output::summary(&fitted, &names, wall, &doubts));
        }
        if self.json {
            crate::print(&output::json(&fitted, wall)?);
        }
        let is_converged = fitted.outcomes().iter().any(|outcome| outcome.is_converged);
        let is_done = is_converged && !fitted.is_stopped() && failures.is_empty();
        Ok(if is_done { Outcome::Done } else { Outcome::Failed })
    }

    /// Points at doubtful logs and units before anything is fitted.
    fn doubts(&self, fit: &Fit, interrupt: &Interrupt, start: Instant) -> Result<Vec<String>> {
        if self.quiet {
            return Ok(vec![]);
        }
        let is_stopped = || interrupt.is_asked() || self.is_late(start);
        let doubts = fit.doubts_with(&Watch { is_stopped: &is_stopped, ..Watch::NONE })?;
        doubts.iter().for_each(|doubt| say!("warning: {doubt}"));
        Ok(doubts)
    }

    /// Solves with progress on standard error.
    fn solve(&self, fit: &Fit, interrupt: &Interrupt, start: Instant) -> Result<Fitted> {
        let last = Mutex::new(Instant::now());
        let progress = |at: Progress| {
            if let Ok(mut last) = last.lock()
                && !self.quiet
                && last.elapsed() > Duration::from_secs(1)
            {
                *last = Instant::now();
                say!("start {} of {}, iteration {}: error {:.4}", at.start + 1, at.starts, at.iteration, at.error);
            }
        };
        let watch = Watch { is_stopped: &|| interrupt.is_asked() || self.is_late(start), progress: &progress };
        Ok(fit.solve_with(&watch)?)
    }

    /// The fit, and the files that it reads.
    fn read(&self) -> Result<(Fit, Vec<PathBuf>)> {
        let set =
            self.set.iter().map(|set| set.split_once('=').with_context(|| format!("--set {set}: write PATH=VALUE")));
        let set = set.collect::<Result<Vec<_>>>()?;
        if self.log.is_empty() && self.free.is_empty() {
            let FitFile { fit, inputs } = FitFile::load(&self.file, &set)?;
            return Ok((fit, inputs));
        }
        let mut fit = Fit::new(&bristle::fit::scene(&self.file, None, &set)?);
        let mut inputs = vec![self.file.clone()];
        for text in &self.log {
            let (file, pairs) =
                text.rsplit_once(':').with_context(|| format!("--log {text}: write FILE:COLUMN=CHANNEL"))?;
            let mut log = Log::read(file)?;
            for pair in pairs.split(',') {
                let (column, to) =
                    pair.split_once('=').with_context(|| format!("--log {text}: write COLUMN=CHANNEL"))?;
                let is_path = to.starts_with("joints.") || to.starts_with("couplings.");
                log = if is_path { log.input(to, column) } else { log.compare(to, column) };
            }
            inputs.push(file.into());
            fit = fit.log(log);
        }
        for text in &self.free {
            let (path, start) = text.split_once('=').with_context(|| format!("--free {text}: write PATH=START"))?;
            let numbers = start.split(':').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>();
            let numbers = numbers.with_context(|| format!("--free {text}: write numbers, PATH=START:LOW:HIGH"))?;
            let (start, low, high) = match numbers[..] {
                // a hundred times to either side; a number about zero has no size of its own
                [0.0] => (0.0, -1.0, 1.0),
                [start] if start < 0.0 => (start, 100.0 * start, 0.01 * start),
                [start] => (start, 0.01 * start, 100.0 * start),
                [start, low, high] => (start, low, high),
                _ => anyhow::bail!("--free {text}: write PATH=START or PATH=START:LOW:HIGH"),
            };
            fit = fit.free(path, start, low..=high);
        }
        Ok((fit, inputs))
    }

    /// Scene, table and page.
    fn names(&self) -> [PathBuf; 3] {
        let name = self.file.file_name().map_or_else(Default::default, |name| name.to_string_lossy().into_owned());
        let stem = name.strip_suffix(".ron").or(name.strip_suffix(".urdf")).unwrap_or(&name);
        let stem = stem.strip_suffix(".fit").unwrap_or(stem);
        let prefix = self.out.clone().unwrap_or_else(|| PathBuf::from(stem));
        ["fitted.ron", "fit.csv", "fit.html"].map(|end| PathBuf::from(format!("{}.{end}", prefix.display())))
    }
}
