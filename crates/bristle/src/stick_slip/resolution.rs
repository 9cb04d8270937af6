//! Bounds of a step that resolves bristles, at any tolerance.
//!
//! A tolerance is about unknowns, and bristle laws have scales of their own: a level g of friction per load, a Stribeck
//! velocity v_s over which it falls, a deflection g/σ₀. An absolute tolerance of 1e-2 m/s is ten times the Stribeck
//! velocity of a usual slider, one of 1e-4 m ten times its deflection: the estimate of a step that passes over a whole
//! stick phase is then within the tolerance. So, under error control, with s = σ₀z, slip v and τ(v, s) the friction per
//! load:
//!
//! ```text
//! error of s         ≤ ε g_max / max(1, |∂τ/∂s|)                                       (1)
//! error of v         ≤ ε min( max(min(v_s, g_max/(σ₀h)), |v|), g_max / |∂τ/∂v| )       (2)
//! error of q         ≤ max( ε_q g_max/σ₀, ε h|v| )                                     (3)
//! |s|                ≤ (1 + 1e-4) g_max, or |s₀| + 1e-4 g_max where that is more        (4)
//! |∂τ/∂s| |ṡ − σ₀ż(v, s)| / (1/h + |∂(σ₀ż)/∂s|) ≤ ϕ g_max                              (5)
//! ```
//!
//! (1), (2) and (3) bound the tolerances, whatever they are ([`StepRules::bound_tolerances`]), and hold for each
//! unknown: the norm of errors is a mean over all of them. While a joint slides ∂τ/∂s = 1 − σ₁|v|/g is a hundred and
//! more: what is right to the fourth digit in s is wrong in the second of friction.
//!
//! (2) needs no speed of the law. An error δv bends the bristle by σ₀ δv for the length h of the step, or for the
//! relaxation time g/(σ₀|v|) where that is shorter: σ₀ δv min(h, g/(σ₀|v|)) ≤ ε g. `Dahl` has no other scale; laws that
//! weaken with speed have v_s too.
//!
//! (3) is about creep. Below break-away the force fixes s, and the joint stands at q = s/σ₀ + ∫ a|v|s/g dt: whatever
//! a step gets wrong in that integral stays, and no force brings it back. Errors of thousands of steps add up. Where
//! σ₁ = 0 the bristle rings, its amplitude decays by hysteresis alone, and the joint creeps in proportion to it: a
//! stepper whose estimate is its own error keeps to an eighth of these bounds (`Stepper::estimates_itself`).
//!
//! (4) is an invariant. Where |s| ≥ g(v) bristles only straighten: LuGre's equation says so (Canudas de Wit et al.
//! 1995; Acho et al. 2004, property 1), that of `LuGre2` is the same in s, and `ElastoPlastic` has α = 1 there. So |s|
//! ≤ max g once it is there, and falls until it is. Bristles that start further out (`bristle: (z: …)`) may not bend
//! further: s₀ is where the step starts.
//!
//! (5) is the defect of the interpolant in the bristle's own equation, as an error of friction: over times shorter than
//! the relaxation time it adds up for the whole step h, over longer ones it is forgotten. A stepper that damps little
//! (`GeneralizedAlpha` near ρ∞ = 1) makes bristles ring about g from step to step, below the tolerance at the ends of
//! its steps and far above between them.
//!
//! The kink of |v| is located to θ, the error that (2) allows at v = 0: closer than the speeds of pre-sliding, above
//! the noise of a joint that stands.
//!
//! Frozen bristles (`open: Frozen`, no load) obey another equation, ṡ = 0, and ask for nothing.
//!
//! (4) and (5) are looked at within each step and at its end ([`StepRules::violation`]). Under `Elementary`, the
//! textbook rule, tolerances are taken as they are and none of this applies. Steps of a prescribed length are never
//! rejected: there the first that breaks (4) is remembered, for a warning.
//!
//! [`StepRules::bound_tolerances`]: bristle_integrate::StepRules::bound_tolerances
//! [`StepRules::violation`]: bristle_integrate::StepRules::violation

use super::machine::Machine;
use bristle_friction::FrictionLaw;

/// ε: break-away multiplies what was wrong before, some hundredfold, and shall be right to 1 %; a tenth of that,
/// because errors of steps add up.
const RESOLUTION: f64 = 1e-5;

/// No bound of (1) and (2) is finer than this part of the law's scales, the default relative tolerance: (1) would ask
/// for less than rounding of a contact that slips at ten million times its Stribeck velocity.
const FINEST: f64 = 1e-8;

/// ε_q: ten thousand steps of a joint that creeps and rings leave 1 % of a deflection.
const CREEP: f64 = 1e-6;

/// No position is asked for more closely than a step's rounding leaves it, in units of it: as of `rtol`.
const ROUNDING: f64 = 1e-14;

/// How far beyond its bound a deflection may be, in units of it: above the errors that (1) allows, and the noise of
/// explicit steps at the border of stability.
const BEYOND: f64 = 1e-4;

/// ϕ: half of the 2 % that a peak of friction may be off.
const DEFECT: f64 = 1e-2;

/// Slip speeds below this share of the Stribeck velocity are as good as none: where the kink at v = 0 may be located,
/// at the latest.
const KINK: f64 = 1e-2;

impl Machine {
    /// Whether any contact has bristles.
    pub(super) fn has_bristles(&self) -> bool {
        self.dynamics.compiled.inputs.contacts.iter().any(|contact| contact.law.n_states() > 0)
    }

    /// (1), (2) and (3) for a step of length `h` from (t, y) into `each`, infinite where they say nothing.
    pub(super) fn bound_bristle_tolerances(&mut self, t: f64, h: f64, y: &[f64], each: &mut [f64]) {
        each.fill(f64::INFINITY);
        if !self.has_bristles() {
            return;
        }
        self.dynamics.scatter(t, y);
        let n = self.dynamics.coordinates.active.len();
        // norms of errors are means over all unknowns: what is within this part of its bound on average is within it
        let share = 1.0 / (each.len() as f64).sqrt();
        let mut next = self.dynamics.per_velocity() * n;
        let kinks = self.dynamics.state.kink_speed.iter_mut();
        let states = self.dynamics.point.bristles.iter().zip(&self.dynamics.point.frozen);
        for ((contact, (state, is_frozen)), kink) in
            self.dynamics.compiled.inputs.contacts.iter().zip(states).zip(kinks)
        {
            let law = &contact.law;
            if law.n_states() == 0 || *is_frozen {
                next += law.n_states();
                continue;
            }
            let (slip, level) = (contact.arm * contact.rate(&self.dynamics.point.v), law.largest_level());
            let now = law.evaluate(slip, *state);
            // (1)
            each[next] = share * (RESOLUTION * level / now.effort_state[0].abs().max(1.0)).max(FINEST * level);
            next += law.n_states();
            // (2), (3)
            let (deflection, own) = (level / law.sigma0(), law.stribeck_velocity());
            let at_rest = own.map_or(deflection / h, |v_s| v_s.min(deflection / h));
            let speed = slip.abs().max(at_rest);
            let finest = FINEST * speed;
            let rate = share * (RESOLUTION * speed.min(level / now.effort_v.abs())).max(finest) / contact.arm;
            *kink = share * RESOLUTION * at_rest / contact.arm;
            let path = share * (CREEP * deflection).max(RESOLUTION * h * slip.abs()) / contact.arm;
            for v in std::iter::once(contact.v).chain(contact.b) {
                for (place, coefficient) in self.dynamics.coordinates.unknowns_of(v) {
                    let bound = &mut each[place];
                    *bound = bound.min((path / coefficient.abs()).max(ROUNDING * y[place].abs()));
                    each[n + place] = each[n + place].min(rate / coefficient.abs());
                }
            }
        }
    }

    /// How far (4) and (5) are from their limits, 1 at the limit, on an interpolant that passes through `y` at `t` with
    /// rate `dy`, in a step of length `h` from `y0`.
    pub(super) fn bristle_violation(&mut self, t: f64, h: f64, y0: &[f64], y: &[f64], dy: &[f64]) -> f64 {
        self.dynamics.scatter(t, y);
        let mut next = self.dynamics.per_velocity() * self.dynamics.coordinates.active.len();
        let mut most = 0.0_f64;
        for ((contact, state), is_frozen) in self
            .dynamics
            .compiled
            .inputs
            .contacts
            .iter()
            .zip(&self.dynamics.point.bristles)
            .zip(&self.dynamics.point.frozen)
        {
            let (i, law) = (next, &contact.law);
            next += law.n_states();
            if law.n_states() == 0 || *is_frozen {
                continue;
            }
            let level = law.largest_level();
            let now = law.evaluate(contact.arm * contact.rate(&self.dynamics.point.v), *state);
            // (4), (5)
            let beyond = y[i].abs() - level.max(y0[i].abs());
            let defect = (dy[i] - now.rate[0]).abs() / (1.0 / h + now.rate_state[0][0].abs());
            let friction = now.effort_state[0].abs().max(1.0) * defect;
            most = most.max(beyond / (BEYOND * level)).max(friction / (DEFECT * level));
        }
        most
    }

    /// θ of the kink of contact `c` from the one that the tolerance would give.
    pub(super) fn kink_threshold(&self, c: usize, theta: f64) -> f64 {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let own = contact.law.stribeck_velocity().map_or(theta, |v_s| theta.min(KINK * v_s / contact.arm));
        own.min(self.dynamics.state.kink_speed[c])
    }

    /// Remembers the first step of prescribed length that breaks (4), at its end (t, y).
    pub(super) fn note_overdeflected(&mut self, t: f64, y: &[f64]) {
        let mut next = self.dynamics.per_velocity() * self.dynamics.coordinates.active.len();
        for (c, (contact, bent)) in
            self.dynamics.compiled.inputs.contacts.iter().zip(&mut self.dynamics.state.bent).enumerate()
        {
            let (i, law) = (next, &contact.law);
            next += law.n_states();
            if law.n_states() == 0 {
                continue;
            }
            let level = law.largest_level();
            if self.dynamics.diagnostics.overdeflected.is_none() && y[i].abs() > level.max(*bent) + BEYOND * level {
                self.dynamics.diagnostics.overdeflected = Some((t, c));
            }
            *bent = y[i].abs();
        }
    }
}
