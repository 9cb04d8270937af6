//! Inverse dynamics: efforts that the measured motion takes, against measured efforts.
//!
//! ```text
//! r = τ(q, q̇, q̈; p) − τ_measured          linear in masses, levels, damping; nothing is simulated
//! ```
//!
//! Positions pass a zero-phase low-pass and are differentiated twice; both efforts pass a second one, so that
//! friction at reversals is smoothed alike on both sides, and are then decimated (parallel decimation). A joint takes
//! part if its position is measured and its drive's effort is, too: a compared `NAME.drive`, or an input of an
//! `Effort` drive. All joints that move must be measured. Laws with bristles have no effort without their past and
//! are left out.

use super::filter::{differentiate, low_pass};
use super::model::{FitModel, Prepared, Residuals};
use super::solve::map;
use crate::error::{Error, Result};
use crate::scene::{Drive, Scene};
use crate::simulation::Simulation;
use nalgebra::DMatrix;

/// Corner frequency of the filter of positions, relative to that of efforts.
const WIDER: f64 = 2.5;

/// Rows per period of the corner frequency that are kept.
const KEPT: f64 = 5.0;

/// A joint that takes part.
struct Measured {
    joint: String,
    /// The compared channel that gets its residuals.
    channel: usize,
    effort: Vec<f64>,
}

/// Joints of a log whose position and effort are measured; `None` unless these are all joints that move.
fn measured(prepared: &Prepared, scene: &Scene) -> Result<Option<Vec<Measured>>> {
    let log = &prepared.log;
    if scene.has_bristles() || !scene.couplings.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for joint in scene.joints.iter().filter(|joint| joint.kind.is_single()) {
        let place = |what: &str| log.compare.iter().position(|c| c.channel == format!("{}.{what}", joint.name));
        let Some(position) = place("position") else { return Ok(None) };
        let is_effort = matches!(joint.drive, Some(Drive::Effort(_)));
        let path = format!("joints.{}.drive", joint.name);
        let input = log.inputs.iter().find(|input| is_effort && input.path.starts_with(&path));
        let (channel, column) = match (place("drive"), input) {
            (Some(drive), _) => (drive, &log.compare[drive].column),
            (None, Some(input)) => (position, &input.column),
            (None, None) => return Ok(None),
        };
        let effort = log.table.column(column)?.to_vec();
        found.push(Measured { joint: joint.name.clone(), channel, effort });
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

impl FitModel {
    /// Whether all logs measure efforts and positions.
    pub fn has_inverse(&self, p: &[f64]) -> bool {
        let each = |log: usize| -> Result<bool> { Ok(measured(&self.logs[log], &self.scene_of(log, p)?)?.is_some()) };
        (0..self.logs.len()).all(|log| each(log).unwrap_or(false))
    }

    /// Residuals of the efforts of log number `log`, low-passed to `band` Hz; other channels have none.
    pub fn inverse_residuals(&self, log: usize, p: &[f64], band: f64, has_jacobian: bool) -> Result<Residuals> {
        let prepared = &self.logs[log];
        let scene = self.scene_of(log, p)?;
        let Some(joints) = measured(prepared, &scene)? else {
            let what =
                "inverse dynamics of a log that does not measure position and drive effort of every joint".into();
            return Err(Error::Unsupported { name: prepared.log.table.file.clone(), what });
        };
        let (t, dt) = (prepared.log.times()?, prepared.dt);
        let motions = joints.iter().map(|joint| {
            let column = prepared.log.compare.iter().find(|c| c.channel == format!("{}.position", joint.joint));
            let mut q = column.map_or(Ok(vec![]), |c| prepared.log.table.column(&c.column).map(<[f64]>::to_vec))?;
            low_pass(&mut q, WIDER * band, dt);
            let v = differentiate(&t, &q);
            let a = differentiate(&t, &v);
            Ok([q, v, a])
        });
        let motions = motions.collect::<Result<Vec<_>>>()?;
        let from = t.partition_point(|t| *t < prepared.log.skip);
        let stride = ((1.0 / (KEPT * band * dt)).floor() as usize).max(1);
        let efforts = |scene: Scene| -> Result<Vec<Vec<f64>>> {
            let mut efforts = required(scene, &joints, &motions)?;
            for x in &mut efforts {
                low_pass(x, band, dt);
                *x = x[from..].iter().step_by(stride).copied().collect();
            }
            Ok(efforts)
        };
        let model = efforts(scene)?;
        let n_compare = prepared.log.compare.len();
        let mut r = vec![Vec::new(); n_compare];
        for (joint, x) in joints.iter().zip(&model) {
            let mut effort = joint.effort.clone();
            low_pass(&mut effort, band, dt);
            let kept = effort[from..].iter().step_by(stride);
            r[joint.channel] = x.iter().zip(kept).map(|(x, effort)| x - effort).collect();
        }
        let mut jacobian: Vec<DMatrix<f64>> = Vec::new();
        if has_jacobian {
            jacobian = r.iter().map(|r| DMatrix::zeros(r.len(), p.len())).collect();
            // most parameters enter linearly: a difference to one side is exact
            let slope = |k: usize| -> Result<Vec<Vec<f64>>> {
                let half = self.half(k, p[k]);
                let at = |by: f64| {
                    let mut moved = p.to_vec();
                    moved[k] += by;
                    self.scene_of(log, &moved)
                };
                let (scene, by) =
                    at(half).map(|scene| (scene, half)).or_else(|_| at(-half).map(|scene| (scene, -half)))?;
                let mut moved = efforts(scene)?;
                for (moved, model) in moved.iter_mut().zip(&model) {
                    moved.iter_mut().zip(model).for_each(|(x, model)| *x = (*x - model) / by);
                }
                Ok(moved)
            };
            for (k, slopes) in map(p.len(), &slope).into_iter().enumerate() {
                for (joint, slopes) in joints.iter().zip(slopes?) {
                    slopes.into_iter().enumerate().for_each(|(i, x)| jacobian[joint.channel][(i, k)] = x);
                }
            }
        }
        Ok(Residuals { raw: r.clone(), r, jacobian })
    }
}

/// Efforts of the joints' drives for the motions, all other things acting.
fn required(mut scene: Scene, joints: &[Measured], motions: &[[Vec<f64>; 3]]) -> Result<Vec<Vec<f64>>> {
    for joint in &mut scene.joints {
        joint.drive = None;
    }
    let mut sim = Simulation::new(&scene)?;
    let places: Vec<(usize, usize)> = {
        let coordinates = sim.coordinates();
        let place = |joint: &Measured| {
            let known = || Error::unknown("joint", &joint.joint, coordinates.iter().map(|c| c.name.as_str()));
            coordinates.iter().find(|c| c.name == joint.joint).map(|c| (c.q, c.v)).ok_or_else(known)
        };
        joints.iter().map(place).collect::<Result<_>>()?
    };
    let n = motions.first().map_or(0, |motion| motion[0].len());
    let (mut q, mut v) = (sim.positions().to_vec(), vec![0.0; sim.velocities().len()]);
    let (mut a, mut tau) = (v.clone(), v.clone());
    let mut efforts = vec![Vec::with_capacity(n); joints.len()];
    for i in 0..n {
        for ((at_q, at_v), motion) in places.iter().zip(motions) {
            (q[*at_q], v[*at_v], a[*at_v]) = (motion[0][i], motion[1][i], motion[2][i]);
        }
        sim.inverse_dynamics(&q, &v, &a, &mut tau)?;
        efforts.iter_mut().zip(&places).for_each(|(efforts, place)| efforts.push(tau[place.1]));
    }
    Ok(efforts)
}
