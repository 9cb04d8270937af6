//! Joint efforts and their rates along the motion: the right-hand side of (1), and (3).
//!
//! ```text
//! κ = r law(r v, s)         τ_f = κ N         κ̇ = r (∂law/∂v r a + ∂law/∂s ṡ)
//! ṡ = 0 where N = 0 in an element with `open: Frozen`
//! ```

use super::Dynamics;
use super::effort_limits::{is_saturated, regime_in_force};
use super::failure::Failure;
use super::point::Point;
use super::scheme::Scheme;
use super::state::State;
use crate::constraint::coordinates::sticks;
use crate::model::bearing::Bearing;
use crate::model::servo::DriveSample;
use crate::model::{Compiled, Model};
use crate::signal::{Piece, Sample, Signal};
use bristle_friction::{FrictionLaw, Mode};
use bristle_multibody::rnea;

/// Right-hand side of (1) without the friction of stuck and of reaction-loaded contacts; κ and ṡ of all contacts.
pub(crate) fn efforts(compiled: &Compiled, scheme: &Scheme, state: &State, point: &mut Point, t: f64) {
    let Point { tau, motor, q, v, xi, kappa, bristles, rate, frozen, load, friction, integral, .. } = point;
    if scheme.is_impulsive {
        // finite efforts have no impulse; only the friction of impulses remains
        tau.fill(0.0);
        for &c in &compiled.model.reaction_loaded {
            let contact = &compiled.inputs.contacts[c];
            let slip = contact.arm * contact.rate(v);
            let law = contact.law.event_driven().map(|law| law.sliding(state.mode[c], slip).0);
            let per_load = law.unwrap_or_else(|| contact.law.evaluate(slip, bristles[c]).effort);
            kappa[c] = contact.arm * per_load;
        }
        return;
    }
    motor.copy_from_slice(&compiled.inputs.effort);
    let mut integrals = integral.iter();
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let integral = if drive.has_integral() { integrals.next().copied() } else { None };
        let (q, v) = (q[drive.q], v[drive.v]);
        let sample = drive_sample((compiled, scheme), state, k, t, q, v);
        motor[drive.v] += drive.effort(&sample, q, v, integral.unwrap_or(0.0));
    }
    for (k, at) in compiled.inputs.effort_limits.iter().enumerate() {
        motor[at.v] = at.acting(motor[at.v], regime_in_force(scheme, state, k));
    }
    let given = motor.iter().zip(&compiled.inputs.offset);
    tau.iter_mut().zip(given).for_each(|(tau, (motor, offset))| *tau = motor + offset);
    for d in &compiled.inputs.dampers {
        tau[d.v] -= d.damping * v[d.v];
    }
    for s in &compiled.inputs.springs {
        tau[s.v] -= s.stiffness * (q[s.q] - s.rest);
    }
    for spring in &compiled.model.coupled.springs {
        let effort = spring.effort(xi, v);
        tau[spring.a] -= effort;
        tau[spring.b] += effort;
    }
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let slip = contact.arm * contact.rate(v);
        let per_load = match contact.law.event_driven() {
            Some(law) => law.sliding(state.mode[c], slip).0,
            None => {
                let now = contact.law.evaluate(slip, bristles[c]);
                rate[c] = now.rate;
                now.effort
            }
        };
        kappa[c] = contact.arm * per_load;
        if contact.bearing.is_none() {
            let is_backward = contact.acts_backward(state.mode[c], state.backward[c]);
            let (n, n_rate) = contact.normal_towards(is_backward, &load_signal(contact.signal(), t, state.piece));
            frozen[c] = contact.is_frozen(n, n_rate);
            if frozen[c] {
                rate[c] = [0.0; 2];
            }
            load[c] = n;
            friction[c] = kappa[c] * n;
            contact.take(tau, friction[c]);
        }
    }
}

/// Rates along the motion of the right-hand side of (1), and of κ N at constant reactions, into `rates`. `a` and the
/// loads belong to the point of evaluation.
pub(crate) fn effort_rates(
    compiled: &Compiled,
    scheme: &Scheme,
    state: &State,
    point: &Point,
    t: f64,
    rates: &mut [f64],
) {
    let Point { q, v, a, load, bristles, kappa, .. } = point;
    rates.fill(0.0);
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let sample = drive_sample((compiled, scheme), state, k, t, q[drive.q], v[drive.v]);
        let rate = drive.effort_rate(&sample, q[drive.q], v[drive.v], a[drive.v]);
        rates[drive.v] += transmitted_share(compiled, point, drive.v) * rate;
    }
    for k in 0..compiled.inputs.effort_limits.len() {
        if is_saturated((compiled, scheme), state, point, k, t) {
            rates[compiled.inputs.effort_limits[k].v] = 0.0;
        }
    }
    for d in &compiled.inputs.dampers {
        rates[d.v] -= d.damping * a[d.v];
    }
    for s in &compiled.inputs.springs {
        rates[s.v] -= s.stiffness * v[s.v];
    }
    for spring in &compiled.model.coupled.springs {
        let rate = spring.stiffness * (v[spring.a] - v[spring.b]) + spring.damping * (a[spring.a] - a[spring.b]);
        rates[spring.a] -= rate;
        rates[spring.b] += rate;
    }
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let (arm, slip) = (contact.arm, contact.arm * contact.rate(v));
        let per_load_rate = match contact.law.event_driven() {
            Some(law) => law.sliding(state.mode[c], slip).1 * arm * contact.rate(a),
            None => {
                // |v| has a kink: up to its event, a little beyond v = 0, the slopes are those before it
                let is_beyond =
                    scheme.kink_tolerance.is_some() && contact.law.n_states() > 0 && state.heading[c] * slip <= 0.0;
                let slip = if is_beyond { state.heading[c] * f64::MIN_POSITIVE } else { slip };
                let now = contact.law.evaluate(slip, bristles[c]);
                let along: f64 = now.effort_state.iter().zip(&now.rate).map(|(slope, rate)| slope * rate).sum();
                now.effort_v * arm * contact.rate(a) + along
            }
        };
        contact.take(rates, arm * per_load_rate * load[c]);
        if contact.bearing.is_none() {
            let is_backward = contact.acts_backward(state.mode[c], state.backward[c]);
            let (_, n_rate) = contact.normal_towards(is_backward, &load_signal(contact.signal(), t, state.piece));
            contact.take(rates, kappa[c] * n_rate);
        }
    }
}

/// 1 − κ ∂N/∂τ_t: the part of a change of the motor's effort that remains of it behind the reducer of velocity `v`; 1
/// without one.
#[inline]
pub(crate) fn transmitted_share(compiled: &Compiled, point: &Point, v: usize) -> f64 {
    let (mut share, contacts) = (1.0, &*compiled.inputs.contacts);
    for &c in compiled.model.reaction_loaded.iter().filter(|&&c| contacts[c].v == v) {
        if let Some(bearing) = contacts[c].bearing.filter(|bearing| bearing.is_transmitted()) {
            let (kappa, force) = (point.kappa[c], &point.force[c]);
            share -= kappa * bearing.normal_load(force, kappa).1.to_array()[2];
        }
    }
    share
}

/// Drive number `k` at (t, q, v).
pub(crate) fn drive_sample(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    k: usize,
    t: f64,
    q: f64,
    v: f64,
) -> DriveSample {
    // corners of saturations are located under error control
    let at = if scheme.kink_tolerance.is_some() { None } else { Some((q, v)) };
    compiled.inputs.drives[k].sample(t, state.piece, &state.servos[k], at)
}

/// Sets the recorded load of a one-way clutch or a reducer that sticks backward to its backward load.
pub(crate) fn show_locked_loads(compiled: &Compiled, state: &State, point: &mut Point) {
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let holds_back = contact.is_event_driven() && state.mode[c] == Mode::Stuck && point.friction[c] < 0.0;
        let has_two_loads = contact.reverse.is_some() || contact.bearing.is_some_and(Bearing::is_transmitted);
        if holds_back && has_two_loads {
            point.load[c] = contact.sides(point.load[c], &point.force[c])[1];
        }
    }
}

impl Dynamics {
    /// Effort of the drives of joint velocity `v` at the point evaluated last, N·m or N.
    pub(crate) fn drive_effort(&self, t: f64, v: usize) -> f64 {
        let point = &self.point;
        let mut integrals = point.integral.iter();
        let mut effort = 0.0;
        for (k, drive) in self.compiled.inputs.drives.iter().enumerate() {
            let integral = if drive.has_integral() { integrals.next().copied() } else { None };
            if drive.v == v {
                let (q, v) = (point.q[drive.q], point.v[v]);
                let sample = drive_sample((&self.compiled, &self.scheme), &self.state, k, t, q, v);
                effort += drive.effort(&sample, q, v, integral.unwrap_or(0.0));
            }
        }
        let prescribed = self.compiled.model.prescribed.iter().zip(&point.drive_effort);
        effort + prescribed.filter(|(joint, _)| joint.v == v).map(|(_, effort)| effort).sum::<f64>()
    }

    /// See [`efforts`].
    pub(crate) fn efforts(&mut self, t: f64) {
        efforts(&self.compiled, &self.scheme, &self.state, &mut self.point, t);
    }

    /// Reaction loads, friction of the stuck joints, and efforts of prescribed motions, all at the accelerations in
    /// `a`.
    pub(crate) fn read_reactions(&mut self) -> Result<(), Failure> {
        if self.is_constrained() {
            return self.unbalanced_with_multipliers();
        }
        if self.has_loaded_loops() {
            // reactions include the constraint forces found by Newton
            self.apply_closure_forces()?;
        }
        let is_held = self.is_loop_held();
        let Self { compiled, scheme, state, point, coordinates, constraints, loops, work, required, newton, .. } = self;
        let (Model { tree, reaction_loaded, prescribed, .. }, contacts) =
            (&*compiled.model, &*compiled.inputs.contacts);
        let is_coupled = constraints.is_coupled();
        if reaction_loaded.is_empty() && prescribed.is_empty() && !coordinates.is_stuck && !is_coupled {
            return Ok(());
        }
        let v = if scheme.is_impulsive { &newton.zero } else { &point.v };
        required.copy_from_slice(rnea(tree, work, &point.q, v, &point.a)?);
        // where a machine with loops is held, loads are those of impending motion
        for &c in reaction_loaded.iter().filter(|_| !is_held) {
            let Some(bearing) = contacts[c].bearing else { continue };
            let (contact, kappa) = (&contacts[c], point.kappa[c]);
            point.force[c] = bearing.reaction(work, contact.joint, point.motor[contact.v], point.a[contact.v]);
            point.load[c] = bearing.normal_load(&point.force[c], kappa).0;
            point.friction[c] = kappa * point.load[c];
        }
        if loops.is_any() && !reaction_loaded.is_empty() {
            work.outside.clear_wrenches();
            if !scheme.is_impulsive {
                for w in &compiled.inputs.wrenches {
                    work.outside.set_wrench(tree, w.body, w.wrench)?;
                }
            }
            required.copy_from_slice(rnea(tree, work, &point.q, v, &point.a)?);
        }
        if is_coupled {
            required.iter_mut().zip(&point.tau).for_each(|(required, tau)| *required -= tau);
            for &c in reaction_loaded.iter().filter(|_| !is_held) {
                required[contacts[c].v] += point.friction[c];
            }
            constraints.distribute((compiled, scheme), state, point, (required, loops));
            if !reaction_loaded.is_empty() {
                self.take_least_forces();
            }
            return if is_held || self.compiled.model.reaction_loaded.is_empty() { Ok(()) } else { self.share_loads() };
        }
        let Point { tau, friction, drive_effort, .. } = point;
        for (prescribed, effort) in prescribed.iter().zip(drive_effort) {
            let friction = reaction_loaded.iter().filter(|&&c| contacts[c].v == prescribed.v).map(|&c| friction[c]);
            *effort = required[prescribed.v] - tau[prescribed.v] + friction.sum::<f64>();
        }
        for c in (0..contacts.len()).filter(|&c| sticks((compiled, scheme), state, c)) {
            let k = contacts[c].v;
            friction[c] = tau[k] - required[k];
        }
        Ok(())
    }
}

impl Dynamics {
    /// Constraint forces of least norm in place of those of the distribution. Loads need them, and results.
    pub(crate) fn take_least_forces(&mut self) {
        if self.loops.is_any() {
            self.loops.fill_whole_basis();
            self.loops.take_least(&mut self.point.closure_force);
        }
    }
}

/// The sample of a load's signal, clamped; the default where a contact has no signal.
pub(crate) fn load_signal(signal: Option<&Signal>, t: f64, piece: Piece) -> Sample {
    signal.map_or(Sample::default(), |signal| signal.sample_clamped(t, piece))
}
