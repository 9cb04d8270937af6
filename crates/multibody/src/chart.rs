//! Configurations: how velocities move them.
//!
//! One-degree joints add. A free joint is a position and a unit quaternion, and moves by the exponential map:
//!
//! ```text
//! advance   p' = p + R V(θ) x,   Q' = Q exp(θ/2)           exact for a constant twist (θ, x) in child axes
//! chart     p  = p₀ + R₀ x,      Q  = Q₀ exp(θ/2)          ξ = (θ, x) near Q₀, for steppers that add
//!           θ̇ = J_r⁻¹(θ) ω,      ẋ = Exp(θ) v
//! ```
//!
//! The chart is good for |θ| < 2π; steppers re-chart long before that.

#![expect(non_snake_case, reason = "symbols follow the exponential map's usual letters")]

use crate::error::{Error, check_finite, check_length};
use crate::joint::{JointKind, Kernel, quaternion};
use crate::model::Model;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// Positions of a model with every joint at 0: zeros, and unit quaternions.
pub fn neutral(model: &Model) -> Vec<f64> {
    let mut q = vec![0.0; model.n_q];
    for i in 1..model.n_bodies() {
        if model.kinds[i] == JointKind::Free {
            q[model.q_index[i] + 3] = 1.0;
        }
    }
    q
}

/// `q' = q ⊕ d`: from `q` along the displacement `d` (`n_v`; velocity times time), exact for a constant twist.
pub fn advance(model: &Model, q: &[f64], d: &[f64], out: &mut [f64]) -> Result<(), Error> {
    each_joint(model, q, d, out, |q, d, out| {
        let (theta, x) = parts(d);
        let Q = quaternion(q);
        let p = position(q) + Q * (left_jacobian(&theta) * x);
        store(&p, &(Q * UnitQuaternion::new(theta)), out);
    })?;
    check_finite("advance", out)
}

/// The configuration with chart coordinates `xi` (`n_v`) about `q0`.
pub fn chart_point(model: &Model, q0: &[f64], xi: &[f64], out: &mut [f64]) -> Result<(), Error> {
    each_joint(model, q0, xi, out, |q0, xi, out| {
        let (theta, x) = parts(xi);
        let Q = quaternion(q0);
        store(&(position(q0) + Q * x), &(Q * UnitQuaternion::new(theta)), out);
    })?;
    check_finite("chart_point", out)
}

/// Rates of the chart coordinates at `xi` for the velocity `v`: the identity for one-degree joints.
pub fn chart_rate(model: &Model, xi: &[f64], v: &[f64], rate: &mut [f64]) -> Result<(), Error> {
    for (what, got) in [("xi", xi.len()), ("v", v.len()), ("rate", rate.len())] {
        check_length(what, got, model.n_v)?;
    }
    rate.copy_from_slice(v);
    for i in 1..model.n_bodies() {
        if model.node[i].kernel == Kernel::Free {
            let range = model.v_range(i);
            let (theta, _) = parts(&xi[range.clone()]);
            let (w, u) = parts(&v[range.clone()]);
            let (dtheta, dx) = (right_jacobian_inverse(&theta) * w, UnitQuaternion::new(theta) * u);
            rate[range].copy_from_slice(&[dtheta.x, dtheta.y, dtheta.z, dx.x, dx.y, dx.z]);
        }
    }
    check_finite("chart_rate", rate)
}

/// Chart coordinates of `q` about `q0`: the inverse of [`chart_point`]. Rotations below half a turn.
pub fn configuration_difference(model: &Model, q0: &[f64], q: &[f64], out: &mut [f64]) -> Result<(), Error> {
    check_length("q0", q0.len(), model.n_q)?;
    check_length("q", q.len(), model.n_q)?;
    check_length("out", out.len(), model.n_v)?;
    for i in 1..model.n_bodies() {
        let (from, to) = (&q0[model.q_range(i)], &q[model.q_range(i)]);
        let out = &mut out[model.v_range(i)];
        match model.node[i].kernel {
            Kernel::Fixed => {}
            Kernel::Revolute | Kernel::Prismatic => out[0] = to[0] - from[0],
            Kernel::Free => {
                let Q = quaternion(from);
                let theta = (Q.inverse() * quaternion(to)).scaled_axis();
                let x = Q.inverse() * (position(to) - position(from));
                out.copy_from_slice(&[theta.x, theta.y, theta.z, x.x, x.y, x.z]);
            }
        }
    }
    check_finite("configuration_difference", out)
}

/// Adds for one-degree joints, calls `free` for free ones.
fn each_joint(
    model: &Model,
    q: &[f64],
    d: &[f64],
    out: &mut [f64],
    free: impl Fn(&[f64], &[f64], &mut [f64]),
) -> Result<(), Error> {
    check_length("q", q.len(), model.n_q)?;
    check_length("displacement", d.len(), model.n_v)?;
    check_length("out", out.len(), model.n_q)?;
    for i in 1..model.n_bodies() {
        let (q, d, out) = (&q[model.q_range(i)], &d[model.v_range(i)], &mut out[model.q_range(i)]);
        match model.node[i].kernel {
            Kernel::Fixed => {}
            Kernel::Revolute | Kernel::Prismatic => out[0] = q[0] + d[0],
            Kernel::Free => free(q, d, out),
        }
    }
    Ok(())
}

fn position(q: &[f64]) -> Vector3<f64> {
    Vector3::new(q[0], q[1], q[2])
}

fn parts(d: &[f64]) -> (Vector3<f64>, Vector3<f64>) {
    (Vector3::new(d[0], d[1], d[2]), Vector3::new(d[3], d[4], d[5]))
}

fn store(p: &Vector3<f64>, Q: &UnitQuaternion<f64>, out: &mut [f64]) {
    out.copy_from_slice(&[p.x, p.y, p.z, Q.w, Q.i, Q.j, Q.k]);
}

/// The matrix `θ×`.
fn skew(theta: &Vector3<f64>) -> Matrix3<f64> {
    theta.cross_matrix()
}

/// `V(θ) = 1 + (1 − cos θ)/θ² θ× + (θ − sin θ)/θ³ θ×²`.
fn left_jacobian(theta: &Vector3<f64>) -> Matrix3<f64> {
    let (t2, K) = (theta.norm_squared(), skew(theta));
    let t = t2.sqrt();
    // series below 1e-2: the next terms are under 1e-16
    let (b, c) = if t2 < 1e-4 {
        (0.5 - t2 / 24.0 + t2 * t2 / 720.0, 1.0 / 6.0 - t2 / 120.0 + t2 * t2 / 5040.0)
    } else {
        let half = (0.5 * t).sin();
        (2.0 * half * half / t2, (t - t.sin()) / (t2 * t))
    };
    Matrix3::identity() + K * b + K * K * c
}

/// `J_r⁻¹(θ) = 1 + ½ θ× + (1/θ² − cot(θ/2)/(2θ)) θ×²`.
fn right_jacobian_inverse(theta: &Vector3<f64>) -> Matrix3<f64> {
    let (t2, K) = (theta.norm_squared(), skew(theta));
    let t = t2.sqrt();
    let c =
        if t2 < 1e-4 { 1.0 / 12.0 + t2 / 720.0 + t2 * t2 / 30240.0 } else { 1.0 / t2 - 0.5 / (t * (0.5 * t).tan()) };
    Matrix3::identity() + K * 0.5 + K * K * c
}
