//! Coordinates that couplings tie together: which measured joints tell the position of all.
//!
//! ```text
//! q = q_s + T z        z: independent joints, q_s: the start of the scene
//! z = T_M⁺ (q_M − q_s)        M: the measured joints, if T_M has full column rank
//! ```
//!
//! A wrist whose sixth motor turns by q₅ + q₆ has three joints and two independent ones: any two of them, measured,
//! tell the third. Where more are measured than needed, z is their least-squares solution.

use super::Log;
use crate::error::Result;
use crate::scene::{Coupling, Scene};
use crate::simulation::{Coordinate, Simulation};
use nalgebra::{DMatrix, DVector};

/// Smallest singular value of T_M, relative to the largest, with which the measured joints tell all others.
const TELLS: f64 = 1e-9;

/// The joints of a machine and their dependence.
#[derive(Debug, Clone)]
pub(super) struct Coupled {
    /// Joints with one coordinate.
    pub joints: Vec<Coordinate>,
    /// Number of each independent one in `joints`.
    pub independent: Vec<usize>,
    /// T: one row per joint, one column per independent joint.
    pub t: DMatrix<f64>,
    /// q_s.
    pub start: Vec<f64>,
}

impl Coupled {
    /// Of a machine at its start.
    pub fn of(sim: &Simulation) -> Self {
        let joints = sim.coordinates();
        let is_independent = sim.independent();
        let independent: Vec<usize> =
            (0..joints.len()).filter(|&k| is_independent.binary_search(&joints[k].v).is_ok()).collect();
        let mut t = DMatrix::zeros(joints.len(), independent.len());
        let mut unit = vec![0.0; sim.velocities().len()];
        for (row, joint) in joints.iter().enumerate() {
            unit.fill(0.0);
            unit[joint.v] = 1.0;
            sim.gather_efforts(&mut unit);
            independent.iter().enumerate().for_each(|(column, &k)| t[(row, column)] = unit[joints[k].v]);
        }
        let start = joints.iter().map(|joint| sim.positions()[joint.q]).collect();
        Self { joints, independent, t, start }
    }

    /// The same of a scene, if it has joints that depend on others.
    pub fn of_scene(scene: &Scene) -> Result<Option<Self>> {
        let ties = |coupling: &Coupling| {
            matches!(coupling, Coupling::Gear { .. } | Coupling::Planetary { .. } | Coupling::Linear { .. })
        };
        if !scene.couplings.iter().any(ties) {
            return Ok(None);
        }
        let mut scene = scene.clone();
        scene.joints.iter_mut().for_each(|joint| joint.drive = None);
        Ok(Some(Self::of(&Simulation::new(&scene)?)))
    }

    /// The number of a joint.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// T_M⁺; none unless the measured joints tell all others.
    pub fn determine(&self, measured: &[usize]) -> Option<DMatrix<f64>> {
        let t = DMatrix::from_fn(measured.len(), self.independent.len(), |i, j| self.t[(measured[i], j)]);
        if t.nrows() < t.ncols() {
            return None;
        }
        let values = t.singular_values();
        let (low, high) = (values.min(), values.max());
        if t.is_empty() || low <= TELLS * high { None } else { t.pseudo_inverse(TELLS * high).ok() }
    }

    /// Positions of all joints from those of the measured ones.
    pub fn positions(&self, inverse: &DMatrix<f64>, measured: &[usize], q: &[f64]) -> Vec<f64> {
        let from = DVector::from_fn(q.len(), |i, _| q[i] - self.start[measured[i]]);
        let z = inverse * from;
        (&self.t * z).iter().zip(&self.start).map(|(x, start)| start + x).collect()
    }

    /// Velocities or accelerations of all joints from those of the measured ones.
    pub fn rates(&self, inverse: &DMatrix<f64>, v: &[f64]) -> Vec<f64> {
        let z = inverse * DVector::from_column_slice(v);
        (&self.t * z).iter().copied().collect()
    }

    /// Whether joint number `k` depends on no other.
    pub fn is_independent(&self, k: usize) -> bool {
        self.independent.contains(&k)
    }
}

/// A number at which a log starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Start {
    /// Its path in the scene.
    pub path: String,
    pub value: f64,
    /// Whether it is measured, and not left for a coupling to determine.
    pub is_measured: bool,
}

impl Log {
    /// Initial positions and velocities that its first row measures. Of joints that depend on others the machine finds
    /// them: they are left at 0, which a scene takes as not given.
    pub(super) fn start(&self, scene: &Scene) -> Result<Vec<Start>> {
        let coupled = Coupled::of_scene(scene)?;
        let mut found = Vec::new();
        for what in ["position", "velocity"] {
            let mut measured: Vec<(String, f64)> = Vec::new();
            for compare in &self.compare {
                let (joint, which) = compare.channel.rsplit_once('.').unwrap_or((&compare.channel, ""));
                if which == what && measured.iter().all(|(other, _)| other != joint) {
                    measured.push((joint.to_owned(), self.table.column(&compare.column)?[0]));
                }
            }
            let path = |joint: &str| format!("joints.{joint}.{what}");
            let places = coupled.as_ref().map(|coupled| -> Option<(Vec<usize>, DMatrix<f64>)> {
                let places = measured.iter().map(|(joint, _)| coupled.joint(joint)).collect::<Option<Vec<_>>>()?;
                let inverse = coupled.determine(&places)?;
                Some((places, inverse))
            });
            match (&coupled, places.flatten()) {
                (Some(coupled), Some((places, inverse))) => {
                    let x: Vec<f64> = measured.iter().map(|(_, x)| *x).collect();
                    let all = match what {
                        "position" => coupled.positions(&inverse, &places, &x),
                        _ => coupled.rates(&inverse, &x),
                    };
                    for (k, joint) in coupled.joints.iter().enumerate() {
                        let is_measured = coupled.is_independent(k);
                        let value = if is_measured { all[k] } else { 0.0 };
                        found.push(Start { path: path(&joint.name), value, is_measured });
                    }
                }
                (Some(coupled), None) => {
                    let is_kept = |joint: &str| coupled.joint(joint).is_none_or(|k| coupled.is_independent(k));
                    let kept = measured.into_iter().filter(|(joint, _)| is_kept(joint));
                    found.extend(kept.map(|(joint, value)| Start { path: path(&joint), value, is_measured: true }));
                }
                (None, _) => {
                    let each = measured.into_iter().map(|(joint, value)| Start {
                        path: path(&joint),
                        value,
                        is_measured: true,
                    });
                    found.extend(each);
                }
            }
        }
        Ok(found)
    }
}
