//! `bristle compare`: two tables of results, two scenes, or one scene solved in two ways.

use crate::Outcome;
use crate::collect::{Collector, Rows};
use crate::difference::{Difference, difference};
use crate::error_text::explained;
use crate::interrupt::Interrupt;
use crate::limits::{Budget, Limits};
use crate::progress::Progress;
use crate::settings::Settings;
use bristle_report::results::MAX_KEPT;
use bristle_report::results::Results;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compare two results, or two ways to solve one scene.
#[derive(Args)]
#[command(after_help = "\
A and B are results (.csv, .npz, .json) or scenes, which are then run. One scene alone is run with the settings of each
--with; a single --with is compared with the unchanged scene. Each channel has a line: the largest difference and its
time, the root mean square, and the largest as a part of the channel's range. Ctrl-C or a limit ends a run and with it
the comparison: nothing is printed, and the exit code is 1. --max-time counts from the start of the command.

Examples:
  bristle compare old.csv new.npz
  bristle compare out.csv reference.csv --tolerance 1e-6
  bristle compare scenes/double_pendulum.ron --with method=Rk4,step=1e-3 --with method=Radau5
  bristle compare scenes/stick_slip_lugre.ron --with joints.slide.friction.sigma1=0 --until 10

Exit codes: 0 compared, 1 a run failed or a difference exceeds --tolerance (a channel or a time span of one table only
counts as one), 2 the input was refused.")]
pub struct Compare {
    /// Results or scene
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Results or scene
    #[arg(value_name = "B", conflicts_with = "with")]
    second: Option<PathBuf>,
    /// Settings of one side, such as method=Rk4,step=1e-3 or joints.elbow.damping=0.1; at most two
    #[arg(long, value_name = "SETTINGS", value_parser = Settings::parse, allow_hyphen_values = true)]
    with: Vec<Settings>,
    /// Exit with 1 if any channel differs by more than this
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Print the differences as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Settings,
    #[command(flatten)]
    budget: Budget,
}

/// Why there is nothing to compare.
enum ComparisonError {
    Refused(String),
    Failed(String),
}

impl Compare {
    pub fn execute(self) -> Outcome {
        match self.differences() {
            Ok(found) => self.report(&found),
            Err(ComparisonError::Refused(message)) => {
                say!("{message}");
                Outcome::Refused
            }
            Err(ComparisonError::Failed(message)) => {
                say!("{message}");
                Outcome::Failed
            }
        }
    }

    fn differences(&self) -> Result<Difference, ComparisonError> {
        if self.tolerance.is_some_and(|tolerance| tolerance.is_nan() || tolerance < 0.0) {
            return Err(ComparisonError::Refused("error: --tolerance must not be negative".into()));
        }
        let start = Instant::now();
        let interrupt = Interrupt::listen().map_err(|error| ComparisonError::Failed(format!("error: {error:#}")))?;
        let [one, two] = ["1 of 2", "2 of 2"];
        let side = |which, path: &Path, settings: &Settings| {
            // looked at while a machine starts and within steps, too
            let limits = Limits::new(interrupt.clone(), self.budget, start);
            let heard = limits.clone();
            bristle::stop::until(move || heard.is_met(), || self.side(which, path, settings, limits))
        };
        let own = |k: usize| self.with.get(k).map_or_else(|| self.common.clone(), |with| with.or(&self.common));
        let (a, b) = match (&self.second, self.with.len()) {
            (Some(second), _) => (side(one, &self.first, &self.common)?, side(two, second, &self.common)?),
            (None, 1) => (side(one, &self.first, &self.common)?, side(two, &self.first, &own(0))?),
            (None, 2) => (side(one, &self.first, &own(0))?, side(two, &self.first, &own(1))?),
            (None, n) => {
                let reason = if n == 0 { "there is nothing to compare with" } else { "two --with at most" };
                let help = "name a second file, or settings: --with method=Rk4,step=1e-3";
                return Err(ComparisonError::Refused(format!("error: {reason}; {help}")));
            }
        };
        difference(&a, &b).map_err(|error| ComparisonError::Refused(format!("error: {error:#}")))
    }

    /// The results in a file, or of a run.
    fn side(
        &self,
        which: &'static str,
        path: &Path,
        settings: &Settings,
        limits: Limits,
    ) -> Result<Results, ComparisonError> {
        let refused = |error: anyhow::Error| ComparisonError::Refused(explained(&error, path));
        if !is_scene(path) {
            if !self.with.is_empty() {
                return Err(refused(anyhow::anyhow!("{}: --with is for scenes", path.display())));
            }
            return Results::read(path).map_err(refused);
        }
        let scene = settings.load(path).map_err(|error| refused(error.into()))?;
        let failed = |error: &dyn std::fmt::Display| {
            let place = path.display();
            ComparisonError::Failed(format!("error: {error}\n --> {place}, run {which}\nnothing was compared"))
        };
        let mut sim = settings.simulation(&scene).map_err(|error| match error {
            bristle::Error::Stopped { .. } | bristle::Error::OutOfMemory { .. } => {
                failed(&format!("{} before the start of the run", limits.reason()))
            }
            error => refused(error.into()),
        })?;
        let names = sim.recording().names().to_vec();
        // both tables are held in memory
        let numbers = scene.duration / scene.output.interval * names.len() as f64;
        let too_many = || {
            anyhow::anyhow!("{}: too many rows to compare in memory; choose a larger `output.interval`", path.display())
        };
        if numbers >= MAX_KEPT as f64 / 2.0 {
            return Err(refused(too_many()));
        }
        let progress = Progress::of(which, scene.duration);
        let collector = Collector::new(&names, Rows::None, true, progress, limits);
        let mut collector = collector.map_err(|error| failed(&error))?;
        let result = sim.run_with(scene.duration, &mut collector);
        let reason = collector.limits.reason();
        let (_, kept) = collector.finish();
        result.map_err(|error| match error {
            bristle::Error::Stopped { t } => failed(&format!("stopped at t = {t} s: {reason}")),
            error if error.is_refusal() => refused(error.into()),
            error => failed(&error),
        })?;
        let kept = kept.ok_or_else(|| failed(&too_many()))?;
        Results::from_recording(&kept).map_err(refused)
    }

    fn report(&self, found: &Difference) -> Outcome {
        if self.json {
            match serde_json::to_string(found) {
                Ok(json) => crate::print(&(json + "\n")),
                Err(error) => say!("error: {error}"),
            }
        } else {
            crate::print(&text(found));
        }
        let Some(tolerance) = self.tolerance else { return Outcome::Done };
        let beyond: Vec<&str> =
            found.channels.iter().filter(|c| c.max > tolerance).map(|c| c.channel.as_str()).collect();
        let alone = found.only_first.len() + found.only_second.len();
        if alone > 0 {
            say!("{alone} channels are in one of the tables only");
        }
        let is_short = found.missing.iter().any(|missing| *missing > 0.0);
        if is_short {
            say!("one table has more time than the other");
        }
        if !beyond.is_empty() {
            say!("{} of {} channels differ by more than {tolerance:?}", beyond.len(), found.channels.len());
        }
        if beyond.is_empty() && alone == 0 && !is_short { Outcome::Done } else { Outcome::Failed }
    }
}

/// Whether a file is a scene or a robot, by its name.
fn is_scene(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["ron", "urdf"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// A table for people.
fn text(found: &Difference) -> String {
    let Difference { instants, interpolated, span, channels, only_first, only_second, missing } = found;
    let width = channels.iter().map(|c| c.channel.chars().count()).max().unwrap_or(0).max("channel".len());
    let mut lines =
        vec![format!("{:<width$} {:>12} {:>12} {:>12} {:>10}", "channel", "largest", "at t", "rms", "of range")];
    for c in channels {
        let of_range = if c.range > 0.0 { format!("{:.1e}", c.max / c.range) } else { "–".into() };
        lines.push(match c.max {
            0.0 => format!("{:<width$} {:>12} {:>12} {:>12} {:>10}", c.channel, 0, "–", 0, 0),
            max => format!("{:<width$} {max:>12.4e} {:>12.6} {:>12.4e} {of_range:>10}", c.channel, c.t, c.rms),
        });
    }
    lines.push(String::new());
    lines.push(format!("{instants} instants from {} to {} s", span.0, span.1));
    if *interpolated > 0 {
        lines.push(format!("{interpolated} of them lie between rows of the other table, which was interpolated there"));
    }
    for (which, missing) in ["first", "second"].into_iter().zip(missing).filter(|(_, missing)| **missing > 0.0) {
        lines.push(format!("the {which} table lacks {missing} s of what the other has"));
    }
    for (which, only) in [("first", only_first), ("second", only_second)] {
        if !only.is_empty() {
            lines.push(format!("only in the {which}: {}", only.join(", ")));
        }
    }
    lines.join("\n") + "\n"
}
