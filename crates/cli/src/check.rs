//! `bristle check`: read scenes, build their machines, say what is wrong.

use crate::Outcome;
use bristle::Simulation;
use bristle::urdf::{self, Options};
use clap::Args;
use std::path::PathBuf;

/// Check scenes without running them.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle check scenes/double_pendulum.ron
  bristle check scenes/*.ron

Every problem of every file is reported: file, line, column, the line itself, the reason and what to write instead.
Exit codes: 0 all can be used, 2 at least one was refused.")]
pub struct Check {
    /// Scenes (RON) or robots (URDF)
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
}

impl Check {
    pub fn execute(self) -> Outcome {
        let mut outcome = Outcome::Done;
        for path in &self.scenes {
            let import = urdf::load_scene(path, &Options::default());
            let checked = import.map_err(bristle::Error::from).and_then(|import| {
                import.lines.iter().for_each(|line| eprintln!("{line}"));
                let scene = import.scene;
                scene.warnings().iter().for_each(|warning| eprintln!("{warning}"));
                Simulation::new(&scene)
            });
            match checked {
                Ok(sim) => {
                    let model = &sim.compiled().model;
                    let (joints, freedom) = (count(model.n_joints(), "joint"), count(model.n_v, "degree"));
                    crate::print(&format!("{}: {joints}, {freedom} of freedom\n", path.display()));
                }
                Err(error) => {
                    eprintln!("{}", crate::run::message(&error, path));
                    outcome = Outcome::Refused;
                }
            }
        }
        outcome
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
