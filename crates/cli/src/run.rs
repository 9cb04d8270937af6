//! `bristle run`: simulate a scene, write its results, say how it went.

use crate::Outcome;
use anyhow::{Context, Result};
use bristle::{Error, Recording, Scene, Simulation};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Simulate a scene.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle run scenes/double_pendulum.ron --out out.csv
  bristle run scenes/single_pendulum.ron --until 2.5 --rtol 1e-11 --atol 1e-11
  bristle run scenes/arm_3dof.ron --method Rk4 --step 1e-3 > arm.csv
  bristle run scenes/double_pendulum_coulomb.ron --out out.csv --events events.csv

Exit codes: 0 done, 1 the simulation failed (partial results kept), 2 the input was refused.")]
pub struct Run {
    /// Scene file (RON)
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// Write results here as CSV; standard output if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the changes of mode of joints with stick-slip friction here as CSV: t,joint,from,to
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Simulated time, s, in place of the scene's duration
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    until: Option<String>,
    /// Integration method, such as Dopri5, Rk4 or Radau5
    #[arg(long, value_name = "M")]
    method: Option<String>,
    /// Constant step, s
    #[arg(long, value_name = "H", allow_hyphen_values = true, conflicts_with_all = ["rtol", "atol"])]
    step: Option<String>,
    /// Relative tolerance
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    rtol: Option<String>,
    /// Absolute tolerance
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    atol: Option<String>,
    /// No summary
    #[arg(short, long)]
    quiet: bool,
}

impl Run {
    pub fn execute(self) -> Outcome {
        let scene = match self.load() {
            Ok(scene) => scene,
            Err(error) => return refuse(&Error::from(error), &self.scene),
        };
        let mut sim = match Simulation::new(&scene) {
            Ok(sim) => sim,
            Err(error) => return refuse(&error, &self.scene),
        };
        // better now than after an hour
        for path in self.out.iter().chain(&self.events) {
            if let Err(error) = bristle::record::check_writable(path) {
                eprintln!("error: {error}");
                return Outcome::Refused;
            }
        }
        if !self.quiet {
            scene.warnings().iter().for_each(|warning| eprintln!("{warning}"));
        }
        let mut recording = sim.recording();
        let start = Instant::now();
        let result = sim.run_into(scene.duration, &mut recording);
        let wall = start.elapsed();

        match result {
            Ok(()) => match self.write(&recording, self.out.as_deref()) {
                Ok(()) => {
                    if !self.quiet {
                        summarize(&mut sim, &recording, wall, self.out.as_deref());
                    }
                    Outcome::Done
                }
                Err(error) => {
                    eprintln!("error: {error:#}");
                    Outcome::Failed
                }
            },
            Err(error) if error.is_refusal() => refuse(&error, &self.scene),
            Err(error) => {
                eprintln!("error: {error}");
                eprintln!("the simulation stood at t = {} s:", sim.time());
                state_lines(&recording);
                // what there is, under a name that says it is not all
                let path = self.out.as_deref().map(partial_name);
                match self.write(&recording, path.as_deref()) {
                    Ok(()) => {
                        if let Some(path) = path {
                            eprintln!("{} rows kept in {}", recording.len(), path.display());
                        }
                    }
                    Err(error) => eprintln!("error: {error:#}"),
                }
                Outcome::Failed
            }
        }
    }

    /// The scene with the options in their places: checked, and refused, like the file itself.
    fn load(&self) -> std::result::Result<Scene, bristle::scene::SceneError> {
        let control = match (&self.step, &self.rtol, &self.atol) {
            (Some(step), ..) => Some(format!("Constant(step: {step})")),
            (None, None, None) => None,
            (None, rtol, atol) => {
                // a tolerance that is not given keeps the scene's value, or else the default
                let (mut r, mut a) = (1e-8, 1e-10);
                if let Ok(scene) = Scene::load(&self.scene)
                    && let bristle::scene::Control::Error { rtol, atol } = scene.control()
                {
                    (r, a) = (rtol, atol);
                }
                let (r, a) = (format!("{r:?}"), format!("{a:?}"));
                Some(format!("Error(rtol: {}, atol: {})", rtol.as_ref().unwrap_or(&r), atol.as_ref().unwrap_or(&a)))
            }
        };
        let given = [("duration", &self.until), ("solver.method", &self.method), ("solver.control", &control)];
        let overrides: Vec<(&str, &str)> =
            given.iter().filter_map(|(path, value)| value.as_deref().map(|value| (*path, value))).collect();
        Scene::load_with(&self.scene, &overrides)
    }

    fn write(&self, recording: &Recording, path: Option<&Path>) -> Result<()> {
        if let Some(events) = &self.events {
            recording.write_events(events)?;
        }
        match path {
            Some(path) => Ok(recording.write_csv(path)?),
            None => {
                let out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
                match recording.write_csv_to(out) {
                    // the reader has seen enough
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result.context("standard output"),
                }
            }
        }
    }
}

fn refuse(error: &Error, scene: &Path) -> Outcome {
    eprintln!("{}", message(error, scene));
    Outcome::Refused
}

/// An error with the file it is about; scene errors name it themselves.
pub(crate) fn message(error: &Error, scene: &Path) -> String {
    match error {
        Error::Scene(error) => error.to_string(),
        error => format!("error: {error}\n --> {}", scene.display()),
    }
}

/// `out.csv` → `out.partial.csv`
fn partial_name(path: &Path) -> PathBuf {
    let extension = path.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
    let stem = path.file_stem().map_or_else(|| "results".into(), |stem| stem.to_string_lossy());
    path.with_file_name(format!("{stem}.partial{extension}"))
}

/// Position and velocity of every joint in the last row.
fn state_lines(recording: &Recording) {
    let Some(row) = recording.rows().next_back() else { return };
    const MOST: usize = 24;
    let states =
        recording.names().iter().zip(row).filter(|(name, _)| {
            !name.starts_with("energy.") && (name.contains(".position") || name.contains(".velocity"))
        });
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "  {:<32} {:>20?}", "t", row[0]);
    for (k, (name, value)) in states.enumerate() {
        if k == MOST {
            let _ = writeln!(out, "  …");
            break;
        }
        let _ = writeln!(out, "  {name:<32} {value:>20.12}");
    }
}

fn summarize(sim: &mut Simulation, recording: &Recording, wall: Duration, out: Option<&Path>) {
    let (stats, seconds) = (sim.stats(), wall.as_secs_f64());
    eprintln!(
        "{} s simulated in {:.3} s ({:.0} × real time); {} steps, {} rejected, {} evaluations, {} events",
        sim.time(),
        seconds,
        sim.time() / seconds.max(1e-9),
        stats.n_accepted,
        stats.n_rejected + stats.n_failed,
        stats.n_rhs + stats.n_residual,
        stats.n_events + stats.n_time_events,
    );
    state_lines(recording);
    let worst = recording.channel("energy.balance").map(|balance| balance.map(f64::abs).fold(0.0, f64::max));
    if let (Ok(energy), Ok(worst)) = (sim.energy(), worst) {
        let (stored, input) = (energy.kinetic + energy.potential + energy.elastic + energy.bristle, energy.input);
        eprintln!("  energy: stored {stored:.6} J, put in {input:.6} J, dissipated {:.6} J", energy.dissipated);
        eprintln!("  energy balance: {:.2e} J at the end, {worst:.2e} J at worst", energy.balance);
    }
    if let Some(out) = out {
        eprintln!("{} rows, {} channels in {}", recording.len(), recording.names().len(), out.display());
    }
}
