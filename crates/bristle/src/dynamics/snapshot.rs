//! State of a machine in a snapshot, in the user's quantities.

use super::Dynamics;
use crate::constraint::coupling_start::start_couplings;
use crate::error::Result;
use crate::model::Compiled;
use crate::world::component::BristleState;
use bristle_multibody as multibody;

/// State of a machine in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Time, positions, velocities.
    pub mechanics: multibody::State,
    /// Bristles, one per contact.
    pub bristles: Vec<BristleState>,
    /// Integrals of the controllers, in order.
    pub integrals: Vec<f64>,
}

impl Snapshot {
    /// All positions 0, at rest, bristles undeflected.
    pub fn rest(compiled: &Compiled) -> Self {
        Self {
            mechanics: multibody::State::rest(&compiled.model.tree),
            bristles: vec![BristleState::default(); compiled.inputs.contacts.len()],
            integrals: vec![0.0; compiled.inputs.drives.iter().filter(|drive| drive.has_integral()).count()],
        }
    }

    /// Copies the numbers of another snapshot of the same machine.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { mechanics, bristles, integrals } = self;
        mechanics.t = other.mechanics.t;
        mechanics.q.copy_from_slice(&other.mechanics.q);
        mechanics.v.copy_from_slice(&other.mechanics.v);
        bristles.copy_from_slice(&other.bristles);
        integrals.copy_from_slice(&other.integrals);
    }
}

impl Dynamics {
    /// Stores the state evaluated last.
    pub fn store(&self, t: f64, into: &mut Snapshot) {
        into.mechanics.t = t;
        into.mechanics.q.copy_from_slice(&self.point.q);
        into.mechanics.v.copy_from_slice(&self.point.v);
        into.integrals.copy_from_slice(&self.point.integral);
        for ((bristle, contact), state) in
            into.bristles.iter_mut().zip(self.compiled.inputs.contacts.iter()).zip(&self.point.bristles)
        {
            *bristle = BristleState { z: contact.law.deflection(*state), w: state[1] };
        }
    }

    /// Sets the positions, velocities and integrals of a snapshot; dependent joints at 0 get their coupled positions.
    pub(crate) fn load_motion(&mut self, from: &Snapshot) -> Result<()> {
        let model = &self.compiled.model.tree;
        let multibody::State { t, q, v } = &from.mechanics;
        for i in 1..model.n_bodies() {
            let (q, xi) = (&q[model.q_range(i)], &mut self.point.xi[model.v_range(i)]);
            if let [q] = q {
                xi[0] = *q;
            } else {
                self.state.q_ref[model.q_range(i)].copy_from_slice(q);
                xi.fill(0.0);
            }
        }
        self.point.v.copy_from_slice(v);
        self.point.integral.copy_from_slice(&from.integrals);
        self.enter_piece(*t);
        self.prescribe(*t);
        self.place_coupled_loop_joints(*t)?;
        let Self { compiled, state, point, coordinates, constraints, .. } = self;
        start_couplings(compiled, state, point, coordinates, constraints)?;
        self.start_loops(*t)?;
        Ok(())
    }
}
