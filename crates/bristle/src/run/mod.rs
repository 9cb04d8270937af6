//! A machine in motion: its equations, the integrator, the state and the energy ledger, owned by one `Run`.
//!
//! - [`simulation`]: a world with one run;
//! - [`batch`]: many runs of one machine, without a world;
//! - `inputs`: the quantities that callers set, and the rules for them;
//! - `ledger`: stored energies, work and heat;
//! - `snapshot`: a run as bytes;
//! - `links`: poses, velocities, Jacobians and reactions of links and joints;
//! - `query`: mass matrix, Jacobians, inverse dynamics and linearisation at the present state;
//! - [`mechanics`]: forward and inverse dynamics of a scene at given states, without integration;
//! - [`sensitivities`]: channels of a run and their derivatives in parameters of the scene;
//! - `recorder`: rows of a recording from a run; `write_back`: results as components of a world;
//! - `settings`: method, step control and formulation; `explain`: errors with names and places.
//!
//! Nothing outside this module advances the equations of motion.

pub mod batch;
mod explain;
mod inputs;
mod ledger;
mod links;
#[cfg(feature = "scene")]
pub mod mechanics;
mod query;
mod recorder;
#[cfg(feature = "scene")]
pub mod sensitivities;
mod settings;
pub mod simulation;
mod snapshot;
mod write_back;

pub use write_back::WriteBack;

use crate::dynamics::{Energies, Snapshot};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::Compiled;
use crate::real_time::RealTime;
use crate::stick_slip::Machine;
use bristle_integrate::{Driver, Outcome, Sink, System};
use explain::explain;
use ledger::{Ledger, Past};
use settings::Solver;

/// End of an advance.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// To a time, s.
    Time(f64),
    /// For a duration, s: n equal ones end n times later, to rounding.
    After(f64),
}

/// Work that is due before the next step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Pending {
    #[default]
    Nothing,
    /// Inputs have changed: modes are resolved again.
    Inputs,
    /// A step failed: the next one restarts at the state that was reached. Queries are answered at that state.
    Failure,
    /// The state or its inputs were refused, or inputs have changed after a failure: restart before anything is
    /// computed.
    Restart,
}

impl Pending {
    /// The state after a change of an input.
    fn with_inputs(self) -> Self {
        match self {
            Self::Nothing | Self::Inputs => Self::Inputs,
            Self::Failure | Self::Restart => Self::Restart,
        }
    }

    /// Whether the next step restarts.
    fn is_restart(self) -> bool {
        matches!(self, Self::Failure | Self::Restart)
    }
}

/// A machine, its integrator, its state and its energy ledger.
#[derive(Debug, Clone)]
struct Run {
    system: Machine,
    driver: Driver,
    /// At the driver's time.
    state: Snapshot,
    past: Past,
    pending: Pending,
    /// Internal steps that one call of [`Run::step`] may take.
    max_steps: usize,
    /// Scratch: unknowns; `max_dim`.
    y: Vec<f64>,
}

impl Run {
    /// A machine that starts at a state, with an energy ledger that starts there.
    fn new(compiled: Compiled, state: &Snapshot, solver: &Solver) -> Result<Self> {
        let mut run = Self::start(compiled, state.clone(), solver)?;
        // prescribed joints start at the values of their signals
        run.evaluate_at()?;
        let stored = run.system.dynamics.energies(&run.state)?;
        (run.past.initial, run.past.reaction_loaded) = (stored.stored(), stored.reaction_loaded);
        Ok(run)
    }

    /// A run with an empty ledger.
    fn start(compiled: Compiled, state: Snapshot, solver: &Solver) -> Result<Self> {
        let mut system = solver.system(compiled)?;
        let mut y = vec![0.0; system.max_dim()];
        system.begin(&state, &mut y)?;
        let n = system.dim();
        let driver = Driver::new(&mut system, state.mechanics.t, &y[..n], solver.options.clone());
        let driver = driver.map_err(|error| explain(error, &mut system))?;
        if !system.dynamics.is_real_time() {
            // room for the checkpoint of the first event: no step allocates
            system.checkpoint();
        }
        let past = Past { quad: vec![0.0; system.n_quadratures()], ..Past::default() };
        Ok(Self { system, driver, state, past, pending: Pending::Nothing, max_steps: usize::MAX, y })
    }

    /// Bytes that a copy takes at least: matrices, and a kilobyte per velocity for places, inertias and factors.
    fn bytes(&self) -> u64 {
        let compiled = self.compiled();
        let real_time = if self.system.dynamics.is_real_time() { RealTime::matrix_bytes(compiled) } else { 0 };
        let others = memory::bytes::<[u8; 1024]>(&[compiled.model.tree.n_v]).saturating_add(size_of::<Self>() as u64);
        self.driver.matrix_bytes().saturating_add(real_time).saturating_add(others)
    }

    fn t(&self) -> f64 {
        self.driver.t()
    }

    fn compiled(&self) -> &Compiled {
        self.system.dynamics.compiled()
    }

    /// Advances by `dt`, in at most `max_steps` internal steps.
    fn step(&mut self, dt: f64, sink: &mut dyn Sink<Machine>) -> Result<()> {
        self.driver.set_max_steps(self.max_steps);
        let result = self.advance(Until::After(dt), sink);
        self.driver.set_max_steps(usize::MAX);
        result
    }

    /// Advances the driver. [`Run::evaluate_at`] gives the state that was reached, also after a failure.
    fn advance(&mut self, until: Until, sink: &mut dyn Sink<Machine>) -> Result<()> {
        use bristle_integrate::Error::{Input, Memory};
        self.resolve()?;
        let advanced = match until {
            Until::Time(t) => self.driver.advance(&mut self.system, t, sink),
            Until::After(dt) => self.driver.advance_by(&mut self.system, dt, sink),
        };
        match advanced {
            Ok(Outcome::Stopped) => Err(crate::stop::error(self.t())),
            Ok(Outcome::Reached | Outcome::Terminated) => Ok(()),
            // an invalid time, or no memory: nothing has changed
            Err(error @ (Input { .. } | Memory { .. })) => Err(Error::Integrate(error)),
            Err(error) => {
                self.pending = Pending::Failure;
                Err(explain(error, &mut self.system))
            }
        }
    }

    /// Does the pending work: modes for changed inputs, a restart after a failure. After an error it stays pending.
    fn resolve(&mut self) -> Result<()> {
        match self.pending {
            Pending::Nothing => Ok(()),
            Pending::Inputs => self.resolve_modes(),
            Pending::Failure | Pending::Restart => self.restart(),
        }
    }

    /// Resolves the modes at the present state: a stuck joint may break away under changed inputs.
    fn resolve_modes(&mut self) -> Result<()> {
        let n = self.driver.y().len();
        self.y[..n].copy_from_slice(self.driver.y());
        let t = self.t();
        // a real-time step resolves its modes itself
        if self.system.dynamics.is_real_time() {
            self.pending = Pending::Restart;
            self.hand_over()?;
            self.pending = Pending::Nothing;
            return Ok(());
        }
        self.transact(|run| run.system.reselect_modes(t, &mut run.y))
    }

    /// Restarts system and driver at the state of the run, at the driver's time.
    fn restart(&mut self) -> Result<()> {
        self.state.mechanics.t = self.t();
        self.transact(|run| run.system.begin(&run.state, &mut run.y))
    }

    /// Changes the system and passes its unknowns to the driver. After an error neither has changed, and a restart is
    /// pending.
    fn transact(&mut self, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.pending = Pending::Restart;
        self.system.checkpoint();
        let changed = change(self).and_then(|()| self.hand_over());
        match changed {
            Ok(()) => self.pending = Pending::Nothing,
            Err(_) => self.system.rollback(),
        }
        changed
    }

    /// Passes the unknowns to the driver.
    fn hand_over(&mut self) -> Result<()> {
        let n = self.system.dim();
        self.driver.set_state(&mut self.system, &self.y[..n]).map_err(|error| explain(error, &mut self.system))
    }

    /// Evaluates everything at the present state, and stores the state.
    fn evaluate_at(&mut self) -> Result<()> {
        // accelerations may overflow where the state does not
        let t = self.driver.t();
        let looked = self.system.evaluate_at(t, self.driver.y());
        // the stored state stays finite: the last finite configuration is kept
        if !self.system.dynamics.is_finite() {
            return looked.and(Err(Error::NotFinite { t, what: "the configuration".into() }));
        }
        self.system.dynamics.store(t, &mut self.state);
        looked
    }

    /// Applies a `change` by a caller and restarts; the energy it puts in shifts the start of the ledger. A refused
    /// change is rolled back by `undo`, and the run is as before, bit for bit; a state that is not finite, which no
    /// snapshot accepts, restarts instead.
    fn change(&mut self, change: impl FnOnce(&mut Self), undo: impl FnOnce(&mut Self)) -> Result<()> {
        let (before, checkpoint) = (self.stored(), self.write(0));
        change(self);
        let changed = self.restart().and_then(|()| self.evaluate_at()).and_then(|()| self.shift_ledger(before));
        if changed.is_err() {
            undo(self);
            if self.read(0, &checkpoint).is_err() {
                self.pending = Pending::Restart;
            }
        }
        changed
    }

    /// Stored energies; none where they are not finite.
    fn stored(&mut self) -> Option<Energies> {
        self.system.dynamics.energies(&self.state).ok()
    }

    /// Moves the start of the ledger by the energy that a caller has put in since `before`.
    fn shift_ledger(&mut self, before: Option<Energies>) -> Result<()> {
        let after = self.system.dynamics.energies(&self.state)?;
        self.past.shift(&mut self.driver, before, &after);
        Ok(())
    }

    /// The energy ledger at the present state.
    fn energy(&mut self) -> Result<Ledger> {
        ledger::ledger(&mut self.system, &self.state, self.driver.quadratures(), &self.past)
    }

    /// Heat of each joint and coupling with dissipation, J.
    fn heats(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.driver.quadratures()[2..].iter().zip(&self.past.quad[2..]).map(|(now, past)| now + past)
    }
}

/// Refuses a duration that is negative or not finite.
fn check_dt(dt: f64) -> Result<()> {
    if dt.is_finite() && dt >= 0.0 {
        return Ok(());
    }
    Err(Error::number("step", "dt", dt, "finite and not negative"))
}
