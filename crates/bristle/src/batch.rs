//! Many copies of one machine, stepped together over threads.
//!
//! Copies share nothing while they are stepped, so the result does not depend on how many threads there are or who gets which copy: the
//! same bits for one thread and for sixteen. Arrays of the whole batch are laid out by coordinate: entry `k · n + i` is coordinate
//! k of copy i, in the order of [`Simulation::velocities`] and its like. There is no world here: states and results live in the arrays.

use crate::error::{Error, Result};
use crate::formulation::{Machine, Snapshot};
use crate::simulation::{Simulation, explain};
use bristle_friction::{FrictionLaw, Law};
use bristle_integrate::{Driver, System};
use rayon::prelude::*;

/// Copies of a machine in motion. See the [module](self).
pub struct Batch {
    copies: Vec<Copy>,
    pool: Option<rayon::ThreadPool>,
    n_q: usize,
    n_v: usize,
    position: Vec<f64>,
    velocity: Vec<f64>,
    acceleration: Vec<f64>,
    friction: Vec<f64>,
    /// As callers want it; and as it is in the copies.
    effort: Vec<f64>,
    applied: Vec<f64>,
}

/// One of them.
struct Copy {
    system: Machine,
    driver: Driver,
    state: Snapshot,
    /// Scratch: unknowns; `max_dim`.
    y: Vec<f64>,
    is_pushed: bool,
    failure: Option<Error>,
}

impl Batch {
    /// `n` copies of a simulation as it is now, on as many threads as there are cores.
    pub fn new(sim: &mut Simulation, n: usize) -> Result<Self> {
        let (system, driver, state) = sim.parts()?;
        let (n_q, n_v) = (system.compiled().model.n_q, system.compiled().model.n_v);
        let n_contacts = system.compiled().contacts.len();
        let y = vec![0.0; system.max_dim()];
        let copy = || Copy {
            system: system.clone(),
            driver: driver.clone(),
            state: state.clone(),
            y: y.clone(),
            is_pushed: false,
            failure: None,
        };
        let effort: Vec<f64> = system.compiled().effort.iter().flat_map(|&tau| std::iter::repeat_n(tau, n)).collect();
        let mut batch = Self {
            copies: (0..n).map(|_| copy()).collect(),
            pool: None,
            n_q,
            n_v,
            position: vec![0.0; n * n_q],
            velocity: vec![0.0; n * n_v],
            acceleration: vec![0.0; n * n_v],
            friction: vec![0.0; n * n_contacts],
            applied: effort.clone(),
            effort,
        };
        batch.gather();
        Ok(batch)
    }

    /// The same on so many threads of its own.
    pub fn with_threads(mut self, threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| Error::Io { path: "threads".into(), source: std::io::Error::other(error) })?;
        self.pool = Some(pool);
        Ok(self)
    }

    /// Number of copies.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Time of a copy, s.
    pub fn time(&self, copy: usize) -> Result<f64> {
        Ok(self.at(copy)?.driver.t())
    }

    /// Positions; `n_q` × n.
    pub fn positions(&self) -> &[f64] {
        &self.position
    }

    /// Velocities; `n_v` × n.
    pub fn velocities(&self) -> &[f64] {
        &self.velocity
    }

    /// Accelerations; `n_v` × n.
    pub fn accelerations(&self) -> &[f64] {
        &self.acceleration
    }

    /// Friction efforts, one per joint or coupling with friction; × n.
    pub fn friction_efforts(&self) -> &[f64] {
        &self.friction
    }

    /// Efforts that act from the next step on; `n_v` × n.
    pub fn efforts_mut(&mut self) -> &mut [f64] {
        &mut self.effort
    }

    /// Puts a copy somewhere: positions and velocities in the order of [`Simulation::positions`]; bristles start steady.
    pub fn set_state(&mut self, copy: usize, q: &[f64], v: &[f64]) -> Result<()> {
        let (n_q, n_v) = (self.n_q, self.n_v);
        for (what, given, n) in [("q", q, n_q), ("v", v, n_v)] {
            if given.len() != n {
                let range = "the number of coordinates of the machine";
                return Err(Error::Number { name: what.into(), what: "length", value: given.len() as f64, range });
            }
            if let Some(&value) = given.iter().find(|x| !x.is_finite()) {
                return Err(Error::Number { name: what.into(), what: "a number", value, range: "finite" });
            }
        }
        let at = self.at_mut(copy)?;
        at.state.mechanics.q.copy_from_slice(q);
        at.state.mechanics.v.copy_from_slice(v);
        for (bristle, contact) in at.state.bristles.iter_mut().zip(&at.system.compiled().contacts) {
            let state = contact.law.initial_state(contact.arm * contact.rate(v));
            (bristle.z, bristle.w) = (contact.law.deflection(state), state[1]);
        }
        at.begin()?;
        self.gather();
        Ok(())
    }

    /// Gives a joint or coupling of one copy another friction law of the same kind: as many states, with or without modes as before.
    pub fn set_friction(&mut self, copy: usize, name: &str, law: impl Into<Law>) -> Result<()> {
        let law = law.into();
        let at = self.at_mut(copy)?;
        let compiled = at.system.compiled();
        let Some(c) = (0..compiled.contacts.len()).find(|&c| compiled.contact_name(c) == name) else {
            let known: Vec<&str> = (0..compiled.contacts.len().min(8)).map(|c| compiled.contact_name(c)).collect();
            let (what, name) = ("joint or coupling with friction", name.to_owned());
            return Err(Error::Unknown { what, name, known: known.join(", ") });
        };
        let contact = &compiled.contacts[c];
        crate::compile::validate_friction(&law, &contact.load, || name.to_owned())?;
        let is_same_kind = law.n_states() == contact.law.n_states()
            && law.event_driven().is_some() == contact.law.event_driven().is_some();
        if !is_same_kind {
            let what = format!("another kind of law, `{}` for `{}`, in a batch", law.name(), contact.law.name());
            return Err(Error::Unsupported { name: name.into(), what });
        }
        at.system.compiled_mut().contacts[c].law = law;
        at.begin()
    }

    /// Advances every copy by exactly `dt`. Where some fail, the first of them is the error, all others have gone on, and
    /// the failed ones stay where they got to.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        let n = self.copies.len();
        if let Some(&value) = self.effort.iter().find(|x| !x.is_finite()) {
            return Err(Error::Number { name: "batch".into(), what: "effort", value, range: "finite" });
        }
        for (k, (want, has)) in self.effort.iter().zip(&mut self.applied).enumerate() {
            if want != has {
                *has = *want;
                let copy = &mut self.copies[k % n];
                copy.system.set_effort(k / n, *want);
                copy.is_pushed = true;
            }
        }
        let copies = &mut self.copies;
        let mut step = || copies.par_iter_mut().for_each(|copy| copy.failure = copy.step(dt).err());
        match &self.pool {
            Some(pool) => pool.install(step),
            None => step(),
        }
        self.gather();
        let failed = self.copies.iter_mut().find_map(|copy| copy.failure.take());
        failed.map_or(Ok(()), Err)
    }

    fn at(&self, copy: usize) -> Result<&Copy> {
        self.copies.get(copy).ok_or_else(|| no_such(copy))
    }

    fn at_mut(&mut self, copy: usize) -> Result<&mut Copy> {
        self.copies.get_mut(copy).ok_or_else(|| no_such(copy))
    }

    /// Copies to arrays.
    fn gather(&mut self) {
        let n = self.copies.len();
        for (i, copy) in self.copies.iter().enumerate() {
            let state = &copy.state.mechanics;
            let spread = |from: &[f64], to: &mut [f64]| from.iter().enumerate().for_each(|(k, x)| to[k * n + i] = *x);
            spread(&state.q, &mut self.position);
            spread(&state.v, &mut self.velocity);
            spread(copy.system.accelerations(), &mut self.acceleration);
            spread(copy.system.friction(), &mut self.friction);
        }
    }
}

impl Copy {
    /// Starts from `state`, at the driver's time.
    fn begin(&mut self) -> Result<()> {
        self.state.mechanics.t = self.driver.t();
        self.system.begin(&self.state, &mut self.y)?;
        self.set_unknowns()?;
        self.look()
    }

    fn step(&mut self, dt: f64) -> Result<()> {
        if self.is_pushed {
            self.is_pushed = false;
            let n = self.driver.y().len();
            self.y[..n].copy_from_slice(self.driver.y());
            self.system.reconsider(self.driver.t(), &mut self.y)?;
            self.set_unknowns()?;
        }
        let result = self.driver.advance(&mut self.system, self.driver.t() + dt, &mut ());
        let result = result.map(|_| ()).map_err(|error| explain(error, &mut self.system));
        result.and(self.look())
    }

    fn set_unknowns(&mut self) -> Result<()> {
        let n = self.system.dim();
        let set = self.driver.set_state(&mut self.system, &self.y[..n]);
        set.map_err(|error| explain(error, &mut self.system))
    }

    fn look(&mut self) -> Result<()> {
        self.system.look(self.driver.t(), self.driver.y())?;
        self.system.store(self.driver.t(), &mut self.state);
        Ok(())
    }
}

fn no_such(copy: usize) -> Error {
    Error::Unknown { what: "copy", name: copy.to_string(), known: String::new() }
}
