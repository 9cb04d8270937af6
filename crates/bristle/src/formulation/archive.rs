//! State of a machine between steps as bytes: modes, charts, inputs, start values of Newton.
//!
//! This module names every field of [`Machine`]. A field that a step reads from the step before belongs to the archive;
//! a field that each evaluation computes does not. The bytes restore a machine compiled from the same description.

// sizes and indices come from files of unknown origin
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::kinks::Kink;
use super::machine::{Counters, Machine, ModeChange, NearJam, PrescribedJoint, Stiff, UnconvergedLoad};
use super::transition::ContactEvent;
use crate::component::BristleState;
use crate::formulation::Snapshot;
use crate::signal::Piece;
use bristle_friction::Mode;
use bristle_integrate::archive::{Archive, Archived, MOST};
use bristle_multibody::spatial::{Force, Motion};

const MODES: [Mode; 3] = [Mode::Stuck, Mode::Forward, Mode::Backward];

impl Archived for Machine {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self {
            // settings, and data that follow from the description
            compiled: _,
            formulation: _,
            free: _,
            joint_of: _,
            turning: _,
            motion_step: _,
            motion_phase: _,
            motion_angle: _,
            is_controlled: _,
            step_control: _,
            kinks: _,
            kink: _,
            kink_inertia: _,
            reaction_loaded: _,
            coupling_constraints: _,
            accuracy: _,
            // scratch of one evaluation
            work: _,
            hand: _,
            row_list: _,
            poses: _,
            reactions: _,
            derivatives: _,
            branch: _,
            still: _,
            jump_start: _,
            is_impulsive: _,
            reduction: _,
            failure: _,
            saved: _,
            checkpoint_bytes: _,
            // state
            leaving,
            armed,
            is_any_unarmed,
            q_ref,
            active,
            constraints,
            constraint_force,
            prescribed_contacts,
            backward,
            x,
            locked,
            is_stuck,
            prescribed,
            mode,
            slack,
            heading,
            kink_speed,
            load_kinks,
            piece,
            next_corner,
            xi,
            v,
            tau,
            a,
            q,
            state,
            rate,
            frozen,
            friction,
            load,
            integral,
            kappa,
            force,
            rows,
            b,
            predictor,
            known,
            counters,
            near_jams,
            stiff,
            bent,
            overdeflected,
            unconverged_loads,
            rest,
            before,
            changes,
            real_time,
        } = self;
        for list in
            [q_ref, constraint_force, slack, heading, kink_speed, xi, v, tau, a, q, friction, load, integral, kappa]
        {
            list.archive(archive);
        }
        for list in [b, x, bent] {
            list.archive(archive);
        }
        for Kink { way, size, position, parts, at, noise, h, time, is_recent, is_near, segment } in load_kinks {
            way.iter_mut().chain(parts).for_each(|part| part.archive(archive));
            size.archive(archive);
            position.archive(archive);
            at.archive(archive);
            noise.archive(archive);
            h.archive(archive);
            time.archive(archive);
            is_recent.archive(archive);
            is_near.archive(archive);
            segment.archive(archive);
        }
        leaving.archive(archive);
        armed.archive(archive);
        is_any_unarmed.archive(archive);
        archive.list(active);
        constraints.archive(archive);
        locked.archive(archive);
        prescribed_contacts.archive(archive);
        backward.archive(archive);
        is_stuck.archive(archive);
        for PrescribedJoint { joint: _, v: _, drive: _, effort, jerk, jump: _ } in prescribed {
            effort.archive(archive);
            jerk.archive(archive);
        }
        mode.iter_mut().chain(before).for_each(|mode| archive.choice(mode, &MODES));
        let mut is_after = matches!(piece, Piece::After(_));
        let (Piece::Before(t) | Piece::After(t)) = piece;
        is_after.archive(archive);
        t.archive(archive);
        *piece = if is_after { Piece::After(*t) } else { Piece::Before(*t) };
        next_corner.archive(archive);
        state.archive(archive);
        rate.archive(archive);
        frozen.archive(archive);
        for force in force {
            let mut parts = force.to_array();
            parts.archive(archive);
            *force = Force::from_array(parts);
        }
        for row in rows {
            let mut parts = row.to_array();
            parts.archive(archive);
            *row = Motion::from_array(parts);
        }
        predictor.archive(archive);
        known.archive(archive);
        counters.archive(archive);
        archive.list(near_jams);
        let mut is_stiff = stiff.is_some();
        is_stiff.archive(archive);
        *stiff = is_stiff.then_some(stiff.unwrap_or_default());
        if let Some(Stiff { t, h, joint, contact }) = stiff {
            t.archive(archive);
            h.archive(archive);
            joint.archive(archive);
            let mut number = contact.map_or(0, |c| c.saturating_add(1));
            number.archive(archive);
            *contact = number.checked_sub(1);
        }
        overdeflected.archive(archive);
        archive.list(unconverged_loads);
        for contact_event in &mut rest.contact_event {
            archive.choice(contact_event, &[ContactEvent::No, ContactEvent::ComesToRest, ContactEvent::BreaksAway]);
        }
        rest.open.archive(archive);
        rest.was_open.archive(archive);
        archive.list(changes);
        if let Some(real_time) = real_time {
            real_time.archive(archive);
        }
        if archive.is_reading() && !self.fits() {
            archive.refuse();
        }
    }
}

impl Machine {
    /// Whether all indices of velocities, joints and contacts are in range.
    fn fits(&self) -> bool {
        let (n_v, n_contacts) = (self.v.len(), self.mode.len());
        let near_jams = self.near_jams.iter().map(|at| at.contact);
        let contacts = near_jams.chain(self.unconverged_loads.iter().map(|at| at.contact));
        let contacts = contacts.chain(self.overdeflected.iter().map(|at| at.1));
        let mut contacts = contacts.chain(self.changes.iter().map(|at| at.contact));
        self.active.windows(2).all(|pair| pair[0] < pair[1])
            && self.active.last().is_none_or(|&last| last < n_v)
            && contacts.all(|c| c < n_contacts)
            && self.stiff.is_none_or(|at| at.joint < self.locked.len() && at.contact.is_none_or(|c| c < n_contacts))
            && self.constraints.fits(&self.active)
    }
}

impl Machine {
    /// Saves the state for [`Machine::rollback`].
    pub(crate) fn checkpoint(&mut self) {
        let mut bytes = std::mem::take(&mut self.checkpoint_bytes);
        bytes.clear();
        let mut archive = Archive::writing(bytes);
        self.archive(&mut archive);
        self.checkpoint_bytes = archive.into_bytes();
    }

    /// Restores the state of the last [`Machine::checkpoint`] after an operation was refused.
    pub(crate) fn rollback(&mut self) {
        let bytes = std::mem::take(&mut self.checkpoint_bytes);
        self.archive(&mut Archive::reading(&bytes));
        self.checkpoint_bytes = bytes;
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
