//! Inertia that resists each joint at position 0, by the articulated-body recursion (Featherstone 2008, section 7.3).
//!
//! ```text
//! U = Iᴬ S,   D = Sᵀ U                                     of the joint while all others move freely
//! Iᴬ(parent) += Xᵀ (Iᴬ − U Uᵀ/D) X                         X from the parent's axes to the child's
//! ```
//!
//! D vanishes where nothing resists: behind a joint without mass, about an axis through all the mass, and about one of
//! three intersecting axes that carry a point mass.
//!
//! Joints that `mimic` ties move together: three hinges in line, only the last link of which has mass, are free to
//! buckle, unless two of them are tied. There D is a pivot of Tᵀ M T, by the composite-rigid-body algorithm (section
//! 6.2), with q̇ = T q̇_leaders.

#![expect(clippy::arithmetic_side_effects, reason = "matrices of f64")]
#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use nalgebra::{DMatrix, Matrix3, Matrix6, UnitQuaternion, Vector3, Vector6};

/// Spatial inertia of a link about its origin, from mass, centre of mass and the inertia about it; angular rows first.
pub(super) fn spatial(m: f64, c: Vector3<f64>, I: &Matrix3<f64>) -> Matrix6<f64> {
    let cx = c.cross_matrix();
    let mut spatial = Matrix6::zeros();
    spatial.fixed_view_mut::<3, 3>(0, 0).copy_from(&(I + cx * cx.transpose() * m));
    spatial.fixed_view_mut::<3, 3>(0, 3).copy_from(&(cx * m));
    spatial.fixed_view_mut::<3, 3>(3, 0).copy_from(&(cx.transpose() * m));
    spatial.fixed_view_mut::<3, 3>(3, 3).copy_from(&Matrix3::from_diagonal_element(m));
    spatial
}

/// How a joint moves its child.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    Revolute(Vector3<f64>),
    Prismatic(Vector3<f64>),
    /// No motion, or one that follows another joint's.
    None,
    /// All six.
    Free,
}

/// A joint: links by index, where it is in its parent, how it moves.
pub(super) struct Carrier {
    pub parent: usize,
    pub child: usize,
    pub p: Vector3<f64>,
    pub turn: UnitQuaternion<f64>,
    pub axis: Axis,
    /// Armature that it takes where nothing resists it, kg·m² or kg.
    pub armature: f64,
}

/// D below this part of the terms it is a difference of is rounding.
const ROUNDING: f64 = 1e-12;

/// The inertia that resists each joint; 0 if none does. Each link has one carrier at most; nothing resists joints
/// of a ring.
pub(super) fn articulated_inertias(links: &[Matrix6<f64>], joints: &[Carrier]) -> Vec<f64> {
    resistance(links, joints)
        .iter()
        .map(|&[resistance, size]| if resistance > ROUNDING * size { resistance } else { 0.0 })
        .collect()
}

/// Joints of a machine in which D of tied joints is looked for: the work is n³.
const MAX_TIED: usize = 500;

/// Of every joint that leads itself: whether nothing resists it while all others move freely, tied as `follows` says,
/// by the leader and the ratio to it. `None` for machines too large for it.
pub(super) fn unresisted(
    links: &[Matrix6<f64>],
    joints: &[Carrier],
    follows: &[Option<(usize, f64)>],
) -> Option<Vec<bool>> {
    if joints.len() > MAX_TIED {
        return None;
    }
    let leaders: Vec<(usize, f64)> = (0..joints.len()).map(|j| leader(follows, j)).collect();
    let mut carrier = vec![None; links.len()];
    joints.iter().enumerate().for_each(|(j, joint)| carrier[joint.child] = Some(j));
    let depths: Vec<usize> = (0..joints.len()).map(|j| depth(joints, &carrier, j)).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..joints.len()).collect();
    order.sort_by_key(|&j| std::cmp::Reverse(depths[j]));

    let mut composite = links.to_vec();
    for &j in &order {
        if !matches!(joints[j].axis, Axis::Free) {
            let X = to_child(&joints[j]);
            let felt = X.transpose() * composite[joints[j].child] * X;
            composite[joints[j].parent] += felt;
        }
    }
    let mut M = DMatrix::<f64>::zeros(joints.len(), joints.len());
    let mut sizes = vec![0.0; joints.len()];
    for (j, joint) in joints.iter().enumerate() {
        let Some(S) = along(joint.axis) else { continue };
        let (own, ratio) = leaders[j];
        let mut F = composite[joint.child] * S;
        M[(own, own)] += ratio * ratio * S.dot(&F);
        sizes[own] += ratio * ratio * size(joint.axis, &composite[joint.child]);
        let mut below = joint;
        loop {
            F = to_child(below).transpose() * F;
            let Some(i) = carrier[below.parent] else { break };
            below = &joints[i];
            if matches!(below.axis, Axis::Free) {
                break;
            }
            if let Some(S) = along(below.axis) {
                let (other, other_ratio) = leaders[i];
                let product = ratio * other_ratio * S.dot(&F);
                M[(own, other)] += product;
                M[(other, own)] += product;
            }
        }
    }

    let mut is_free = vec![false; joints.len()];
    let mut left: Vec<usize> =
        order.into_iter().filter(|&j| leaders[j].0 == j && along(joints[j].axis).is_some()).collect();
    left.reverse();
    while let Some(j) = left.pop() {
        is_free[j] = M[(j, j)] <= ROUNDING * sizes[j];
        let D = if is_free[j] { M[(j, j)].max(0.0) + joints[j].armature } else { M[(j, j)] };
        if D <= 0.0 {
            continue;
        }
        for &r in &left {
            let factor = M[(r, j)] / D;
            left.iter().for_each(|&c| M[(r, c)] -= factor * M[(j, c)]);
        }
    }
    Some(is_free)
}

/// The joint that leads `j`, and the ratio to it. Rings have been refused.
fn leader(follows: &[Option<(usize, f64)>], mut j: usize) -> (usize, f64) {
    let mut ratio = 1.0;
    for _ in 0..follows.len() {
        let Some((next, by)) = follows[j] else { break };
        (j, ratio) = (next, ratio * by);
    }
    (j, ratio)
}

/// Joints between a joint and the root; `None` in a ring.
fn depth(joints: &[Carrier], carrier: &[Option<usize>], mut j: usize) -> Option<usize> {
    for depth in 0..=joints.len() {
        let Some(next) = carrier[joints[j].parent] else { return Some(depth) };
        j = next;
    }
    None
}

/// S of a joint of one degree.
fn along(axis: Axis) -> Option<Vector6<f64>> {
    match axis {
        Axis::Revolute(a) => Some(Vector6::new(a.x, a.y, a.z, 0.0, 0.0, 0.0)),
        Axis::Prismatic(a) => Some(Vector6::new(0.0, 0.0, 0.0, a.x, a.y, a.z)),
        Axis::None | Axis::Free => None,
    }
}

/// The inertia about any axis through a joint, or along it, of what it carries.
fn size(axis: Axis, whole: &Matrix6<f64>) -> f64 {
    match axis {
        Axis::Revolute(_) => whole[(0, 0)] + whole[(1, 1)] + whole[(2, 2)],
        _ => whole[(3, 3)],
    }
}

/// X from the parent's axes to the child's.
fn to_child(joint: &Carrier) -> Matrix6<f64> {
    let rotation = joint.turn.to_rotation_matrix().into_inner().transpose();
    let mut X = Matrix6::zeros();
    X.fixed_view_mut::<3, 3>(0, 0).copy_from(&rotation);
    X.fixed_view_mut::<3, 3>(3, 3).copy_from(&rotation);
    X.fixed_view_mut::<3, 3>(3, 0).copy_from(&(-rotation * joint.p.cross_matrix()));
    X
}

/// D of each joint, and the inertia that would resist it with all others locked about any axis through it.
fn resistance(links: &[Matrix6<f64>], joints: &[Carrier]) -> Vec<[f64; 2]> {
    let (mut articulated, mut composite) = (links.to_vec(), links.to_vec());
    let mut carrier = vec![None; links.len()];
    let mut n_children = vec![0_usize; links.len()];
    for (j, joint) in joints.iter().enumerate() {
        carrier[joint.child] = Some(j);
        n_children[joint.parent] += 1;
    }
    let mut resistance = vec![[0.0; 2]; joints.len()];
    // links whose children are all done, leaves first
    let mut ready: Vec<usize> = (0..links.len()).filter(|&link| n_children[link] == 0).collect();
    while let Some(link) = ready.pop() {
        let Some(j) = carrier[link] else { continue };
        let Carrier { parent, axis, armature, .. } = &joints[j];
        let mut IA = articulated[link];
        if let Some(S) = along(*axis) {
            let U = IA * S;
            let size = size(*axis, &composite[link]);
            resistance[j] = [S.dot(&U), size];
            let D = if resistance[j][0] > ROUNDING * size {
                resistance[j][0]
            } else {
                resistance[j][0].max(0.0) + armature
            };
            if D > 0.0 {
                IA -= U * U.transpose() / D;
            }
        }
        if !matches!(axis, Axis::Free) {
            let X = to_child(&joints[j]);
            articulated[*parent] += X.transpose() * IA * X;
            let whole = X.transpose() * composite[link] * X;
            composite[*parent] += whole;
        }
        n_children[*parent] -= 1;
        if n_children[*parent] == 0 {
            ready.push(*parent);
        }
    }
    resistance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revolute(child: usize, p: Vector3<f64>, a: Vector3<f64>) -> Carrier {
        let turn = UnitQuaternion::identity();
        Carrier { parent: child - 1, child, p, turn, axis: Axis::Revolute(a), armature: 1e-4 }
    }

    /// Two rods in line, hinges along z: the first feels M₁₁ − M₁₂²/M₂₂, the second a rod about its end.
    #[test]
    fn double_pendulum_by_its_mass_matrix() {
        let rod = |m: f64, l: f64| {
            let i = m * l * l / 12.0;
            spatial(m, Vector3::x() * (l / 2.0), &Matrix3::from_diagonal(&Vector3::new(0.0, i, i)))
        };
        let links = [Matrix6::zeros(), rod(2.0, 3.0), rod(5.0, 4.0)];
        let joints = [revolute(1, Vector3::zeros(), Vector3::z()), revolute(2, Vector3::x() * 3.0, Vector3::z())];
        let m22 = 5.0 * 16.0 / 3.0;
        let m12 = m22 + 5.0 * 3.0 * 2.0;
        let m11 = 2.0 * 9.0 / 3.0 + m22 + 5.0 * 9.0 + 2.0 * 5.0 * 3.0 * 2.0;
        let resistance = resistance(&links, &joints);
        assert!((resistance[1][0] - m22).abs() < 1e-13 * m22, "{resistance:?}");
        assert!((resistance[0][0] - (m11 - m12 * m12 / m22)).abs() < 1e-13 * m11, "{resistance:?}");
    }

    /// Three hinges in line, only the last link of which has mass: nothing resists the first, unless the third follows
    /// the second; a ratio that is that of the buckling, −1 : 2 : −1 with equal links, leaves it free.
    #[test]
    fn tied_joints_do_not_buckle() {
        let rod = spatial(2.0, Vector3::x() * 0.5, &Matrix3::from_diagonal_element(0.2));
        let links = [Matrix6::zeros(), Matrix6::zeros(), Matrix6::zeros(), rod];
        let joints: Vec<Carrier> = (1..4).map(|i| revolute(i, Vector3::x(), Vector3::z())).collect();
        assert_eq!(articulated_inertias(&links, &joints)[0], 0.0);
        assert_eq!(unresisted(&links, &joints, &[None; 3]).unwrap(), [true, false, false]);
        assert_eq!(unresisted(&links, &joints, &[None, None, Some((1, 1.36))]).unwrap(), [false; 3]);
        assert_eq!(unresisted(&links, &joints, &[None, None, Some((1, -0.5))]).unwrap(), [true, false, false]);
    }

    #[test]
    fn turned_placement_turns_the_axis() {
        // a rod along its own y after a quarter turn about z: along −x of the parent, about x nothing resists it
        let i = Matrix3::from_diagonal(&Vector3::new(1.0, 0.0, 1.0));
        let turn = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::FRAC_PI_2);
        let fixed = Carrier { turn, axis: Axis::None, ..revolute(2, Vector3::zeros(), Vector3::z()) };
        let links = [Matrix6::zeros(), Matrix6::zeros(), spatial(1.0, Vector3::zeros(), &i)];
        for (a, expected) in [(Vector3::x(), 0.0), (Vector3::y(), 1.0)] {
            let resistance = resistance(&links, &[revolute(1, Vector3::zeros(), a), copy(&fixed)]);
            assert!((resistance[0][0] - expected).abs() < 1e-15, "{a}: {resistance:?}");
        }
    }

    fn copy(of: &Carrier) -> Carrier {
        Carrier { parent: of.parent, child: of.child, p: of.p, turn: of.turn, axis: of.axis, armature: of.armature }
    }

    #[test]
    fn a_small_inertia_resists() {
        let small = spatial(1e-3, Vector3::zeros(), &Matrix3::from_diagonal_element(1e-14));
        let joint = || [revolute(1, Vector3::x(), Vector3::z())];
        let resistance = articulated_inertias(&[Matrix6::zeros(), small], &joint());
        assert!((resistance[0] - 1e-14).abs() < 1e-28, "{resistance:?}");
        assert_eq!(articulated_inertias(&[Matrix6::zeros(); 2], &joint()), [0.0]);
    }

    #[test]
    fn a_mass_on_the_axis_does_not_resist() {
        let head = spatial(3.0, Vector3::z() * 0.2, &Matrix3::zeros());
        let resistance = resistance(&[Matrix6::zeros(), head], &[revolute(1, Vector3::y(), Vector3::z())]);
        assert!(resistance[0][0].abs() < 1e-16, "{resistance:?}");
    }

    /// A point mass has two degrees of freedom on a sphere: of three intersecting axes one feels nothing.
    #[test]
    fn three_axes_through_a_point_feel_a_point_mass_twice() {
        let mass = spatial(3.0, Vector3::new(0.1, 0.2, 0.3), &Matrix3::zeros());
        let links = [Matrix6::zeros(), Matrix6::zeros(), Matrix6::zeros(), mass];
        let axes = [Vector3::z(), Vector3::x(), Vector3::y()];
        let joints: Vec<Carrier> =
            axes.iter().enumerate().map(|(i, &a)| revolute(i + 1, Vector3::zeros(), a)).collect();
        let resistance = resistance(&links, &joints);
        assert!(resistance[2][0] > 0.1 && resistance[1][0] > 0.01 && resistance[0][0].abs() < 1e-12, "{resistance:?}");
    }
}
