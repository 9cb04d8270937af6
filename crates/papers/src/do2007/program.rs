//! The program of the paper as its text describes it, written again on its equations (7) to (11), with an error of its
//! clock that the engine cannot have.
//!
//! ```text
//! y₁′ = α y₂      y₂′ = (u − y₁ − f_L)/α      ε y₃′ = α (y₂ − |y₂| y₃/g)      u = u′ τ
//!
//! correct clock:    step(y, h);  τ += h;  h = rule(y)
//! slipped clock:    step(y, h);  h = rule(y);  τ += h        the step just chosen instead of the step just taken
//! ```
//!
//! With a constant step both are the same. With the correct clock this program and the engine give the same rows, which
//! the report checks. Two more variants are for two more rows: a Newton iteration that stops early ([`Newton::Loose`]),
//! and `ode45` with its default output ([`ode45`]).

use super::{ALPHA, EPSILON};
use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

/// τ at the end.
const END: f64 = 20.0 * std::f64::consts::SQRT_2;
const GAMMA: f64 = 0.5;
const S2: f64 = 4e-4;
/// du/dτ = (K/F_c)·0.1/ω_n.
const PULL: f64 = 0.2 / std::f64::consts::SQRT_2;

fn s1() -> f64 {
    1e5_f64.sqrt() * 1e-3
}

/// y₁, y₂, y₃.
type State = Vector3<f64>;

fn g(y2: f64) -> f64 {
    1.0 + GAMMA * (-y2 * y2).exp()
}

/// y₂ − |y₂| y₃/g.
fn slip(y: &State) -> f64 {
    y[1] - y[1].abs() * y[2] / g(y[1])
}

/// f_L, eq. (10).
fn friction(y: &State) -> f64 {
    y[2] + s1() * slip(y) + S2 * y[1]
}

/// f(y, u), eqs. (7) to (9).
fn rates(tau: f64, y: &State) -> State {
    Vector3::new(ALPHA * y[1], (PULL * tau - y[0] - friction(y)) / ALPHA, ALPHA / EPSILON * slip(y))
}

/// ∂f/∂y.
fn jacobian(y: &State) -> Matrix3<f64> {
    let (level, fall) = (g(y[1]), -2.0 * GAMMA * y[1] * (-y[1] * y[1]).exp());
    let sign = if y[1] == 0.0 { 0.0 } else { y[1].signum() };
    let slip_2 = 1.0 - sign * y[2] / level + y[1].abs() * y[2] * fall / (level * level);
    let slip_3 = -y[1].abs() / level;
    #[rustfmt::skip]
    let jacobian = Matrix3::new(
        0.0, ALPHA, 0.0,
        -1.0 / ALPHA, -(s1() * slip_2 + S2) / ALPHA, -(1.0 + s1() * slip_3) / ALPHA,
        0.0, ALPHA / EPSILON * slip_2, ALPHA / EPSILON * slip_3,
    );
    jacobian
}

/// Iteration for the stages of Radau IIA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newton {
    /// From f(y), to convergence.
    Converged,
    /// From the stages of the last step, until they change by less than a tenth: fitted to the print.
    Loose,
}

/// A single step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Rk4,
    Radau3(Newton),
}

/// The step that the clock adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Correct,
    Slipped,
}

/// The rules of the paper, by |y₂| or T_c.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    Constant(f64),
    /// Inside 0.1 ≤ |y₂| < 5, and outside.
    Velocity(f64, f64),
    /// min(1e-3, T_c/3)
    TimeConstant,
    /// For T_c < 0.1, and above.
    Switch(f64, f64),
}

impl Rule {
    fn step(self, y: &State) -> f64 {
        let speed = y[1].abs();
        let t_c = EPSILON * g(y[1]) / (ALPHA * speed);
        match self {
            Self::Constant(h) => h,
            Self::Velocity(inside, outside) => {
                if (0.1..5.0).contains(&speed) {
                    inside
                } else {
                    outside
                }
            }
            Self::TimeConstant => f64::min(1e-3, t_c / 3.0),
            Self::Switch(below, above) => {
                if t_c < 0.1 {
                    below
                } else {
                    above
                }
            }
        }
    }
}

/// Results of a run.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Time of the program's clock at the end of each step.
    pub tau: Vec<f64>,
    pub friction: Vec<f64>,
    pub y3: Vec<f64>,
    /// Difference between the clock and the sum of the steps taken.
    pub off: Vec<f64>,
}

impl Output {
    fn push(&mut self, tau: f64, y: &State, off: f64) {
        self.tau.push(tau);
        self.friction.push(friction(y));
        self.y3.push(y[2]);
        self.off.push(off);
    }

    /// Steps taken.
    pub fn steps(&self) -> usize {
        self.tau.len().saturating_sub(1)
    }
}

fn rk4(tau: f64, y: &State, h: f64) -> State {
    let a = rates(tau, y);
    let b = rates(tau + 0.5 * h, &(y + 0.5 * h * a));
    let c = rates(tau + 0.5 * h, &(y + 0.5 * h * b));
    let d = rates(tau + h, &(y + h * c));
    y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
}

/// Eqs. (21) to (23) with (25), by Newton on both stages together. `last` has the stages of the step before.
fn radau3(tau: f64, y: &State, h: f64, newton: Newton, last: &mut Option<SVector<f64, 6>>) -> State {
    const A: [[f64; 2]; 2] = [[5.0 / 12.0, -1.0 / 12.0], [0.75, 0.25]];
    const C: [f64; 2] = [1.0 / 3.0, 1.0];
    let start = rates(tau, y);
    let mut k = last.filter(|_| newton == Newton::Loose).unwrap_or_else(|| SVector::from_fn(|i, _| start[i % 3]));
    let part = |k: &SVector<f64, 6>, s: usize| -> State { Vector3::new(k[3 * s], k[3 * s + 1], k[3 * s + 2]) };
    for _ in 0..50 {
        let (mut left, mut matrix) = (SVector::<f64, 6>::zeros(), SMatrix::<f64, 6, 6>::identity());
        for s in 0..2 {
            let stage = y + h * (A[s][0] * part(&k, 0) + A[s][1] * part(&k, 1));
            let (f, jacobian) = (rates(tau + C[s] * h, &stage), jacobian(&stage));
            for i in 0..3 {
                left[3 * s + i] = f[i] - k[3 * s + i];
                for p in 0..2 {
                    (0..3).for_each(|j| matrix[(3 * s + i, 3 * p + j)] -= h * A[s][p] * jacobian[(i, j)]);
                }
            }
        }
        let Some(change) = matrix.lu().solve(&left) else { break };
        k += change;
        let is_done = match newton {
            Newton::Loose => change.norm() <= 0.1 * k.norm(),
            Newton::Converged => change.amax() <= 1e-10 * (1.0 + k.amax()),
        };
        if is_done {
            break;
        }
    }
    *last = Some(k);
    y + h * (A[1][0] * part(&k, 0) + A[1][1] * part(&k, 1))
}

/// A row of table 2 or 3.
pub fn run(method: Method, rule: Rule, clock: Clock) -> Output {
    let (mut tau, mut y, mut last, mut off) = (0.0, State::zeros(), None, 0.0);
    let mut h = rule.step(&y);
    let mut output = Output::default();
    output.push(tau, &y, off);
    // half a rounding of the sum of all steps
    while tau < END - 1e-12 {
        let taken = if clock == Clock::Slipped { h } else { f64::min(h, END - tau) };
        y = match method {
            Method::Rk4 => rk4(tau, &y, taken),
            Method::Radau3(newton) => radau3(tau, &y, taken, newton, &mut last),
        };
        h = rule.step(&y);
        let shown = if clock == Clock::Slipped { h } else { taken };
        tau += shown;
        off += shown - taken;
        output.push(tau, &y, off);
    }
    output
}

/// Stage times, stages, weights less those of order four, and the interpolant of the pair in MATLAB's `ode45`
/// (Shampine, Reichelt 1997).
const STAGE: [f64; 6] = [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const A: [[f64; 6]; 6] = [
    [1.0 / 5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
const DENSE: [[f64; 4]; 7] = [
    [1.0, -183.0 / 64.0, 37.0 / 12.0, -145.0 / 128.0],
    [0.0; 4],
    [0.0, 1500.0 / 371.0, -1000.0 / 159.0, 1000.0 / 371.0],
    [0.0, -125.0 / 32.0, 125.0 / 12.0, -375.0 / 64.0],
    [0.0, 9477.0 / 3392.0, -729.0 / 106.0, 25515.0 / 6784.0],
    [0.0, -11.0 / 7.0, 11.0 / 3.0, -55.0 / 28.0],
    [0.0, 1.5, -4.0, 2.5],
];

/// `ode45` as MATLAB documents it: the textbook rule, the largest component's error, no growth after a rejection, and
/// `refine` output points to each step (4 by default, three of them on the interpolant).
pub fn ode45(rtol: f64, atol: f64, refine: usize) -> Output {
    let norm = |x: &State, scale: &State| x.component_div(scale).amax();
    let (longest, threshold) = (0.1 * END, atol / rtol);
    let (mut tau, mut y) = (0.0, State::zeros());
    let mut f = [
        rates(0.0, &y),
        State::zeros(),
        State::zeros(),
        State::zeros(),
        State::zeros(),
        State::zeros(),
        State::zeros(),
    ];
    let rate = norm(&f[0], &y.abs().map(|y| y.max(threshold))) / (0.8 * rtol.powf(0.2));
    let mut step = if longest * rate > 1.0 { 1.0 / rate } else { longest };
    let mut output = Output::default();
    output.push(tau, &y, 0.0);
    while tau < END {
        let shortest = 16.0 * f64::EPSILON * tau.max(f64::MIN_POSITIVE);
        step = step.clamp(shortest, longest);
        let mut is_first = true;
        let (h, end, new) = loop {
            let h = if 1.1 * step >= END - tau { END - tau } else { step };
            let mut new = y;
            for s in 0..6 {
                new = y + h * (0..=s).map(|p| A[s][p] * f[p]).sum::<State>();
                f[s + 1] = rates(tau + STAGE[s] * h, &new);
            }
            let scale = y.zip_map(&new, |a, b| a.abs().max(b.abs()).max(threshold));
            let error = h * norm(&(0..7).map(|p| E[p] * f[p]).sum::<State>(), &scale);
            if error <= rtol || h <= shortest {
                step = h;
                if is_first {
                    let grow = 1.25 * (error / rtol).powf(0.2);
                    step = if grow > 0.2 { h / grow } else { 5.0 * h };
                }
                break (h, if h == END - tau { END } else { tau + h }, new);
            }
            step = if is_first { h * f64::max(0.1, 0.8 * (rtol / error).powf(0.2)) } else { 0.5 * h };
            step = step.max(shortest);
            is_first = false;
        };
        for k in 1..refine {
            let s = k as f64 / refine as f64;
            let inner = (0..7).map(|p| {
                let weight: f64 = (0..4).map(|n| DENSE[p][n] * s.powi(n as i32 + 1)).sum();
                h * weight * f[p]
            });
            output.push(tau + s * h, &(y + inner.sum::<State>()), 0.0);
        }
        (tau, y) = (end, new);
        f[0] = f[6];
        output.push(tau, &y, 0.0);
    }
    output
}
