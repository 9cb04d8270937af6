//! The point of evaluation: positions and velocities at (t, y), and the quantities evaluated there.
//!
//! Locked joints are no unknowns: they keep their position here from one evaluation to the next. In `RealTime` the
//! results are those of the last step. A snapshot therefore holds the point, too.

use super::archive::{archive_force, saved};
use crate::model::Compiled;
use crate::world::component::Drive;
use bristle_multibody::neutral;
use bristle_multibody::spatial::Force;

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// Chart coordinates, velocities, efforts, accelerations; `n_v` each.
    pub xi: Vec<f64>,
    pub v: Vec<f64>,
    pub tau: Vec<f64>,
    pub a: Vec<f64>,
    /// The part of the efforts that comes from drives and callers; `n_v`.
    pub motor: Vec<f64>,
    /// Positions; `n_q`.
    pub q: Vec<f64>,
    /// Bristle states and their rates; one per contact.
    pub bristles: Vec<bristle_friction::State>,
    pub rate: Vec<bristle_friction::State>,
    /// Whether the bristles of each contact keep their deflection because the contact is open.
    pub frozen: Vec<bool>,
    /// Friction efforts and normal loads; one per contact.
    pub friction: Vec<f64>,
    pub load: Vec<f64>,
    /// Efforts of closed stops, as they act; one per contact.
    pub stop_effort: Vec<f64>,
    /// κ = r · law of each contact that slides: effort per normal load.
    pub kappa: Vec<f64>,
    /// Reaction in the joint of each reaction-loaded contact, axes along the joint.
    pub force: Vec<Force>,
    /// Constraint forces λ of the compiled couplings.
    pub constraint_force: Vec<f64>,
    /// Constraint forces of the closures of loops, row by row: moments and forces on the second body, world axes.
    pub closure_force: Vec<f64>,
    /// Effort of the drive of each prescribed motion, N·m or N, and the jerk of its signal.
    pub drive_effort: Vec<f64>,
    pub drive_jerk: Vec<f64>,
    /// Integrals of the controllers.
    pub integral: Vec<f64>,
    /// Time of the right-hand side evaluated here; `None` if another evaluation followed.
    pub known: Option<f64>,
}

impl Point {
    pub fn new(compiled: &Compiled) -> Self {
        let (model, n) = (&compiled.model.tree, compiled.inputs.contacts.len());
        let n_prescribed = compiled.inputs.drives.iter().filter(|at| matches!(at.drive, Drive::Motion(_))).count();
        let by_velocity = || vec![0.0; model.n_v];
        Self {
            xi: by_velocity(),
            v: by_velocity(),
            tau: by_velocity(),
            a: by_velocity(),
            motor: by_velocity(),
            q: neutral(model),
            bristles: vec![[0.0; 2]; n],
            rate: vec![[0.0; 2]; n],
            frozen: vec![false; n],
            friction: vec![0.0; n],
            load: vec![0.0; n],
            stop_effort: vec![0.0; n],
            kappa: vec![0.0; n],
            force: vec![Force::ZERO; n],
            constraint_force: vec![0.0; compiled.model.coupled.constraints.len()],
            closure_force: vec![0.0; compiled.model.coupled.closures.iter().map(|closure| closure.n_rows()).sum()],
            drive_effort: vec![0.0; n_prescribed],
            drive_jerk: vec![0.0; n_prescribed],
            integral: vec![0.0; compiled.inputs.drives.iter().filter(|drive| drive.has_integral()).count()],
            known: None,
        }
    }
}

saved!(Point {
    xi,
    v,
    tau,
    a,
    q,
    bristles,
    rate,
    frozen,
    friction,
    load,
    stop_effort,
    kappa,
    constraint_force,
    closure_force,
    drive_effort,
    drive_jerk,
    integral,
    known,
} each { force: archive_force } without { motor });
