//! State of a machine between steps as bytes, and its checkpoints.
//!
//! A field that a step reads from the step before belongs to [`State`], [`Point`], [`Coordinates`] or [`Diagnostics`],
//! and these are archived whole. The bytes restore a machine compiled from the same description.

// sizes and indices come from files of unknown origin
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::coordinates::Coordinates;
use super::diagnostics::{Counters, Diagnostics, ModeChange, NearJam, Stiff, UnconvergedLoad};
use super::kinks::Kink;
use super::machine::Machine;
use super::point::Point;
use super::state::State;
use super::transition::ContactEvent;
use crate::component::BristleState;
use crate::formulation::Snapshot;
use crate::model::Compiled;
use crate::real_time;
use crate::signal::Piece;
use bristle_friction::Mode;
use bristle_integrate::archive::{Archive, Archived, MOST};
use bristle_multibody::spatial::Force;

const MODES: [Mode; 3] = [Mode::Stuck, Mode::Forward, Mode::Backward];

/// Copies all fields of a struct from another one of the same lengths, without allocation. The list of fields is
/// complete, or it does not compile.
macro_rules! copy_fields {
    ($to:expr, $from:expr, { $($field:ident),* $(,)? }) => {
        let Self { $($field),* } = $to;
        $($field.clone_from(&$from.$field);)*
    };
}
pub(super) use copy_fields;

impl Archived for Machine {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.state.archive(archive);
        self.point.archive(archive);
        self.coordinates.archive(archive);
        self.diagnostics.archive(archive);
        if let Some(real_time) = &mut self.real_time {
            real_time.archive(archive);
        }
        if archive.is_reading() && !self.fits() {
            archive.refuse();
        }
    }
}

impl Archived for State {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self {
            q_ref,
            coupling_offset,
            prescribed_contacts,
            mode,
            backward,
            slack,
            heading,
            kink_speed,
            load_kinks,
            leaving,
            armed,
            is_any_unarmed,
            contact_event,
            open,
            was_open,
            piece,
            next_corner,
            predictor,
            bent,
        } = self;
        [q_ref, coupling_offset, slack, heading, kink_speed, bent].into_iter().for_each(|list| list.archive(archive));
        [prescribed_contacts, backward, armed, open, was_open].into_iter().for_each(|list| list.archive(archive));
        mode.iter_mut().for_each(|mode| archive.choice(mode, &MODES));
        for event in contact_event {
            archive.choice(event, &[ContactEvent::No, ContactEvent::ComesToRest, ContactEvent::BreaksAway]);
        }
        load_kinks.archive(archive);
        leaving.archive(archive);
        is_any_unarmed.archive(archive);
        let mut is_after = matches!(piece, Piece::After(_));
        let (Piece::Before(t) | Piece::After(t)) = piece;
        is_after.archive(archive);
        t.archive(archive);
        *piece = if is_after { Piece::After(*t) } else { Piece::Before(*t) };
        next_corner.archive(archive);
        predictor.archive(archive);
    }
}

impl Archived for Kink {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { way, size, position, parts, at, noise, is_near, segment } = self;
        way.iter_mut().chain(parts).chain([size, position, segment]).for_each(|pair| pair.archive(archive));
        at.archive(archive);
        noise.archive(archive);
        is_near.archive(archive);
    }
}

impl Archived for Point {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self {
            xi,
            v,
            tau,
            a,
            q,
            bristles,
            rate,
            frozen,
            friction,
            load,
            kappa,
            force,
            constraint_force,
            drive_effort,
            drive_jerk,
            integral,
            known,
        } = self;
        for list in [xi, v, tau, a, q, friction, load, kappa, constraint_force, drive_effort, drive_jerk, integral] {
            list.archive(archive);
        }
        bristles.archive(archive);
        rate.archive(archive);
        frozen.archive(archive);
        for force in force {
            let mut parts = force.to_array();
            parts.archive(archive);
            *force = Force::from_array(parts);
        }
        known.archive(archive);
    }
}

impl Archived for Diagnostics {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { counters, near_jams, stiff, overdeflected, unconverged_loads, changes, failure: _ } = self;
        counters.archive(archive);
        archive.list(near_jams);
        stiff.archive(archive);
        overdeflected.archive(archive);
        archive.list(unconverged_loads);
        archive.list(changes);
    }
}

impl Archived for Stiff {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { t, h, joint, contact } = self;
        t.archive(archive);
        h.archive(archive);
        joint.archive(archive);
        contact.archive(archive);
    }
}

impl Machine {
    /// Whether all indices of velocities, joints and contacts are in range.
    fn fits(&self) -> bool {
        let Self { coordinates, diagnostics, .. } = self;
        let Diagnostics { near_jams, stiff, overdeflected, unconverged_loads, changes, .. } = diagnostics;
        let n_contacts = self.state.mode.len();
        let contacts = near_jams.iter().map(|at| at.contact).chain(unconverged_loads.iter().map(|at| at.contact));
        let mut contacts =
            contacts.chain(overdeflected.iter().map(|at| at.1)).chain(changes.iter().map(|at| at.contact));
        contacts.all(|c| c < n_contacts)
            && stiff.is_none_or(|at| at.joint < coordinates.locked.len() && at.contact.is_none_or(|c| c < n_contacts))
            && coordinates.fits()
    }

    /// Copies the state for [`Machine::rollback`]; allocates on first use only.
    pub(crate) fn checkpoint(&mut self) {
        let Self { compiled, state, point, coordinates, diagnostics, real_time, checkpoint, .. } = self;
        let kept = checkpoint.get_or_insert_with(|| Box::new(Checkpoint::new(compiled)));
        kept.state.copy_from(state);
        kept.point.copy_from(point);
        kept.coordinates.copy_from(coordinates);
        kept.diagnostics.copy_from(diagnostics);
        if let Some(real_time) = real_time {
            real_time.save(&mut kept.real_time);
        }
    }

    /// Copies back the state of the last [`Machine::checkpoint`] after an operation was refused.
    pub(crate) fn rollback(&mut self) {
        let Some(kept) = &self.checkpoint else { return };
        self.state.copy_from(&kept.state);
        self.point.copy_from(&kept.point);
        self.coordinates.copy_from(&kept.coordinates);
        self.diagnostics.copy_from(&kept.diagnostics);
        if let Some(real_time) = &mut self.real_time {
            real_time.restore(&kept.real_time);
        }
    }
}

/// The state before an operation that may be refused.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    state: State,
    point: Point,
    coordinates: Coordinates,
    diagnostics: Diagnostics,
    real_time: real_time::State,
}

impl Checkpoint {
    fn new(compiled: &Compiled) -> Self {
        Self {
            state: State::new(compiled, 0.0),
            point: Point::new(compiled),
            coordinates: Coordinates::new(compiled),
            diagnostics: Diagnostics::new(compiled.inputs.contacts.len()),
            real_time: real_time::State::default(),
        }
    }
}

impl Archived for Counters {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self {
            n_acceleration_solves,
            n_sweeps,
            n_substitutions,
            n_jerks,
            drift,
            n_projections,
            n_rounds,
            max_rounds,
            n_unconverged_loads,
        } = self;
        for count in [
            n_acceleration_solves,
            n_sweeps,
            n_substitutions,
            n_jerks,
            n_projections,
            n_rounds,
            max_rounds,
            n_unconverged_loads,
        ] {
            count.archive(archive);
            if *count >= MOST {
                archive.refuse();
            }
        }
        drift.archive(archive);
    }
}

impl Archived for NearJam {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { contact, t, margin } = self;
        contact.archive(archive);
        t.archive(archive);
        margin.archive(archive);
    }
}

impl Archived for UnconvergedLoad {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { contact, t, largest } = self;
        contact.archive(archive);
        t.archive(archive);
        largest.archive(archive);
    }
}

impl Archived for ModeChange {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { contact, from, to } = self;
        contact.archive(archive);
        archive.choice(from, &MODES);
        archive.choice(to, &MODES);
    }
}

impl Archived for Snapshot {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { mechanics, bristles, integrals } = self;
        mechanics.t.archive(archive);
        mechanics.q.archive(archive);
        mechanics.v.archive(archive);
        for BristleState { z, w } in bristles {
            z.archive(archive);
            w.archive(archive);
        }
        integrals.archive(archive);
    }
}
