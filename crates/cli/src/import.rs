//! `bristle import`: a URDF robot as a RON scene, with notes on repairs and on what is not used.

use crate::Outcome;
use crate::settings::assignment;
use crate::target;
use bristle::scene::SceneError;
use bristle::urdf::{self, FrictionFile, Import, Options};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Turn a URDF robot into a scene.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle import robot.urdf > robot.ron
  bristle import robot.urdf --friction friction.ron --out robot.ron

A friction file gives laws and loads by joint; \"*\" is every other joint that moves:
  { \"elbow\": (friction: LuGre(sigma0: 1e4, sigma1: 50.0, coulomb: 0.5), load: Pin(radius: 0.02)) }

--out writes the file under another name first and renames it when it is complete; it must not be the robot or the
friction file. A summary of the robot goes to standard error.
Exit codes: 0 done, 1 the scene could not be written, 2 the input was refused.")]
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
    /// Leave out limits: no stops at the ends of ranges, no largest efforts
    #[arg(long)]
    no_limits: bool,
    /// Refuse repairs, and elements that affect motion and are not imported; shapes and materials are only named
    #[arg(long)]
    strict: bool,
    /// Any value of the scene by its path, such as joints.elbow.armature=0.1; may be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// A line for every joint and link: how it was understood, its repairs, its unused parts
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// Print no notes
    #[arg(short, long)]
    quiet: bool,
}

impl ImportRobot {
    pub fn execute(self) -> Outcome {
        let inputs: Vec<&Path> = std::iter::once(&self.robot).chain(&self.friction).map(PathBuf::as_path).collect();
        if let Some(Err(error)) = self.out.as_ref().map(|out| target::check(out, &inputs)) {
            say!("error: {error:#}");
            return Outcome::Refused;
        }
        let Import { scene, lines, notes } = match self.read() {
            Ok(import) => import,
            Err(error) => {
                say!("{error}");
                return Outcome::Refused;
            }
        };
        if !self.quiet {
            if self.verbose {
                lines.iter().for_each(|line| say!("{line}"));
            } else {
                notes.iter().for_each(|note| say!("{note}"));
            }
            scene.warnings().iter().for_each(|warning| say!("{warning}"));
        }
        let text = match scene.to_ron() {
            Ok(text) => text,
            Err(error) => {
                say!("{error}");
                return Outcome::Failed;
            }
        };
        let Some(out) = &self.out else {
            crate::print(&text);
            return Outcome::Done;
        };
        match target::write(out, |file| Ok(file.write_all(text.as_bytes())?)) {
            Ok(()) => Outcome::Done,
            Err(error) => {
                say!("error: {error:#}");
                Outcome::Failed
            }
        }
    }

    fn read(&self) -> Result<Import, SceneError> {
        let friction = self.friction.as_ref().map(FrictionFile::load).transpose()?;
        let options = Options {
            floating: self.floating,
            strict: self.strict,
            no_limits: self.no_limits,
            friction,
            overrides: self.set.clone(),
        };
        urdf::load(&self.robot, &options)
    }
}
