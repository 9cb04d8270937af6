//! Floating trees: pose and velocity of a free joint at the end of a step, from the momentum of its tree.
//!
//! The convex solver gives the joint rates q̇₁ and positions q₁. The free joint follows by conservation of momentum
//! (symbols as in `bristle_multibody::FloatingTree`; F, T_C the external forces at the positions of the middle of the
//! step, gravity included):
//!
//! ```text
//! p₁ = p₀ + h F,                  C₁ = C₀ + h (p₀ + p₁)/(2 m)                                                      (1)
//! L₁ = L₀ + h T_C,                I_C(q₁) ω₁ + l(q₁, q̇₁) = R₁ᵀ L₁,     R₁ = R₀ exp(h (ω₀ + ω₁)/2)                 (2)
//! ```
//!
//! Linear and angular momentum are those of the forces to rounding, whatever h is, and joints, friction, springs and
//! couplings do not change them: (1) and (2) do not contain their efforts. R₁ is of second order. Where the joints do
//! not move, I_C is constant and energy is conserved as well: R₁ turns about ω̄ = (ω₀ + ω₁)/2, which leaves ω̄·L in
//! root axes unchanged, so that ω̄ᵀ I_C (ω₁ − ω₀) = 0 without a torque.
//!
//! (2) is one equation for ω₁, solved by Newton; with μ = R₁ᵀ L₁ and J_r the right Jacobian of the exponential map its
//! matrix is
//!
//! ```text
//! I_C − ½ h μ× J_r(h ω̄)                                                                                           (3)
//! ```

#![expect(non_snake_case, reason = "symbols follow the equations above")]

use super::{End, Start};
use bristle_multibody::spatial::Motion;
use bristle_multibody::{
    Error, FloatingTree, JointKind, Model, Work, chart_point, configuration_difference, floating_tree, floating_wrench,
    link_motion, set_free_pose, set_free_velocity,
};
use nalgebra::{Matrix3, Rotation3, Vector3};

/// Newton steps for (2) at most. Three or four are usual; momentum is exact after any number of them.
const MAX_NEWTON: usize = 12;

/// Free joints of a model.
pub(super) fn free_joints(model: &Model) -> Vec<usize> {
    (1..model.n_bodies()).filter(|&i| model.kinds[i] == JointKind::Free).collect()
}

/// (1), and what (2) takes from the start of a step, of the tree that floats on one joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floated {
    root: usize,
    /// R₀, ω₀, and the angular velocity coordinates.
    R: Matrix3<f64>,
    omega: Vector3<f64>,
    before: Vector3<f64>,
    /// C₁ and its rate p₁/m, L₁.
    center: Vector3<f64>,
    rate: Vector3<f64>,
    momentum: Vector3<f64>,
}

/// Sets poses and velocities of the `free` joints at the end of the step; `end` holds those of all other joints.
pub(super) fn float(
    (end, floated): (&mut End, &mut Vec<Floated>),
    free: &[usize],
    model: &Model,
    work: &mut Work,
    start: Start<'_>,
    effort: &[f64],
    h: f64,
) -> Result<(), Error> {
    if free.is_empty() {
        return Ok(());
    }
    let Start { q_ref, q, v, .. } = start;
    let End { xi: xi1, q: q1, v: v1, change, .. } = end;
    let gravity = work.outside.gravity;
    floated.clear();
    for &root in free {
        let (force, moment) = outside(model, work, root, start.middle, v, effort)?;
        let motion = link_motion(model, work, root, q, v)?;
        let tree = floating_tree(model, work, root, q, v)?;
        if tree.mass <= 0.0 {
            continue;
        }
        let (R, omega) = (motion.rotation, motion.velocity.angular());

        // (1): the centre of mass
        let force = force + gravity * tree.mass;
        let rate = R * (motion.velocity.linear() + omega.cross(&tree.center) + tree.center_rate);
        let rate1 = rate + force * (h / tree.mass);
        let center = motion.origin + R * tree.center + (rate + rate1) * (0.5 * h);
        let momentum = R * (tree.inertia * omega + tree.spin) + moment * h;
        let k = model.v_index[root];
        let before = Vector3::new(v[k], v[k + 1], v[k + 2]);
        floated.push(Floated { root, R, omega, before, center, rate: rate1, momentum });
    }
    settle(floated, model, work, q_ref, (xi1, q1, v1), h)?;
    for &root in free {
        let k = model.v_index[root];
        (k..k + 6).for_each(|l| change[l] = v1[l] - v[l]);
    }
    Ok(())
}

/// Poses and velocities of free joints at the end of a step by (2), beside those of the other joints: chart coordinates
/// (from which q follows) and velocities.
pub(super) fn settle(
    floated: &[Floated],
    model: &Model,
    work: &mut Work,
    q_ref: &[f64],
    (xi1, q1, v1): (&mut [f64], &mut [f64], &mut [f64]),
    h: f64,
) -> Result<(), Error> {
    chart_point(model, q_ref, xi1, q1)?;
    for Floated { root, R, omega, before, center, rate, momentum } in floated.iter().copied() {
        let k = model.v_index[root];
        let first = omega + Vector3::new(v1[k], v1[k + 1], v1[k + 2]) - before;
        let tree = floating_tree(model, work, root, q1, v1)?;
        let R1 = turn(&tree, &R, &momentum, &omega, first, h);
        set_free_pose(model, work, root, &R1, &(center - R1 * tree.center), q1, v1)?;

        // velocities from the momentum and the rotation as it is stored: momentum is exact whatever Newton has left
        let R1 = link_motion(model, work, root, q1, v1)?.rotation;
        let spin = turned_back(&R1, &momentum) - tree.spin;
        let Some(omega1) = tree.inertia.lu().solve(&spin) else { continue };
        let linear = turned_back(&R1, &rate) - omega1.cross(&tree.center) - tree.center_rate;
        set_free_velocity(model, work, root, &Motion::new(omega1, linear), q1, v1)?;
    }
    configuration_difference(model, q_ref, q1, xi1)?;
    Ok(())
}

/// Force from outside and its moment about the centre of mass of the tree that floats on `root`, world axes.
fn outside(
    model: &Model,
    work: &mut Work,
    root: usize,
    q: &[f64],
    v: &[f64],
    effort: &[f64],
) -> Result<(Vector3<f64>, Vector3<f64>), Error> {
    let R = link_motion(model, work, root, q, v)?.rotation;
    let wrench = floating_wrench(model, work, root, effort)?;
    if wrench.moment() == Vector3::zeros() && wrench.force() == Vector3::zeros() {
        return Ok((Vector3::zeros(), Vector3::zeros()));
    }
    let center = floating_tree(model, work, root, q, v)?.center;
    Ok((R * wrench.force(), R * (wrench.moment() - center.cross(&wrench.force()))))
}

/// R⁻¹ x of a rotation that is orthogonal up to rounding. Rᵀ x alone would repeat that rounding error in every step.
fn turned_back(R: &Matrix3<f64>, x: &Vector3<f64>) -> Vector3<f64> {
    let back = R.transpose();
    let y = back * x;
    y + back * (x - R * y)
}

/// R₁ of (2), from the guess `first` of ω₁.
fn turn(
    tree: &FloatingTree,
    R: &Matrix3<f64>,
    momentum: &Vector3<f64>,
    omega: &Vector3<f64>,
    first: Vector3<f64>,
    h: f64,
) -> Matrix3<f64> {
    let turned = |omega1: &Vector3<f64>| R * Rotation3::new((omega + omega1) * (0.5 * h)).into_inner();
    let mut omega1 = first;
    for _ in 0..MAX_NEWTON {
        let mu = turned(&omega1).transpose() * momentum;
        let residual = tree.inertia * omega1 + tree.spin - mu;
        let J_r = right_jacobian(&((omega + omega1) * (0.5 * h)));
        let matrix = tree.inertia - mu.cross_matrix() * J_r * (0.5 * h);
        let Some(step) = matrix.lu().solve(&residual) else { break };
        omega1 -= step;
        if step.amax() <= 2.0 * f64::EPSILON * omega1.amax() {
            break;
        }
    }
    turned(&omega1)
}

/// `J_r(θ) = 1 − (1 − cos θ)/θ² θ× + (θ − sin θ)/θ³ θ×²`.
fn right_jacobian(theta: &Vector3<f64>) -> Matrix3<f64> {
    let (t2, K) = (theta.norm_squared(), theta.cross_matrix());
    let t = t2.sqrt();
    // series below 1e-2, as in the chart of a free joint
    let (b, c) = if t2 < 1e-4 {
        (0.5 - t2 / 24.0, 1.0 / 6.0 - t2 / 120.0)
    } else {
        ((1.0 - t.cos()) / t2, (t - t.sin()) / (t2 * t))
    };
    Matrix3::identity() - K * b + K * K * c
}
