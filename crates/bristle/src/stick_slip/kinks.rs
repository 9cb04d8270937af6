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
//! R rotates by the angle of the joint since û was set: a load that is constant in the bearing rotates in the
//! journal, and the other way round, without passing through zero. A vector of two components generically misses
//! zero, unless the machine is planar; the test therefore uses its direction and not one component. θ is a negligible
//! load: the accuracy of the reactions, and the load whose friction changes the velocity of the joint by less than
//! the absolute tolerance in the step, of length h, D being the joint's inertia with the joints beyond it free,
//!
//! ```text
//! θ = accuracy |f| + atol D/(|κ| h)
//! ```
//!
//! The event reverses û, so that g restarts at about 2 θ: it does not start at zero, and a load that oscillates about
//! zero within θ causes no events. A load that has stayed within 4 θ of zero has no direction yet. While û is an older
//! one, g may begin a step between 0 and θ: h is then that of the step in which û was set, for g to stay positive.
//!
//! Reactions take a solution of (1), which the stages of a step have found already. While every stage finds the load
//! along û above a quarter of its initial value, no zero crossing is possible, and g is that load. Otherwise g is
//! evaluated on the step.
//!
//! The load of a contact that sticks is its limit, which cannot hold anything at zero: there the zero crossing ends a
//! step that has stepped over the valley, and the break-away before it is found. θ is then the load whose limit is
//! the rounding of efforts, and g is always evaluated.
//!
//! **Tables.** L of `bristle_friction::Table` is linear between corners v_lo, v_hi of the slip speed:
//!
//! ```text
//! g = min(|v| − v_lo, v_hi − |v|) + θ      θ = r atol, r the radius of a joint that turns
//! ```
//!
//! **Limits** of a stuck contact whose load is a reaction are two events, one for each direction:
//!
//! ```text
//! g = r N stiction − τ_f,  r N stiction + τ_f      falls through 0: the contact breaks away
//! ```
//!
//! N is a sum of lengths: near its kink it is a valley, convex, and so is each of both functions. The locator finds a
//! break-away at the bottom of a convex function, however narrow; r N stiction − |τ_f| is not convex where τ_f changes
//! its sign.

use super::machine::Machine;
use crate::dynamics::failure::Failure;
use bristle_friction::{Law, Mode};

/// A load along its direction above this fraction of its value at the beginning of the step is far from zero.
const FAR: f64 = 0.25;

/// The kink of an event function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KinkEvent {
    /// Part of the load of a contact.
    Load { contact: usize, part: usize },
    /// Corner of a contact's table.
    Corner { contact: usize },
    /// Limit of a stuck contact against backward motion.
    Backward { contact: usize },
    /// Saturation of a servo, by the number of the drive.
    Saturation { drive: usize },
    /// Limit of the effort of a joint, by its number.
    EffortLimit { limit: usize },
}

impl KinkEvent {
    pub fn contact(self) -> Option<usize> {
        match self {
            Self::Load { contact, .. } | Self::Corner { contact } | Self::Backward { contact } => Some(contact),
            Self::Saturation { .. } | Self::EffortLimit { .. } => None,
        }
    }
}

impl Machine {
    /// The kinks that are events, in order.
    fn kink_events(&self) -> impl Iterator<Item = KinkEvent> + '_ {
        let contacts = if self.dynamics.scheme.kink_tolerance.is_some() {
            self.dynamics.compiled.inputs.contacts.len()
        } else {
            0
        };
        let of_contacts = (0..contacts).flat_map(|contact| {
            let of = &self.dynamics.compiled.inputs.contacts[contact];
            let parts = 0..of.bearing.map_or(0, |bearing| bearing.n_parts());
            let corner = matches!(of.law.base(), Law::Table(_)).then_some(KinkEvent::Corner { contact });
            let backward = self.has_two_limits(contact).then_some(KinkEvent::Backward { contact });
            parts.map(move |part| KinkEvent::Load { contact, part }).chain(corner).chain(backward)
        });
        let drives =
            if self.dynamics.scheme.kink_tolerance.is_some() { self.dynamics.compiled.inputs.drives.len() } else { 0 };
        let has_corners = |drive: &usize| {
            self.dynamics.compiled.inputs.drives[*drive].servo().is_some_and(|servo| servo.has_corners())
        };
        let servos = (0..drives).filter(has_corners).map(|drive| KinkEvent::Saturation { drive });
        let limits = self.dynamics.compiled.inputs.effort_limits.len();
        let limits = if self.dynamics.scheme.kink_tolerance.is_some() { limits } else { 0 };
        of_contacts.chain(servos).chain((0..limits).map(|limit| KinkEvent::EffortLimit { limit }))
    }

    /// Whether both limits of a stuck contact have events of their own.
    pub(super) fn has_two_limits(&self, c: usize) -> bool {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        self.dynamics.scheme.kink_tolerance.is_some() && contact.bearing.is_some() && contact.is_event_driven()
    }

    /// Number of these events.
    pub(super) fn count_kinks(&self) -> usize {
        self.kink_events().count()
    }

    /// The kink of the event function `index`, counted from the first of a kink.
    pub(super) fn kink_of_event(&self, index: usize) -> Option<KinkEvent> {
        self.kink_events().nth(index)
    }

    /// Whether the event functions need reactions.
    pub(super) fn needs_reactions(&self) -> bool {
        self.dynamics.scheme.kink_tolerance.is_some()
            && self.dynamics.compiled.model.reaction_loaded.iter().any(|&c| self.dynamics.state.load_kinks[c].is_near)
    }

    /// Whether a contact sticks by its own load alone.
    fn loads_limit(&self, c: usize) -> bool {
        self.has_two_limits(c) && self.dynamics.sticks(c) && self.dynamics.constraints.margin(c).is_none()
    }

    /// θ of the load of a contact in a step of length `h`; infinite without friction, the accuracy alone without a
    /// step. Where the contact sticks, the load whose limit is the rounding of efforts.
    fn load_noise(&self, c: usize, h: f64) -> f64 {
        let size = self.dynamics.compiled.inputs.contacts[c]
            .bearing
            .map_or(0.0, |bearing| bearing.size(&self.dynamics.point.force[c]));
        if self.loads_limit(c) {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let level = contact.arm * contact.law.event_driven().map_or(0.0, |law| law.stiction_level());
            return self.dynamics.scheme.accuracy * size + self.dynamics.state.slack[c] / level;
        }
        let momentum = self.dynamics.scheme.kink_tolerance.unwrap_or(0.0)
            * self.dynamics.compiled.model.kink_inertia[c]
            / self.dynamics.point.kappa[c].abs();
        let inertia = if h > 0.0 { momentum / h } else { 0.0 };
        self.dynamics.scheme.accuracy * size + if inertia.is_nan() { 0.0 } else { inertia }
    }

    /// A step of length `h` is about to be attempted.
    pub(super) fn set_kink_step(&mut self, h: f64) {
        for &c in &self.dynamics.compiled.model.reaction_loaded {
            let kink = &mut self.dynamics.state.load_kinks[c];
            kink.h = h;
            for (time, _) in kink.time.iter_mut().zip(kink.is_recent).filter(|(_, is_recent)| *is_recent) {
                *time = h;
            }
        }
    }

    /// Component of a part of the load along its direction, for the reaction found last.
    fn along(&self, c: usize, part: usize) -> f64 {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let Some(bearing) = contact.bearing else { return 0.0 };
        let side = self.dynamics.state.mode[c].direction();
        let [x, y] = bearing.parts(&self.dynamics.point.force[c], side)[part];
        let kink = &self.dynamics.state.load_kinks[c];
        let [u_x, u_y] = kink.way[part];
        let plain = u_x * x + u_y * y;
        if u_y == 0.0 && y == 0.0 || !self.dynamics.compiled.model.tree.turns(contact.v) || self.is_axial(c) {
            return plain;
        }
        let (sin, cos) = (self.dynamics.point.xi[contact.v] - kink.position[part]).sin_cos();
        plain.max(u_x * (cos * x - sin * y) + u_y * (sin * x + cos * y))
    }

    fn is_axial(&self, c: usize) -> bool {
        self.dynamics.compiled.inputs.contacts[c].bearing == Some(crate::model::bearing::Bearing::Axial)
    }

    /// Examines the loads of a stage.
    #[inline]
    pub(super) fn check_loads(&mut self) {
        if self.dynamics.scheme.kink_tolerance.is_none() {
            return;
        }
        for k in 0..self.dynamics.compiled.model.reaction_loaded.len() {
            let c = self.dynamics.compiled.model.reaction_loaded[k];
            self.note_load(c);
            if self.dynamics.state.load_kinks[c].is_near
                || self.dynamics.coordinates.locked[self.dynamics.compiled.inputs.contacts[c].joint]
            {
                continue;
            }
            let n = self.dynamics.compiled.inputs.contacts[c].bearing.map_or(0, |bearing| bearing.n_parts());
            let is_near = |part: usize| {
                self.dynamics.state.load_kinks[c].way[part] != [0.0; 2]
                    && self.along(c, part) <= FAR * self.dynamics.state.load_kinks[c].size[part]
            };
            self.dynamics.state.load_kinks[c].is_near = (0..n).any(is_near);
        }
    }

    /// Event functions of the kinks; where they need reactions, those are the ones at the point of evaluation.
    pub(super) fn fill_kinks<'a>(&self, t: f64, g: impl Iterator<Item = &'a mut f64>) {
        for (event, g) in self.kink_events().zip(g) {
            *g = match event {
                KinkEvent::Load { contact: c, part } => {
                    let is_locked = self.dynamics.coordinates.locked[self.dynamics.compiled.inputs.contacts[c].joint];
                    let noise = self.load_noise(c, self.dynamics.state.load_kinks[c].time[part]);
                    if self.loads_limit(c) && self.dynamics.state.load_kinks[c].way[part] != [0.0; 2] {
                        self.along(c, part) + noise
                    } else if is_locked || !noise.is_finite() || self.dynamics.state.load_kinks[c].way[part] == [0.0; 2]
                    {
                        1.0
                    } else if !self.dynamics.state.load_kinks[c].is_near {
                        self.dynamics.state.load_kinks[c].size[part] + noise
                    } else {
                        self.along(c, part) + noise
                    }
                }
                KinkEvent::Corner { contact: c } => {
                    let contact = &self.dynamics.compiled.inputs.contacts[c];
                    let [low, high] = self.dynamics.state.load_kinks[c].segment;
                    let speed =
                        self.dynamics.state.mode[c].direction() * contact.arm * contact.rate(&self.dynamics.point.v);
                    let inside = (speed - low).min(high - speed)
                        + contact.arm * self.dynamics.scheme.kink_tolerance.unwrap_or(0.0);
                    if self.dynamics.state.mode[c] == Mode::Stuck || inside.is_infinite() { 1.0 } else { inside }
                }
                KinkEvent::Saturation { drive } => self.dynamics.saturation(drive, t),
                KinkEvent::EffortLimit { limit } => self.dynamics.limit_margin(limit, t),
                KinkEvent::Backward { contact: c } => {
                    let is_alone = self.dynamics.sticks(c) && self.dynamics.constraints.margin(c).is_none();
                    match self.dynamics.limits(c)[1] {
                        limit if is_alone && limit.is_finite() => {
                            limit + self.dynamics.point.friction[c] + self.dynamics.state.slack[c]
                        }
                        _ => 1.0,
                    }
                }
            };
        }
    }

    /// Performs the event of a kink.
    pub(super) fn pass_kink(&mut self, t: f64, event: KinkEvent) {
        if let KinkEvent::Saturation { drive } = event {
            self.dynamics.pass_saturation(drive, t);
        }
        if let KinkEvent::EffortLimit { limit } = event {
            self.dynamics.pass_limit(limit, t);
        }
        if let KinkEvent::Load { contact, part } = event {
            let [x, y] = self.dynamics.state.load_kinks[contact].way[part];
            self.dynamics.state.load_kinks[contact].way[part] = [-x, -y];
        }
    }

    /// Finds the table corners next to the present slip speeds.
    pub(super) fn place_segments(&mut self) {
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            if let Law::Table(table) = contact.law.towards(self.dynamics.state.mode[c]) {
                self.dynamics.state.load_kinks[c].segment = table.segment(
                    self.dynamics.state.mode[c].direction() * contact.arm * contact.rate(&self.dynamics.point.v),
                );
            }
        }
    }

    /// Records the load of a contact from the present reaction. Results may be evaluated in between: a record belongs
    /// to one point.
    fn note_load(&mut self, c: usize) {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let Some(bearing) = contact.bearing else { return };
        let noise = self.load_noise(c, self.dynamics.state.load_kinks[c].h);
        let side = self.dynamics.state.mode[c].direction();
        let kink = &mut self.dynamics.state.load_kinks[c];
        (kink.parts, kink.at, kink.noise) =
            (bearing.parts(&self.dynamics.point.force[c], side), self.dynamics.point.xi[contact.v], noise);
    }

    /// Sets the directions of the loads recorded last.
    fn point_loads(&mut self) {
        for k in 0..self.dynamics.compiled.model.reaction_loaded.len() {
            let c = self.dynamics.compiled.model.reaction_loaded[k];
            let Some(bearing) = self.dynamics.compiled.inputs.contacts[c].bearing else { continue };
            let kink = &mut self.dynamics.state.load_kinks[c];
            kink.is_near = false;
            for part in 0..bearing.n_parts() {
                let [x, y] = kink.parts[part];
                let size = (x * x + y * y).sqrt();
                kink.size[part] = size;
                // within 4 θ of zero the direction may be rounding: keep the previous one
                kink.is_recent[part] = size > 4.0 * kink.noise && size > 0.0;
                if kink.is_recent[part] {
                    kink.way[part] = [x / size, y / size];
                    kink.position[part] = kink.at;
                }
            }
        }
    }

    /// The same after a step to (t, y), which is in the arrays already. Where a kink was near, the reactions are
    /// computed there.
    pub(super) fn accept_loads(&mut self, t: f64) -> Result<(), Failure> {
        if self.needs_reactions() || self.dynamics.compiled.model.reaction_loaded.iter().any(|&c| self.loads_limit(c)) {
            self.dynamics.place()?;
            self.dynamics.efforts(t);
            self.evaluate_stuck(t)?;
            (0..self.dynamics.compiled.model.reaction_loaded.len())
                .for_each(|k| self.note_load(self.dynamics.compiled.model.reaction_loaded[k]));
        }
        if self.dynamics.scheme.kink_tolerance.is_some() {
            self.point_loads();
        }
        Ok(())
    }

    /// Clears directions and corners for a start.
    pub(super) fn begin_kinks(&mut self) {
        for kink in &mut self.dynamics.state.load_kinks {
            (kink.way, kink.size) = ([[0.0; 2]; 2], [0.0; 2]);
        }
        if self.dynamics.scheme.kink_tolerance.is_some() {
            (0..self.dynamics.compiled.model.reaction_loaded.len())
                .for_each(|k| self.note_load(self.dynamics.compiled.model.reaction_loaded[k]));
            self.point_loads();
        }
        self.place_segments();
    }
}
