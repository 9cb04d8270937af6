//! Do, Ferri, Bauchau: Efficient simulation of a dynamic system with LuGre friction (2007).
//!
//! The slider in the paper's scaled states ([`SLIDER`]); x is y₁/α. Tables 2 and 3 in [`rows`], eigenvalues (figures 8,
//! 13, 14) in [`eigen`], states and friction (figures 7, 9–12, 15) in [`curves`], the last bit that decides the
//! stability of RK4 at 10⁻³ in [`kick`], and the paper's own program, with the error of its clock, in [`program`].

mod clock;
mod curves;
mod eigen;
mod kick;
mod program;
mod rows;
mod ways;

use super::document::Document;
use super::experiment::{Experiment, PaperScene, paper_scene};
use super::{Effort, Progress};
use bristle::Error;

/// The slider.
pub const SLIDER: PaperScene = paper_scene!("do2007/slider.ron");

/// α = K V_s/(ω_n F_c) and ε = K/σ₀.
const ALPHA: f64 = 1e-3 * std::f64::consts::SQRT_2;
const EPSILON: f64 = 2e-5;

/// Its run with friction f_L and y₂ kept.
pub fn slider() -> Experiment {
    Experiment::new(SLIDER).keep(&["slide.friction", "slide.velocity"])
}

/// The report.
pub fn report(effort: Effort, progress: &Progress) -> Result<Document, Error> {
    let mut document = Document::new(
        "do2007",
        "do2007 — Do, Ferri, Bauchau: Efficient simulation of a dynamic system with LuGre friction",
    );
    document.words(
        "A mass on a rough floor is pulled by a spring; friction is LuGre with bristles of 10⁵ N/m. The paper compares \
         explicit and implicit methods at constant steps and at steps chosen by rules. The scene is \
         `scenes/papers/do2007/slider.ron`: the paper's scaled equations, so that its steps and tolerances apply as \
         printed (y₁ is α times the position).",
    );
    let rows = rows::measure(effort, progress)?;
    rows::write(&mut document, &rows);
    kick::write(&mut document, progress)?;
    eigen::write(&mut document, effort, progress)?;
    curves::write(&mut document, effort, progress)?;
    Ok(document)
}
