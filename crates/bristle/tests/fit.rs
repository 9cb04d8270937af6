//! Fits of logs whose truth is known, and logs that cannot be fitted.

use bristle::fit::{FitFile, Table};

/// `axis.csv` was integrated by another program with steps of 1 µs: see the fit file for its parameters.
#[test]
fn the_parameters_of_an_axis_are_found_from_all_starts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/fit/axis.fit.ron");
    let fitted = FitFile::load(path, &[]).unwrap().fit.solve().unwrap();
    // mass, damping, coulomb, stiction − coulomb
    for (found, truth) in fitted.parameters().iter().zip([3.2, 4.5, 5.5, 2.0]) {
        let off = (found.value - truth).abs();
        assert!(off < 3.0 * found.deviation, "{}: {} ± {}, not {truth}", found.path, found.value, found.deviation);
        assert!(found.deviation < 0.01 * truth, "{}: ± {}", found.path, found.deviation);
    }
    assert_eq!(fitted.n_same(), 4);
}

#[test]
fn a_cell_that_is_no_number_has_its_place() {
    let error = Table::parse("t,x\n0,1\n1,nan\n", "run.csv").unwrap_err().to_string();
    assert!(error.contains("run.csv:3:3"), "{error}");
}
