//! Bristle friction at every tolerance: the tables of `BRISTLES.md`.
//!
//! ```text
//! cargo bench -p bristle --bench bristles                       all scenes
//! cargo bench -p bristle --bench bristles -- slider pins        those whose names are given
//! ```

#[path = "../tests/bristles_at_every_tolerance.rs"]
mod bristles_at_every_tolerance;

use bristle::scene::{Formulation, Method};
use bristles_at_every_tolerance::{CASES, difference, run, tight};

const TOLERANCES: [f64; 6] = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10];

fn main() -> Result<(), String> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number = |name: &str, default: f64| {
        std::env::args().find_map(|a| a.strip_prefix(name)?.parse().ok()).unwrap_or(default)
    };
    if wanted.iter().any(|w| w == "random") {
        return random(number("--seed=", 0.0) as u64, number("--count=", 20.0) as usize);
    }
    let (ratio, least) = (number("--ratio=", 1.0), number("--least=", 0.0));
    let rhos = [0.0, 0.5, 0.8, 1.0].map(|spectral_radius| Method::GeneralizedAlpha { spectral_radius });
    let methods = [Method::Dopri5, Method::Radau5].into_iter().chain(rhos);
    for case in CASES.iter().filter(|case| wanted.is_empty() || wanted.iter().any(|name| name == case.name)) {
        let reference = tight(case)?;
        println!("## {}\n\n{:?}\n", case.name, reference.contacts);
        println!("| | {} |", TOLERANCES.map(|t| format!("{t:e}")).join(" | "));
        println!("|---|{}", "---|".repeat(TOLERANCES.len()));
        for method in methods.clone() {
            let mut row = Vec::new();
            for tolerance in TOLERANCES {
                if tolerance < least {
                    continue;
                }
                let start = std::time::Instant::now();
                row.push(match run(case, method, (tolerance, ratio * tolerance), Formulation::Implicit) {
                    Ok(shown) => {
                        let (time, peak) = difference(&shown, &reference);
                        if std::env::var("SHOW").is_ok() { eprintln!("{method:?} {tolerance:e} {:?}", shown.contacts); }
                        let mark = if time > 0.01 || peak > 0.02 { "**WRONG** " } else { "" };
                        let ms = 1e3 * start.elapsed().as_secs_f64();
                        format!("{mark}{:.2} %, {:.2} % ({}, {ms:.0} ms)", 1e2 * time, 1e2 * peak, shown.work.0)
                    }
                    Err(error) => error,
                });
            }
            println!("| `{method:?}` | {} |", row.join(" | "));
        }
        println!();
    }
    Ok(())
}

fn random(seed: u64, count: usize) -> Result<(), String> {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let (mut wrong, mut runs, mut errors) = (0, 0, 0);
    for k in 0..count {
        let mut u = |a: f64, b: f64| rng.random_range(a..b);
        let m = 10f64.powf(u(-1.0, 1.0));
        let f_c = 10f64.powf(u(-1.0, 1.0));
        let f_s = f_c * (1.0 + u(0.0, 0.8));
        let v_s = 10f64.powf(u(-4.0, -1.0));
        let sigma0 = f_s / 10f64.powf(u(-6.0, -3.0));
        let sigma1 = 2.0 * u(0.0, 1.0) * (sigma0 * m).sqrt();
        let sigma2 = u(0.0, 0.3) * f_c;
        let omega = 10f64.powf(u(-0.5, 1.0));
        let stiffness = m * omega * omega;
        let rate = u(0.02, 0.6) * f_s / (m * omega);
        let duration = 4.0 * f_s / (stiffness * rate) + 6.0 / omega;
        let law = match k % 4 {
            0 | 1 => format!("LuGre(sigma0: {sigma0:?}, sigma1: {sigma1:?}, sigma2: {sigma2:?}, coulomb: {f_c:?}, stiction: {f_s:?}, stribeck_velocity: {v_s:?})"),
            2 => format!("ElastoPlastic(breakaway: {:?}, sigma0: {sigma0:?}, sigma1: {sigma1:?}, sigma2: {sigma2:?}, coulomb: {f_c:?}, stiction: {f_s:?}, stribeck_velocity: {v_s:?})", 0.8 * f_s / sigma0),
            _ => format!("Dahl(sigma0: {sigma0:?}, coulomb: {f_s:?})"),
        };
        let drive = if u(0.0, 1.0) < 0.6 { format!("Pull(stiffness: {stiffness:?}, target: Ramp(rate: {rate:?}))") } else {
            format!("Effort(Sine(amplitude: {:?}, frequency: {:?}))", f_s * u(0.7, 1.6), omega) };
        let scene = format!("Scene(gravity: (0.0, 0.0, 0.0), links: [Link(name: \"block\", mass: {m:?})], joints: [Joint(name: \"slide\", parent: \"world\", child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: {law}, drive: {drive})], duration: {duration:?}, output: Output(interval: 0.1))");
        std::fs::write("/tmp/br/random.ron", &scene).map_err(|e| e.to_string())?;
        let contacts: &'static [(&'static str, f64)] = Box::leak(Box::new([("slide", v_s)]));
        let case = bristles_at_every_tolerance::Case { name: "random", file: "/tmp/br/random.ron", replace: ("Scene(", "Scene("), duration, interval: duration / number_of_rows(), contacts };
        let reference = match tight(&case) { Ok(r) => r, Err(e) => { println!("{k}: tight {e}"); continue } };
        let rhos = [0.0, 0.5, 0.8, 1.0].map(|spectral_radius| Method::GeneralizedAlpha { spectral_radius });
        let mut bad = 0;
        for method in [Method::Radau5].into_iter().chain(rhos) {
            for tolerance in [1e-2, 1e-3, 1e-4, 1e-6] {
                runs += 1;
                let start = std::time::Instant::now();
                match run(&case, method, (tolerance, tolerance), Formulation::Implicit) {
                    Ok(shown) => {
                        let (time, peak) = difference(&shown, &reference);
                        if time > 0.01 || peak > 0.02 {
                            bad += 1;
                            let b = |s: &bristles_at_every_tolerance::Shown| s.contacts[0].0.len();
                            println!("{k} {method:?} {tolerance:e}: {time:.4} {peak:.4} ({} steps) {} of {} break-aways", shown.work.0, b(&shown), b(&reference));
                        }
                    }
                    Err(e) => { errors += 1; println!("{k} {method:?} {tolerance:e}: {e}") }
                }
                if start.elapsed().as_secs_f64() > 1.0 { println!("{k} {method:?} {tolerance:e} took {:?}", start.elapsed()); }
            }
        }
        wrong += bad;
        if bad > 0 { println!("{scene}\n{:?}", reference.contacts); std::fs::write(format!("/tmp/br/random{k}.ron"), &scene).map_err(|e| e.to_string())?; }
    }
    println!("{wrong} of {runs} wrong, {errors} errors");
    Ok(())
}
fn number_of_rows() -> f64 { std::env::var("ROWS").ok().and_then(|e| e.parse().ok()).unwrap_or(40000.0) }
