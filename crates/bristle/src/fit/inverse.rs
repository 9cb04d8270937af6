//! Inverse dynamics: efforts that the measured motion takes, against measured efforts.
//!
//! ```text
//! r = τ(q, q̇, q̈; p) − τ_measured          linear in masses, levels, damping; nothing is simulated
//! ```
//!
//! Positions pass a zero-phase low-pass and are differentiated twice; both efforts pass a second one, so that
//! friction at reversals is smoothed alike on both sides, and are then decimated (parallel decimation). A joint takes
//! part if its position is measured and its drive's effort is, too: a compared `NAME.drive`, or an input of an
//! `Effort` drive. All joints that move must be measured, or follow from measured ones through couplings:
//!
//! ```text
//! (Tᵀ τ)_i = Σ_j T_ji u_j                one equation per independent joint i, u_j the measured efforts
//! ```
//!
//! An equation is solved for the effort of its own joint's drive, or of another drive that acts on it: the motor that
//! drives an arm through a gear. Bristles follow the measured motion from its first row on.

use super::coupled::Coupled;
use super::filter::{differentiate, low_pass};
use super::model::{FitModel, Prepared, Residuals};
use super::solve::map;
use crate::error::{Error, Result};
use crate::scene::{Coupling, Drive, Joint, Kind, Load, Scene};
use crate::simulation::Simulation;
use nalgebra::DMatrix;

/// Corner frequency of the filter of positions, relative to that of efforts.
const WIDER: f64 = 2.5;

/// Rows per period of the corner frequency that are kept.
const KEPT: f64 = 5.0;

/// The equation of an independent coordinate: (Tᵀτ)_i / T_ji = u_j + Σ_k T_ki/T_ji u_k.
struct Equation {
    /// Place of the coordinate among the velocities.
    v: usize,
    /// The compared channel that gets its residuals: that of joint j.
    channel: usize,
    /// T_ji.
    lever: f64,
    /// The measured side: columns of efforts u with their factors.
    efforts: Vec<(String, f64)>,
}

/// What a log measures of a machine.
struct Layout {
    sim: Simulation,
    coupled: Coupled,
    /// Columns of measured positions and the numbers of their joints; T_M⁺ where some joints depend on others.
    columns: Vec<String>,
    joints: Vec<usize>,
    inverse: Option<DMatrix<f64>>,
    equations: Vec<Equation>,
}

/// The layout of a log; `None` unless it measures positions that tell all joints, the efforts of all drives, and at
/// least one for every independent coordinate.
fn layout(prepared: &Prepared, scene: &Scene, knows_drives: bool) -> Result<Option<Layout>> {
    let log = &prepared.log;
    let is_tree = scene.joints.iter().all(|joint| joint.kind.is_single() || joint.kind == Kind::Fixed);
    let is_loop = |coupling: &Coupling| matches!(coupling, Coupling::LoopJoint { .. });
    if !is_tree || scene.couplings.iter().any(is_loop) {
        return Ok(None);
    }
    // measured efforts and positions, by joint
    let place = |joint: &str, what: &str| log.compare.iter().position(|c| c.channel == format!("{joint}.{what}"));
    let is_driven_by_log = |joint: &Joint| {
        let path = format!("joints.{}.drive", joint.name);
        matches!(joint.drive, Some(Drive::Effort(_))) && log.inputs.iter().any(|input| input.path.starts_with(&path))
    };
    let mut undriven = scene.clone();
    for joint in &mut undriven.joints {
        if !knows_drives || place(&joint.name, "drive").is_some() || is_driven_by_log(joint) {
            joint.drive = None;
        }
    }
    if !undriven.joints.iter().filter_map(|joint| joint.drive.as_ref()).all(is_told) {
        return Ok(None);
    }
    let sim = Simulation::new(&undriven)?;
    let coupled = Coupled::of(&sim);
    let (mut columns, mut joints, mut efforts) = (vec![], vec![], vec![]);
    for (k, coordinate) in coupled.joints.iter().enumerate() {
        let name = &coordinate.name;
        let position = place(name, "position");
        if let Some(position) = position {
            columns.push(log.compare[position].column.clone());
            joints.push(k);
        }
        let joint = scene.joints.iter().find(|joint| joint.name == *name);
        let drive = joint.and_then(|joint| joint.drive.as_ref());
        let path = format!("joints.{name}.drive");
        let input =
            log.inputs.iter().find(|input| matches!(drive, Some(Drive::Effort(_))) && input.path.starts_with(&path));
        let effort = match (place(name, "drive"), input) {
            (Some(channel), _) => Some((channel, Some(log.compare[channel].column.clone()))),
            (None, Some(input)) => position.map(|position| (position, Some(input.column.clone()))),
            // the equations contain what the scene tells
            (None, None) if knows_drives => position.map(|position| (position, None)),
            (None, None) => None,
        };
        // a drive whose effort nobody knows
        if effort.is_none() && drive.is_some() && !knows_drives {
            return Ok(None);
        }
        // a reducer of a joint that depends on others takes its effort from the equations of those
        let is_reducer = joint.is_some_and(|joint| matches!(joint.load, Load::Transmitted { .. }))
            || scene.couplings.iter().any(|coupling| is_lossy(coupling, name));
        if effort.is_some() && is_reducer && !coupled.is_independent(k) {
            return Ok(None);
        }
        efforts.push(effort);
    }
    let is_coupled = coupled.independent.len() < coupled.joints.len();
    let inverse = coupled.determine(&joints);
    if inverse.is_none() {
        return Ok(None);
    }
    // drives that act on each independent joint, its own first
    let acting: Vec<Vec<usize>> = coupled
        .independent
        .iter()
        .enumerate()
        .map(|(column, &i)| {
            let acts = |j: &usize| efforts[*j].is_some() && coupled.t[(*j, column)] != 0.0;
            let others = (0..coupled.joints.len()).filter(|&j| j != i);
            std::iter::once(i).chain(others).filter(acts).collect()
        })
        .collect();
    let mut solved_for = vec![None; coupled.joints.len()];
    for column in 0..acting.len() {
        if !assign(&acting, column, &mut solved_for, &mut vec![false; coupled.joints.len()]) {
            return Ok(None);
        }
    }
    let mut equations: Vec<Equation> = Vec::new();
    for (j, column) in solved_for.iter().enumerate() {
        let (Some(column), Some((channel, _))) = (*column, &efforts[j]) else { continue };
        let lever = coupled.t[(j, column)];
        let factor = |k: &usize| {
            let (_, measured) = efforts[*k].as_ref()?;
            Some((measured.clone()?, coupled.t[(*k, column)] / lever))
        };
        let efforts = acting[column].iter().filter_map(factor).collect();
        equations.push(Equation {
            v: coupled.joints[coupled.independent[column]].v,
            channel: *channel,
            lever,
            efforts,
        });
    }
    let inverse = inverse.filter(|_| is_coupled);
    Ok(Some(Layout { sim, coupled, columns, joints, inverse, equations }).filter(|layout| !layout.equations.is_empty()))
}

/// Whether the effort of a drive follows from time, position and velocity.
fn is_told(drive: &Drive) -> bool {
    match drive {
        Drive::Effort(_) | Drive::Pull { .. } => true,
        Drive::Pid { ki, .. } => *ki == 0.0,
        _ => false,
    }
}

/// Gives each equation a drive of its own that acts on it, by augmenting paths (Kuhn 1955); `false` if there is none
/// for equation `column`.
fn assign(acting: &[Vec<usize>], column: usize, of: &mut [Option<usize>], is_tried: &mut [bool]) -> bool {
    acting[column].iter().any(|&j| {
        if std::mem::replace(&mut is_tried[j], true) {
            return false;
        }
        let is_free = of[j].is_none_or(|other| assign(acting, other, of, is_tried));
        if is_free {
            of[j] = Some(column);
        }
        is_free
    })
}

/// Whether a gear has losses, which belong to its first joint.
fn is_lossy(coupling: &Coupling, joint: &str) -> bool {
    match coupling {
        Coupling::Gear { joints, efficiency, friction, .. } => {
            joints[0] == joint && (*efficiency != [1.0; 2] || *friction != [0.0; 2])
        }
        _ => false,
    }
}

impl FitModel {
    /// Whether all logs measure efforts and positions.
    pub fn has_inverse(&self, p: &[f64]) -> bool {
        let measures = |log: usize| -> Result<bool> {
            Ok(layout(&self.logs[log], &self.scene_of(log, p)?, self.knows_drives)?.is_some())
        };
        (0..self.logs.len()).all(|log| measures(log).unwrap_or(false))
    }

    /// Residuals of the efforts of log number `log`, low-passed to `band` Hz; other channels have none.
    pub fn inverse_residuals(&self, log: usize, p: &[f64], band: f64, has_jacobian: bool) -> Result<Residuals> {
        let prepared = &self.logs[log];
        let table = &prepared.log.table;
        let (t, dt) = (prepared.log.times()?, prepared.dt);
        let from = t.partition_point(|t| *t < prepared.log.skip);
        let stride = ((1.0 / (KEPT * band * dt)).floor() as usize).max(1);
        let here = |scene: &Scene| -> Result<Layout> {
            layout(prepared, scene, self.knows_drives)?.ok_or_else(|| {
                let what = "inverse dynamics of a log that does not measure position and drive effort of every joint";
                Error::Unsupported { name: table.file.clone(), what: what.into() }
            })
        };
        let mut base = here(&self.scene_of(log, p)?)?;
        let motions = base.columns.iter().map(|column| {
            let mut q = table.column(column)?.to_vec();
            low_pass(&mut q, WIDER * band, dt);
            let v = differentiate(&t, &q);
            let a = differentiate(&t, &v);
            Ok([q, v, a])
        });
        let motions = motions.collect::<Result<Vec<_>>>()?;
        let filtered = |mut efforts: Vec<Vec<f64>>| {
            for x in &mut efforts {
                low_pass(x, band, dt);
                *x = x[from..].iter().step_by(stride).copied().collect();
            }
            efforts
        };
        let model = filtered(base.required(&t, &motions)?);
        let mut r = vec![Vec::new(); prepared.log.compare.len()];
        for (equation, x) in base.equations.iter().zip(&model) {
            let mut measured = vec![0.0; t.len()];
            for (column, factor) in &equation.efforts {
                measured.iter_mut().zip(table.column(column)?).for_each(|(sum, u)| *sum += factor * u);
            }
            low_pass(&mut measured, band, dt);
            let kept = measured[from..].iter().step_by(stride);
            r[equation.channel] = x.iter().zip(kept).map(|(x, effort)| x - effort).collect();
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
                let mut moved = filtered(here(&scene)?.required(&t, &motions)?);
                for (moved, model) in moved.iter_mut().zip(&model) {
                    moved.iter_mut().zip(model).for_each(|(x, model)| *x = (*x - model) / by);
                }
                Ok(moved)
            };
            for (k, slopes) in map(p.len(), &slope).into_iter().enumerate() {
                for (equation, slopes) in base.equations.iter().zip(slopes?) {
                    slopes.into_iter().enumerate().for_each(|(i, x)| jacobian[equation.channel][(i, k)] = x);
                }
            }
        }
        Ok(Residuals { raw: r.clone(), r, jacobian, n_eliminated: 0 })
    }
}

impl Layout {
    /// (Tᵀτ)_i / T_ji of the equations along the motions of the measured joints.
    fn required(&mut self, t: &[f64], motions: &[[Vec<f64>; 3]]) -> Result<Vec<Vec<f64>>> {
        let Self { sim, coupled, joints, inverse, equations, .. } = self;
        let n = motions.first().map_or(0, |motion| motion[0].len());
        let mut efforts = vec![Vec::with_capacity(n); equations.len()];
        let fill = |i: usize, [q, v, a]: [&mut [f64]; 3]| match inverse {
            Some(inverse) => {
                let row = |what: usize| -> Vec<f64> { motions.iter().map(|motion| motion[what][i]).collect() };
                let all = [
                    coupled.positions(inverse, joints, &row(0)),
                    coupled.rates(inverse, &row(1)),
                    coupled.rates(inverse, &row(2)),
                ];
                for (k, joint) in coupled.joints.iter().enumerate() {
                    (q[joint.q], v[joint.v], a[joint.v]) = (all[0][k], all[1][k], all[2][k]);
                }
            }
            None => {
                for (&k, motion) in joints.iter().zip(motions) {
                    let joint = &coupled.joints[k];
                    (q[joint.q], v[joint.v], a[joint.v]) = (motion[0][i], motion[1][i], motion[2][i]);
                }
            }
        };
        let take = |tau: &[f64]| {
            efforts.iter_mut().zip(&*equations).for_each(|(efforts, e)| efforts.push(tau[e.v] / e.lever));
        };
        sim.inverse_dynamics_along(&t[..n], fill, take)?;
        Ok(efforts)
    }
}
