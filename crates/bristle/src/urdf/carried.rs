//! Inertia that each joint carries, with all other joints locked at position 0.
//!
//! ```text
//! m = ∫ dm,   f = ∫ x dm,   Σ = ∫ x xᵀ dm                 of a body, about the origin of its link
//! m' = m,   f' = R f + m p,   Σ' = R Σ Rᵀ + R f pᵀ + p (R f)ᵀ + m p pᵀ        in the parent's axes
//! revolute: aᵀ (tr Σ 1 − Σ) a,   prismatic: m              of the subtree, about the axis a
//! ```

#![expect(clippy::arithmetic_side_effects, reason = "matrices of f64")]

use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// Mass and its first and second moments about the origin of a link.
#[derive(Clone, Copy)]
pub(super) struct Moments {
    pub m: f64,
    pub f: Vector3<f64>,
    pub sigma: Matrix3<f64>,
}

impl Moments {
    pub fn zero() -> Self {
        Self { m: 0.0, f: Vector3::zeros(), sigma: Matrix3::zeros() }
    }

    /// From mass, centre of mass and the inertia about it.
    pub fn new(m: f64, c: Vector3<f64>, inertia: &Matrix3<f64>) -> Self {
        let sigma = Matrix3::from_diagonal_element(inertia.trace() / 2.0) - inertia;
        Self { m, f: c * m, sigma: sigma + c * c.transpose() * m }
    }

    /// In the axes of another frame, in which this one is at p, turned by R.
    fn placed(&self, p: Vector3<f64>, turn: &UnitQuaternion<f64>) -> Self {
        let rotation = turn.to_rotation_matrix().into_inner();
        let f = rotation * self.f;
        let mixed = f * p.transpose();
        let sigma =
            rotation * self.sigma * rotation.transpose() + mixed + mixed.transpose() + p * p.transpose() * self.m;
        Self { m: self.m, f: f + p * self.m, sigma }
    }

    fn add(&mut self, other: &Self) {
        self.m += other.m;
        self.f += other.f;
        self.sigma += other.sigma;
    }

    /// Inertia about an axis through the origin.
    fn about(&self, a: Vector3<f64>) -> f64 {
        self.sigma.trace() - a.dot(&(self.sigma * a))
    }
}

/// How a joint moves its child.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    Revolute(Vector3<f64>),
    Prismatic,
    None,
}

/// A joint: links by index, where it is in its parent, how it moves.
pub(super) struct Carrier {
    pub parent: usize,
    pub child: usize,
    pub p: Vector3<f64>,
    pub turn: UnitQuaternion<f64>,
    pub axis: Axis,
}

/// Inertia that each joint carries, kg·m² or kg, and the moments of the whole about the root. Each link has one carrier
/// at most; joints of a ring carry nothing.
pub(super) fn carried(links: &[Moments], joints: &[Carrier]) -> (Vec<f64>, Moments) {
    let mut subtree = links.to_vec();
    let mut carrier = vec![None; links.len()];
    let mut n_children = vec![0_usize; links.len()];
    for (j, joint) in joints.iter().enumerate() {
        carrier[joint.child] = Some(j);
        n_children[joint.parent] += 1;
    }
    let mut inertia = vec![0.0; joints.len()];
    let mut whole = Moments::zero();
    // links whose children are all done, leaves first
    let mut ready: Vec<usize> = (0..links.len()).filter(|&link| n_children[link] == 0).collect();
    while let Some(link) = ready.pop() {
        let moments = subtree[link];
        let Some(j) = carrier[link] else {
            whole.add(&moments);
            continue;
        };
        let joint = &joints[j];
        inertia[j] = match joint.axis {
            Axis::Revolute(a) => moments.about(a),
            Axis::Prismatic => moments.m,
            Axis::None => 0.0,
        };
        subtree[joint.parent].add(&moments.placed(joint.p, &joint.turn));
        n_children[joint.parent] -= 1;
        if n_children[joint.parent] == 0 {
            ready.push(joint.parent);
        }
    }
    (inertia, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rods in an L: about the first joint by Steiner, about the second a rod about its end.
    #[test]
    fn rods_in_an_l_by_steiner() {
        let rod = |m: f64, l: f64| {
            let i = m * l * l / 12.0;
            Moments::new(m, Vector3::x() * (l / 2.0), &Matrix3::from_diagonal(&Vector3::new(0.0, i, i)))
        };
        let links = [Moments::zero(), rod(2.0, 3.0), rod(5.0, 4.0)];
        let quarter = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::FRAC_PI_2);
        let joints = [
            Carrier {
                parent: 0,
                child: 1,
                p: Vector3::zeros(),
                turn: UnitQuaternion::identity(),
                axis: Axis::Revolute(Vector3::z()),
            },
            Carrier { parent: 1, child: 2, p: Vector3::x() * 3.0, turn: quarter, axis: Axis::Revolute(Vector3::z()) },
        ];
        let (inertia, whole) = carried(&links, &joints);
        let second = 5.0 * 16.0 / 3.0;
        // centre of the second rod at (3, 2)
        let first = 2.0 * 9.0 / 3.0 + 5.0 * 16.0 / 12.0 + 5.0 * (9.0 + 4.0);
        assert!((inertia[1] - second).abs() < 1e-13 * second, "{}", inertia[1]);
        assert!((inertia[0] - first).abs() < 1e-13 * first, "{}", inertia[0]);
        assert_eq!(whole.m, 7.0);
    }

    #[test]
    fn a_mass_on_the_axis_is_not_felt() {
        let head = Moments::new(3.0, Vector3::z() * 0.2, &Matrix3::zeros());
        let joint = Carrier {
            parent: 0,
            child: 1,
            p: Vector3::y(),
            turn: UnitQuaternion::identity(),
            axis: Axis::Revolute(Vector3::z()),
        };
        let (inertia, _) = carried(&[Moments::zero(), head], &[joint]);
        assert!(inertia[0].abs() < 1e-16, "{}", inertia[0]);
    }
}
