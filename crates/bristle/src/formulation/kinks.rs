//! Kinks that change no mode: loads that pass through zero, and corners of tables. Under error control they are state
//! events, at which a step ends and another begins: no method has its order across a kink.
//!
//! **Loads.** N is a sum of lengths |w| of vectors that are linear in the reaction, see `bearing`: it has a kink
//! where one of them passes through zero and comes out with the opposite direction. With û the direction at the
//! beginning of the step, u w/|w| now,
//!
//! ```text
//! g = max(û · w, û · R w) + θ              falls through 0: the direction is reversed
//! ```
//!
//! R turns by the angle of the joint since û was taken: a load that stands still in the bearing turns in the journal,
//! and the other way round, without passing through zero. A vector of two components meets zero by exception, unless
//! the machine is planar; that is why its direction is looked at and not one component. θ is what does not matter:
//! the accuracy of the reactions, and the load whose friction accelerates the joint by less than the absolute
//! tolerance in a second, D being the joint's inertia with those beyond it free to follow,
//!
//! ```text
//! θ = accuracy |f| + atol D/|κ|
//! ```
//!
//! After the event û is reversed, so that g starts at about 2 θ: it does not start at zero, and a load that trembles
//! about zero within θ makes no events. A load that has been within 4 θ of zero so far has no direction yet.
//!
//! Reactions take a solution of (1), which the stages of a step have found anyway: as long as all stages show the
//! load above a quarter of what it was along û nothing has happened, and g is that load. Only otherwise is g evaluated on the
//! step.
//!
//! **Tables.** L of `bristle_friction::Table` is linear between corners v_lo, v_hi of the slip speed:
//!
//! ```text
//! g = min(|v| − v_lo, v_hi − |v|) + θ      θ = atol
//! ```

use super::machine::{Failure, Machine};
use bristle_friction::{Law, Mode};
use bristle_multibody::{aba, neutral};

/// Along its direction a load above this part of what it was at the beginning of the step is far from zero.
const FAR: f64 = 0.25;

/// What the kinks of one contact are seen by.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kink {
    /// û of each part of the load; zero where it has none.
    pub way: [[f64; 2]; 2],
    /// |w| at the beginning of the step.
    pub size: [f64; 2],
    /// Position of the joint where each û was taken, rad or m.
    pub position: [f64; 2],
    /// The load as the last stage has it: its parts, the position of the joint, θ.
    pub parts: [[f64; 2]; 2],
    pub at: f64,
    pub noise: f64,
    /// Whether a stage of this step has shown the load near zero, or reversed.
    pub is_near: bool,
    /// Corners of the table on both sides of the slip speed.
    pub segment: [f64; 2],
}

/// The kink of an event function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KinkEvent {
    /// Part of the load of a contact.
    Load { contact: usize, part: usize },
    /// Corner of a contact's table.
    Corner { contact: usize },
}

impl Machine {
    /// Inertia of each contact's joint at the neutral configuration, the joints beyond it free to follow, for θ.
    pub(super) fn set_kink_inertias(&mut self) {
        let Self { compiled, work, kink_inertia, reaction_loaded, tau, .. } = self;
        // at rest, nothing applied
        tau.fill(0.0);
        if !reaction_loaded.is_empty() && aba(&compiled.model, work, &neutral(&compiled.model), tau, tau).is_ok() {
            for &c in reaction_loaded.iter() {
                kink_inertia[c] = work.articulated(&compiled.model, compiled.contacts[c].joint).0;
            }
        }
    }

    /// The kinks that are events, in order.
    fn kink_events(&self) -> impl Iterator<Item = KinkEvent> + '_ {
        let contacts = if self.kinks.is_some() { self.compiled.contacts.len() } else { 0 };
        (0..contacts).flat_map(|contact| {
            let of = &self.compiled.contacts[contact];
            let parts = 0..of.bearing.map_or(0, |bearing| bearing.n_parts());
            let corner = matches!(of.law, Law::Table(_)).then_some(KinkEvent::Corner { contact });
            parts.map(move |part| KinkEvent::Load { contact, part }).chain(corner)
        })
    }

    /// Number of those.
    pub(super) fn count_kinks(&self) -> usize {
        self.kink_events().count()
    }

    /// The kink of the event function `index`, counted from the first of a kink.
    pub(super) fn kink_of_event(&self, index: usize) -> Option<KinkEvent> {
        self.kink_events().nth(index)
    }

    /// Whether reactions have to be known for the event functions.
    pub(super) fn watches_loads(&self) -> bool {
        self.kinks.is_some() && self.reaction_loaded.iter().any(|&c| self.load_kinks[c].is_near)
    }

    /// θ of the load of a contact; infinite where it has no friction.
    fn load_noise(&self, c: usize) -> f64 {
        let size = self.compiled.contacts[c].bearing.map_or(0.0, |bearing| bearing.size(&self.force[c]));
        let inertia = self.kinks.unwrap_or(0.0) * self.kink_inertia[c] / self.kappa[c].abs();
        self.accuracy * size + if inertia.is_nan() { 0.0 } else { inertia }
    }

    /// Part of a load along its direction, by the reaction found last.
    fn along(&self, c: usize, part: usize) -> f64 {
        let contact = &self.compiled.contacts[c];
        let Some(bearing) = contact.bearing else { return 0.0 };
        let (kink, [x, y]) = (&self.load_kinks[c], bearing.parts(&self.force[c])[part]);
        let [u_x, u_y] = kink.way[part];
        let plain = u_x * x + u_y * y;
        if u_y == 0.0 && y == 0.0 || !self.compiled.model.turns(contact.v) || self.is_axial(c) {
            return plain;
        }
        let (sin, cos) = (self.xi[contact.v] - kink.position[part]).sin_cos();
        plain.max(u_x * (cos * x - sin * y) + u_y * (sin * x + cos * y))
    }

    fn is_axial(&self, c: usize) -> bool {
        self.compiled.contacts[c].bearing == Some(crate::bearing::Bearing::Axial)
    }

    /// Looks at the loads that a stage has found.
    #[inline]
    pub(super) fn watch_loads(&mut self) {
        if self.kinks.is_none() {
            return;
        }
        for k in 0..self.reaction_loaded.len() {
            let c = self.reaction_loaded[k];
            self.note_load(c);
            if self.load_kinks[c].is_near || self.locked[self.compiled.contacts[c].joint] {
                continue;
            }
            let n = self.compiled.contacts[c].bearing.map_or(0, |bearing| bearing.n_parts());
            let is_near = |part: usize| {
                self.load_kinks[c].way[part] != [0.0; 2] && self.along(c, part) <= FAR * self.load_kinks[c].size[part]
            };
            self.load_kinks[c].is_near = (0..n).any(is_near);
        }
    }

    /// Event functions of the kinks, where the reactions are those at the point if any are looked at.
    pub(super) fn fill_kinks<'a>(&self, g: impl Iterator<Item = &'a mut f64>) {
        for (g, event) in g.zip(self.kink_events()) {
            *g = match event {
                KinkEvent::Load { contact: c, part } => {
                    let is_locked = self.locked[self.compiled.contacts[c].joint];
                    let noise = self.load_noise(c);
                    if is_locked || !noise.is_finite() || self.load_kinks[c].way[part] == [0.0; 2] {
                        1.0
                    } else if !self.load_kinks[c].is_near {
                        self.load_kinks[c].size[part] + noise
                    } else {
                        self.along(c, part) + noise
                    }
                }
                KinkEvent::Corner { contact: c } => {
                    let contact = &self.compiled.contacts[c];
                    let [low, high] = self.load_kinks[c].segment;
                    let speed = self.mode[c].direction() * contact.arm * contact.rate(&self.v);
                    let inside = (speed - low).min(high - speed) + self.kinks.unwrap_or(0.0);
                    if self.mode[c] == Mode::Stuck || inside.is_infinite() { 1.0 } else { inside }
                }
            };
        }
    }

    /// Passes the kink of an event.
    pub(super) fn pass_kink(&mut self, event: KinkEvent) {
        if let KinkEvent::Load { contact, part } = event {
            let [x, y] = self.load_kinks[contact].way[part];
            self.load_kinks[contact].way[part] = [-x, -y];
        }
    }

    /// Corners about the slip speeds as they are.
    pub(super) fn place_segments(&mut self) {
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            if let Law::Table(table) = &contact.law {
                self.load_kinks[c].segment =
                    table.segment(self.mode[c].direction() * contact.arm * contact.rate(&self.v));
            }
        }
    }

    /// Notes the load of a contact by the reaction at hand. Results are looked at in between: what is noted belongs
    /// to one point.
    fn note_load(&mut self, c: usize) {
        let contact = &self.compiled.contacts[c];
        let Some(bearing) = contact.bearing else { return };
        let noise = self.load_noise(c);
        let load_kinks = &mut self.load_kinks[c];
        (load_kinks.parts, load_kinks.at, load_kinks.noise) =
            (bearing.parts(&self.force[c]), self.xi[contact.v], noise);
    }

    /// Directions of the loads as they were noted last.
    fn point_loads(&mut self) {
        for k in 0..self.reaction_loaded.len() {
            let c = self.reaction_loaded[k];
            let Some(bearing) = self.compiled.contacts[c].bearing else { continue };
            let load_kinks = &mut self.load_kinks[c];
            load_kinks.is_near = false;
            for part in 0..bearing.n_parts() {
                let [x, y] = load_kinks.parts[part];
                let size = (x * x + y * y).sqrt();
                load_kinks.size[part] = size;
                // within 4 θ of zero the direction may be noise: the one before is kept
                if size > 4.0 * load_kinks.noise && size > 0.0 {
                    load_kinks.way[part] = [x / size, y / size];
                    load_kinks.position[part] = load_kinks.at;
                }
            }
        }
    }

    /// The same after a step to (t, y), which has been put into the arrays; the reactions there are found where a
    /// kink was near.
    pub(super) fn accept_loads(&mut self, t: f64) -> Result<(), Failure> {
        if self.watches_loads() {
            self.place()?;
            self.efforts(t);
            self.evaluate_stuck(t)?;
            (0..self.reaction_loaded.len()).for_each(|k| self.note_load(self.reaction_loaded[k]));
        }
        if self.kinks.is_some() {
            self.point_loads();
        }
        Ok(())
    }

    /// No directions, no corners: a start.
    pub(super) fn begin_kinks(&mut self) {
        for kink in &mut self.load_kinks {
            (kink.way, kink.size) = ([[0.0; 2]; 2], [0.0; 2]);
        }
        if self.kinks.is_some() {
            (0..self.reaction_loaded.len()).for_each(|k| self.note_load(self.reaction_loaded[k]));
            self.point_loads();
        }
        self.place_segments();
    }
}
