//! `bristle check`: read scenes, build their machines, report errors; on request, save a scene as it was
//! understood.

use crate::Outcome;
use crate::error_text::explained;
use crate::settings::Settings;
use crate::target;
use anyhow::{Result, ensure};
use bristle::memory;
use bristle_plot::format::count;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Check scenes without running them.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle check scenes/double_pendulum.ron
  bristle check scenes/*.ron
  bristle check scenes/double_pendulum.ron --set joints.elbow.damping=0.1 --method Radau5 --save stiff.ron

Every problem of every file is reported: file, line, column, the line itself, the reason and what to write instead.
--save writes the scene as it was read, overridden values included: reading that file gives the same scene.
Comments are not kept.
Exit codes: 0 all can be used, 1 the scene could not be saved, 2 at least one was refused.")]
pub struct Check {
    /// Scenes (RON) or robots (URDF)
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
    /// Write the scene with its overridden values as a scene file
    #[arg(long, value_name = "FILE.ron")]
    save: Option<PathBuf>,
    /// No notes and warnings
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    settings: Settings,
}

impl Check {
    pub fn execute(self) -> Outcome {
        if let Some(path) = &self.save
            && let Err(error) = self.check_name(path)
        {
            say!("error: {error:#}");
            return Outcome::Refused;
        }
        let mut outcome = Outcome::Done;
        for path in &self.scenes {
            match self.check(path) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let Some(save) = &self.save else { continue };
                    match target::write(save, |file| Ok(file.write_all(text.as_bytes())?)) {
                        Ok(()) => crate::print(&format!("  saved as {}\n", save.display())),
                        Err(error) => {
                            say!("error: {error:#}");
                            outcome = Outcome::Failed;
                        }
                    }
                }
                Err(error) => {
                    say!("{}", explained(&error, path));
                    if memory::has_run_out() {
                        return Outcome::Failed;
                    }
                    outcome = Outcome::Refused;
                }
            }
        }
        outcome
    }

    /// Summary of a scene; its text if it is to be saved.
    fn check(&self, path: &Path) -> Result<Option<String>> {
        let import = self.settings.import(path)?;
        let scene = import.scene;
        if !self.quiet {
            import.notes.iter().for_each(|note| say!("{note}"));
            scene.warnings().iter().for_each(|warning| say!("{warning}"));
        }
        let sim = self.settings.simulation(&scene)?;
        if !self.quiet {
            sim.remarks().iter().for_each(|remark| say!("note: {remark}"));
        }
        let (joints, freedom) = (count(sim.compiled().model.tree.n_joints(), "joint"), count(sim.freedom(), "degree"));
        crate::print(&format!("{}: {joints}, {freedom} of freedom\n", path.display()));
        if let Some(save) = &self.save {
            let logs = scene.log_files();
            target::check_inputs(save, &logs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
            return Ok(Some(scene.to_ron()?));
        }
        Ok(None)
    }

    /// Refuses a name under which no scene can be saved.
    fn check_name(&self, path: &Path) -> Result<()> {
        ensure!(self.scenes.len() == 1, "--save takes one scene; {} are named", self.scenes.len());
        let is_ron = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ron"));
        ensure!(is_ron, "{}: a scene is saved as `.ron`", path.display());
        let is_itself = target::is_same(path, &self.scenes[0]);
        ensure!(
            !is_itself,
            "{}: this is the scene itself, whose comments would be lost; name another file",
            path.display()
        );
        target::check(path, &self.settings.friction_file().into_iter().collect::<Vec<_>>())
    }
}
