//! Aberger, Otter: Modeling friction in Modelica with the Lund–Grenoble friction model (2002).
//!
//! The bearing of figure 1: tables 2 and 3 in [`bearing`], the longest stable steps in [`limits`], scaling and event
//! hints (figures 2, 3) in [`scaling`], figures 4 to 6 in [`curves`]. The gearbox: figures 9 to 14 in [`shifts`], fixed
//! steps in [`fixed`], the peaks at engagement in [`peaks`], sensitivity to unprinted parameters in [`bands`]. The car
//! of the second study in [`car`]. The one-way clutch in [`one_way`].

mod bands;
mod bearing;
mod car;
mod curves;
mod fixed;
mod limits;
mod one_way;
mod peaks;
mod scaling;
mod shifts;

use super::document::Document;
use super::experiment::{Experiment, Found, PaperScene, paper_scene};
use super::{Effort, Progress};
use bristle::Error;

/// The bearing with LuGre friction.
const BEARING: PaperScene = paper_scene!("aberger2002/bearing.ron");
/// The same with bristles of size 10⁻⁵ to the integrator.
const UNSCALED: PaperScene = paper_scene!("aberger2002/bearing_unscaled.ron");
/// The same with classic friction.
const CLASSIC: PaperScene = paper_scene!("aberger2002/bearing_classic.ron");

/// The gearbox with LuGre clutches.
const GEARBOX: PaperScene =
    PaperScene { path: "scenes/gearbox_three_speed_lugre.ron", text: crate::bench::gearbox::SCENE };
/// Its clutches and brakes.
const CLUTCHES: [&str; 4] = ["c1", "c2", "b1", "b2"];

/// N·m in a unit of torque of [`UNSCALED`].
const UNIT: f64 = 1e5;

/// Time between two output points, s.
const INTERVAL: f64 = 0.01;

/// A bearing with torque, angle, speed and, where there are bristles, deflection kept.
fn bearing(scene: PaperScene) -> Experiment {
    let channels = ["bearing.friction", "bearing.position", "bearing.velocity", "bearing.z"];
    let n = if scene == CLASSIC { 3 } else { 4 };
    Experiment::new(scene).keep(&channels[..n])
}

/// Torque and angle at the output points, from a tight run.
fn tight(scene: PaperScene) -> Result<Found, Error> {
    bearing(scene).tolerance("Radau5", 1e-11, 1e-12).every(INTERVAL).run()
}

/// The report.
pub fn report(effort: Effort, progress: &Progress) -> Result<Document, Error> {
    let mut document = Document::new(
        "aberger2002",
        "aberger2002 — Aberger, Otter: Modeling friction in Modelica with the Lund–Grenoble friction model",
    );
    document.words(
        "The paper puts the LuGre model into bearings, clutches and one-way clutches, compares it with the classic, \
         event-driven friction of the Modelica library, and ends with a verdict against LuGre in gearboxes: no fixed \
         step was stable, and the shifts had peaks that are not physical. The bearing is \
         `scenes/papers/aberger2002/bearing.ron` with the printed data. The gearbox is \
         `scenes/gearbox_three_speed_lugre.ron`: clutch data and shift table are printed, inertias and ratios are not, \
         so those are ours and gearbox figures can be compared in kind, not in number. Times of the paper (a Pentium \
         III) are not compared.",
    );
    let reference = tight(BEARING)?;
    bearing::write(&mut document, &reference, progress)?;
    limits::write(&mut document, &reference, effort, progress)?;
    scaling::write(&mut document, &reference, effort, progress)?;
    curves::write(&mut document, effort, progress)?;
    shifts::write(&mut document, effort, progress)?;
    fixed::write(&mut document, effort, progress)?;
    peaks::write(&mut document, effort, progress)?;
    bands::write(&mut document, effort, progress)?;
    car::write(&mut document, effort, progress)?;
    one_way::write(&mut document, progress)?;
    Ok(document)
}
