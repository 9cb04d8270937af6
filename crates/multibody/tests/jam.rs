//! Loads that outgrow inertia, joints without any, and numbers that are none: each is an error of its own.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use bristle_multibody::spatial::Motion;
use bristle_multibody::*;
use nalgebra::{DMatrix, Vector3};

/// A hinge about z with a point mass and a small disc beyond it: IA S = (Izz about z; force m c along y).
fn rotor(armature: f64) -> Model {
    let mut builder = ModelBuilder::new();
    builder.link("rotor", LinkInertia::diagonal(2.0, Vector3::new(0.5, 0.0, 0.0), 0.1, 0.1, 0.1));
    builder.joint(JointSpec::revolute("shaft", "world", "rotor", Vector3::z()).with_armature(armature));
    builder.build().unwrap()
}

#[test]
fn a_load_that_outgrows_the_inertia_is_a_jam() {
    let (model, free) = (rotor(0.2), [false; 2]);
    let mut work = Work::new(&model);
    // Sᵀ IA S + armature = 0.1 + 2·0.5² + 0.2 and (IA S)_y = 2·0.5
    let row = |load: f64| [Motion::ZERO, axis_row(&model, 1) + Motion::new(Vector3::zeros(), Vector3::y() * load)];
    factor_rows(&model, &mut work, &[0.3], &row(-0.7), &free).unwrap();
    assert!((work.pivot_unloaded(1) - 0.8).abs() < 1e-15);
    assert!((work.pivot_value(1) - 0.1).abs() < 1e-15);
    assert!((work.pivot_force(1).force() - Vector3::y()).norm() < 1e-15);
    assert!((solve_rows(&model, &mut work, &[2.0]).unwrap()[0] - 20.0).abs() < 1e-12);
    for (load, D) in [(-0.8, 0.0), (-1.0, -0.2)] {
        let jam = factor_rows(&model, &mut work, &[0.3], &row(load), &free).unwrap_err();
        match &jam {
            Error::Jam { joint, inertia } => assert!(joint == "shaft" && (inertia - D).abs() < 1e-15),
            other => panic!("{other}"),
        }
        assert!(jam.to_string().contains("`shaft` jams"), "{jam}");
    }
    // locked, it does not ask for its row
    factor_rows(&model, &mut work, &[0.3], &row(f64::NAN), &[false, true]).unwrap();
    assert_eq!(solve_rows(&model, &mut work, &[2.0]).unwrap(), [0.0]);
}

#[test]
fn massless_joint_is_singular() {
    let mut builder = ModelBuilder::new();
    builder.link("rod", LinkInertia::rod(1.0, Vector3::z()));
    builder.joint(JointSpec::revolute("spin", "world", "rod", Vector3::z()));
    let model = builder.build().unwrap();
    let mut work = Work::new(&model);
    let mut factor = |q: f64, row: Motion| factor_rows(&model, &mut work, &[q], &[Motion::ZERO, row], &[false; 2]);
    let axis = Motion::unit(2);
    assert!(matches!(factor(0.0, axis), Err(Error::Singular { .. })));
    assert!(matches!(factor(0.0, axis + Motion::unit(3)), Err(Error::Singular { .. })));
    let not_finite = Err(Error::NonFinite { function: "factor_rows" });
    assert_eq!(factor(f64::NAN, axis), not_finite);
    assert_eq!(factor(0.0, axis * f64::NAN), not_finite);
}

#[test]
fn a_loaded_joint_beyond_a_free_body_can_jam_it() {
    let mut builder = ModelBuilder::new();
    builder.link("base", LinkInertia::diagonal(1.0, Vector3::zeros(), 0.1, 0.1, 0.1));
    builder.link("rotor", LinkInertia::diagonal(2.0, Vector3::new(0.5, 0.0, 0.0), 0.1, 0.1, 0.1));
    builder.joint(JointSpec::new("float", "world", "base", JointKind::Free));
    builder.joint(JointSpec::revolute("shaft", "base", "rotor", Vector3::z()).at(Vector3::new(0.0, 0.4, 0.0)));
    let model = builder.build().unwrap();
    let q = neutral(&model);
    // the shaft's own pivot knows no load along x; the base recoils, and there det M_P changes its sign
    let mut work = Work::new(&model);
    let mut at = |load: f64| {
        let loaded = axis_row(&model, 2) + Motion::new(Vector3::zeros(), Vector3::x() * load);
        let rows = [Motion::ZERO, Motion::ZERO, loaded];
        let mut M = DMatrix::zeros(model.n_v, model.n_v);
        mass_rows(&model, &mut work, &q, &rows, &mut M).unwrap();
        (M.determinant(), factor_rows(&model, &mut work, &q, &rows, &[false; 3]))
    };
    let mut jams = 0;
    for load in [-20.0, -5.0, -1.0, 0.0, 1.0, 5.0, 20.0] {
        match at(load) {
            (positive, Ok(())) => assert!(positive > 0.0, "{load}"),
            (negative, Err(Error::Jam { joint, .. })) => {
                assert!(negative <= 0.0 && joint == "float", "{load}");
                jams += 1;
            }
            (_, Err(error)) => panic!("{error}"),
        }
    }
    assert!((1..4).contains(&jams), "{jams}");
}
