//! All coordinates x of a machine: positions, velocities, bristles and integrals, also of joints that are locked or
//! dependent.

use crate::dynamics::TIGHT;
use crate::stick_slip::machine::Machine;
use bristle_friction::FrictionLaw;

impl Machine {
    /// Number of coordinates x.
    pub(super) fn n_full(&self) -> usize {
        2 * self.dynamics.point.v.len() + 2 * self.dynamics.point.bristles.len() + self.dynamics.point.integral.len()
    }

    /// x as evaluated last: ξ, v, bristles, integrals.
    pub(super) fn full(&self) -> Vec<f64> {
        let point = &self.dynamics.point;
        let bristles = point.bristles.iter().flatten();
        point.xi.iter().chain(&point.v).chain(bristles).chain(&point.integral).copied().collect()
    }

    /// ẋ as evaluated last by `rhs` at `t`.
    pub(super) fn full_rates(&self, t: f64) -> Vec<f64> {
        let point = &self.dynamics.point;
        let mut rates: Vec<f64> = point.v.iter().chain(&point.a).chain(point.rate.iter().flatten()).copied().collect();
        for drive in self.dynamics.compiled.inputs.drives.iter().filter(|drive| drive.has_integral()) {
            rates.push(drive.signal().sample(t, self.dynamics.state.piece).value - point.q[drive.q]);
        }
        rates
    }

    /// Takes over x. The modes stay, and the coordinates follow from both.
    pub(super) fn put_full(&mut self, x: &[f64]) {
        let (n_v, n_c) = (self.dynamics.point.v.len(), self.dynamics.point.bristles.len());
        self.dynamics.point.xi.copy_from_slice(&x[..n_v]);
        self.dynamics.point.v.copy_from_slice(&x[n_v..2 * n_v]);
        for (bristles, x) in self.dynamics.point.bristles.iter_mut().zip(x[2 * n_v..].chunks_exact(2)) {
            bristles.copy_from_slice(x);
        }
        self.dynamics.point.integral.copy_from_slice(&x[2 * (n_v + n_c)..]);
        self.dynamics.lock();
    }

    /// Indices in x of the unknowns, in order.
    pub(super) fn places(&self) -> Vec<usize> {
        let n_v = self.dynamics.point.v.len();
        let active = &self.dynamics.coordinates.active;
        let mut places: Vec<usize> = active.iter().copied().chain(active.iter().map(|i| n_v + i)).collect();
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            places.extend((0..contact.law.n_states()).map(|s| 2 * n_v + 2 * c + s));
        }
        let first = 2 * (n_v + self.dynamics.point.bristles.len());
        places.extend(first..first + self.dynamics.point.integral.len());
        places
    }

    /// Takes over modes and point of another machine of the same structure; time events stay its own.
    pub(super) fn follow(&mut self, other: &Self) {
        let (piece, next_corner) = (self.dynamics.state.piece, self.dynamics.state.next_corner);
        let offset = std::mem::take(&mut self.dynamics.state.coupling_offset);
        self.dynamics.state.copy_from(&other.dynamics.state);
        (self.dynamics.state.piece, self.dynamics.state.next_corner, self.dynamics.state.coupling_offset) =
            (piece, next_corner, offset);
        self.dynamics.point.copy_from(&other.dynamics.point);
        self.dynamics.scheme.accuracy = TIGHT;
        self.dynamics.lock();
    }

    /// Enters its own piece that begins at its next time event.
    pub(super) fn enter_next_piece(&mut self) {
        if let Some(corner) = self.dynamics.state.next_corner {
            self.dynamics.enter_piece(corner);
        }
    }

    /// Whether `other` has the same unknowns, contacts, drives and sample instants.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let n_drives = |machine: &Self| machine.dynamics.compiled.inputs.drives.len();
        let laws = |machine: &Self| {
            machine.dynamics.compiled.inputs.contacts.iter().map(|c| c.law.n_states()).collect::<Vec<_>>()
        };
        // sample instants are not differentiated
        let clocks = |machine: &Self| {
            let servos = machine.dynamics.compiled.inputs.drives.iter().map(|drive| drive.servo());
            servos.map(|servo| servo.map(|servo| (servo.period, servo.difference))).collect::<Vec<_>>()
        };
        let is_same_machine = n_drives(self) == n_drives(other) && laws(self) == laws(other);
        self.n_full() == other.n_full() && is_same_machine && clocks(self) == clocks(other)
    }

    /// Whether the joints have charts, of which no Jacobian is known.
    pub(crate) fn has_charts(&self) -> bool {
        !self.dynamics.compiled.model.free.is_empty() || self.dynamics.loops.is_any()
    }

    /// Positions, velocities, bristles and integrals at (t, y), without accelerations.
    pub(crate) fn place_at(&mut self, t: f64, y: &[f64]) -> crate::error::Result<()> {
        self.dynamics.scatter(t, y);
        self.dynamics.place().map_err(|failure| self.dynamics.explain(t, failure))
    }
}
