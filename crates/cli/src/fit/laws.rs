//! Laws of friction, fitted one by one to the same logs.

use super::FitCommand;
use super::names;
use super::output::percent;
use crate::Outcome;
use crate::interrupt::Interrupt;
use anyhow::{Context, Result};
use bristle::fit::{ChannelError, Fit};
use std::time::Instant;

/// Fits each law of `PATH=LAW,LAW,…` in place of that at the path; one row each, the best by hold-out first.
pub fn compare(
    command: &FitCommand,
    fit: &Fit,
    laws: &str,
    (interrupt, start): (&Interrupt, Instant),
) -> Result<Outcome> {
    let (path, laws) = laws.split_once('=').context("--law: write PATH=LAW,LAW,…")?;
    let mut rows: Vec<(f64, String)> = Vec::new();
    for law in split(laws) {
        let (law, freed) = names::complete(fit, path, &law)?;
        let scene = fit.scene().with_overrides(&[(path, &law)])?;
        let other = freed.with_scene(&scene).keep_known();
        let row = match command.solve(&other, interrupt, start) {
            Ok(fitted) => {
                let (train, held) = (mean(fitted.errors()), mean(fitted.hold_out_errors()));
                let judge = if held.is_nan() { train } else { held };
                let values = fitted
                    .parameters()
                    .iter()
                    .map(|p| format!("{} {:.5}", p.path.rsplit('.').next().unwrap_or(""), p.value));
                let held = if held.is_nan() { "–".to_owned() } else { format!("{} %", percent(held, 3)) };
                (
                    judge,
                    format!(
                        "{law:<40} train {:>8} %   hold-out {held:>9}   {}",
                        percent(train, 3),
                        values.collect::<Vec<_>>().join(", ")
                    ),
                )
            }
            Err(error) => (f64::INFINITY, format!("{law:<40} failed: {error}")),
        };
        rows.push(row);
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.iter().for_each(|(_, row)| crate::print(&format!("{row}\n")));
    Ok(if rows.iter().any(|row| row.0.is_finite()) { Outcome::Done } else { Outcome::Failed })
}

/// Mean relative error of all channels, per cent; none without channels.
fn mean(errors: &[ChannelError]) -> f64 {
    errors.iter().map(|error| error.relative).sum::<f64>() / errors.len() as f64
}

/// Parts between commas outside of parentheses.
fn split(laws: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in laws.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn commas_in_parentheses_belong_to_a_law() {
        assert_eq!(split("Coulomb(coulomb: 1, stiction: 2), LuGre"), ["Coulomb(coulomb: 1, stiction: 2)", "LuGre"]);
    }
}
