//! `bristle run`: simulate a scene, write its results, print a summary.

mod files;
mod sensitivities;

use crate::Outcome;
use crate::collect::{Collector, Rows};
use crate::error_text::{explained, message, with_causes};
use crate::interrupt::Interrupt;
use crate::limits::{Budget, Limits};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::summary::Summary;
use crate::target;
use anyhow::Result;
use bristle::memory;
use bristle::stream::CsvStream;
use bristle::urdf::Import;
use bristle::{Error, Scene, Simulation};
use bristle_plot::format::count;
use bristle_report::plot::{self, Selection};
use bristle_report::report::Facts;
use bristle_report::results::{Format, Results};
use clap::Args;
use files::{default_name, is_output, rows_name, write_file, write_file_by, write_rows};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bristle_report::results::MAX_KEPT;
const MAX_DRAWN: f64 = 2e7;

/// Simulate a scene.
#[derive(Args)]
#[command(after_help = "\
Without --out, results are written to NAME.results.csv in the current directory, drawn in NAME.results.svg and animated
in NAME.report.html, where NAME is that of the scene file; the summary names the files. During a run the results are in
OUT.partial.EXT, which is renamed when it is complete; a run that fails or is interrupted (Ctrl-C) leaves that file, and
the next run of the same name replaces it and says so. Two simultaneous runs of one name are refused, and so is a link
or a pipe of that name. The disk limits the length of a table: .npz and .json are assembled there from
OUT.partial.csv and OUT.partial.columns.
Pictures need all rows in memory: --plot and --report take up to 250 million numbers (rows × channels).

Examples:
  bristle run scenes/double_pendulum.ron
  bristle run scenes/double_pendulum_coulomb.ron --out out.npz --events events.csv
  bristle run scenes/double_pendulum_coulomb.ron --report report.html
  bristle run scenes/single_pendulum.ron --until 2.5 --rtol 1e-11 --atol 1e-11 --out - > pendulum.csv
  bristle run scenes/arm_3dof.ron --method Rk4 --step 1e-3 --out arm.csv
  bristle run scenes/double_pendulum_coulomb.ron --set joints.elbow.friction.coulomb=0.1 --set gravity='(0, 0, -1.62)'
  bristle run scenes/double_pendulum_coulomb.ron --sensitivities joints.elbow.friction.coulomb,links.lower.mass
  bristle run robot.urdf --friction friction.ron
  bristle run scenes/stick_slip_lugre.ron --json --out out.csv | jq .worst_balance

Exit codes: 0 done, 1 the simulation failed (partial results kept), 2 the input was refused.")]
pub struct Run {
    /// Scene (RON) or robot (URDF)
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// Results: .csv, .npz (NumPy) or .json by extension; `-` for CSV on standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The usual curves over time, .svg or .png; `bristle plot` draws others
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The machine in motion with its curves, ledger and statistics, .html: one file for any browser
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Changes of mode of joints with stick-slip friction, impacts on stops and releases, .csv:
    /// t,joint,from,to,event; `-` for standard output
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Derivatives of all channels in these numbers of the scene, by path, into NAME.sensitivities.csv: columns
    /// `d(channel)/d(path)`
    #[arg(long, value_name = "PATH,…", value_delimiter = ',')]
    sensitivities: Vec<String>,
    /// The summary with all counters, .json; `-` for standard output
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Print the summary as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// No summary, no warnings, no progress
    #[arg(short, long)]
    quiet: bool,
    /// All counters in the summary
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    settings: Settings,
}

/// A run that is ready to go.
struct Ready {
    scene: Scene,
    /// A robot in a few lines.
    notes: Vec<String>,
    sim: Simulation,
    names: Vec<String>,
    /// Results, and how they are written; `None` for standard output.
    out: Option<(PathBuf, Format)>,
    /// Curves over time, and how they are written.
    plot: Option<(PathBuf, plot::Format)>,
    /// The machine in motion.
    report: Option<PathBuf>,
}

impl Ready {
    /// Whether all rows are needed together.
    fn keeps_rows(&self) -> bool {
        self.plot.is_some() || self.report.is_some()
    }
}

impl Run {
    pub fn execute(self) -> Outcome {
        let limits = match Interrupt::listen() {
            Ok(interrupt) => Limits::new(interrupt, self.budget, Instant::now()),
            Err(error) => {
                say!("error: {}", with_causes(&error));
                return Outcome::Failed;
            }
        };
        // looked at while the machine starts and within steps, too
        let in_reach = limits.clone();
        bristle::stop::until(move || in_reach.is_met(), || self.execute_within(limits))
    }

    fn execute_within(&self, limits: Limits) -> Outcome {
        let ready = match self.prepare() {
            Ok(ready) => ready,
            Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped { .. } | Error::OutOfMemory { .. })) => {
                say!("error: stopped before the start of the run: {}", limits.reason());
                return Outcome::Failed;
            }
            Err(error) => {
                say!("{}", explained(&error, &self.scene));
                return Outcome::Refused;
            }
        };
        if !self.quiet {
            ready.notes.iter().for_each(|note| say!("{note}"));
            ready.scene.warnings().iter().for_each(|warning| say!("{warning}\n"));
            ready.sim.remarks().iter().for_each(|remark| say!("note: {remark}"));
        }
        match self.simulate(ready, limits) {
            Ok(outcome) => outcome,
            Err(error) => {
                say!("error: {}", with_causes(&error));
                Outcome::Failed
            }
        }
    }

    /// Refuses invalid input before the run starts.
    fn prepare(&self) -> Result<Ready> {
        let Import { scene, notes, .. } = self.settings.import(&self.scene)?;
        let sim = self.settings.simulation(&scene)?;
        let names = sim.recording().names().to_vec();
        let out = match &self.out {
            Some(path) if is_output(path) => None,
            Some(path) => Some((path.clone(), Format::of(path)?)),
            None => Some((default_name(&self.scene, "results.csv"), Format::Csv)),
        };
        self.check_output()?;
        let numbers = scene.duration / scene.output.interval * names.len() as f64;
        let (mut plot, mut report) = (self.plot.clone(), self.report.clone());
        if self.out.is_none() && numbers < MAX_DRAWN {
            plot.get_or_insert_with(|| default_name(&self.scene, "results.svg"));
            report.get_or_insert_with(|| default_name(&self.scene, "report.html"));
        }
        let plot = plot.map(|path| plot::Format::of(&path).map(|format| (path, format))).transpose()?;
        report.as_deref().map_or(Ok(()), bristle_report::report::check_name)?;
        let ready = Ready { scene, notes, sim, names, out, plot, report };
        anyhow::ensure!(
            !ready.keeps_rows() || numbers < MAX_KEPT as f64,
            "{numbers:.1e} numbers are too many to hold in memory for a picture; without --plot and --report they \
             go to the file as \
             they come, or choose a larger `output.interval`"
        );
        self.check_files(&ready)?;
        Ok(ready)
    }

    /// Standard output takes one thing.
    fn check_output(&self) -> Result<()> {
        let is_asked = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_output);
        let asked = [
            (self.json, "--json", ""),
            (is_asked(&self.out), "--out -", "results"),
            (is_asked(&self.events), "--events -", "events"),
            (is_asked(&self.stats), "--stats -", "statistics"),
        ];
        let mut asked = asked.iter().filter(|(is_asked, ..)| *is_asked);
        if let (Some((_, one, _)), Some((_, other, what))) = (asked.next(), asked.next()) {
            anyhow::bail!("{one} and {other} both want standard output; name a file for the {what}");
        }
        Ok(())
    }

    /// The table of derivatives, beside the results.
    fn sensitivities_name(&self, ready: &Ready) -> PathBuf {
        match &ready.out {
            Some((path, _)) if self.out.is_some() => path.with_extension("sensitivities.csv"),
            _ => default_name(&self.scene, "sensitivities.csv"),
        }
    }

    /// Files that are read.
    fn inputs(&self, scene: &Scene) -> Vec<PathBuf> {
        let own = std::iter::once(self.scene.as_path()).chain(self.settings.friction_file());
        own.map(Path::to_owned).chain(scene.log_files()).collect()
    }

    /// Every output has a file of its own that can be written.
    fn check_files(&self, ready: &Ready) -> Result<()> {
        let inputs = self.inputs(&ready.scene);
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let out = ready.out.iter().map(|(path, _)| path);
        let named = |path: &&PathBuf| !is_output(path);
        let events = self.events.as_ref().filter(named);
        let stats = self.stats.as_ref().filter(named);
        let plot = ready.plot.iter().map(|(path, _)| path);
        let derivatives = (!self.sensitivities.is_empty()).then(|| self.sensitivities_name(ready));
        let files = out.chain(plot).chain(&ready.report).chain(events).chain(stats).chain(&derivatives);
        let files: Vec<&PathBuf> = files.collect();
        for (k, path) in files.iter().enumerate() {
            let is_taken = files[..k].iter().any(|other| target::is_same(other, path));
            anyhow::ensure!(!is_taken, "{}: two outputs cannot share a file", path.display());
            // nor may one stand where another is on its way
            let on_its_way = files.iter().find(|other| target::is_same(&target::partial_name(other, None), path));
            let rows = ready.out.as_ref().filter(|(out, format)| target::is_same(&rows_name(out, *format), path));
            if let Some(other) = on_its_way.copied().or(rows.map(|(out, _)| out)) {
                anyhow::bail!(
                    "{}: {} goes by that name until it is complete; name another file",
                    path.display(),
                    other.display()
                );
            }
            if target::is_same(path, &self.scene) {
                anyhow::bail!(
                    "{}: this is the scene itself; name another file for what comes out of it",
                    path.display()
                );
            }
            target::check(path, &inputs)?;
        }
        if let Some((path, format)) = &ready.out {
            let rows = rows_name(path, *format);
            let input = inputs.iter().find(|input| target::is_same(&rows, input));
            anyhow::ensure!(
                input.is_none(),
                "{}: this is the file that is read, and rows of {} grow in a file of that name; name another file",
                rows.display(),
                path.display()
            );
        }
        for (path, what, extension) in [(events, "events", "csv"), (stats, "statistics", "json")] {
            if let Some(path) = path {
                let is_kind = path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
                anyhow::ensure!(is_kind, "{}: {what} are written as .{extension}", path.display());
            }
        }
        Ok(())
    }

    fn simulate(&self, ready: Ready, limits: Limits) -> Result<Outcome> {
        let derivatives = if self.sensitivities.is_empty() {
            None
        } else {
            match sensitivities::write(
                &ready.scene,
                &self.sensitivities,
                &self.sensitivities_name(&ready),
                &self.inputs(&ready.scene).iter().map(PathBuf::as_path).collect::<Vec<_>>(),
            ) {
                Ok(path) => Some(path),
                Err(error) => {
                    match error.downcast_ref() {
                        Some(Error::Stopped { .. } | Error::OutOfMemory { .. }) => {
                            say!("error: {error}, before the derivatives were complete: {}", limits.reason());
                        }
                        _ => say!("{}", explained(&error, &self.scene)),
                    }
                    return Ok(sensitivities::outcome(&error));
                }
            }
        };
        let is_kept = ready.keeps_rows();
        let Ready { scene, mut sim, names, out, plot, report, .. } = ready;
        let rows = match &out {
            None => Rows::Output(io::BufWriter::with_capacity(1 << 16, io::stdout().lock())),
            Some((path, format)) => {
                let partial = rows_name(path, *format);
                let is_left = target::is_left(&partial);
                // another run of the same name, or no file at all: refused before the run
                match CsvStream::create(&partial, &names) {
                    Ok(stream) => {
                        self.say_replaced(is_left, &partial);
                        Rows::File(stream)
                    }
                    Err(error) => {
                        say!("error: {error}");
                        return Ok(Outcome::Refused);
                    }
                }
            }
        };
        let progress = Progress::new(scene.duration, self.quiet);
        let mut collector = Collector::new(&names, rows, is_kept, progress, limits)?;

        let start = Instant::now();
        let result = sim.run_with(scene.duration, &mut collector);
        let wall = start.elapsed();
        let (mut rows, kept) = collector.finish();
        // the file comes first: what is kept for pictures is the room that is left for it
        let kept = kept.filter(|_| !memory::has_run_out());
        let mut summary = Summary::new(&self.scene, &scene, &sim, &names, &collector, wall);
        summary.files.extend(derivatives.map(|path| ("sensitivities".into(), path)));
        match result {
            Ok(()) => {}
            // the reader has seen enough
            Err(Error::Io { source, .. }) if out.is_none() && source.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(Outcome::Done);
            }
            Err(error) if error.is_refusal() => {
                if let Rows::File(stream) = rows {
                    target::discard(stream);
                }
                say!("{}", message(&error, &self.scene));
                return Ok(Outcome::Refused);
            }
            Err(error) => {
                summary.completed = false;
                summary.take_state(&sim);
                summary.error = Some(match error {
                    Error::Stopped { .. } => format!("{error}: {}", collector.limits.reason()),
                    _ => error.to_string(),
                });
                // a file that could not be written has ended, with whole rows
                if let (Error::Io { .. }, Rows::File(stream)) = (&error, &rows) {
                    if stream.is_in_place() {
                        let path = stream.path().display().to_string();
                        summary.files.push(("rows that could be written".into(), path));
                    }
                    rows = Rows::None;
                }
            }
        }

        let results = kept.as_ref().map(Results::from_recording).transpose();
        let is_complete = summary.completed;
        if let Some((path, Format::Npz | Format::Json)) = &out
            && !is_complete
        {
            let partial = target::partial_name(path, None);
            self.say_replaced(target::is_left(&partial), &partial);
        }
        let written = write_rows(rows, &names, &collector, out.as_ref(), is_complete);
        let mut troubles: Vec<anyhow::Error> = Vec::new();
        match written {
            Ok(Some(path)) if is_complete => summary.files.push(("results".into(), path.display().to_string())),
            Ok(Some(path)) => summary.files.push(("partial results".into(), path.display().to_string())),
            Ok(None) => {}
            Err(error) => troubles.push(error),
        }
        let results = results.unwrap_or_else(|error| {
            collector.shortage = Some(with_causes(&error));
            None
        });
        if is_kept && results.is_none() {
            troubles.push(match collector.shortage.take() {
                Some(shortage) => anyhow::anyhow!("nothing is drawn: {shortage}; choose a larger `output.interval`"),
                None if memory::has_run_out() => anyhow::anyhow!("nothing is drawn: memory ran out"),
                None => {
                    anyhow::anyhow!("more than {MAX_KEPT} numbers: too many to draw; choose a larger `output.interval`")
                }
            });
        }
        // what one of the others cannot do must not keep back the rest
        if let Some(results) = &results {
            let title = summary.title();
            let drawn = plot.as_ref().map_or(Ok(()), |(path, format)| {
                let selection = Selection { title, ..Selection::of(&scene) };
                write_file(path, &plot::drawn(results, &selection, *format)?, "plot", &mut summary)
            });
            let shown = report.as_deref().map_or(Ok(()), |path| {
                let page = bristle_report::report::html(&Facts {
                    scene: &scene,
                    model: &sim.compiled().model.tree,
                    results,
                    stats: &sim.stats(),
                    wall,
                    warnings: &summary.warnings,
                    overrides: &self.settings.overrides(&self.scene),
                    failure: summary.error.as_deref(),
                })?;
                write_file(path, page.as_bytes(), "report", &mut summary)
            });
            troubles.extend(drawn.err().into_iter().chain(shown.err()));
        }
        troubles.extend(self.write_events(&mut summary, &collector, out.as_ref()).err());
        troubles.extend(self.write_stats(&mut summary).err());
        troubles.extend(self.report(&summary).err());
        troubles.iter().for_each(|error| say!("error: {}", with_causes(error)));
        Ok(if is_complete && troubles.is_empty() { Outcome::Done } else { Outcome::Failed })
    }

    /// Rows that an earlier run has left are gone.
    fn say_replaced(&self, is_left: bool, partial: &Path) {
        if is_left && !self.quiet {
            say!("{} of an earlier run is replaced", partial.display());
        }
    }

    /// Changes of mode.
    fn write_events(
        &self,
        summary: &mut Summary,
        collected: &Collector,
        out: Option<&(PathBuf, Format)>,
    ) -> Result<()> {
        let Some(path) = &self.events else { return Ok(()) };
        let mut text = Vec::new();
        bristle::csv::write_events(&collected.events, &mut text)?;
        if is_output(path) {
            crate::print(&String::from_utf8_lossy(&text));
            return Ok(());
        }
        // rows that are to become columns may be in the file of the usual name
        let usual = target::partial_name(path, None);
        let is_taken = out.is_some_and(|(out, format)| target::is_same(&rows_name(out, *format), &usual));
        let partial = if is_taken { target::partial_name(path, Some("events.csv")) } else { usual };
        write_file_by(path, &partial, &text, "events", summary)
    }

    /// Counters.
    fn write_stats(&self, summary: &mut Summary) -> Result<()> {
        let Some(path) = &self.stats else { return Ok(()) };
        let json = serde_json::to_string_pretty(&summary)? + "\n";
        if is_output(path) {
            crate::print(&json);
            return Ok(());
        }
        write_file(path, json.as_bytes(), "statistics", summary)
    }

    /// Prints the summary.
    fn report(&self, summary: &Summary) -> Result<()> {
        if let Some(error) = &summary.error {
            say!("error: {error}");
            say!("the simulation stood at t = {} s:", summary.simulated);
            say!("{}", summary.state().trim_end());
            summary.met().iter().for_each(|warning| say!("{warning}"));
            for (what, path) in &summary.files {
                let rows = if what == "partial results" {
                    format!("{} kept in ", count(summary.rows, "row"))
                } else {
                    format!("{what} in ")
                };
                say!("{rows}{path}");
            }
        } else if !self.quiet && !self.json {
            say!("{}", summary.text(self.verbose).trim_end());
        }
        if self.json {
            crate::print(&(serde_json::to_string(summary)? + "\n"));
        }
        Ok(())
    }
}
