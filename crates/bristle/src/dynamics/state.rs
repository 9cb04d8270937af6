//! The state of a machine between evaluations, besides its unknowns: modes, charts, pieces of signals, event data.
//!
//! A snapshot holds it and a rollback copies it back. A step reads it from the step before.

use super::archive::{archive_mode, saved};
use super::event_state::ContactEvent;
use super::event_state::Kink;
use super::event_state::StopState;
use super::predictor::Predictor;
use crate::model::Compiled;
use crate::model::servo::ServoState;
use crate::signal::Piece;
use bristle_friction::Mode;
use bristle_multibody::neutral;

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Centre of the chart: 0 for one-degree joints; `n_q`.
    pub q_ref: Vec<f64>,
    /// Right-hand sides of the couplings.
    pub coupling_offset: Vec<f64>,
    /// Contacts whose motion follows from prescribed joints.
    pub prescribed_contacts: Vec<bool>,
    /// Mode of every contact; `Stuck` for those whose law has no modes.
    pub mode: Vec<Mode>,
    /// For a one-way clutch without modes: whether its bristle deflection, or the slip of a smooth law, is backward.
    pub backward: Vec<bool>,
    /// Shift of the event function of a stuck contact: the excess of its effort over the limit, by rounding only.
    pub slack: Vec<f64>,
    /// Direction of slip of a bristle since its last kink, ±1.
    pub heading: Vec<f64>,
    /// θ of the kink of each contact's bristle in the present step, rad/s or m/s: see `resolution`.
    pub kink_speed: Vec<f64>,
    /// Per contact, the data that locate loads through zero and corners of tables.
    pub load_kinks: Vec<Kink>,
    /// ε of contacts that have just left rest.
    pub leaving: f64,
    /// Whether a sliding contact has gone further than ε since it left rest.
    pub armed: Vec<bool>,
    /// Whether a sliding contact is not armed.
    pub is_any_unarmed: bool,
    /// Stops of each contact, and whether the gap of an open stop is not armed.
    pub stops: Vec<StopState>,
    pub is_any_gap_unarmed: bool,
    /// Effect of the last event on each contact.
    pub contact_event: Vec<ContactEvent>,
    /// Whether each contact is open: it has no load up to the next corner of its signal, and cannot stick.
    pub open: Vec<bool>,
    /// The same before the last event: a contact at rest that was open has not broken away.
    pub was_open: Vec<bool>,
    /// Valid piece of the signals, and the time at which the next begins.
    pub piece: Piece,
    pub next_corner: Option<f64>,
    /// Accelerations of the last right-hand sides: the start of the next Newton iteration.
    pub predictor: Predictor,
    /// Deflections |s| after the last fixed step, one per contact.
    pub bent: Vec<f64>,
    /// Servos, one per drive of any kind.
    pub servos: Vec<ServoState>,
    /// Regime of each effort limit: −1, 0 or 1.
    pub limit_regimes: Vec<f64>,
}

impl State {
    /// All contacts stuck and closed; `leaving` is ε.
    pub fn new(compiled: &Compiled, leaving: f64) -> Self {
        let (model, n) = (&compiled.model.tree, compiled.inputs.contacts.len());
        Self {
            q_ref: neutral(model),
            coupling_offset: vec![0.0; compiled.model.coupled.constraints.len()],
            prescribed_contacts: vec![false; n],
            mode: vec![Mode::Stuck; n],
            backward: vec![false; n],
            slack: vec![0.0; n],
            heading: vec![1.0; n],
            kink_speed: vec![f64::MAX; n],
            load_kinks: vec![Kink::default(); n],
            leaving,
            armed: vec![false; n],
            is_any_unarmed: false,
            stops: vec![StopState::default(); n],
            is_any_gap_unarmed: false,
            contact_event: vec![ContactEvent::No; n],
            open: vec![false; n],
            was_open: vec![false; n],
            piece: Piece::After(0.0),
            next_corner: None,
            predictor: Predictor::new(model.n_v),
            bent: vec![0.0; n],
            servos: vec![ServoState::default(); compiled.inputs.drives.len()],
            limit_regimes: vec![0.0; compiled.inputs.effort_limits.len()],
        }
    }
}

saved!(State {
    q_ref,
    coupling_offset,
    prescribed_contacts,
    backward,
    slack,
    heading,
    kink_speed,
    load_kinks,
    leaving,
    armed,
    is_any_unarmed,
    stops,
    is_any_gap_unarmed,
    contact_event,
    open,
    was_open,
    piece,
    next_corner,
    predictor,
    bent,
    servos,
    limit_regimes,
} each { mode: archive_mode });
