//! The channels that are wanted of a run with sensitivities.

use super::differentiable;
use crate::dynamics::Snapshot;
use crate::error::{Error, Result};
use crate::record::channels;
use crate::run::ledger::Past;
use crate::run::recorder::push_channels;
use crate::stick_slip::Machine;
use bristle_integrate::{EvalError, System};

/// Where a wanted channel is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// In the row of a recording.
    Row(usize),
    Position(usize),
    Velocity(usize),
    /// The effort of the drives of a joint.
    Drive(usize),
}

/// The wanted channels of a machine.
pub(super) struct Wanted {
    pub(super) places: Vec<Place>,
    /// Whether positions, velocities and drives suffice.
    is_plain: bool,
    state: Snapshot,
    past: Past,
    quad: Vec<f64>,
    row: Vec<f64>,
}

/// An error of an evaluation, or of the engine.
pub(super) enum ReadError {
    Eval(EvalError),
    Error(Error),
}

impl From<EvalError> for ReadError {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

impl Wanted {
    pub(super) fn new(system: &Machine, names: &[String]) -> Result<Self> {
        let compiled = system.dynamics.compiled();
        let (all, tree) = (channels(compiled), &compiled.model.tree);
        let known = differentiable(&all);
        let place = |name: &String| {
            let (joint, what) = name.rsplit_once('.').unwrap_or((name, ""));
            let single = tree.joint(joint).filter(|&i| tree.v_range(i).len() == 1);
            match (single, what) {
                (Some(i), "position") => return Ok(Place::Position(tree.q_range(i).start)),
                (Some(i), "velocity") => return Ok(Place::Velocity(tree.v_range(i).start)),
                (Some(i), "drive") => return Ok(Place::Drive(tree.v_range(i).start)),
                _ => {}
            }
            let found = all.iter().position(|channel| channel == name).filter(|_| known.contains(name));
            // the row has no time in it
            let unknown = || Error::unknown("channel", name, known.iter().map(String::as_str));
            found.map(|k| Place::Row(k - 1)).ok_or_else(unknown)
        };
        let places = names.iter().map(place).collect::<Result<Vec<_>>>()?;
        let n = system.n_quadratures();
        Ok(Self {
            is_plain: !places.iter().any(|place| matches!(place, Place::Row(_))),
            places,
            state: Snapshot::rest(compiled),
            past: Past { quad: vec![0.0; n], ..Past::default() },
            quad: vec![0.0; n],
            row: Vec::new(),
        })
    }

    pub(super) fn read(
        &mut self,
        system: &mut Machine,
        t: f64,
        y: &[f64],
        into: &mut Vec<f64>,
    ) -> std::result::Result<(), ReadError> {
        let has_motion = !system.dynamics.compiled().model.prescribed.is_empty();
        let evaluated = if self.is_plain && !has_motion { system.place_at(t, y) } else { system.evaluate_at(t, y) };
        evaluated.map_err(ReadError::Error)?;
        system.dynamics.store(t, &mut self.state);
        if !self.is_plain {
            self.row.clear();
            push_channels(&mut self.row, system, &self.state, &self.quad, &self.past);
        }
        into.clear();
        into.extend(self.places.iter().map(|place| match *place {
            Place::Row(k) => self.row[k],
            Place::Position(q) => self.state.mechanics.q[q],
            Place::Velocity(v) => self.state.mechanics.v[v],
            Place::Drive(v) => system.dynamics.drive_effort(t, v),
        }));
        Ok(())
    }
}
