//! Identities that hold on every tree, tried on random ones: 1–100 joints, mixed types, oblique axes, mass ratios to
//! 1e6.
//!
//! 500 trees by default; `BRISTLE_TREES=20000 cargo test -p bristle-multibody --release` for more.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

#[path = "identities/mass_operator.rs"]
mod mass_operator;
#[path = "identities/packs.rs"]
mod packs;
#[path = "identities/point_jerk.rs"]
mod point_jerk;
mod support;

use bristle_multibody::spatial::{Force, Motion};
use bristle_multibody::*;
use nalgebra::{DMatrix, DVector, Matrix6xX, Vector3};
use support::*;

const EPS: f64 = f64::EPSILON;

fn trees() -> u64 {
    std::env::var("BRISTLE_TREES").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

/// Runs `check` on random trees of at most `largest` joints, each with a random state.
fn on_random_trees(largest: usize, mix: Mix, mut check: impl FnMut(&mut Random, &Model, &mut Work, &[f64], &[f64])) {
    for seed in 0..trees() {
        let mut random = Random::new(seed);
        // every size from 1 on, small ones more often
        let at_most = 1 + random.below(largest);
        let n = 1 + random.below(at_most);
        let model = random_tree(&mut random, n, mix);
        let mut work = Work::new(&model);
        let q = random_position(&mut random, &model);
        let v = random.reals(model.n_v, 2.0);
        check(&mut random, &model, &mut work, &q, &v);
    }
}

fn mass_matrix(model: &Model, work: &mut Work, q: &[f64]) -> DMatrix<f64> {
    let mut M = DMatrix::zeros(model.n_v, model.n_v);
    crba(model, work, q, &mut M).unwrap();
    M
}

/// Ratio of the extreme eigenvalues.
fn condition(M: &DMatrix<f64>) -> f64 {
    if M.is_empty() {
        return 1.0;
    }
    let e = M.clone().symmetric_eigenvalues();
    e.max() / e.min()
}

#[test]
fn aba_inverts_rnea_and_back() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let slack = 50.0 * EPS * condition(&mass_matrix(model, work, q));
        let a = random.reals(model.n_v, 5.0);
        let tau = rnea(model, work, q, v, &a).unwrap().to_vec();
        // the efforts are sums of large terms: their own rounding passes through M⁻¹ as well
        let M = mass_matrix(model, work, q);
        let bias = bias_efforts(model, work, q, v).unwrap().to_vec();
        let largest = norm(&tau) + norm(&bias) + (&M * DVector::from_column_slice(&a)).norm();
        let low = if M.is_empty() { 1.0 } else { M.symmetric_eigenvalues().min() };
        let back = aba(model, work, q, v, &tau).unwrap();
        assert!(distance(back, &a) <= slack * norm(&a) + 50.0 * EPS * largest / low, "{} joints", model.n_joints());

        let tau = random.reals(model.n_v, 5.0);
        let a = aba(model, work, q, v, &tau).unwrap().to_vec();
        let back = rnea(model, work, q, v, &a).unwrap();
        assert!(distance(back, &tau) <= slack * (norm(&tau) + norm(&bias)), "{} joints", model.n_joints());
    });
}

#[test]
fn mass_matrix_columns_are_rnea() {
    on_random_trees(100, Mix::Everything, |_, model, work, q, v| {
        let M = mass_matrix(model, work, q);
        assert_eq!(M, M.transpose());
        assert!(M.clone().cholesky().is_some());
        let rest = vec![0.0; model.n_v];
        work.outside.gravity = Vector3::zeros();
        for k in 0..model.n_v {
            let mut e = rest.clone();
            e[k] = 1.0;
            let column = rnea(model, work, q, &rest, &e).unwrap();
            assert!(distance(column, M.column(k).as_slice()) <= 1e-13 * M.norm());
        }
        let v_M_v = DVector::from_column_slice(v).dot(&(&M * DVector::from_column_slice(v)));
        let kinetic = kinetic_energy(model, work, q, v).unwrap();
        assert!((kinetic - 0.5 * v_M_v).abs() <= 1e-12 * M.norm() * norm(v).powi(2));
    });
}

#[test]
fn factorised_mass_matrix_solves() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, _| {
        let M = mass_matrix(model, work, q);
        let b = random.reals(model.n_v, 1.0);
        factor(model, work, q, &vec![false; model.n_bodies()]).unwrap();
        let x = DVector::from_column_slice(solve(model, work, &b).unwrap());
        let residual = (&M * &x - DVector::from_column_slice(&b)).norm();
        assert!(residual <= 50.0 * EPS * condition(&M) * norm(&b).max(EPS));
    });
}

#[test]
fn locked_joints_obey_reduced_equations() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let locked: Vec<bool> = (0..model.n_bodies()).map(|_| random.below(2) == 0).collect();
        let tau = random.reals(model.n_v, 5.0);
        let a = aba_hybrid(model, work, q, v, &tau, &locked).unwrap().to_vec();
        let required = rnea(model, work, q, v, &a).unwrap().to_vec();
        let slack = 50.0 * EPS * condition(&mass_matrix(model, work, q));
        let scale = norm(&tau) + norm(bias_efforts(model, work, q, v).unwrap());
        for k in 0..model.n_v {
            if locked[model.joint_of_velocity(k)] {
                assert_eq!(a[k], 0.0);
            } else {
                assert!((required[k] - tau[k]).abs() <= slack * scale);
            }
        }
    });
}

#[test]
fn reactions_balance_every_body() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let i = 1 + random.below(model.n_joints());
        let wrench = random_wrench(random, 10.0);
        work.outside.set_wrench(model, i, wrench).unwrap();
        let a = random.reals(model.n_v, 5.0);
        let mut reaction = vec![Reaction::ZERO; model.n_bodies()];
        reactions(model, work, q, v, &a, &mut reaction).unwrap();
        accelerations(model, work, q, v, &a).unwrap();
        let mut pose = Poses::new(model);
        poses(model, work, &mut pose).unwrap();

        // forces and moments about the world origin, world axes: Newton and Euler, body by body
        for b in 1..model.n_bodies() {
            let carried = |j: usize, f: &Force| {
                let X = pose.link(model, j).unwrap();
                let force = X.rotation * f.force();
                Force::new(X.rotation * f.moment() + X.translation.vector.cross(&force), force)
            };
            let mut sum = carried(b, &reaction[b].wrench);
            let mut size = norm(&sum.to_array());
            for child in (b + 1..model.n_bodies()).filter(|&c| model.parent[c] == b) {
                let passed = carried(child, &reaction[child].wrench);
                size += norm(&passed.to_array());
                sum -= passed;
            }
            if b == i {
                sum += carried(i, &wrench);
            }
            let (mass, c) = model.mass_and_center(b);
            let center = pose.point(model, b, &c).unwrap();
            let weight = work.outside.gravity * mass;
            sum += Force::new(center.cross(&weight), weight);
            let inertial = point_acceleration(model, work, &pose, b, &c).unwrap().linear() * mass;
            assert!((sum.force() - inertial).norm() <= 1e-11 * (size + inertial.norm() + weight.norm()));
            // the moment about the centre of mass is the rate of spin alone; about the origin it also carries m c × a
            let euler = spin_rate(model, work, &pose, b) + center.cross(&inertial);
            let lever = 1.0 + center.norm();
            assert!((sum.moment() - euler).norm() <= 1e-11 * (size + euler.norm() + lever * inertial.norm()));
        }
    });
}

/// Rate of the angular momentum of body `b` about its centre of mass: I ω̇ + ω × I ω, world axes, from a single free
/// body with the same inertia.
fn spin_rate(model: &Model, work: &Work, pose: &Poses, b: usize) -> Vector3<f64> {
    let (_, c) = model.mass_and_center(b);
    let w = point_velocity(model, work, pose, b, &c).unwrap().angular();
    let alpha = point_acceleration(model, work, pose, b, &c).unwrap().angular();
    let R = pose.link(model, b).unwrap().rotation.to_rotation_matrix().into_inner();
    let I = R * model.inertia_about_center(b) * R.transpose();
    I * alpha + w.cross(&(I * w))
}

#[test]
fn inverse_dynamics_derivatives() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let i = 1 + random.below(model.n_joints());
        work.outside.set_wrench(model, i, random_wrench(random, 5.0)).unwrap();
        let a = random.reals(model.n_v, 5.0);
        let mut rows: Vec<Row> = (0..2 * model.n_joints())
            .map(|_| Row {
                body: 1 + random.below(model.n_joints()),
                projector: Motion::new(random.vector(1.0), random.vector(1.0)),
            })
            .collect();
        rows.sort_by_key(|r| r.body);
        let (mut dq, mut dv) = (DMatrix::zeros(model.n_v, model.n_v), DMatrix::zeros(model.n_v, model.n_v));
        rnea_derivatives(model, work, q, v, &a, &mut dq, &mut dv).unwrap();
        let (mut pq, mut pv) = (DMatrix::zeros(rows.len(), model.n_v), DMatrix::zeros(rows.len(), model.n_v));
        rnea_derivatives_rows(model, work, q, v, &a, &rows, &mut pq, &mut pv).unwrap();

        // efforts and projections of the reactions, two ways at once
        let mut both = |q: &[f64], v: &[f64]| {
            let mut reaction = vec![Reaction::ZERO; model.n_bodies()];
            reactions(model, work, q, v, &a, &mut reaction).unwrap();
            let mut out = rnea(model, work, q, v, &a).unwrap().to_vec();
            out.extend(rows.iter().map(|r| {
                let (axes, f) = (model.canonical_axes(r.body), &reaction[r.body].wrench);
                r.projector.dot(&Force::new(axes * f.moment(), axes * f.force()))
            }));
            DVector::from_vec(out)
        };
        let h = 1e-5;
        let stack = |above: &DMatrix<f64>, below: &DMatrix<f64>, k: usize| {
            DVector::from_iterator(
                above.nrows() + below.nrows(),
                above.column(k).iter().chain(below.column(k).iter()).copied(),
            )
        };
        let scale = 1.0 + pq.amax() + dq.amax() + pv.amax() + dv.amax();
        for k in 0..model.n_v {
            let by_q = (both(&nudged(model, q, k, h), v) - both(&nudged(model, q, k, -h), v)) / (2.0 * h);
            assert!((by_q - stack(&dq, &pq, k)).amax() < 1e-6 * scale, "∂/∂q_{k}");
            let mut step = v.to_vec();
            step[k] += h;
            let ahead = both(q, &step);
            step[k] -= 2.0 * h;
            let by_v = (ahead - both(q, &step)) / (2.0 * h);
            assert!((by_v - stack(&dv, &pv, k)).amax() < 1e-6 * scale, "∂/∂v_{k}");
        }
    });
}

#[test]
fn forward_dynamics_derivatives() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let locked: Vec<bool> = (0..model.n_bodies()).map(|_| random.below(5) == 0).collect();
        let tau = random.reals(model.n_v, 5.0);
        let zeros = || DMatrix::zeros(model.n_v, model.n_v);
        let (mut dq, mut dv, mut dtau) = (zeros(), zeros(), zeros());
        aba_derivatives(model, work, q, v, &tau, &locked, [&mut dq, &mut dv, &mut dtau]).unwrap();
        let cond = condition(&mass_matrix(model, work, q));
        let mut acceleration = |q: &[f64], v: &[f64], tau: &[f64]| {
            DVector::from_column_slice(aba_hybrid(model, work, q, v, tau, &locked).unwrap())
        };
        let h = 1e-5;
        // differences lose ε cond / h of the acceleration itself
        let size = acceleration(q, v, &tau).amax();
        let slack = |D: &DMatrix<f64>| 1e-6 * (1.0 + D.amax()) + 20.0 * EPS * cond * (1.0 + size) / h;
        for k in 0..model.n_v {
            let shifted = |x: &[f64], d: f64| {
                let mut x = x.to_vec();
                x[k] += d;
                x
            };
            let by_q = (acceleration(&nudged(model, q, k, h), v, &tau)
                - acceleration(&nudged(model, q, k, -h), v, &tau))
                / (2.0 * h);
            assert!((by_q - dq.column(k)).amax() < slack(&dq), "∂/∂q_{k}");
            let by_v = (acceleration(q, &shifted(v, h), &tau) - acceleration(q, &shifted(v, -h), &tau)) / (2.0 * h);
            assert!((by_v - dv.column(k)).amax() < slack(&dv), "∂/∂v_{k}");
            let by_tau = acceleration(q, v, &shifted(&tau, 1.0)) - acceleration(q, v, &tau);
            assert!((by_tau - dtau.column(k)).amax() < slack(&dtau), "∂/∂τ_{k}");
        }
    });
}

#[test]
fn jerk_is_the_rate_of_acceleration() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let i = 1 + random.below(model.n_joints());
        let (wrench, wrench_rate) = (random_wrench(random, 5.0), random_wrench(random, 5.0));
        let (gravity, gravity_rate) = (work.outside.gravity, random.vector(5.0));
        let (tau, tau_rate) = (random.reals(model.n_v, 5.0), random.reals(model.n_v, 5.0));
        let locked: Vec<bool> = (0..model.n_bodies()).map(|_| random.below(5) == 0).collect();
        // a locked joint moves on at constant speed
        let at = |work: &mut Work, t: f64| {
            work.outside.gravity = gravity + gravity_rate * t;
            work.outside.set_wrench(model, i, wrench + wrench_rate * t).unwrap();
            tau.iter().zip(&tau_rate).map(|(tau, rate)| tau + t * rate).collect::<Vec<_>>()
        };
        let now = at(work, 0.0);
        let a = aba_hybrid(model, work, q, v, &now, &locked).unwrap().to_vec();
        work.outside.gravity_rate = gravity_rate;
        work.outside.set_wrench_rate(model, i, wrench_rate).unwrap();
        let j = jerk(model, work, q, v, &a, &tau_rate, &locked).unwrap().to_vec();

        let h = 1e-5;
        let mut later = |t: f64| {
            let (q, tau) = (moved(model, q, v, &a, t), at(work, t));
            let v: Vec<f64> = v.iter().zip(&a).zip(&j).map(|((v, a), j)| v + t * a + 0.5 * t * t * j).collect();
            aba_hybrid(model, work, &q, &v, &tau, &locked).unwrap().to_vec()
        };
        let (ahead, behind) = (later(h), later(-h));
        let difference: Vec<f64> = ahead.iter().zip(&behind).map(|(x, y)| (x - y) / (2.0 * h)).collect();
        let cond = condition(&mass_matrix(model, work, q));
        let slack = 1e-6 * (1.0 + norm(&j)) + 20.0 * EPS * cond * (1.0 + norm(&a)) / h;
        // third derivatives grow with the cube of the speeds reached: the quotient's own error
        let speed = 1.0 + norm(v) + norm(&a).sqrt();
        assert!(distance(&difference, &j) <= slack + h * h * speed.powi(5), "{} joints", model.n_joints());

        // and the differentiated inverse dynamics gives the effort rates back
        at(work, 0.0);
        let rates = rnea_rate(model, work, q, v, &a, &j).unwrap();
        let size = 1.0 + norm(rates);
        for k in 0..model.n_v {
            if !locked[model.joint_of_velocity(k)] {
                assert!((rates[k] - tau_rate[k]).abs() <= 100.0 * EPS * cond * size + 1e-9 * size);
            }
        }
    });
}

#[test]
fn momentum_of_floating_trees_is_conserved() {
    on_random_trees(100, Mix::Floating, |random, model, work, q, v| {
        // efforts inside the tree change no momentum: the free base gets none
        let mut tau = random.reals(model.n_v, 5.0);
        tau[..6].fill(0.0);
        let a = aba(model, work, q, v, &tau).unwrap().to_vec();
        // what passes through the free joint is the rate of the whole, in the scale of the forces inside: M a
        let mut reaction = vec![Reaction::ZERO; model.n_bodies()];
        reactions(model, work, q, v, &a, &mut reaction).unwrap();
        let size = mass_matrix(model, work, q).norm() * norm(&a);
        assert!(norm(&reaction[1].wrench.to_array()) <= 1e-11 * size);

        // momentum itself by differences along the motion, an independent function
        let h = 1e-6;
        let mut at = |t: f64| {
            let q = moved(model, q, v, &a, t);
            let v: Vec<f64> = v.iter().zip(&a).map(|(v, a)| v + t * a).collect();
            momentum(model, work, &q, &v).unwrap()
        };
        let (now, ahead, behind) = (at(0.0), at(h), at(-h));
        let scale = 1.0 + now.linear.norm() + now.angular.norm() + size;
        assert!((ahead.linear - behind.linear).norm() / (2.0 * h) < 1e-5 * scale * (1.0 + norm(&a)));
        assert!((ahead.angular - behind.angular).norm() / (2.0 * h) < 1e-5 * scale * (1.0 + norm(&a)));
    });
}

#[test]
fn momentum_stays_over_a_tumbling_flight() {
    for seed in 0..(trees() / 25).max(1) {
        let mut random = Random::new(seed);
        let n = 2 + random.below(6);
        let model = random_tree(&mut random, n, Mix::Floating);
        let mut work = Work::new(&model);
        let (mut q, mut v) = (random_position(&mut random, &model), random.reals(model.n_v, 1.0));
        let tau = vec![0.0; model.n_v];
        let start = momentum(&model, &mut work, &q, &v).unwrap();

        // classical Runge–Kutta in the chart of each step's start
        let (h, n_v) = (2e-4, model.n_v);
        let mut here = q.clone();
        for _ in 0..1000 {
            let mut slope = |x: &[f64]| {
                let (xi, v) = x.split_at(n_v);
                let mut out = vec![0.0; 2 * n_v];
                chart_point(&model, &q, xi, &mut here).unwrap();
                chart_rate(&model, xi, v, &mut out[..n_v]).unwrap();
                out[n_v..].copy_from_slice(aba(&model, &mut work, &here, v, &tau).unwrap());
                DVector::from_vec(out)
            };
            let x = DVector::from_iterator(2 * n_v, std::iter::repeat_n(0.0, n_v).chain(v.iter().copied()));
            let k1 = slope(x.as_slice());
            let k2 = slope((&x + &k1 * (0.5 * h)).as_slice());
            let k3 = slope((&x + &k2 * (0.5 * h)).as_slice());
            let k4 = slope((&x + &k3 * h).as_slice());
            let x = x + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0);
            let mut next = q.clone();
            chart_point(&model, &q, &x.as_slice()[..n_v], &mut next).unwrap();
            q = next;
            v.copy_from_slice(&x.as_slice()[n_v..]);
        }
        let end = momentum(&model, &mut work, &q, &v).unwrap();
        let scale = start.linear.norm() + start.angular.norm();
        assert!((end.linear - start.linear).norm() <= 1e-11 * scale, "seed {seed}");
        assert!((end.angular - start.angular).norm() <= 1e-11 * scale, "seed {seed}");
    }
}

#[test]
fn power_is_the_rate_of_energy() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        let i = 1 + random.below(model.n_joints());
        let wrench = random_wrench(random, 10.0);
        work.outside.set_wrench(model, i, wrench).unwrap();
        let tau = random.reals(model.n_v, 5.0);
        let a = aba(model, work, q, v, &tau).unwrap().to_vec();
        kinematics(model, work, q, v).unwrap();
        let mut pose = Poses::new(model);
        poses(model, work, &mut pose).unwrap();

        // power: efforts on joint rates, the wrench on its link, gravity on the centres of mass
        let R = pose.link(model, i).unwrap().rotation;
        let origin = point_velocity(model, work, &pose, i, &Vector3::zeros()).unwrap();
        let outside = origin.angular().dot(&(R * wrench.moment())) + origin.linear().dot(&(R * wrench.force()));
        let weights: f64 = (1..model.n_bodies())
            .map(|b| {
                let (mass, c) = model.mass_and_center(b);
                mass * work.outside.gravity.dot(&point_velocity(model, work, &pose, b, &c).unwrap().linear())
            })
            .sum();
        let efforts: f64 = tau.iter().zip(v).map(|(tau, v)| tau * v).sum();

        // d/dt ½ vᵀ M v = vᵀ (M a + c₀), with c₀ the velocity terms alone: inverse dynamics without gravity or wrench
        work.outside.clear_wrenches();
        work.outside.gravity = Vector3::zeros();
        let inertial: f64 = rnea(model, work, q, v, &a).unwrap().iter().zip(v).map(|(tau, v)| tau * v).sum();
        let size = inertial.abs() + outside.abs() + weights.abs() + efforts.abs();
        let M = mass_matrix(model, work, q);
        let slack = (50.0 * EPS * condition(&M)).min(1e-6) + 1e-11;
        assert!((inertial - outside - weights - efforts).abs() <= slack * (size + M.norm() * norm(v).powi(2)));
    });
}

#[test]
fn jacobians_match_point_velocities() {
    on_random_trees(100, Mix::Everything, |random, model, work, q, v| {
        kinematics(model, work, q, v).unwrap();
        let mut pose = Poses::new(model);
        poses(model, work, &mut pose).unwrap();
        let (i, point) = (1 + random.below(model.n_joints()), random.vector(1.0));
        let mut J = Matrix6xX::zeros(model.n_v);
        jacobian(model, &pose, i, &point, &mut J).unwrap();
        let by_jacobian = &J * DVector::from_column_slice(v);
        let direct = point_velocity(model, work, &pose, i, &point).unwrap();
        assert!(distance(by_jacobian.as_slice(), &direct.to_array()) <= 1e-11 * (1.0 + norm(&direct.to_array())));

        // the point moves as its velocity says, and its velocity as its acceleration says
        let a = random.reals(model.n_v, 3.0);
        accelerations(model, work, q, v, &a).unwrap();
        let expected = point_acceleration(model, work, &pose, i, &point).unwrap();
        let h = 1e-5;
        let mut at = |t: f64| {
            let q = moved(model, q, v, &a, t);
            let v: Vec<f64> = v.iter().zip(&a).map(|(v, a)| v + t * a).collect();
            kinematics(model, work, &q, &v).unwrap();
            poses(model, work, &mut pose).unwrap();
            (pose.point(model, i, &point).unwrap(), point_velocity(model, work, &pose, i, &point).unwrap())
        };
        let (ahead, behind) = (at(h), at(-h));
        let moved = (ahead.0 - behind.0) / (2.0 * h);
        let sped = (ahead.1 - behind.1) * (0.5 / h);
        let speed = 1.0 + norm(&expected.to_array()) + norm(&direct.to_array()).powi(2) + norm(v).powi(3);
        assert!((moved - direct.linear()).norm() <= 1e-7 * speed);
        assert!(norm(&(sped - expected).to_array()) <= 1e-5 * speed);

        // m ċ = linear momentum
        let mut at = |t: f64| {
            let q = support::moved(model, q, v, &a, t);
            center_of_mass(model, work, &q).unwrap()
        };
        let (mass, ahead) = at(h);
        let rate = (ahead - at(-h).1) * (mass / (2.0 * h));
        let linear = momentum(model, work, q, v).unwrap().linear;
        assert!((rate - linear).norm() <= 1e-6 * (linear.norm() + mass * speed));
    });
}

#[test]
fn chart_rate_matches_exponential() {
    for seed in 0..trees() {
        let mut random = Random::new(seed);
        let model = random_tree(&mut random, 1, Mix::Floating);
        let q = random_position(&mut random, &model);
        let v = random.reals(6, 2.0);
        let xi = random.reals(6, 1.0);

        // the rate of the chart coordinates moves the configuration as the velocity does
        let (mut here, mut rate) = (vec![0.0; 7], vec![0.0; 6]);
        chart_point(&model, &q, &xi, &mut here).unwrap();
        chart_rate(&model, &xi, &v, &mut rate).unwrap();
        let h = 1e-6;
        let (mut by_chart, mut by_velocity) = (vec![0.0; 7], vec![0.0; 7]);
        let step: Vec<f64> = xi.iter().zip(&rate).map(|(x, r)| x + h * r).collect();
        chart_point(&model, &q, &step, &mut by_chart).unwrap();
        let d: Vec<f64> = v.iter().map(|v| h * v).collect();
        advance(&model, &here, &d, &mut by_velocity).unwrap();
        let mut apart = vec![0.0; 6];
        configuration_difference(&model, &by_velocity, &by_chart, &mut apart).unwrap();
        assert!(norm(&apart) < 1e-10, "{apart:?}");

        // there and back
        let mut back = vec![0.0; 6];
        configuration_difference(&model, &q, &here, &mut back).unwrap();
        assert!(distance(&back, &xi) < 1e-13);

        // a constant twist for one second is the same in one step and in a thousand
        let (mut once, mut many) = (vec![0.0; 7], q.clone());
        advance(&model, &q, &v, &mut once).unwrap();
        let d: Vec<f64> = v.iter().map(|v| v / 1000.0).collect();
        for _ in 0..1000 {
            let from = many.clone();
            advance(&model, &from, &d, &mut many).unwrap();
        }
        configuration_difference(&model, &once, &many, &mut apart).unwrap();
        assert!(norm(&apart) < 1e-11);
    }
}
