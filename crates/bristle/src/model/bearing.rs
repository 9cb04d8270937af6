//! Bearings and reducers: the normal load as a function of the joint's reaction.
//!
//! With f = (m, p) the moment and force through the joint, z along its axis:
//!
//! ```text
//! Pin            N = √(p_x² + p_y²)
//! Thrust         N = |p_z|
//! Guide          N = √(p_x² + p_y²)
//! Guide(L)       N = |F/2 + G| + |F/2 − G|,   F = (p_x, p_y),   G = (m_y, −m_x)/L
//! ```
//!
//! G is the couple of forces at the two edges of a sleeve of length L, centred on the child's origin, that carries
//! the bending moment. Each N is a sum of norms of linear functions of f: convex and homogeneous of degree one, so N
//! = n̂ᵀ f with the row n̂ = ∂N/∂f, and Newton's linearisation is n̂ᵀ f itself. Where N vanishes, n̂ = 0 is one of
//! its subgradients.
//!
//! A reducer between the rotor and the joint is loaded by the effort that it transmits,
//!
//! ```text
//! τ_s = τ_motor − J q̈                     J = armature + rotor                         at the side of the joint
//! τ_t = τ_s − c sign q̇                    c: friction of the motor
//! N   = c + preload + μ |τ_t| + ν τ_t²    (μ, ν) of driving where τ_t q̇ > 0, of back-driving where τ_t q̇ < 0
//! ```
//!
//! τ_motor is the effort of the joint's drive and that of the caller. τ_s stands in for m_z, and n̂ = ∂N/∂τ_s along
//! z; it depends on the joint's own acceleration alone, through J: J (1 − κ ∂N/∂τ_s) takes the place of J in the
//! linearised equations, and no row P changes. Modelica's `LossyGear` has these losses with μ = 1 − η₁ of driving and
//! μ = 1/η₂ − 1 of back-driving.

use crate::world::component::Load;
use bristle_multibody::spatial::{Force, Motion};
use bristle_multibody::{Model as Tree, Work, axis_row};
use nalgebra::{Vector2, Vector3};

/// A bearing whose load is the joint's own reaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bearing {
    /// The force across the axis: pins of hinges, guides of slides.
    Radial,
    /// The force along the axis.
    Axial,
    /// The two edge forces of a sleeve.
    Edges {
        /// Its length, m.
        length: f64,
    },
    /// The effort through a reducer.
    Transmitted(Reducer),
}

/// Losses of a reducer; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reducer {
    /// Load without a transmitted effort, N·m or N.
    pub preload: f64,
    /// c: friction of the motor, before the effort is transmitted, N·m or N.
    pub motor: f64,
    /// μ and ν while the motor drives the joint, and while the joint drives the motor.
    pub driving: [f64; 2],
    /// The same while the joint drives the motor.
    pub back_driving: [f64; 2],
    /// Armature of the joint, at its side, kg·m² or kg.
    pub armature: f64,
    /// Inertia of links that turn with the motor, besides.
    pub rotor: f64,
}

impl Reducer {
    /// J.
    pub fn inertia(&self) -> f64 {
        self.armature + self.rotor
    }

    /// N and ∂N/∂τ_s for slip of one direction.
    fn load(&self, tau_s: f64, is_backward: bool) -> (f64, f64) {
        let tau_t = if is_backward { tau_s + self.motor } else { tau_s - self.motor };
        let [mu, nu] = if (tau_t < 0.0) == is_backward { self.driving } else { self.back_driving };
        let size = tau_t.abs();
        let slope = if tau_t == 0.0 { 0.0 } else { (mu + 2.0 * nu * size) * tau_t.signum() };
        (self.preload + self.motor + (mu + nu * size) * size, slope)
    }

    /// The largest |∂N/∂τ_s| at |τ_s|, in any direction.
    fn steepest(&self, tau_s: f64) -> f64 {
        let slope = |[mu, nu]: [f64; 2]| mu + 2.0 * nu * (tau_s.abs() + self.motor);
        slope(self.driving).max(slope(self.back_driving))
    }

    /// τ_s for which τ_s − κ N(τ_s) is `effort`: the root that is continuous from κ = 0; `None` where no effort of the
    /// motor overcomes the friction.
    pub fn transmitted(&self, effort: f64, kappa: f64) -> Option<f64> {
        // along the slip x > 0 drives; c, m, n: friction of the preload and its slopes
        let side = if kappa < 0.0 { -1.0 } else { 1.0 };
        let (b, k) = (side * effort, kappa.abs());
        // x + c = b + k (c + preload + μ |x| + ν x²), with the branch of the sign of x, which is that of the constant
        let constant = b + k * (self.preload + self.motor) - self.motor;
        let [mu, nu] = if constant >= 0.0 { self.driving } else { self.back_driving };
        let x = if constant >= 0.0 {
            // k ν x² − (1 − k μ) x + constant = 0
            let p = 1.0 - k * mu;
            let root = p * p - 4.0 * k * nu * constant;
            if p <= 0.0 || root < 0.0 {
                return None;
            }
            2.0 * constant / (p + root.sqrt())
        } else {
            // y = −x: y = −constant − k (μ y + ν y²)
            let p = 1.0 + k * mu;
            let root = p * p - 4.0 * k * nu * constant;
            2.0 * constant / (p + root.sqrt())
        };
        Some(side * (x + self.motor))
    }
}

impl Bearing {
    /// The bearing of a load in a joint with this armature, and the lever from joint rate to slip speed; `None` where
    /// the load is no reaction.
    pub fn of(load: &Load, armature: f64) -> Option<(Self, f64)> {
        match *load {
            Load::Transmitted {
                preload,
                driving,
                back_driving,
                driving_squared,
                back_driving_squared,
                motor_friction: motor,
                rotor,
            } => {
                let (driving, back_driving) = ([driving, driving_squared], [back_driving, back_driving_squared]);
                let reducer = Reducer { preload, motor, driving, back_driving, armature, rotor };
                Some((Self::Transmitted(reducer), 1.0))
            }
            Load::Pin { radius } => Some((Self::Radial, radius)),
            Load::Thrust { radius } => Some((Self::Axial, radius)),
            Load::Guide { length: None } => Some((Self::Radial, 1.0)),
            Load::Guide { length: Some(length) } => Some((Self::Edges { length }, 1.0)),
            Load::Unit | Load::Constant(_) | Load::Signal { .. } => None,
        }
    }

    /// Number of vectors whose norms add up to N: each has a kink where it vanishes.
    pub fn n_parts(self) -> usize {
        if matches!(self, Self::Edges { .. }) { 2 } else { 1 }
    }

    /// These vectors, N; the first component of that of a thrust bearing is p_z, of a reducer τ_t for slip of the sign
    /// `side`, 0 at rest.
    #[inline]
    pub fn parts(self, f: &Force, side: f64) -> [[f64; 2]; 2] {
        let [m_x, m_y, m_z, p_x, p_y, p_z] = f.to_array();
        match self {
            Self::Transmitted(reducer) => [[m_z - side * reducer.motor, 0.0], [0.0; 2]],
            Self::Radial => [[p_x, p_y], [0.0; 2]],
            Self::Axial => [[p_z, 0.0], [0.0; 2]],
            Self::Edges { length } => {
                let (half, couple) = ([0.5 * p_x, 0.5 * p_y], [m_y / length, -m_x / length]);
                [[half[0] + couple[0], half[1] + couple[1]], [half[0] - couple[0], half[1] - couple[1]]]
            }
        }
    }

    /// Magnitude of the reaction components in these vectors, N: the scale of their errors.
    pub fn size(self, f: &Force) -> f64 {
        let [m_x, m_y, m_z, p_x, p_y, p_z] = f.to_array().map(f64::abs);
        let force = p_x + p_y + p_z;
        match self {
            Self::Transmitted(reducer) => m_z + reducer.motor,
            Self::Radial | Self::Axial => force,
            Self::Edges { length } => force + (m_x + m_y) / length,
        }
    }

    /// N and n̂ = ∂N/∂f where the friction κ N is that of κ, whose sign is the direction of slip: that of a reducer
    /// depends on it.
    #[inline]
    pub fn normal_load(self, f: &Force, kappa: f64) -> (f64, Motion) {
        let [m_x, m_y, m_z, p_x, p_y, p_z] = f.to_array();
        match self {
            Self::Transmitted(reducer) => {
                let (n, slope) = reducer.load(m_z, kappa < 0.0);
                (n, Motion::new(Vector3::new(0.0, 0.0, slope), Vector3::zeros()))
            }
            Self::Radial => {
                let (n, u) = length_and_direction(Vector2::new(p_x, p_y));
                (n, row(0.0, 0.0, u.x, u.y, 0.0))
            }
            Self::Axial => (p_z.abs(), row(0.0, 0.0, 0.0, 0.0, if p_z == 0.0 { 0.0 } else { p_z.signum() })),
            Self::Edges { length } => {
                let (half, couple) = (Vector2::new(0.5 * p_x, 0.5 * p_y), Vector2::new(m_y, -m_x) / length);
                let (a, u_a) = length_and_direction(half + couple);
                let (b, u_b) = length_and_direction(half - couple);
                let (in_f, in_g) = (0.5 * (u_a + u_b), (u_a - u_b) / length);
                (a + b, row(-in_g.y, in_g.x, in_f.x, in_f.y, 0.0))
            }
        }
    }

    /// Loads against forward and against backward motion at the reaction `f`.
    #[inline]
    pub fn sides(self, f: &Force) -> [f64; 2] {
        [1.0, -1.0].map(|side| self.normal_load(f, side).0)
    }

    /// Whether it is a reducer.
    pub fn is_transmitted(self) -> bool {
        matches!(self, Self::Transmitted(_))
    }

    /// The reaction that loads joint `i`, whose velocity is number `v`: that of the last inverse dynamics, or τ_t.
    #[inline]
    pub fn reaction(self, work: &Work, i: usize, motor: f64, a: f64) -> Force {
        match self {
            Self::Transmitted(reducer) => along(motor - reducer.inertia() * a),
            _ => work.reaction(i),
        }
    }

    /// Its change with a correction x of the accelerations, after `solve_rows`.
    #[inline]
    pub fn change(self, work: &Work, i: usize, x: f64) -> Force {
        match self {
            Self::Transmitted(reducer) => along(-reducer.inertia() * x),
            _ => work.force_change(i),
        }
    }

    /// Sets row and armature of joint `i` with velocity number `v` to those of the linearised friction k n̂ᵀf.
    #[inline]
    pub fn set_row(self, n_hat: &Motion, k: f64, (tree, work): (&Tree, &mut Work), (i, v): (usize, usize)) -> Motion {
        match self {
            Self::Transmitted(reducer) => {
                work.change_armature(v, -k * n_hat.to_array()[2] * reducer.inertia());
                axis_row(tree, i)
            }
            _ => axis_row(tree, i) + *n_hat * k,
        }
    }

    /// The load that a unit acceleration makes, at most, where `force` is the reaction to it and `f` the present one.
    pub fn largest_change(self, force: &Force, f: &Force) -> f64 {
        match self {
            Self::Transmitted(reducer) => reducer.steepest(f.to_array()[2]) * reducer.inertia(),
            _ => self.normal_load(force, 1.0).0,
        }
    }
}

/// A moment or force along the axis, in place of m_z.
fn along(tau: f64) -> Force {
    Force::new(Vector3::new(0.0, 0.0, tau), Vector3::zeros())
}

fn length_and_direction(u: Vector2<f64>) -> (f64, Vector2<f64>) {
    // no `hypot`: forces are far from overflow and underflow, and it dominates the cost
    let n = u.norm();
    if n > 0.0 { (n, u / n) } else { (0.0, Vector2::zeros()) }
}

fn row(m_x: f64, m_y: f64, p_x: f64, p_y: f64, p_z: f64) -> Motion {
    Motion::new(Vector3::new(m_x, m_y, 0.0), Vector3::new(p_x, p_y, p_z))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEARINGS: [Bearing; 3] = [Bearing::Radial, Bearing::Axial, Bearing::Edges { length: 0.3 }];

    #[test]
    fn rows_are_gradients_and_give_back_the_load() {
        let f = [0.3, -0.7, 5.0, 1.2, -2.1, 0.9];
        for bearing in BEARINGS {
            let (n, row) = bearing.normal_load(&Force::from_array(f), 1.0);
            assert!((row.dot(&Force::from_array(f)) - n).abs() < 1e-14, "{bearing:?}: degree one");
            for (k, row) in row.to_array().into_iter().enumerate() {
                let at = |h: f64| {
                    let mut f = f;
                    f[k] += h;
                    bearing.normal_load(&Force::from_array(f), 1.0).0
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((row - difference).abs() < 1e-8, "{bearing:?}, {k}: {row} {difference}");
            }
        }
    }

    #[test]
    fn edges_of_a_sleeve_carry_force_and_moment() {
        let edges = Bearing::Edges { length: 0.5 };
        let load = |m_y, p_x| edges.normal_load(&Force::from_array([0.0, m_y, 0.0, p_x, 0.0, 0.0]), 1.0).0;
        // force alone: as without a length; couple alone: M/L at either edge; both: twice the larger
        assert_eq!(load(0.0, 8.0), 8.0);
        assert_eq!(load(1.0, 0.0), 4.0);
        assert_eq!(load(4.0, 8.0), 16.0);
    }

    #[test]
    fn a_load_is_the_sum_of_the_lengths_of_its_parts() {
        let f = Force::from_array([0.3, -0.7, 5.0, 1.2, -2.1, 0.9]);
        for bearing in BEARINGS {
            let lengths = bearing.parts(&f, 1.0).map(|[x, y]| x.hypot(y));
            let sum: f64 = lengths[..bearing.n_parts()].iter().sum();
            assert!((sum - bearing.normal_load(&f, 1.0).0).abs() < 1e-14, "{bearing:?}");
        }
    }

    #[test]
    fn nothing_presses_where_there_is_no_force() {
        for bearing in BEARINGS {
            assert_eq!(bearing.normal_load(&Force::ZERO, 1.0), (0.0, Motion::ZERO));
        }
    }

    #[test]
    fn reducers_distinguish_driving_and_invert() {
        let (driving, back_driving) = ([0.2, 0.01], [0.4, 0.03]);
        for (motor, kappa) in [(0.0, 0.9), (0.0, -0.9), (0.15, 0.9), (0.15, -1.0)] {
            let reducer = Reducer { preload: 0.5, motor, driving, back_driving, armature: 2.0, rotor: 0.5 };
            for tau_s in [-8.0, -0.4, 0.3, 7.0_f64] {
                let load = |x: f64| Bearing::Transmitted(reducer).normal_load(&along(x), kappa);
                let (n, row) = load(tau_s);
                let tau_t = tau_s - motor * f64::signum(kappa);
                let [mu, nu] = if tau_t * kappa > 0.0 { driving } else { back_driving };
                assert!((n - (0.5 + motor + (mu + nu * tau_t.abs()) * tau_t.abs())).abs() < 1e-14);
                let difference = (load(tau_s + 1e-6).0 - load(tau_s - 1e-6).0) / 2e-6;
                assert!((row.to_array()[2] - difference).abs() < 1e-8);
                let found = reducer.transmitted(tau_s - kappa * n, kappa).unwrap();
                // near zero both branches have a root; the one of κ → 0 has the sign of effort + κ preload
                assert!((found - tau_s).abs() < 1e-12, "{kappa} {tau_s}: {found}");
            }
        }
    }
}
