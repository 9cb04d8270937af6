//! Bearings: the normal load as a function of the joint's reaction.
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

use crate::component::Load;
use bristle_multibody::spatial::{Force, Motion};
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
}

impl Bearing {
    /// The bearing of a load, and the lever from joint rate to slip speed; `None` where the load is no reaction.
    pub fn of(load: &Load) -> Option<(Self, f64)> {
        match *load {
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

    /// These vectors, N; the first component of that of a thrust bearing is p_z.
    #[inline]
    pub fn parts(self, f: &Force) -> [[f64; 2]; 2] {
        let [m_x, m_y, _, p_x, p_y, p_z] = f.to_array();
        match self {
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
        let [m_x, m_y, _, p_x, p_y, p_z] = f.to_array().map(f64::abs);
        let force = p_x + p_y + p_z;
        match self {
            Self::Radial | Self::Axial => force,
            Self::Edges { length } => force + (m_x + m_y) / length,
        }
    }

    /// N and n̂ = ∂N/∂f.
    #[inline]
    pub fn normal_load(self, f: &Force) -> (f64, Motion) {
        let [m_x, m_y, _, p_x, p_y, p_z] = f.to_array();
        match self {
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
            let (n, row) = bearing.normal_load(&Force::from_array(f));
            assert!((row.dot(&Force::from_array(f)) - n).abs() < 1e-14, "{bearing:?}: degree one");
            for (k, row) in row.to_array().into_iter().enumerate() {
                let at = |h: f64| {
                    let mut f = f;
                    f[k] += h;
                    bearing.normal_load(&Force::from_array(f)).0
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((row - difference).abs() < 1e-8, "{bearing:?}, {k}: {row} {difference}");
            }
        }
    }

    #[test]
    fn edges_of_a_sleeve_carry_force_and_moment() {
        let edges = Bearing::Edges { length: 0.5 };
        let load = |m_y, p_x| edges.normal_load(&Force::from_array([0.0, m_y, 0.0, p_x, 0.0, 0.0])).0;
        // force alone: as without a length; couple alone: M/L at either edge; both: twice the larger
        assert_eq!(load(0.0, 8.0), 8.0);
        assert_eq!(load(1.0, 0.0), 4.0);
        assert_eq!(load(4.0, 8.0), 16.0);
    }

    #[test]
    fn a_load_is_the_sum_of_the_lengths_of_its_parts() {
        let f = Force::from_array([0.3, -0.7, 5.0, 1.2, -2.1, 0.9]);
        for bearing in BEARINGS {
            let lengths = bearing.parts(&f).map(|[x, y]| x.hypot(y));
            let sum: f64 = lengths[..bearing.n_parts()].iter().sum();
            assert!((sum - bearing.normal_load(&f).0).abs() < 1e-14, "{bearing:?}");
        }
    }

    #[test]
    fn nothing_presses_where_there_is_no_force() {
        for bearing in BEARINGS {
            assert_eq!(bearing.normal_load(&Force::ZERO), (0.0, Motion::ZERO));
        }
    }
}
