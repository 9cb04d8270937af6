//! Where `balance` is led from kink to kink: an interior path to its solution.
//!
//! ```text
//! R u + Wᵀ (f + k ω) = b,      ω₀ + W u = ω = p − m                       f: dry friction without its viscous part k ω
//! p (up − f) = μ,   m (down + f) = μ,        p, m > 0,  −down < f < up                              (1)
//! ```
//!
//! At μ = 0 that is dry friction: forward (p > 0) only at the limit, backward likewise, stuck between. Newton's steps for (1) with μ falling towards 0 stay within
//! the bounds and need some twenty rounds, however many contacts let go at once and however unevenly inertia is spread (primal–dual interior point method,
//! Wright 1997); each has the matrix of `balance` with
//!
//! ```text
//! δf = Θ (W δu + ω − μ/s + μ/t),     Θ = 1/(p/s + m/t),     s = up − f,  t = down + f                 (2)
//! ```
//!
//! as slope of a dry contact. Other laws follow their tangents. What it ends with is where `balance` starts again.

use super::factor::{factor, solve};
use super::grip::Grip;
use super::reduced::dot;
use super::{Machine, RealTime, fastest};

/// Rounds at most.
const MOST_ROUNDS: usize = 60;

/// Part of the way to a bound that a step goes at most.
const WITHIN: f64 = 0.99;

/// μ of a round, relative to that of the one before: after long steps and after short ones.
const FALLS: [f64; 2] = [0.05, 0.3];

/// μ at the end, relative to that at the start.
const ENOUGH: f64 = 1e-15;

/// Θ at most, relative to the stiffness of what is stuck.
const STIFFEST: f64 = 1e4;

/// Limits, friction and slip of dry contacts; arrays are made once. See the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct Interior {
    /// −down and up without viscous parts; those with nothing between them hold nothing and stay out.
    bounds: Vec<[f64; 2]>,
    /// s and t, each to its own last bit.
    s: Vec<f64>,
    t: Vec<f64>,
    p: Vec<f64>,
    m: Vec<f64>,
    /// What p and m are measured by, linear and angular.
    fastest: [f64; 2],
    /// Θ and the right-hand side of (2) besides W δu.
    theta: Vec<f64>,
    push: Vec<f64>,
}

impl Interior {
    pub fn new(n_contacts: usize) -> Self {
        let numbers = vec![0.0; n_contacts];
        Self {
            bounds: vec![[0.0; 2]; n_contacts],
            s: numbers.clone(),
            t: numbers.clone(),
            p: numbers.clone(),
            m: numbers.clone(),
            fastest: [1.0; 2],
            theta: numbers.clone(),
            push: numbers,
        }
    }

    /// f of contact c, from the limit it is nearer to.
    fn friction(&self, c: usize) -> f64 {
        let ([low, high], s, t) = (self.bounds[c], self.s[c], self.t[c]);
        if s < t { high - s } else { low + t }
    }
}

impl Machine {
    /// u and the λ̂ of dry contacts near their solution; rounds it took.
    pub(super) fn approach(&self, rt: &mut RealTime) -> usize {
        self.enter(rt);
        let (mut mu, mut fall) = (mean(&rt.interior), FALLS[1]);
        let (enough, mut rounds) = (ENOUGH * mu, 0);
        while mu > enough && rounds < MOST_ROUNDS {
            rounds += 1;
            if !self.inner_direction(rt, fall * mu) {
                break;
            }
            let alpha = inner_step(rt, fall * mu);
            mu = mean(&rt.interior);
            fall = FALLS[usize::from(alpha < 0.9)];
        }
        self.leave(rt);
        rounds
    }

    /// A start well within all bounds.
    fn enter(&self, rt: &mut RealTime) {
        let RealTime { reduced, balance, interior, grips, R, b, u, turns, .. } = rt;
        let n = u.len();
        let speeds = reduced.independent.iter().enumerate().map(|(k, &v)| (v, b[k].abs() / R[k * n + k]));
        interior.fastest = fastest(speeds, turns).map(|fastest| fastest.max(f64::MIN_POSITIVE));
        for (c, grip) in grips.iter().enumerate() {
            let [low, high] = match *grip {
                Grip::Dry { up, down } if !reduced.contacts[c].is_empty() => [-down[0], up[0]],
                _ => [0.0; 2],
            };
            interior.bounds[c] = [low, high];
            (interior.s[c], interior.t[c]) = (0.5 * (high - low), 0.5 * (high - low));
            let omega = balance.still[c] + dot(&reduced.contacts[c], u);
            let fastest = interior.fastest[usize::from(turns[self.compiled.contacts[c].v])];
            interior.p[c] = omega.max(0.0) + fastest;
            interior.m[c] = (-omega).max(0.0) + fastest;
        }
    }

    /// λ̂ such that what slides by now slides, and what is held is held with f.
    fn leave(&self, rt: &mut RealTime) {
        let RealTime { reduced, balance, interior, u, turns, .. } = rt;
        for (c, &[low, high]) in interior.bounds.iter().enumerate().filter(|(_, [low, high])| low < high) {
            // the nearer to zero of speed and distance from the limit, each in its measure
            let fastest = interior.fastest[usize::from(turns[self.compiled.contacts[c].v])];
            let slides = |speed: f64, distance: f64| speed * (high - low) > distance * fastest;
            balance.anchor[c] = if reduced.shares[c] {
                // how it shares is for its spring to say
                0.0
            } else if slides(interior.p[c], interior.s[c]) {
                high
            } else if slides(interior.m[c], interior.t[c]) {
                low
            } else {
                interior.friction(c) - balance.stick[c] * (balance.still[c] + dot(&reduced.contacts[c], u))
            };
        }
    }

    /// (2) at μ: δu into `step`. Whether rounding has left the matrix positive.
    fn inner_direction(&self, rt: &mut RealTime, mu: f64) -> bool {
        let RealTime { reduced, balance, interior, grips, R, L, b, u, .. } = rt;
        let n = u.len();
        L.copy_from_slice(R);
        let step = &mut balance.step;
        for (k, row) in R.chunks_exact(n).enumerate() {
            step[k] = row.iter().zip(&*u).fold(b[k], |left, (r, u)| left - r * u);
        }
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let row = &reduced.contacts[c];
            let omega = balance.still[c] + dot(row, u);
            let [low, high] = interior.bounds[c];
            let (lambda, slope) = match grips[c] {
                Grip::Dry { up, down } => {
                    let viscous = if omega > 0.0 { up[1] } else { down[1] };
                    if low < high {
                        let (s, t) = (interior.s[c], interior.t[c]);
                        let theta = 1.0 / (interior.p[c] / s + interior.m[c] / t);
                        // as stiff as rounding bears
                        interior.theta[c] = theta.min(STIFFEST * balance.stick[c]);
                        interior.push[c] = omega - mu / s + mu / t;
                        let push = interior.theta[c] * interior.push[c];
                        (interior.friction(c) + viscous * omega + push, viscous + interior.theta[c])
                    } else {
                        (viscous * omega, viscous)
                    }
                }
                ref grip => {
                    let met = grip.at(&contact.law, omega, 0.0, 0.0);
                    (met.lambda, met.slope)
                }
            };
            for &(i, w) in row {
                step[i] -= w * lambda;
                for &(j, x) in row.iter().take_while(|term| term.0 <= i) {
                    L[i * n + j] += slope * w * x;
                }
            }
        }
        balance.is_factored = false;
        if factor(L, n).is_err() {
            return false;
        }
        solve(L, step, n);
        true
    }
}

/// Goes along δ, as far as the bounds allow; the part of the way.
fn inner_step(rt: &mut RealTime, mu: f64) -> f64 {
    let RealTime { reduced, balance, interior, u, .. } = rt;
    let Interior { bounds, s, t, p, m, theta, push, .. } = interior;
    let dry = || (0..bounds.len()).filter(|&c| bounds[c][0] < bounds[c][1]);
    // δp and δm of (1), δf being in the place of Θ
    let others = |s: f64, t: f64, p: f64, m: f64, df: f64| ((mu - p * s + p * df) / s, (mu - m * t - m * df) / t);
    let toward = |x: f64, dx: f64| if dx < 0.0 { WITHIN * x / -dx } else { f64::INFINITY };
    let mut alpha = 1.0_f64;
    for c in dry() {
        theta[c] *= dot(&reduced.contacts[c], &balance.step) + push[c];
        let (dp, dm) = others(s[c], t[c], p[c], m[c], theta[c]);
        let to_limits = toward(s[c], -theta[c]).min(toward(t[c], theta[c]));
        alpha = alpha.min(to_limits).min(toward(p[c], dp)).min(toward(m[c], dm));
    }
    for c in dry() {
        let (dp, dm) = others(s[c], t[c], p[c], m[c], theta[c]);
        s[c] -= alpha * theta[c];
        t[c] += alpha * theta[c];
        p[c] += alpha * dp;
        m[c] += alpha * dm;
    }
    u.iter_mut().zip(&balance.step).for_each(|(u, step)| *u += alpha * step);
    alpha
}

/// Mean of p s and m t.
fn mean(interior: &Interior) -> f64 {
    let Interior { bounds, s, t, p, m, .. } = interior;
    let (mut sum, mut n) = (0.0, 0.0);
    for c in (0..bounds.len()).filter(|&c| bounds[c][0] < bounds[c][1]) {
        sum += p[c] * s[c] + m[c] * t[c];
        n += 2.0;
    }
    if n == 0.0 { 0.0 } else { sum / n }
}
