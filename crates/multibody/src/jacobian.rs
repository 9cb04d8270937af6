//! Points of a link: geometric Jacobian, velocity, acceleration, jerk, in world axes.
//!
//! ```text
//! column of joint j on the way from the base to the link:   (z_j, z_j × (p − p_j)) revolute,  (0, z_j) prismatic
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_body, check_length};
use crate::joint::Kernel;
use crate::kinematics::Poses;
use crate::model::Model;
use crate::spatial::Motion;
use crate::work::Work;
use nalgebra::{Matrix6xX, Vector3};

/// Fills `J` (6 × `n_v`, angular rows first) so that `J v` is the angular velocity of link `i` and the velocity of its
/// `point` (user's link axes), both in world axes. `poses` must be those of the configuration meant.
pub fn jacobian(
    model: &Model,
    poses: &Poses,
    i: usize,
    point: &Vector3<f64>,
    J: &mut Matrix6xX<f64>,
) -> Result<(), Error> {
    fill(model, poses, i, point, |j, k| model.node[j].kernel.axis(k), J)
}

/// The columns of [`jacobian`] of the joints between body `top` and link `i`, without a matrix: `take` gets the
/// velocity and its angular and linear part. `top` is on the way from the base to `i`, or 0.
pub fn jacobian_columns(
    model: &Model,
    poses: &Poses,
    (i, top): (usize, usize),
    point: &Vector3<f64>,
    take: impl FnMut(usize, [Vector3<f64>; 2]),
) -> Result<(), Error> {
    columns(model, poses, (i, top), point, |j, k| model.node[j].kernel.axis(k), take)
}

/// [`jacobian`] with `rows` (`n_bodies`, canonical axes) in place of the axes of one-degree joints: a wrench w on link
/// `i` at its `point` changes P_jᵀ f_j of every joint on the way from the base by −w · (column j).
pub fn jacobian_rows(
    model: &Model,
    poses: &Poses,
    i: usize,
    point: &Vector3<f64>,
    rows: &[Motion],
    J: &mut Matrix6xX<f64>,
) -> Result<(), Error> {
    check_length("rows", rows.len(), model.n_bodies())?;
    let row = |j: usize, k: usize| match model.node[j].kernel {
        Kernel::Free => Motion::unit(k),
        _ => rows[j],
    };
    fill(model, poses, i, point, row, J)
}

fn fill(
    model: &Model,
    poses: &Poses,
    i: usize,
    point: &Vector3<f64>,
    row: impl Fn(usize, usize) -> Motion,
    J: &mut Matrix6xX<f64>,
) -> Result<(), Error> {
    check_length("columns of J", J.ncols(), model.n_v)?;
    J.fill(0.0);
    columns(model, poses, (i, 0), point, row, |column, [w, v]| {
        J.fixed_view_mut::<3, 1>(0, column).copy_from(&w);
        J.fixed_view_mut::<3, 1>(3, column).copy_from(&v);
    })
}

fn columns(
    model: &Model,
    poses: &Poses,
    (i, top): (usize, usize),
    point: &Vector3<f64>,
    row: impl Fn(usize, usize) -> Motion,
    mut take: impl FnMut(usize, [Vector3<f64>; 2]),
) -> Result<(), Error> {
    let p = poses.point(model, i, point)?;
    let mut j = i;
    while j > top {
        for (k, column) in model.v_range(j).enumerate() {
            let S = row(j, k);
            let (w, v) = (poses.R[j] * S.angular(), poses.R[j] * S.linear());
            take(column, [w, v + w.cross(&(p - poses.p[j]))]);
        }
        j = model.parent[j];
    }
    Ok(())
}

/// Angular velocity of link `i` and velocity of its `point` (user's link axes), world axes. Reads what
/// [`crate::kinematics`] and [`crate::poses`] left.
pub fn point_velocity(
    model: &Model,
    work: &Work,
    poses: &Poses,
    i: usize,
    point: &Vector3<f64>,
) -> Result<Motion, Error> {
    check_body(i, model.n_bodies().min(work.link.len()).min(poses.R.len()))?;
    let (c, V) = (model.to_canonical[i] * point, &work.link[i].vel);
    let w = V.angular();
    Ok(Motion::new(poses.R[i] * w, poses.R[i] * (V.linear() + w.cross(&c))))
}

/// Angular acceleration of link `i` and acceleration of its `point` (user's link axes), world axes, without gravity:
/// as an observer in the world measures them. Reads what [`crate::accelerations`] and [`crate::poses`] left.
pub fn point_acceleration(
    model: &Model,
    work: &Work,
    poses: &Poses,
    i: usize,
    point: &Vector3<f64>,
) -> Result<Motion, Error> {
    check_body(i, model.n_bodies().min(work.link.len()).min(poses.R.len()))?;
    let (c, V, A) = (model.to_canonical[i] * point, &work.link[i].vel, &work.link[i].acc);
    // classical acceleration = spatial acceleration at the point + ω × velocity of the point
    let (w, alpha) = (V.angular(), A.angular());
    let linear = A.linear() + alpha.cross(&c) + w.cross(&(V.linear() + w.cross(&c)));
    Ok(Motion::new(poses.R[i] * alpha, poses.R[i] * linear + work.outside.gravity))
}

/// Rates of the angular acceleration of link `i` and of the acceleration of its `point` (user's link axes), world axes,
/// without gravity. Reads what [`crate::rnea_rate`] and [`crate::poses`] left.
///
/// With ω and u the angular velocity and the velocity of the point in link axes, dots for their rates there, and −g
/// riding on the accelerations,
///
/// ```text
/// angular   ω̈ + ω × ω̇
/// linear    ü + ω̇ × u + ω × u̇ + ω × (u̇ + ω × u) + ġ
/// ```
///
/// The recursion of the rates takes v̇ with −g, too, which adds ω × g to ü: what u̇ with −g lacks in the last product.
pub fn point_jerk(model: &Model, work: &Work, poses: &Poses, i: usize, point: &Vector3<f64>) -> Result<Motion, Error> {
    check_body(i, model.n_bodies().min(work.link.len()).min(poses.R.len()))?;
    let (c, V, A, rate) = (model.to_canonical[i] * point, &work.link[i].vel, &work.link[i].acc, &work.delta[i]);
    let (w, alpha, alpha_rate) = (V.angular(), A.angular(), rate.angular());
    // velocity of the point, its rate of change in link axes, and the rate of that
    let u = V.linear() + w.cross(&c);
    let u_rate = A.linear() + alpha.cross(&c);
    let u_rate_rate = rate.linear() + alpha_rate.cross(&c);
    let angular = alpha_rate + w.cross(&alpha);
    let linear = u_rate_rate + alpha.cross(&u) + w.cross(&u_rate) + w.cross(&(u_rate + w.cross(&u)));
    Ok(Motion::new(poses.R[i] * angular, poses.R[i] * linear + work.outside.gravity_rate))
}
