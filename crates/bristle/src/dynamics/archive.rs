//! State of a machine between steps as bytes.
//!
//! A field that a step reads from the step before belongs to `State`, `Point`, `Coordinates` or [`Diagnostics`],
//! and these are archived whole. The bytes restore a machine compiled from the same description.

// sizes and indices come from files of unknown origin
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::Dynamics;
use super::diagnostics::{Counters, Diagnostics, ModeChange, NearJam, Stiff, UnconvergedLoad};
use super::event_state::ContactEvent;
use super::event_state::Kink;
use crate::dynamics::Snapshot;
use crate::signal::Piece;
use crate::world::component::BristleState;
use bristle_friction::Mode;
use bristle_integrate::archive::{Archive, Archived, MOST};
use bristle_multibody::spatial::Force;

/// A struct as bytes, by all of its fields, or it does not compile: those that are archived themselves, lists of any
/// length, lists by a function for each entry, and fields left out.
macro_rules! archived {
    ($name:ty { $($field:ident),* $(,)? }
        $(lists { $($list:ident),* })? $(each { $($of:ident: $archive:path),* })? $(without { $($out:ident),* })?) => {
        impl bristle_integrate::archive::Archived for $name {
            fn archive(&mut self, archive: &mut bristle_integrate::archive::Archive<'_>) {
                let Self { $($field,)* $($($list,)*)? $($($of,)*)? $($($out: _,)*)? } = self;
                $($field.archive(archive);)*
                $($(archive.list($list);)*)?
                $($($of.iter_mut().for_each(|one| $archive(one, archive));)*)?
            }
        }
    };
}
pub(crate) use archived;

/// The same for a part of the state, with `copy_from`, which allocates nothing where the lengths agree.
macro_rules! saved {
    ($name:ty { $($field:ident),* $(,)? }
        $(lists { $($list:ident),* })? $(each { $($of:ident: $archive:path),* })? $(without { $($out:ident),* })?) => {
        $crate::dynamics::archive::archived!($name { $($field),* }
            $(lists { $($list),* })? $(each { $($of: $archive),* })? $(without { $($out),* })?);

        impl $name {
            /// Copies all fields of another one of the same machine.
            pub fn copy_from(&mut self, other: &Self) {
                $(self.$field.clone_from(&other.$field);)*
                $($(self.$list.clone_from(&other.$list);)*)?
                $($(self.$of.clone_from(&other.$of);)*)?
                $($(self.$out.clone_from(&other.$out);)*)?
            }
        }
    };
}
pub(crate) use saved;

/// A mode, by its number.
pub(crate) fn archive_mode(mode: &mut Mode, archive: &mut Archive<'_>) {
    archive.choice(mode, &[Mode::Stuck, Mode::Forward, Mode::Backward]);
}

/// A force, by its components.
pub(crate) fn archive_force(force: &mut Force, archive: &mut Archive<'_>) {
    let mut parts = force.to_array();
    parts.archive(archive);
    *force = Force::from_array(parts);
}

impl Archived for Dynamics {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.state.archive(archive);
        self.point.archive(archive);
        self.coordinates.archive(archive);
        self.chart.archive(archive);
        self.diagnostics.archive(archive);
        if archive.is_reading() && !self.fits() {
            archive.refuse();
        }
    }
}

impl Dynamics {
    /// Whether all indices of velocities, joints and contacts are in range.
    fn fits(&self) -> bool {
        let Self { coordinates, diagnostics, .. } = self;
        let Diagnostics { near_jams, stiff, overdeflected, unconverged_loads, changes, stop_changes, .. } = diagnostics;
        let n_contacts = self.state.mode.len();
        let contacts = near_jams.iter().map(|at| at.contact).chain(unconverged_loads.iter().map(|at| at.contact));
        let contacts = contacts.chain(overdeflected.iter().map(|at| at.1)).chain(changes.iter().map(|at| at.contact));
        let mut contacts = contacts.chain(stop_changes.iter().map(|at| at.contact));
        contacts.all(|c| c < n_contacts)
            && stiff.is_none_or(|at| at.joint < coordinates.locked.len() && at.contact.is_none_or(|c| c < n_contacts))
            && coordinates.fits()
            && self.chart.fits()
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

archived!(NearJam { contact, t, margin });
archived!(UnconvergedLoad { contact, t, largest });
archived!(Stiff { t, h, joint, contact });
archived!(Kink { way, size, position, parts, at, noise, h, time, is_recent, is_near, segment });

impl Archived for ModeChange {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { contact, from, to } = self;
        contact.archive(archive);
        archive_mode(from, archive);
        archive_mode(to, archive);
    }
}

impl Archived for ContactEvent {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        archive.choice(self, &[Self::No, Self::ComesToRest, Self::BreaksAway]);
    }
}

impl Archived for Piece {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let mut is_after = matches!(self, Self::After(_));
        let (Self::Before(t) | Self::After(t)) = self;
        is_after.archive(archive);
        t.archive(archive);
        *self = if is_after { Self::After(*t) } else { Self::Before(*t) };
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
