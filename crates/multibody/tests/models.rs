//! Machines that cannot be built, numbers that cannot be used, and large machines.

#![expect(non_snake_case, reason = "matrices are capital letters")]

mod support;

use bristle_multibody::spatial::{Force, Motion, Symmetric3};
use bristle_multibody::*;
use nalgebra::{DMatrix, Vector3};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::*;

/// Counts this thread's allocations and the bytes alive in the process.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged; the counters are thread-local cells without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        let _ = BYTES.try_with(|n| n.set(n.get() + layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn two_links() -> ModelBuilder {
    let mut builder = ModelBuilder::new();
    builder.link("upper", LinkInertia::rod(1.0, Vector3::new(0.0, -1.0, 0.0)));
    builder.link("lower", LinkInertia::rod(0.5, Vector3::new(0.0, -0.8, 0.0)));
    builder.joint(JointSpec::revolute("shoulder", "world", "upper", Vector3::z()));
    builder.joint(JointSpec::revolute("elbow", "upper", "lower", Vector3::z()).at(Vector3::new(0.0, -1.0, 0.0)));
    builder
}

#[test]
fn bad_machines_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut ModelBuilder)| {
        let mut builder = two_links();
        change(&mut builder);
        builder.build().expect_err("a bad machine").to_string()
    };
    let hinge = |name: &str, parent: &str, child: &str| JointSpec::revolute(name, parent, child, Vector3::x());
    let solid = LinkInertia::diagonal(1.0, Vector3::zeros(), 1.0, 1.0, 1.0);

    let message = refused(&|b| {
        b.joint(hinge("again", "world", "lower"));
    });
    assert!(message.contains("`lower`") && message.contains("`elbow`") && message.contains("`again`"), "{message}");
    let message = refused(&|b| {
        b.joint(hinge("wrist", "lower", "hand"));
    });
    assert!(message.contains("`wrist`") && message.contains("`hand`"), "{message}");
    let message = refused(&|b| {
        b.link("a", solid).link("b", solid).joint(hinge("ab", "a", "b")).joint(hinge("ba", "b", "a"));
    });
    assert!(message.contains("cycle") && message.contains("ab") && message.contains("ba"), "{message}");
    let message = refused(&|b| {
        b.link("loose", solid);
    });
    assert!(message.contains("`loose`") && message.contains("no joint"), "{message}");
    // a joint that hangs on a loose link: the link is the culprit
    let message = refused(&|b| {
        b.link("loose", solid).link("tip", solid).joint(hinge("j", "loose", "tip"));
    });
    assert!(message.contains("`loose`"), "{message}");
    let message = refused(&|b| {
        b.link("upper", solid);
    });
    assert!(message.contains("`upper`") && message.contains("twice"), "{message}");
    let message = refused(&|b| {
        b.link("world", solid);
    });
    assert!(message.contains("`world`"), "{message}");
    let message = refused(&|b| {
        b.joint(hinge("back", "lower", "world"));
    });
    assert!(message.contains("`back`") && message.contains("swap"), "{message}");
    let message = refused(&|b| {
        b.link("c", solid).joint(JointSpec::revolute("flat", "lower", "c", Vector3::zeros()));
    });
    assert!(message.contains("`flat`") && message.contains("axis"), "{message}");
    let message = refused(&|b| {
        b.link("c", solid).joint(hinge("far", "lower", "c").at(Vector3::new(f64::NAN, 0.0, 0.0)));
    });
    assert!(message.contains("`far`") && message.contains("translation"), "{message}");
    let message = refused(&|b| {
        b.link("c", solid).joint(hinge("light", "lower", "c").with_armature(-1.0));
    });
    assert!(message.contains("`light`") && message.contains("-1"), "{message}");
    let message = refused(&|b| {
        b.gravity(Vector3::new(0.0, f64::INFINITY, 0.0));
    });
    assert!(message.contains("gravity"), "{message}");
}

#[test]
fn inertias_no_body_can_have_are_refused() {
    let c = Vector3::zeros();
    let why = |inertia: LinkInertia| inertia.defect();
    assert!(why(LinkInertia::diagonal(-1.0, c, 1.0, 1.0, 1.0)).unwrap().contains("mass"));
    assert!(why(LinkInertia::diagonal(1.0, c, -1.0, 1.0, 1.0)).unwrap().contains("negative"));
    assert!(why(LinkInertia::diagonal(1.0, c, 1.0, 1.0, 2.1)).unwrap().contains("sum"));
    assert!(why(LinkInertia::diagonal(0.0, c, 1.0, 1.0, 1.0)).unwrap().contains("no mass"));
    assert!(why(LinkInertia::diagonal(1.0, c, f64::NAN, 1.0, 1.0)).unwrap().contains("finite"));
    // products of inertia that make a principal moment negative
    let products = Symmetric3 { xx: 1.0, xy: 2.0, yy: 1.0, zz: 1.0, ..Symmetric3::default() };
    assert!(why(LinkInertia { mass: 1.0, center_of_mass: c, inertia: products }).is_some());
    // the edges of the allowed: a flat plate, a rod, a point, nothing
    assert_eq!(why(LinkInertia::diagonal(1.0, c, 1.0, 1.0, 2.0)), None);
    assert_eq!(why(LinkInertia::rod(1.0, Vector3::new(1.0, 2.0, 3.0))), None);
    assert_eq!(why(LinkInertia::point(1.0, Vector3::new(1.0, 2.0, 3.0))), None);
    assert_eq!(why(LinkInertia::point(0.0, c)), None);
}

#[test]
fn order_depends_on_names_and_topology_only() {
    let build = |order: &[usize]| {
        let mut builder = ModelBuilder::new();
        let links = ["a", "b", "c", "d"];
        let joints = [("w", "world", "a"), ("z", "a", "b"), ("x", "a", "c"), ("y", "c", "d")];
        for &k in order {
            builder.link(links[k], LinkInertia::point(1.0 + k as f64, Vector3::x()));
            let (name, parent, child) = joints[(k + 1) % 4];
            builder.joint(JointSpec::revolute(name, parent, child, Vector3::new(0.1, 0.2, 0.3)));
        }
        builder.build().unwrap()
    };
    let model = build(&[0, 1, 2, 3]);
    assert_eq!(model.joint_names, ["world", "w", "x", "y", "z"]);
    for order in [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        assert_eq!(build(&order), model);
    }
}

/// Every function, once, at a state; the error if there was one.
fn every_function(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    x: &[f64],
) -> Vec<(&'static str, Result<(), Error>)> {
    let n = model.n_v;
    let zeros = || DMatrix::zeros(n, n);
    let (mut A, mut B, mut C) = (zeros(), zeros(), zeros());
    let locked = vec![false; model.n_bodies()];
    let mut reaction = vec![Reaction::ZERO; model.n_bodies()];
    let mut out = vec![0.0; model.n_q];
    let rows: Vec<Motion> = (0..model.n_bodies()).map(|i| axis_row(model, i)).collect();
    vec![
        ("kinematics", kinematics(model, work, q, v)),
        ("accelerations", accelerations(model, work, q, v, x)),
        ("rnea", rnea(model, work, q, v, x).map(drop)),
        ("bias_efforts", bias_efforts(model, work, q, v).map(drop)),
        ("aba", aba(model, work, q, v, x).map(drop)),
        ("aba_hybrid", aba_hybrid(model, work, q, v, x, &locked).map(drop)),
        ("factor", factor(model, work, q, &locked)),
        ("crba", crba(model, work, q, &mut A)),
        ("jerk", jerk(model, work, q, v, x, x, &locked).map(drop)),
        ("rnea_rate", rnea_rate(model, work, q, v, x, x).map(drop)),
        ("reactions", reactions(model, work, q, v, x, &mut reaction)),
        ("rnea_derivatives", rnea_derivatives(model, work, q, v, x, &mut A, &mut B)),
        ("aba_derivatives", aba_derivatives(model, work, q, v, x, &locked, [&mut A, &mut B, &mut C])),
        ("factor_rows", factor_rows(model, work, q, &rows, &locked)),
        ("mass_rows", mass_rows(model, work, q, &rows, &mut A)),
        ("jerk_begin", jerk_begin(model, work, q, v, x)),
        ("rows_derivatives", rows_derivatives(model, work, q, v, x, &rows, &locked, [&mut A, &mut B, &mut C])),
        ("kinetic_energy", kinetic_energy(model, work, q, v).map(drop)),
        ("potential_energy", potential_energy(model, work, q).map(drop)),
        ("center_of_mass", center_of_mass(model, work, q).map(drop)),
        ("momentum", momentum(model, work, q, v).map(drop)),
        ("advance", advance(model, q, v, &mut out)),
    ]
}

/// Functions that never see velocities.
const OF_POSITION: [&str; 6] = ["factor", "factor_rows", "mass_rows", "crba", "potential_energy", "center_of_mass"];

#[test]
fn nan_in_a_state_is_an_error() {
    let mut random = Random::new(3);
    for _ in 0..20 {
        let n = 2 + random.below(10);
        let model = random_tree(&mut random, n, Mix::Floating);
        let mut work = Work::new(&model);
        let (q, v) = (random_position(&mut random, &model), random.reals(model.n_v, 1.0));
        let x = random.reals(model.n_v, 1.0);
        for (name, result) in every_function(&model, &mut work, &q, &v, &x) {
            assert_eq!(result, Ok(()), "{name}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let mut spoilt = q.clone();
            spoilt[random.below(model.n_q)] = bad;
            for (name, result) in every_function(&model, &mut work, &spoilt, &v, &x) {
                assert!(result.is_err(), "{name} took a position {bad}");
            }
            let mut spoilt = v.clone();
            spoilt[random.below(model.n_v)] = bad;
            for (name, result) in every_function(&model, &mut work, &q, &spoilt, &x) {
                assert!(result.is_err() || OF_POSITION.contains(&name), "{name} took a velocity {bad}");
            }
        }
        // and the scratch is none the worse for it
        for (name, result) in every_function(&model, &mut work, &q, &v, &x) {
            assert_eq!(result, Ok(()), "{name} afterwards");
        }
    }
}

#[test]
fn nan_on_a_floating_base_is_non_finite() {
    let mut builder = two_links();
    builder.link("base", LinkInertia::diagonal(1.0, Vector3::zeros(), 0.1, 0.1, 0.1));
    builder.joint(JointSpec::new("float", "world", "base", JointKind::Free));
    builder.link("arm", LinkInertia::rod(1.0, Vector3::x()));
    builder.joint(JointSpec::revolute("hinge", "base", "arm", Vector3::y()));
    let model = builder.build().unwrap();
    let mut work = Work::new(&model);
    let (v, locked) = (vec![0.0; model.n_v], vec![false; model.n_bodies()]);
    for k in 0..model.n_q {
        let mut q = neutral(&model);
        q[k] = f64::NAN;
        assert_eq!(aba(&model, &mut work, &q, &v, &v), Err(Error::NonFinite { function: "aba" }), "position {k}");
        assert_eq!(
            factor(&model, &mut work, &q, &locked),
            Err(Error::NonFinite { function: "factor" }),
            "position {k}"
        );
    }
}

#[test]
fn wrong_lengths_and_strangers_are_errors() {
    let model = two_links().build().unwrap();
    let mut work = Work::new(&model);
    assert!(matches!(aba(&model, &mut work, &[0.0], &[0.0; 2], &[0.0; 2]), Err(Error::Length { what: "q", .. })));
    assert!(matches!(aba(&model, &mut work, &[0.0; 2], &[0.0; 3], &[0.0; 2]), Err(Error::Length { what: "v", .. })));
    assert!(aba_hybrid(&model, &mut work, &[0.0; 2], &[0.0; 2], &[0.0; 2], &[true]).is_err());
    assert!(crba(&model, &mut work, &[0.0; 2], &mut DMatrix::zeros(3, 2)).is_err());
    assert!(work.outside.set_wrench(&model, 3, Force::ZERO).is_err());
    let row = |body| Row { body, projector: Motion::unit(0) };
    let (mut A, mut B) = (DMatrix::zeros(2, 2), DMatrix::zeros(2, 2));
    let mut try_rows =
        |rows: &[Row]| rnea_derivatives_rows(&model, &mut work, &[0.0; 2], &[0.0; 2], &[0.0; 2], rows, &mut A, &mut B);
    assert_eq!(try_rows(&[row(1), row(2)]), Ok(()));
    assert!(try_rows(&[row(2), row(1)]).is_err());
    assert!(try_rows(&[row(1), row(3)]).is_err());

    let rows = [Motion::unit(2); 3];
    let mut try_rows = |rows: &[Motion], locked: &[bool]| factor_rows(&model, &mut work, &[0.0; 2], rows, locked);
    assert!(matches!(try_rows(&rows[1..], &[false; 3]), Err(Error::Length { what: "rows", .. })));
    assert!(matches!(try_rows(&rows, &[false; 2]), Err(Error::Length { what: "locked", .. })));
    assert_eq!(try_rows(&rows, &[false; 3]), Ok(()));
    assert!(matches!(solve_rows(&model, &mut work, &[0.0]), Err(Error::Length { what: "b", .. })));
    assert!(jerk_rows(&model, &mut work, &[0.0], &rows, &[false; 3]).is_err());
    assert!(mass_rows(&model, &mut work, &[0.0; 2], &rows, &mut DMatrix::zeros(2, 3)).is_err());

    // scratch of another machine
    let other = support::random_tree(&mut Random::new(1), 5, Mix::Floating);
    let mut work = Work::new(&other);
    assert!(aba(&model, &mut work, &[0.0; 2], &[0.0; 2], &[0.0; 2]).is_err());
    assert!(factor_rows_at(&model, &mut work, &rows, &[false; 3]).is_err());
}

#[test]
fn a_joint_that_moves_nothing_is_named() {
    let mut builder = two_links();
    builder.link("ghost", LinkInertia::point(0.0, Vector3::zeros()));
    builder.joint(JointSpec::revolute("idle", "lower", "ghost", Vector3::x()));
    let model = builder.build().unwrap();
    let mut work = Work::new(&model);
    let message = aba(&model, &mut work, &[0.0; 3], &[0.0; 3], &[0.0; 3]).unwrap_err().to_string();
    assert!(message.contains("`idle`"), "{message}");
    // reflected inertia is enough
    builder.joint(JointSpec::revolute("motor", "lower", "rotor", Vector3::x()).with_armature(0.1));
    builder.link("rotor", LinkInertia::point(0.0, Vector3::zeros()));
    let mut locked = vec![false; 5];
    let model = builder.build().unwrap();
    locked[model.joint("idle").unwrap()] = true;
    let a = aba_hybrid(&model, &mut Work::new(&model), &[0.0; 4], &[0.0; 4], &[0.0, 0.0, 0.0, 0.2], &locked)
        .unwrap()
        .to_vec();
    assert!((a[model.v_index[model.joint("motor").unwrap()]] - 2.0).abs() < 1e-15);
}

#[test]
fn thin_rod_about_its_axis_is_singular() {
    let mut random = Random::new(11);
    for k in 0..200 {
        let (mut along, beside) = (random.vector(1.0), random.vector(1.0));
        if k % 2 == 0 {
            // close to a coordinate axis
            along = Vector3::x() + along * 0.1f64.powi(k % 16);
        }
        let single = |joint: JointSpec, shift: Vector3<f64>| {
            let mut builder = ModelBuilder::new();
            let mut rod = LinkInertia::rod(1.0, along);
            rod.center_of_mass += shift;
            builder.link("rod", rod).joint(joint);
            let model = builder.build().unwrap();
            let (q, zeros) = (neutral(&model), vec![0.0; model.n_v]);
            aba(&model, &mut Work::new(&model), &q, &zeros, &zeros).map(drop)
        };
        let roll = JointSpec::revolute("roll", "world", "rod", along * 3.0);
        assert!(
            matches!(single(roll.clone(), Vector3::zeros()), Err(Error::Singular { joint, .. }) if joint == "roll")
        );
        for shift in [Vector3::zeros(), beside] {
            let float = JointSpec::new("float", "world", "rod", JointKind::Free);
            assert!(matches!(single(float, shift), Err(Error::Singular { joint, .. }) if joint == "float"));
        }
        // reflected inertia, a rod beside its axis, or an axis a millionth of a turn away from it is enough
        assert_eq!(single(roll.clone().with_armature(1e-9), Vector3::zeros()), Ok(()));
        assert_eq!(single(roll, beside), Ok(()));
        let askew = along + 1e-6 * along.norm() * beside.cross(&along).normalize();
        assert_eq!(single(JointSpec::revolute("askew", "world", "rod", askew), Vector3::zeros()), Ok(()));
    }
}

#[test]
fn evaluating_does_not_allocate() {
    let mut random = Random::new(5);
    let model = random_tree(&mut random, 20, Mix::Floating);
    let mut work = Work::new(&model);
    let (q, v) = (random_position(&mut random, &model), random.reals(model.n_v, 1.0));
    let (x, n) = (random.reals(model.n_v, 1.0), model.n_v);
    let (mut A, mut B, mut C) = (DMatrix::zeros(n, n), DMatrix::zeros(n, n), DMatrix::zeros(n, n));
    let locked = vec![false; model.n_bodies()];
    let mut reaction = vec![Reaction::ZERO; model.n_bodies()];
    let mut pose = Poses::new(&model);
    let mut rows = vec![Motion::ZERO; model.n_bodies()];
    let before = ALLOCATIONS.get();
    aba(&model, &mut work, &q, &v, &x).unwrap();
    aba_hybrid(&model, &mut work, &q, &v, &x, &locked).unwrap();
    rnea(&model, &mut work, &q, &v, &x).unwrap();
    crba(&model, &mut work, &q, &mut A).unwrap();
    jerk(&model, &mut work, &q, &v, &x, &x, &locked).unwrap();
    reactions(&model, &mut work, &q, &v, &x, &mut reaction).unwrap();
    poses(&model, &work, &mut pose).unwrap();
    aba_derivatives(&model, &mut work, &q, &v, &x, &locked, [&mut A, &mut B, &mut C]).unwrap();
    momentum(&model, &mut work, &q, &v).unwrap();
    unloaded_rows(&model, &mut rows).unwrap();
    factor_rows(&model, &mut work, &q, &rows, &locked).unwrap();
    solve_rows(&model, &mut work, &x).unwrap();
    work.add_force_changes();
    jerk_begin(&model, &mut work, &q, &v, &x).unwrap();
    jerk_rows(&model, &mut work, &x, &rows, &locked).unwrap();
    mass_rows(&model, &mut work, &q, &rows, &mut A).unwrap();
    rows_derivatives(&model, &mut work, &q, &v, &x, &rows, &locked, [&mut A, &mut B, &mut C]).unwrap();
    assert_eq!(ALLOCATIONS.get(), before);
}

#[test]
fn long_chain_takes_little_memory() {
    let n = 10_000;
    let start = BYTES.get();
    let mut builder = ModelBuilder::new();
    for k in 0..n {
        let parent = if k == 0 { "world".to_string() } else { format!("l{}", k - 1) };
        builder.link(&format!("l{k}"), LinkInertia::rod(0.1, Vector3::new(0.0, 0.0, -0.1)));
        let joint = JointSpec::revolute(&format!("j{k}"), &parent, &format!("l{k}"), Vector3::x());
        builder.joint(joint.at(Vector3::new(0.0, 0.0, if k == 0 { 0.0 } else { -0.1 })));
    }
    let model = builder.build().unwrap();
    let mut work = Work::new(&model);
    let (q, zeros) = (vec![1e-3; n], vec![0.0; n]);
    let tau = rnea(&model, &mut work, &q, &zeros, &zeros).unwrap().to_vec();
    let a = aba(&model, &mut work, &q, &zeros, &tau).unwrap();
    // everything ever allocated, freed or not
    assert!(BYTES.get() - start < 100_000_000, "{} bytes", BYTES.get() - start);
    // locked against gravity it stays, except for the rounding of a moment of 2.5e6 N·m on the lightest link
    assert!(a.iter().all(|a| a.is_finite()));
    let whole = potential_energy(&model, &mut work, &q).unwrap();
    assert!(whole < 0.0);
}

#[test]
fn own_inertia_is_that_of_one_body() {
    let mut random = Random::new(23);
    for k in 0..50 {
        let (axis, inertia) = (random.vector(1.0), random.inertia(1.3));
        let kind = if k % 2 == 0 { JointKind::Revolute { axis } } else { JointKind::Prismatic { axis } };
        let mut builder = ModelBuilder::new();
        builder.link("body", inertia).joint(JointSpec::new("joint", "world", "body", kind).with_armature(0.2));
        // what hangs on it makes no difference
        builder.link("tip", random.inertia(0.4)).joint(JointSpec::revolute("elbow", "body", "tip", random.vector(1.0)));
        let mut model = builder.build().unwrap();
        let (mut alone, mut mass) = (ModelBuilder::new(), nalgebra::DMatrix::zeros(1, 1));
        alone.link("body", inertia).joint(JointSpec::new("joint", "world", "body", kind).with_armature(0.2));
        let alone = alone.build().unwrap();
        crba(&alone, &mut Work::new(&alone), &[0.7], &mut mass).unwrap();
        assert!((model.own_inertia(0) - mass[(0, 0)]).abs() < 1e-14);
        model.shift_armature(0, -0.2);
        assert!((model.own_inertia(0) + 0.2 - mass[(0, 0)]).abs() < 1e-14);
    }
}

#[test]
fn derivatives_of_a_far_machine_keep_their_digits() {
    let derivatives = |place: Vector3<f64>| {
        let mut builder = ModelBuilder::new();
        builder.link("table", LinkInertia::rod(9.0, Vector3::new(0.0, 0.0, 1.0)));
        builder.link("upper", LinkInertia::rod(1.0, Vector3::new(0.0, -0.3, 0.0)));
        builder.link("lower", LinkInertia::rod(0.5, Vector3::new(0.2, -0.1, 0.0)));
        builder.joint(JointSpec::new("ground", "world", "table", JointKind::Fixed));
        builder.joint(JointSpec::revolute("shoulder", "table", "upper", Vector3::x()).at(place));
        builder.joint(JointSpec::revolute("elbow", "upper", "lower", Vector3::z()).at(Vector3::new(0.0, -0.3, 0.0)));
        let model = builder.build().unwrap();
        let mut work = Work::new(&model);
        let mut d = [(); 3].map(|()| DMatrix::zeros(2, 2));
        let [dq, dv, dtau] = &mut d;
        let (q, v, tau) = ([0.4, -1.1], [2.0, -3.0], [0.3, 0.1]);
        aba_derivatives(&model, &mut work, &q, &v, &tau, &[false; 4], [dq, dv, dtau]).unwrap();
        d
    };
    let (near, far) = (derivatives(Vector3::zeros()), derivatives(Vector3::new(1e5, -3e4, 10.0)));
    for (near, far) in near.iter().zip(&far) {
        assert!((near - far).amax() < 1e-13 * near.amax(), "{near}{far}");
    }
}

#[test]
fn paths_between_bodies_are_symmetric_differences() {
    let mut random = Random::new(7);
    for _ in 0..200 {
        let n = 1 + random.below(40);
        let model = random_tree(&mut random, n, Mix::Everything);
        let bodies = [random.below(model.n_bodies()), random.below(model.n_bodies())];
        let ancestors = bodies.map(|mut body| {
            let mut above = vec![body];
            while body != 0 {
                body = model.parent[body];
                above.push(body);
            }
            above
        });
        let shared = ancestors[0].iter().find(|body| ancestors[1].contains(body)).unwrap();
        assert_eq!(model.shared_ancestor(bodies), *shared);
        let on_one = |body: &usize| ancestors[0].contains(body) != ancestors[1].contains(body);
        let velocities: Vec<usize> = (1..model.n_bodies()).filter(on_one).flat_map(|i| model.v_range(i)).collect();
        assert_eq!(model.velocities_between(bodies), velocities);
    }
}
