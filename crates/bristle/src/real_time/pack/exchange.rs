//! Machines into lanes, and back.

use super::super::{RealTime, Start};
use super::PackStep;
use super::contacts::{PackContact, form};
use crate::model::{Compiled, Contact};
use bristle_friction::Mode;
use bristle_multibody::spatial::{Mask, Scalar};
use std::sync::Arc;

impl<S: Scalar> PackStep<S> {
    /// Whether a machine fits the machines of this pack: one model, laws and drives of the same forms.
    pub fn fits(&self, compiled: &Compiled) -> bool {
        let inputs = &compiled.inputs;
        let is_alike = |(own, contact): (&PackContact<S>, &Contact)| Some(own.form) == form(contact);
        Arc::ptr_eq(&self.model, &compiled.model)
            && self.contacts.iter().zip(inputs.contacts.iter()).all(is_alike)
            && self.dampers.iter().map(|d| d.v).eq(inputs.dampers.iter().map(|d| d.v))
            && self.springs.iter().map(|s| s.v).eq(inputs.springs.iter().map(|s| s.v))
    }

    /// Puts a machine that fits into a lane.
    pub fn load(&mut self, lane: usize, compiled: &Compiled, rt: &RealTime, start: Start<'_>, a: &[f64]) {
        let is_lane = S::Mask::from_lanes(|k| k == lane);
        let put = |to: &mut S, x: f64| *to = S::splat(x).or_else(is_lane, *to);
        let put_all = |to: &mut [S], x: &[f64]| to.iter_mut().zip(x).for_each(|(to, x)| put(to, *x));
        let inputs = &compiled.inputs;
        put_all(&mut self.q, start.q);
        put_all(&mut self.v, start.v);
        put_all(&mut self.a, a);
        put_all(&mut self.last_acceleration, &rt.last_acceleration);
        put_all(&mut self.integrals, start.integrals);
        put_all(&mut self.effort, &inputs.effort);
        put_all(&mut self.offset, &inputs.offset);
        self.dampers.iter_mut().zip(&inputs.dampers).for_each(|(to, d)| put(&mut to.damping, d.damping));
        for (to, s) in self.springs.iter_mut().zip(&inputs.springs) {
            put(&mut to.stiffness, s.stiffness);
            put(&mut to.rest, s.rest);
        }
        self.quad.iter_mut().chain([&mut self.n_rounds, &mut self.max_rounds]).for_each(|to| put(to, 0.0));
        self.drives[lane] = Arc::clone(&inputs.drives);
        self.frictions[lane] = Arc::clone(&inputs.contacts);
        for (c, contact) in self.contacts.iter_mut().enumerate() {
            put(&mut contact.mode, start.modes[c].direction());
            put_all(&mut contact.state, &start.bristles[c]);
            put(&mut contact.bristle_load, rt.contacts.bristle_load[c]);
            put(&mut contact.friction, rt.end.friction[c]);
            put(&mut contact.load, start.loads[c]);
            let was_stuck = S::Mask::splat(rt.rigid_groups.stuck()[c]);
            contact.at_rest = (was_stuck & is_lane) | (contact.at_rest & !is_lane);
            contact.dry = PackContact::constant_levels(|lane| &self.frictions[lane][c]);
            if contact.dry.is_some() {
                let normal = inputs.contacts[c].largest();
                put_all(&mut contact.normal, &[normal; 2]);
            }
        }
    }

    /// Work, work of changing loads and heat of a lane since it was loaded.
    pub fn quad(&self, lane: usize) -> impl Iterator<Item = f64> + '_ {
        self.quad.iter().map(move |quad| quad.lane(lane))
    }

    /// Rounds of a lane since it was loaded: in all, and in the longest solution.
    pub fn rounds(&self, lane: usize) -> (usize, usize) {
        (self.n_rounds.lane(lane) as usize, self.max_rounds.lane(lane) as usize)
    }
}

impl RealTime {
    /// Takes over state and results of a lane, as at the end of a step of its own.
    pub fn take_lane<S: Scalar>(&mut self, pack: &PackStep<S>, lane: usize) {
        let copy = |to: &mut [f64], from: &[S]| to.iter_mut().zip(from).for_each(|(to, x)| *to = x.lane(lane));
        copy(&mut self.end.xi, &pack.q);
        copy(&mut self.end.v, &pack.v);
        copy(&mut self.end.a, &pack.a);
        copy(&mut self.end.integrals, &pack.integrals);
        copy(&mut self.last_acceleration, &pack.last_acceleration);
        for (c, contact) in pack.contacts.iter().enumerate() {
            self.end.friction[c] = contact.friction.lane(lane);
            self.end.load[c] = contact.load.lane(lane);
            self.end.modes[c] = Mode::of_sign(contact.mode.lane(lane));
            self.end.bristles[c] = contact.state.map(|state| state.lane(lane));
            self.solver.last_effort[c] = contact.friction.lane(lane);
            self.contacts.bristle_load[c] = contact.bristle_load.lane(lane);
        }
        self.end.unconverged.clear();
        self.rigid_groups.set_stuck(|c| pack.contacts[c].at_rest.lane(lane));
    }
}
