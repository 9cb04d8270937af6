//! `bristle import`: a URDF robot as a RON scene, with a line for every joint that says what was understood.

use crate::Outcome;
use bristle::scene::SceneError;
use bristle::urdf::{self, FrictionFile, Import, Options};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Turn a URDF robot into a scene.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle import robot.urdf > robot.ron
  bristle import robot.urdf --friction friction.ron --out robot.ron

A friction file gives laws and loads by joint; \"*\" is every other joint that moves:
  { \"elbow\": (friction: LuGre(sigma0: 1e4, sigma1: 50.0, coulomb: 0.5), load: Pin(radius: 0.02)) }

What was understood goes to standard error. Exit codes: 0 done, 1 the scene could not be written, 2 the input was refused.")]
pub struct ImportRobot {
    /// URDF file
    #[arg(value_name = "ROBOT")]
    robot: PathBuf,
    /// Write the scene here; standard output if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Friction for the joints, by name
    #[arg(long, value_name = "FILE")]
    friction: Option<PathBuf>,
    /// Let the root link float instead of fixing it to the world
    #[arg(long)]
    floating: bool,
    /// Refuse whatever is left over and bears on motion, limits included; shapes and looks are named, not refused
    #[arg(long)]
    strict: bool,
    /// Do not say what was understood
    #[arg(short, long)]
    quiet: bool,
}

impl ImportRobot {
    pub fn execute(self) -> Outcome {
        let Import { scene, lines } = match self.read() {
            Ok(import) => import,
            Err(error) => {
                say!("{error}");
                return Outcome::Refused;
            }
        };
        if !self.quiet {
            lines.iter().for_each(|line| say!("{line}"));
            scene.warnings().iter().for_each(|warning| say!("{warning}"));
        }
        let text = match scene.to_ron() {
            Ok(text) => text,
            Err(error) => {
                say!("{error}");
                return Outcome::Failed;
            }
        };
        match write(&text, self.out.as_deref()) {
            Ok(()) => Outcome::Done,
            // the reader has seen enough
            Err(error) if self.out.is_none() && error.kind() == io::ErrorKind::BrokenPipe => Outcome::Done,
            Err(error) => {
                let name = self.out.map_or_else(|| "standard output".into(), |out| out.display().to_string());
                say!("error: {name}: {error}");
                Outcome::Failed
            }
        }
    }

    fn read(&self) -> Result<Import, SceneError> {
        let friction = self.friction.as_ref().map(FrictionFile::load).transpose()?;
        let options = Options { floating: self.floating, strict: self.strict, friction, overrides: Vec::new() };
        urdf::load(&self.robot, &options)
    }
}

fn write(text: &str, out: Option<&Path>) -> io::Result<()> {
    match out {
        Some(path) => std::fs::write(path, text),
        None => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            stdout.flush()
        }
    }
}
