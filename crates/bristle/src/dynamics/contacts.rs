//! Contacts at the point of evaluation: limits of stuck ones, kinks of bristles.

use super::Dynamics;
use super::event_state::limits_at_rest;
use crate::solver::Kinks;
use bristle_friction::FrictionLaw;

impl Dynamics {
    /// Limits of a stuck contact for the load found last: see [`Contact::limits`](crate::model::Contact::limits).
    pub(crate) fn limits(&self, c: usize) -> [f64; 2] {
        let (contact, point) = (&self.compiled.inputs.contacts[c], &self.point);
        limits_at_rest(contact, &self.state.stops[c], contact.sides(point.load[c], &point.force[c]))
    }

    /// The limit in the direction of its friction.
    pub(crate) fn limit(&self, c: usize) -> f64 {
        self.limits(c)[usize::from(self.point.friction[c] < 0.0)]
    }

    pub(crate) fn has_event(&self, c: usize) -> bool {
        let contact = &self.compiled.inputs.contacts[c];
        contact.is_event_driven() || (self.scheme.kink_tolerance.is_some() && contact.law.n_states() > 0)
    }

    /// The quantity that changes sign at a kink of the contact's law: the slip rate, or the rate of the deflection.
    pub(crate) fn kink_value(&self, c: usize, rate: f64) -> f64 {
        let contact = &self.compiled.inputs.contacts[c];
        if self.scheme.kinks != Kinks::Deflection || contact.law.n_states() == 0 {
            return rate;
        }
        contact.law.rates(contact.arm * rate, self.point.bristles[c])[0] / contact.law.sigma0()
    }

    /// Whether a stop of a contact is closed.
    pub(crate) fn is_closed(&self, c: usize) -> bool {
        self.state.stops[c].closed.is_some()
    }
}
