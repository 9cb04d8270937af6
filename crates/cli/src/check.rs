//! `bristle check`: read scenes, build their machines, say what is wrong.

use crate::Outcome;
use bristle::{Scene, Simulation};
use clap::Args;
use std::path::PathBuf;

/// Check scenes without running them.
#[derive(Args)]
pub struct Check {
    /// Scene files
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
}

impl Check {
    pub fn execute(self) -> Outcome {
        let mut outcome = Outcome::Done;
        for path in &self.scenes {
            let checked = Scene::load(path).map_err(bristle::Error::from).and_then(|scene| {
                scene.warnings().iter().for_each(|warning| eprintln!("{warning}"));
                Simulation::new(&scene)
            });
            match checked {
                Ok(sim) => {
                    let model = &sim.compiled().model;
                    println!("{}: {} joints, {} degrees of freedom", path.display(), model.n_joints(), model.n_v);
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
