//! Eigenvalues of the slider's equations about a state, by [`bristle::Simulation::linearize`]: figures 8, 13 and 14.
//!
//! ```text
//! λ_max ≈ α|y₂|/(ε g(y₂))        for |y₂| ≫ 1,   g = 1 + γ exp(−y₂²)
//! ```

use super::super::document::{Document, digits};
use super::super::{Effort, Progress};
use super::{ALPHA, EPSILON, slider};
use crate::scoreboard::Verdict;
use bristle::component::BristleState;
use bristle::{Error, Simulation};
use bristle_plot::chart::{self, Panel, Style};
use nalgebra::Complex;

/// Eigenvalues about the present state.
fn eigenvalues(sim: &mut Simulation) -> Result<Vec<Complex<f64>>, Error> {
    Ok(sim.linearize()?.a.complex_eigenvalues().iter().copied().collect())
}

fn largest(sim: &mut Simulation) -> Result<f64, Error> {
    Ok(eigenvalues(sim)?.iter().fold(0.0, |most, value| most.max(value.norm())))
}

/// λ_max where bristles are fast.
fn asymptotic(y2: f64) -> f64 {
    ALPHA * y2.abs() / (EPSILON * (1.0 + 0.5 * (-y2 * y2).exp()))
}

/// Puts y₂ and y₃ in place.
fn place(sim: &mut Simulation, y2: f64, y3: f64) -> Result<(), Error> {
    sim.set_joint("slide", 0.0, y2)?;
    let joint = sim.joint("slide")?;
    if let Ok(mut state) = sim.world_mut().get::<&mut BristleState>(joint) {
        // σ₀ = α/ε
        state.z = y3 * EPSILON / ALPHA;
    }
    Ok(())
}

/// λ_max along a run: τ, y₂, λ at `n` instants from `from` to `to`.
fn along(from: f64, to: f64, n: usize) -> Result<[Vec<f64>; 3], Error> {
    let mut sim = slider().tolerance("Dopri5", 1e-7, 1e-7).simulation()?;
    if from > 0.0 {
        sim.step(from)?;
    }
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for k in 0..=n {
        let t = from + (to - from) * k as f64 / n as f64;
        if t > sim.time() {
            sim.step(t - sim.time())?;
        }
        found[0].push(sim.time());
        found[1].push(sim.velocity("slide")?);
        found[2].push(largest(&mut sim)?);
    }
    Ok(found)
}

/// A velocity near the largest of the run.
const FAST: f64 = 300.0;

/// Puts the figures into the report.
pub fn write(document: &mut Document, effort: Effort, progress: &Progress) -> Result<(), Error> {
    progress.say("do2007: eigenvalues");
    document.heading("Eigenvalues: figures 8, 13 and 14");
    let mut sim = slider().simulation()?;
    let mut stuck = eigenvalues(&mut sim)?;
    stuck.sort_by(|a, b| a.im.total_cmp(&b.im));
    let (low, zero, high) = (stuck[0], stuck[1], stuck[2]);
    document.compare("stuck.real", -111.94, high.re);
    document.compare("stuck.imaginary", 193.57, high.im);
    document.compare("stuck.magnitude", 223.61, high.norm());
    document.note("stuck.zero", zero.norm());
    let rows = vec![
        vec!["0".into(), format!("{:.1e}", zero.norm())],
        vec!["−111.94 ± 193.57i".into(), format!("{:.4} ± {:.4}i", high.re, 0.5 * (high.im - low.im))],
        vec!["magnitude 223.61".into(), format!("{:.4}", high.norm())],
        vec!["damping ratio 0.50".into(), format!("{:.4}", -high.re / high.norm())],
    ];
    let holds = (high.re / -111.94 - 1.0).abs() < 1e-4 && (high.im / 193.57 - 1.0).abs() < 1e-4;
    document.claim(
        "section 3",
        "Sticking: eigenvalues 0 and −111.94 ± 193.57i, magnitude 223.61, damping ratio 0.50",
        Verdict::of(holds),
        format!("0, {:.4} ± {:.4}i, {:.4}, {:.4}", high.re, high.im, high.norm(), -high.re / high.norm()),
    );
    document.table("eigenvalues", &["stuck, printed", "ours"], rows);

    // figure 8
    let y2: Vec<f64> =
        (0..=160).map(|k| -2.0 + 0.025 * f64::from(k)).chain((1..=80).map(|k| 2.0 + 0.1 * f64::from(k))).collect();
    let speeds: Vec<f64> = y2.iter().copied().filter(|v| *v >= 0.0).collect();
    let mut panel = Panel::new("", "y₂", "λ_max(J)");
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for y3 in [1.0, -1.0] {
        let mut values = Vec::with_capacity(speeds.len());
        for &y2 in &speeds {
            place(&mut sim, y2, y3)?;
            values.push(largest(&mut sim)?);
        }
        panel = panel.curve(&format!("y₃ = {y3}"), &speeds, &values, Style::Line);
        columns.push(values);
    }
    let rule: Vec<f64> = speeds.iter().map(|&y2| asymptotic(y2)).collect();
    panel = panel.curve("eq. (17)", &speeds, &rule, Style::Dashed);
    let mut off = 0.0_f64;
    for y3 in [1.0, -1.0] {
        place(&mut sim, FAST, y3)?;
        off = off.max((largest(&mut sim)? / asymptotic(FAST) - 1.0).abs());
    }
    document.claim(
        "eq. (17), figure 8",
        "λ_max tends to α∣y₂∣/(εg) as the slip grows; for y₃ = ±1 it differs at small velocities",
        Verdict::of(off < 0.05),
        format!("within {} % at y₂ = {FAST} for y₃ = ±1; by half at y₂ = 10 for y₃ = −1", digits(100.0 * off, 2)),
    );
    document
        .columns("figure8", &[("y2", &speeds), ("y3 = 1", &columns[0]), ("y3 = -1", &columns[1]), ("eq. (17)", &rule)]);
    document.figure(
        "figure8",
        chart::draw("Figure 8: largest eigenvalue against y₂", 1, &[panel]),
        "Figure 8: largest eigenvalue magnitude against y₂ for y₃ = ±1, and eq. (17).",
    );

    // figure 13
    let n = if effort == Effort::Full { 3000 } else { 300 };
    let [tau, y2, lambda] = along(0.0, 20.0 * std::f64::consts::SQRT_2, n)?;
    let most = lambda.iter().fold(0.0, |most: f64, &x| most.max(x));
    document.compare("lambda_max", 2.62e4, most);
    document.claim(
        "section 5.1, figure 13",
        "λ_max reaches 2.62×10⁴; the smallest time constant is 3.82×10⁻⁵",
        Verdict::of((most / 2.62e4 - 1.0).abs() < 0.02),
        format!("{}, {}", digits(most, 4), digits(1.0 / most, 3)),
    );
    document.columns("figure13", &[("tau", &tau), ("y2", &y2), ("lambda_max", &lambda)]);
    let panel = Panel::new("", "τ", "λ_max(J)").curve("", &tau, &lambda, Style::Line);
    document.figure(
        "figure13",
        chart::draw("Figure 13: largest eigenvalue over time", 1, &[panel]),
        format!("Figure 13: λ_max(J) along the run; largest {} (print: 2.62×10⁴).", digits(most, 5)),
    );

    // figure 14: where |y₂| passes 10, up and down
    let up = y2.iter().position(|y2| *y2 > 10.0).unwrap_or(0);
    let down = up + y2[up..].iter().position(|y2| *y2 < 10.0).unwrap_or(0);
    let mut panels = Vec::new();
    for (title, at) in [("(a) microslip to macroslip", tau[up]), ("(b) macroslip to microslip", tau[down])] {
        let [tau, y2, lambda] = along(at - 0.25, at + 0.15, if effort == Effort::Full { 800 } else { 100 })?;
        let rule: Vec<f64> = y2.iter().map(|&y2| asymptotic(y2)).collect();
        panels.push(Panel::new(title, "τ", "λ_max(J)").curve("λ_max(J)", &tau, &lambda, Style::Line).curve(
            "eq. (17)",
            &tau,
            &rule,
            Style::Dashed,
        ));
    }
    document.figure(
        "figure14",
        chart::draw("Figure 14: the transitions", 2, &panels),
        "Figure 14: largest eigenvalue \
        in the transitions, and eq. (17): they agree while the mass slips, not while it sticks.",
    );
    Ok(())
}
