//! Work of Radau5 beside another translation of Hairer's RADAU5: scipy's `Radau`, run by `witness/scipy_radau.py`.

use crate::problems::{Hires, Problem, VanDerPol};
use bristle_integrate::{Control, Driver, Method, Options, Stats};

/// Work of scipy 1.17.1 (numpy 2.4.6) at rtol = atol = `tol`: accepted steps, calls of f, Jacobians, factorisations
/// (the real and the complex one counted once), relative error at the end.
struct Witness {
    tol: f64,
    steps: usize,
    rhs: usize,
    jacobians: usize,
    factorisations: usize,
    error: f64,
}

#[rustfmt::skip]
const VAN_DER_POL: [Witness; 5] = [
    Witness { tol: 1e-4, steps:  311, rhs:  2905, jacobians:  91, factorisations: 178, error: 9.9e-07 },
    Witness { tol: 1e-5, steps:  509, rhs:  4550, jacobians: 131, factorisations: 225, error: 6.2e-08 },
    Witness { tol: 1e-6, steps:  874, rhs:  7336, jacobians: 207, factorisations: 301, error: 6.5e-09 },
    Witness { tol: 1e-7, steps: 1552, rhs: 12634, jacobians: 325, factorisations: 439, error: 5.7e-10 },
    Witness { tol: 1e-8, steps: 2741, rhs: 21890, jacobians: 523, factorisations: 649, error: 2.6e-11 },
];

#[rustfmt::skip]
const HIRES: [Witness; 5] = [
    Witness { tol: 1e-4, steps:   31, rhs:   399, jacobians:  17, factorisations:  41, error: 1.3e-03 },
    Witness { tol: 1e-5, steps:   49, rhs:   513, jacobians:  21, factorisations:  43, error: 4.0e-05 },
    Witness { tol: 1e-6, steps:   81, rhs:   803, jacobians:  28, factorisations:  59, error: 1.7e-05 },
    Witness { tol: 1e-7, steps:  139, rhs:  1242, jacobians:  39, factorisations:  69, error: 4.3e-08 },
    Witness { tol: 1e-8, steps:  240, rhs:  2027, jacobians:  60, factorisations:  95, error: 8.6e-08 },
];

fn radau5<P: Problem>(mut problem: P, tol: f64) -> (Stats, f64) {
    let ((t, y), t_end) = (problem.start(), problem.t_end());
    let options = Options::new(Method::Radau5, Control::error(tol, tol));
    let mut driver = Driver::new(&mut problem, t, &y, options).unwrap();
    driver.advance(&mut problem, t_end, &mut ()).unwrap();
    (*driver.stats(), problem.error(driver.y()))
}

fn compare<P: Problem>(problem: P, witnesses: &[Witness]) {
    println!("{}            steps        rhs          jacobians  factorisations   error", P::NAME);
    let mut too_many = vec![];
    for witness in witnesses {
        let (stats, error) = radau5(problem.clone(), witness.tol);
        println!(
            "  {:5.0e}   {:5} / {:<5} {:6} / {:<6} {:4} / {:<4} {:5} / {:<5} {:9.1e} / {:.1e}   rejected {}, failed {}",
            witness.tol,
            stats.n_accepted,
            witness.steps,
            stats.n_rhs,
            witness.rhs,
            stats.n_jacobian,
            witness.jacobians,
            stats.n_factor,
            witness.factorisations,
            error,
            witness.error,
            stats.n_rejected,
            stats.n_failed,
        );
        for (what, ours, theirs) in [
            ("steps", stats.n_accepted, witness.steps),
            ("rhs", stats.n_rhs, witness.rhs),
            ("factorisations", stats.n_factor, witness.factorisations),
        ] {
            if ours as f64 > 1.15 * theirs as f64 {
                too_many.push(format!("{what} at {:e}: {ours} instead of {theirs}", witness.tol));
            }
        }
    }
    assert!(too_many.is_empty(), "{}: {too_many:?}", P::NAME);
}

#[test]
fn van_der_pol_costs_no_more_than_scipy() {
    compare(VanDerPol::default(), &VAN_DER_POL);
}

#[test]
fn hires_costs_no_more_than_scipy() {
    compare(Hires, &HIRES);
}
