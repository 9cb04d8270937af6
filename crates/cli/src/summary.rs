//! Summary of a run, as text and as JSON.

use crate::collect::{Collector, Turnover};
use bristle::{Scene, Simulation};
use bristle_plot::format::{count, significant};
use bristle_report::results::EventCounts;
use bristle_report::written;
use serde::ser::{Serialize, Serializer};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Coordinates named in the text at most.
const MAX_STATES: usize = 24;

/// Of what is moved, and of what is in play at all, an error of these parts says that the motion is another one.
const HOPELESS: (f64, f64) = (0.05, 0.01);

/// Where nothing moves, an error of this part of the energy there is comes from rounding.
const ROUNDED: f64 = 1e-9;

/// Summary of a run.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Summary {
    /// Scene file.
    pub scene: String,
    /// Name of the scene.
    pub name: String,
    /// Whether the run reached its end.
    pub completed: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Integration method, as a scene spells it.
    pub method: String,
    /// Step control, as a scene spells it.
    pub control: String,
    /// Formulation, as a scene spells it.
    pub formulation: String,
    /// Simulated time, s.
    pub simulated: f64,
    /// Time it took, s.
    pub wall: f64,
    /// Simulated time per time it took.
    pub real_time_factor: f64,
    /// Rows recorded.
    pub rows: usize,
    /// Channels in a row.
    pub channels: usize,
    /// Counters of the integration.
    pub stats: Counters,
    /// Changes of mode.
    pub mode_changes: usize,
    /// Impacts on stops, and ends of bounces.
    pub impacts: usize,
    /// Releases from stops.
    pub releases: usize,
    /// Positions and velocities at the end.
    pub final_state: Named,
    /// Where the energy is and went at the end, J.
    pub energy: Named,
    /// Largest |energy.balance| of any row, J.
    pub worst_balance: f64,
    /// Warnings about the scene and about the run.
    pub warnings: Vec<String>,
    /// How many of them were met on the way: the last ones.
    #[serde(skip)]
    n_met: usize,
    /// Files written, each with its content.
    #[serde(serialize_with = "as_map")]
    pub files: Vec<(String, String)>,
}

fn as_map<S: Serializer>(files: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(files.iter().map(|(what, path)| (what, path)))
}

/// Numbers by name, in order.
#[derive(Debug, Clone, Default)]
pub struct Named(pub Vec<(String, f64)>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Counters of the integration, under the names of the library.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Counters {
    n_accepted: usize,
    n_rejected: usize,
    n_failed: usize,
    n_rhs: usize,
    n_residual: usize,
    n_jacobian: usize,
    n_factor: usize,
    n_solve: usize,
    n_newton: usize,
    n_events: usize,
    n_time_events: usize,
    n_event_evaluations: usize,
    n_landings: usize,
    n_difference_columns: usize,
    n_stiff: usize,
    n_acceleration_solves: usize,
    n_sweeps: usize,
    n_substitutions: usize,
    n_jerks: usize,
    n_projections: usize,
    n_rounds: usize,
    n_unconverged_loads: usize,
    /// Largest residual of the equations of motion, relative to their terms, where accelerations are integrated.
    drift: f64,
}

impl Counters {
    /// The counters of a simulation.
    pub fn of(sim: &Simulation) -> Self {
        let (s, of_loads) = (sim.stats(), sim.counters());
        Self {
            n_difference_columns: s.n_difference_columns,
            n_stiff: s.n_stiff,
            n_acceleration_solves: of_loads.n_acceleration_solves,
            n_sweeps: of_loads.n_sweeps,
            n_substitutions: of_loads.n_substitutions,
            n_jerks: of_loads.n_jerks,
            n_projections: of_loads.n_projections,
            n_rounds: of_loads.n_rounds,
            n_unconverged_loads: of_loads.n_unconverged_loads,
            drift: of_loads.drift,
            n_accepted: s.n_accepted,
            n_rejected: s.n_rejected,
            n_failed: s.n_failed,
            n_rhs: s.n_rhs,
            n_residual: s.n_residual,
            n_jacobian: s.n_jacobian,
            n_factor: s.n_factor,
            n_solve: s.n_solve,
            n_newton: s.n_newton,
            n_events: s.n_events,
            n_time_events: s.n_time_events,
            n_event_evaluations: s.n_event_evaluations,
            n_landings: s.n_landings,
        }
    }

    /// Names and values.
    fn entries(&self) -> [(&'static str, usize); 22] {
        [
            ("steps accepted", self.n_accepted),
            ("rejected by the error estimate", self.n_rejected),
            ("abandoned: Newton or the equations failed", self.n_failed),
            ("evaluations of the accelerations", self.n_rhs),
            ("evaluations of the residual", self.n_residual),
            ("Jacobians", self.n_jacobian),
            ("factorisations", self.n_factor),
            ("substitutions", self.n_solve),
            ("Newton iterations", self.n_newton),
            ("events located", self.n_events),
            ("time events", self.n_time_events),
            ("evaluations of event functions", self.n_event_evaluations),
            ("steps repeated to land on an event", self.n_landings),
            ("columns of Jacobians by finite differences", self.n_difference_columns),
            ("steps limited by stability", self.n_stiff),
            ("implicit solutions for accelerations", self.n_acceleration_solves),
            ("sweeps of the friction-loaded recursion", self.n_sweeps),
            ("substitutions with them", self.n_substitutions),
            ("evaluations of jerks", self.n_jerks),
            ("projections of their drift", self.n_projections),
            ("iterations of the convex solver in real-time steps", self.n_rounds),
            ("real-time steps with unconverged loads", self.n_unconverged_loads),
        ]
    }
}

impl Summary {
    /// Looks at a simulation and what was collected of it.
    pub fn new(
        path: &Path,
        scene: &Scene,
        sim: &Simulation,
        names: &[String],
        collected: &Collector,
        wall: Duration,
    ) -> Self {
        let wall = wall.as_secs_f64();
        let events = EventCounts::of(collected.events.iter().map(|event| event.kind));
        let named = |wanted: &dyn Fn(&str) -> bool| {
            let pairs = names.iter().zip(&collected.last).filter(|(name, _)| wanted(name));
            Named(pairs.map(|(name, value)| (name.clone(), *value)).collect())
        };
        let is_energy = |name: &str| name.starts_with("energy.");
        let mut energy = named(&is_energy);
        energy.0.iter_mut().for_each(|(name, _)| *name = name.replace("energy.", ""));
        let met = sim.warnings().into_iter().skip(sim.notes().len()).map(|warning| format!("warning: {warning}"));
        let met: Vec<String> = met.chain(doubtful_balance(collected)).collect();
        Self {
            n_met: met.len(),
            scene: path.display().to_string(),
            name: scene.name.clone(),
            completed: true,
            error: None,
            method: written(&scene.method()),
            control: written(&scene.control()),
            formulation: written(&scene.formulation),
            simulated: sim.time(),
            wall,
            real_time_factor: sim.time() / wall.max(1e-9),
            rows: collected.n_rows,
            channels: names.len(),
            stats: Counters::of(sim),
            mode_changes: events.mode_changes,
            impacts: events.impacts,
            releases: events.releases,
            final_state: named(&|name| !is_energy(name) && (name.contains(".position") || name.contains(".velocity"))),
            energy,
            worst_balance: collected.worst_balance,
            warnings: scene.warnings().iter().map(|warning| warning.to_string()).chain(met).collect(),
            files: Vec::new(),
        }
    }

    /// Warnings met on the way.
    pub fn met(&self) -> &[String] {
        &self.warnings[self.warnings.len().saturating_sub(self.n_met)..]
    }

    /// The state a run ended in, where that is no row of its results: joints in model order, positions before
    /// velocities, then what lies between two of them.
    pub fn take_state(&mut self, sim: &Simulation) {
        let compiled = sim.compiled();
        let model = &compiled.model.tree;
        let values = (1..model.n_bodies()).flat_map(|i| {
            let (q, v) = (&sim.positions()[model.q_range(i)], &sim.velocities()[model.v_range(i)]);
            q.iter().chain(v).copied()
        });
        self.final_state.0.iter_mut().zip(values).for_each(|((_, old), new)| *old = new);
        let contacts =
            compiled.inputs.contacts.iter().filter_map(|contact| Some((contact.element?, contact.v, contact.b)));
        let springs = compiled.model.coupled.springs.iter().map(|spring| (spring.element, spring.a, Some(spring.b)));
        let at = |v: usize| sim.positions()[model.q_range(model.joint_of_velocity(v)).start];
        for (element, a, b) in contacts.chain(springs) {
            let name = &compiled.model.coupled.names[element];
            let position = at(a) - b.map_or(0.0, at);
            let velocity = sim.velocities()[a] - b.map_or(0.0, |b| sim.velocities()[b]);
            for (channel, value) in [(format!("{name}.position"), position), (format!("{name}.velocity"), velocity)] {
                let kept = self.final_state.0.iter_mut().filter(|(kept, _)| *kept == channel);
                kept.for_each(|(_, old)| *old = value);
            }
        }
    }

    /// Name of the scene, or of its file.
    pub fn title(&self) -> String {
        if self.name.is_empty() { self.scene.clone() } else { self.name.clone() }
    }

    /// The last state, a line for each coordinate.
    pub fn state(&self) -> String {
        let mut text = String::new();
        let states = &self.final_state.0;
        // a line that says that there is one more could as well say it
        let shown = if states.len() <= MAX_STATES + 1 { states.len() } else { MAX_STATES };
        for (name, value) in &states[..shown] {
            let _ = match value.abs() {
                size if size < 1e6 => writeln!(text, "    {name:<30} {value:>20.12}"),
                _ => writeln!(text, "    {name:<30} {value:>20.12e}"),
            };
        }
        if states.len() > shown {
            let _ = writeln!(text, "    … and {} more: --json has them all", states.len() - shown);
        }
        text
    }

    /// For people; `is_verbose` adds every counter.
    pub fn text(&self, is_verbose: bool) -> String {
        let mut text = String::new();
        let s = &self.stats;
        let Self { mode_changes, impacts, releases, .. } = *self;
        let events: Vec<String> = EventCounts { mode_changes, impacts, releases }.in_words().collect();
        let _ = writeln!(
            text,
            "{}: {} s simulated in {} s ({} × real time)",
            self.title(),
            self.simulated,
            significant(self.wall),
            significant(self.real_time_factor)
        );
        let _ = writeln!(text, "  solver          {}, {}", self.method, self.control);
        let _ = writeln!(
            text,
            "  steps           {}, {} rejected, {}",
            count(s.n_accepted, "step"),
            s.n_rejected + s.n_failed,
            count(s.n_rhs + s.n_residual, "evaluation")
        );
        let _ = writeln!(
            text,
            "  events          {} ({} located, {})",
            if events.is_empty() { "0 changes of mode".to_owned() } else { events.join(", ") },
            count(s.n_events, "event"),
            count(s.n_time_events, "time event")
        );
        if is_verbose {
            let _ = writeln!(text, "  formulation     {}", self.formulation);
            for (name, value) in s.entries() {
                let _ = writeln!(text, "    {value:>12} {name}");
            }
            if s.n_jerks > 0 {
                let _ = writeln!(text, "    {:>12.1e} largest drift, relative to the terms of the equations", s.drift);
            }
        }
        let _ = write!(text, "  state at the end\n{}", self.state());
        let energy =
            |wanted: &str| self.energy.0.iter().find(|(name, _)| name == wanted).map_or(0.0, |(_, value)| *value);
        let stored: f64 = ["kinetic", "potential", "elastic", "bristle"].map(energy).iter().sum();
        let _ = writeln!(
            text,
            "  energy          stored {stored:.6} J, put in {:.6} J, dissipated {:.6} J",
            energy("input"),
            energy("dissipated")
        );
        let _ = writeln!(
            text,
            "  energy balance  {:.2e} J at the end, {:.2e} J at worst",
            energy("balance"),
            self.worst_balance
        );
        let (of_scene, met) = self.warnings.split_at(self.warnings.len().saturating_sub(self.n_met));
        if !of_scene.is_empty() {
            let _ = writeln!(text, "  warnings        {} about the scene, above", of_scene.len());
        }
        met.iter().for_each(|warning| _ = writeln!(text, "  {warning}"));
        for (what, path) in &self.files {
            let _ = write!(text, "  {what:<15} {path}");
            let _ = match what.as_str() {
                "results" => writeln!(text, " ({}, {})", count(self.rows, "row"), count(self.channels, "channel")),
                "report" => writeln!(text, " (open it in a browser)"),
                _ => writeln!(text),
            };
        }
        text
    }
}

/// A balance that no small error explains.
fn doubtful_balance(collected: &Collector) -> Option<String> {
    let (worst, Turnover { moved, in_play, largest, .. }) = (collected.worst_balance, &collected.turnover);
    let limit = (HOPELESS.0 * moved).max(HOPELESS.1 * in_play).max(ROUNDED * largest);
    (worst > limit).then(|| {
        let of = if 2.0 * worst < *moved {
            format!("where {} J are dissipated, put in and stored", significant(*moved))
        } else {
            format!("where {} J are in play", significant(*in_play))
        };
        format!(
            "warning: the energy balance is off by {} J, {of}: the motion is not to be trusted; take a smaller step, \
            or a smaller \
             tolerance where an error estimate chooses it",
            significant(worst)
        )
    })
}
