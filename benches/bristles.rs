//! Bristle friction at every tolerance: the tables of `BRISTLES.md`.
//!
//! ```text
//! cargo bench -p bristle --bench bristles                               all scenes, rtol = atol
//! cargo bench -p bristle --bench bristles -- slider pins                the named ones
//! cargo bench -p bristle --bench bristles -- --ratio=0.01               atol = rtol/100
//! ```

#[path = "../tests/bristles_at_every_tolerance/table.rs"]
mod table;

use bristle::scene::{Formulation, Method};
use table::{CASES, Case, METHODS, Shown, TOLERANCES, difference, is_right, run, tight};

fn main() -> Result<(), String> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let ratio = std::env::args().find_map(|argument| argument.strip_prefix("--ratio=")?.parse().ok()).unwrap_or(1.0);
    for case in CASES.iter().filter(|case| wanted.is_empty() || wanted.iter().any(|name| name == case.name)) {
        let reference = tight(case)?;
        let times: Vec<f64> = reference.contacts.iter().flat_map(|contact| &contact.0).copied().collect();
        println!("### {} (`{}`, {} s)\n", case.name, case.file, case.duration);
        println!("Break-aways at {times:.4?} s.\n");
        println!("| | {} |", TOLERANCES.map(|tolerance| format!("{tolerance:e}")).join(" | "));
        println!("|---|{}", "---|".repeat(TOLERANCES.len()));
        for method in METHODS {
            row(case, &reference, method, ratio, Formulation::Implicit);
        }
        // friction of reactions, and without
        if ["pins", "slider"].contains(&case.name) {
            for formulation in [Formulation::Jerk, Formulation::Residual] {
                for method in METHODS.into_iter().filter(|method| *method != Method::Dopri5) {
                    row(case, &reference, method, ratio, formulation);
                }
            }
        }
        println!();
    }
    Ok(())
}

/// One method at all tolerances.
fn row(case: &Case, reference: &Shown, method: Method, ratio: f64, formulation: Formulation) {
    let cells = TOLERANCES.map(|tolerance| match run(case, method, (tolerance, ratio * tolerance), formulation) {
        Ok(shown) => {
            let (time, peak) = difference(&shown, reference);
            let mark = if is_right((time, peak)) { "" } else { "**wrong** " };
            format!("{mark}{:.2}, {:.2} ({})", 1e2 * time, 1e2 * peak, shown.steps)
        }
        Err(error) => error,
    });
    let name = match method {
        Method::GeneralizedAlpha { spectral_radius } => format!("α, ρ∞ = {spectral_radius}"),
        other => format!("`{other:?}`"),
    };
    let formulation = if formulation == Formulation::Implicit { String::new() } else { format!(", `{formulation:?}`") };
    println!("| {name}{formulation} | {} |", cells.join(" | "));
}
