//! Random machines with bristles: every error-controlled stepper at tolerances from 1e-2 to 1e-8 against a tight run.
//!
//! ```text
//! cargo bench -p bristle --bench random_bristles -- 0 200               seeds 0 to 199
//! cargo bench -p bristle --bench random_bristles -- 17 18 --all         one of them, every run
//! ```

#[path = "../tests/bristles_at_every_tolerance/random.rs"]
mod random;

use bristle::scene::{Formulation, Method};
use random::{Machine, Off, difference, reference, run};

const TOLERANCES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8];

fn main() {
    let given: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let (is_all, shows_text, is_quick) = (has("--all"), has("--text"), has("--quick"));
    let (from, to) = (given.first().copied().unwrap_or(0), given.get(1).copied().unwrap_or(100));
    let alpha = |spectral_radius: f64| Method::GeneralizedAlpha { spectral_radius };
    let methods = [Method::Dopri5, Method::Radau5, alpha(0.0), alpha(0.5), alpha(0.8), alpha(1.0)];
    let (mut n_machines, mut n_runs, mut n_wrong, mut n_errors, mut n_long) = (0, 0, 0, 0, 0);
    let (mut n_warned, mut n_right_warned) = (0, 0);
    let mut steps = [0; 6];
    for seed in from..to {
        let machine = Machine::new(seed);
        if shows_text {
            println!("{}", machine.text());
        }
        let Some(tight) = reference(&machine, 60_000) else { continue };
        n_machines += 1;
        for (k, &method) in methods.iter().enumerate() {
            if is_quick && [0, 3].contains(&k) {
                continue;
            }
            for tolerance in TOLERANCES {
                if is_quick && (tolerance == 1e-3 || tolerance == 1e-8) {
                    continue;
                }
                let scene = machine.scene(method, (tolerance, tolerance), Formulation::Implicit);
                n_runs += 1;
                match scene.and_then(|scene| run(&machine, &scene, 60_000)) {
                    Ok(shown) => {
                        steps[k] += shown.steps;
                        let off = difference(&machine, &shown, &tight, 1.0);
                        // a warning covers positions and friction at every row, not break-aways and peaks
                        let is_warned = shown.is_warned && Off { position: 0.0, friction: 0.0, ..off }.is_right();
                        let mark = match (off.is_right(), is_warned) {
                            (true, true) => "right, warned",
                            (true, false) => "right",
                            (false, true) => "warned",
                            (false, false) => "WRONG",
                        };
                        n_wrong += usize::from(!off.is_right() && !is_warned);
                        n_warned += usize::from(!off.is_right() && is_warned);
                        n_right_warned += usize::from(off.is_right() && is_warned);
                        if is_all || !off.is_right() {
                            println!(
                                "{mark} {} {method:?} {tolerance:e} {off:.4?} {} steps {:?}",
                                machine.name, shown.steps, shown.counts
                            );
                        }
                    }
                    Err(error) if error.starts_with("more than") => n_long += 1,
                    Err(error) => {
                        n_errors += 1;
                        println!("error {} {method:?} {tolerance:e}: {error}", machine.name);
                    }
                }
            }
        }
    }
    println!(
        "{n_machines} machines, {n_runs} runs: {n_wrong} wrong, {n_warned} off with a warning, \
         {n_right_warned} right with a warning, {n_errors} errors, {n_long} too long; steps {steps:?}"
    );
}
