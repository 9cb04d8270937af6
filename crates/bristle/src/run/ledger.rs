//! The energy ledger: stored energies, work and heat.
//!
//! ```text
//!     balance = E(t) + heat − input − load − E(0),     E = kinetic + potential + elastic + bristle
//! ```

use crate::dynamics::{Counters, Energies, Snapshot};
use crate::error::{Error, Result};
use crate::stick_slip::Machine;
use bristle_integrate::{Driver, Stats};

/// Error of the balance, relative to the energy in play, above which a run warns.
const DOUBTFUL: f64 = 0.01;

/// Stored energies, work and heat, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ledger {
    /// Kinetic energy, armature included.
    pub kinetic: f64,
    /// Potential energy of gravity, zero at the world origin.
    pub potential: f64,
    /// Energy of springs.
    pub elastic: f64,
    /// Energy of bristles.
    pub bristle: f64,
    /// Work of changing loads on bristles.
    pub load: f64,
    /// Work of efforts, drives and external wrenches.
    pub input: f64,
    /// Heat of dampers and friction.
    pub dissipated: f64,
    /// Stored + dissipated − input − load − stored at the start: 0 up to integration errors.
    pub balance: f64,
}

/// Entries of the ledger from the time before the present driver started.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// Stored energy at the start, plus the energy that changes by callers have added since.
    pub initial: f64,
    /// The same for bristles whose load is a reaction.
    pub reaction_loaded: f64,
    /// Quadratures, laid out like the system's.
    pub quad: Vec<f64>,
    /// Heat of joints that were removed.
    pub heat: f64,
    pub stats: Stats,
    pub counters: Counters,
}

impl Past {
    /// Shifts the start of the ledger after a caller has changed the stored energies from `before` (none where they are
    /// not finite) to `after`.
    pub fn shift(&mut self, driver: &mut Driver, before: Option<Energies>, after: &Energies) {
        match before {
            Some(before) if !self.is_drowned(driver, &before, after) => {
                self.initial += after.stored() - before.stored();
                self.reaction_loaded += after.reaction_loaded - before.reaction_loaded;
            }
            _ => self.begin_again(driver, after),
        }
    }

    /// Whether the rounding errors of the energies so far are not small beside the energy stored `now`.
    fn is_drowned(&self, driver: &Driver, before: &Energies, now: &Energies) -> bool {
        let booked = driver.quadratures().iter().chain(&self.quad).map(|x| x.abs()).sum::<f64>();
        let size = before.stored().abs() + self.initial.abs() + booked;
        size.is_nan() || f64::EPSILON * size > 1e-3 * (1.0 + now.stored().abs())
    }

    /// Starts the ledger anew, where earlier entries are not finite or their rounding errors would hide later ones.
    fn begin_again(&mut self, driver: &mut Driver, stored: &Energies) {
        driver.reset_quadratures();
        self.quad.fill(0.0);
        (self.initial, self.reaction_loaded, self.heat) = (stored.stored(), stored.reaction_loaded, 0.0);
    }
}

impl Ledger {
    /// A warning where the balance is more than one per cent of the energy in play: of motion, of springs and bristles,
    /// put in and dissipated. In a fixed step of first order ([`RealTime`](crate::solver::Method)) that is energy that
    /// the step itself takes out, as it does of stiff springs and controllers: take shorter steps.
    pub fn warning(&self) -> Option<String> {
        let Self { kinetic, elastic, bristle, load, input, dissipated, balance, .. } = *self;
        let in_play = kinetic + elastic + bristle + load.abs() + input.abs() + dissipated.abs();
        (balance.abs() > DOUBTFUL * in_play).then(|| {
            format!(
                "the energy balance is off by {balance:.3e} J, where {in_play:.3e} J are in play: the motion is not to \
                 be trusted; take shorter steps, or a smaller tolerance"
            )
        })
    }

    /// Its entries by the names of their channels.
    fn entries(&self) -> [(&'static str, f64); 8] {
        let Self { kinetic, potential, elastic, bristle, load, input, dissipated, balance } = *self;
        [
            ("kinetic", kinetic),
            ("potential", potential),
            ("elastic", elastic),
            ("bristle", bristle),
            ("load", load),
            ("input", input),
            ("dissipated", dissipated),
            ("balance", balance),
        ]
    }
}

/// The ledger of a state, with the quadratures that led there; an error where an entry is not finite.
pub(super) fn ledger(system: &mut Machine, state: &Snapshot, quad: &[f64], past: &Past) -> Result<Ledger> {
    let stored = system.dynamics.energies(state)?;
    let input = quad[0] + past.quad[0];
    let load = quad[1] + past.quad[1] + (stored.reaction_loaded - past.reaction_loaded);
    let dissipated = past.heat + quad[2..].iter().chain(&past.quad[2..]).sum::<f64>();
    let ledger = Ledger {
        kinetic: stored.kinetic,
        potential: stored.potential,
        elastic: stored.elastic,
        bristle: stored.bristle,
        load,
        input,
        dissipated,
        balance: stored.stored() + dissipated - input - load - past.initial,
    };
    match ledger.entries().iter().find(|entry| !entry.1.is_finite()) {
        Some((what, _)) => Err(Error::NotFinite { t: state.mechanics.t, what: format!("energy.{what}") }),
        None => Ok(ledger),
    }
}
