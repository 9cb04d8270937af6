//! Windows: a log in pieces, each simulated from the state measured at its beginning.
//!
//! ```text
//! [t_k, t_k + T]        q(t_k) measured        q̇(t_k) measured, or the slope of the low-passed position
//! r̃ = r − W w,  J̃ = J − W (W⁺ J)               w = W⁺ r: least squares over the state x_k,  W = ∂r/∂x_k
//! ```
//!
//! A measured state has the noise of its row, and a slope is late where friction turns. Both would bias the parameters,
//! so that the state at the beginning is part of the fit: it enters one window only and is eliminated there (variable
//! projection, Kaufman 1975), with channels weighted by their noise or their spread.
//!
//! For machines whose whole run departs from the measured one whatever the parameters: an axis that is driven by the
//! measured effort integrates its noise, and an unstable one amplifies it. Bristles lose their state between windows:
//! they start as in the scene. Time starts at zero in each window, so that inputs must come from columns.

use super::coupled::Coupled;
use super::filter::{differentiate, low_pass};
use super::log::Initial;
use super::model::{FitModel, Prepared, Residuals};
use super::{Log, parameter};
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::signal::Signal;
use nalgebra::{DMatrix, DVector};

/// Corner frequency of the low-pass before the slope, as a fraction of the sampling frequency.
const SLOPE_BAND: f64 = 0.04;

/// Rows before a window that its inputs keep, for delays, s.
const BEFORE: f64 = 1.0;

/// Part of a column of W beside the others below which it tells nothing of its own.
const DEPENDENT: f64 = 1e-8;

/// Rows that a window must have.
const MIN_ROWS: usize = 3;

impl Prepared {
    /// The windows of `length` s of log number `of`.
    pub fn windows(scene: &Scene, log: &Log, of: usize, length: f64) -> Result<Vec<Self>> {
        let refuse = |reason: String, help: &str| Err(parameter::refusal(scene, "method", reason, help));
        if !(length > 0.0 && length.is_finite()) {
            return refuse(format!("windows of {length} s are none"), "write `simulate: Windows(0.5)`, in seconds");
        }
        if log.initial != Initial::Measured {
            return refuse("windows start at measured states".into(), "leave out `logs.*.initial`");
        }
        let whole = Self::new(scene, log)?;
        let times = log.times()?;
        let from = times.len() - whole.t.len();
        let states = states(scene, log, &times, whole.dt)?;
        let mut windows = Vec::new();
        let mut begin = 0;
        while begin < whole.t.len() {
            let start = whole.t[begin];
            let end = whole.t.partition_point(|t| *t < start + length).max(begin + 1);
            if end - begin >= MIN_ROWS {
                windows.push(whole.window((begin, end), of, start, &states, begin + from));
            }
            begin = end;
        }
        if windows.is_empty() {
            let reason = format!("{}: windows of {length} s have less than {MIN_ROWS} rows", log.table.file);
            return refuse(reason, "take longer ones");
        }
        Ok(windows)
    }

    /// Rows `begin` to `end`, from the states of row `row` of the log.
    fn window(&self, (begin, end): (usize, usize), of: usize, start: f64, states: &[State], row: usize) -> Self {
        let slice = |columns: &[Vec<f64>]| columns.iter().map(|x| x[begin..end].to_vec()).collect();
        let (low, high) = (start - BEFORE, self.t[end - 1]);
        let shifted = |signal: &Signal| match signal {
            Signal::Table(points) => Signal::Table(around(points, low, high, start)),
            Signal::Steps(points) => Signal::Steps(around(points, low, high, start)),
            other => other.clone(),
        };
        let mut own: Vec<(String, String)> =
            self.own.iter().filter(|(path, _)| states.iter().all(|state| state.path != *path)).cloned().collect();
        own.extend(states.iter().map(|state| (state.path.clone(), format!("{:?}", state.x[row]))));
        let unknown = states.iter().filter(|state| state.is_independent);
        Self {
            log: self.log.clone(),
            of,
            start,
            t: self.t[begin..end].iter().map(|t| t - start).collect(),
            measured: slice(&self.measured),
            raw: slice(&self.raw),
            dt: self.dt,
            channels: self.channels.clone(),
            signals: self.signals.iter().map(shifted).collect(),
            own,
            unknown: unknown
                .map(|state| Unknown { path: state.path.clone(), x: state.x[row], size: state.size })
                .collect(),
            weights: self.weights.clone(),
        }
    }
}

/// A number of the state at the beginning of a window that is part of the fit.
#[derive(Debug, Clone)]
pub(crate) struct Unknown {
    pub path: String,
    /// As measured.
    pub x: f64,
    /// Its root mean square over the log.
    pub size: f64,
}

/// Measured numbers of a state in every row.
struct State {
    path: String,
    x: Vec<f64>,
    size: f64,
    /// Whether it is one of its own, and does not follow from other joints.
    is_independent: bool,
}

impl State {
    fn new(path: String, x: Vec<f64>) -> Self {
        let size = (x.iter().map(|x| x * x).sum::<f64>() / x.len().max(1) as f64).sqrt();
        Self { path, x, size, is_independent: true }
    }

    fn dependent(path: String, n: usize) -> Self {
        Self { path, x: vec![0.0; n], size: 0.0, is_independent: false }
    }
}

/// Residuals of one window with columns W in the state at its beginning, per channel; `raw` without filters.
pub(super) struct Columns {
    pub filtered: Vec<DVector<f64>>,
    pub raw: Vec<DVector<f64>>,
}

impl Residuals {
    /// Eliminates the state at the beginning; `weights` are those of the channels.
    pub(super) fn eliminate(&mut self, columns: Vec<Columns>, weights: &[f64]) {
        let dot = |a: &[DVector<f64>], b: &[DVector<f64>]| -> f64 {
            a.iter().zip(b).zip(weights).map(|((a, b), weight)| weight * weight * a.dot(b)).sum()
        };
        // an orthonormal basis of W; twice is enough (Kahan, Parlett)
        let mut basis: Vec<Columns> = Vec::new();
        for mut column in columns {
            let before = dot(&column.filtered, &column.filtered).sqrt();
            for _ in 0..2 {
                for other in &basis {
                    let along = dot(&column.filtered, &other.filtered);
                    column.filtered.iter_mut().zip(&other.filtered).for_each(|(x, other)| x.axpy(-along, other, 1.0));
                    column.raw.iter_mut().zip(&other.raw).for_each(|(x, other)| x.axpy(-along, other, 1.0));
                }
            }
            let norm = dot(&column.filtered, &column.filtered).sqrt();
            if norm > DEPENDENT * before {
                column.filtered.iter_mut().chain(&mut column.raw).for_each(|x| *x /= norm);
                basis.push(column);
            }
        }
        self.n_eliminated = basis.len();
        for Columns { filtered, raw } in &basis {
            let mut r: Vec<DVector<f64>> = self.r.iter().map(|r| DVector::from_column_slice(r)).collect();
            let along = dot(&r, filtered);
            r.iter_mut().zip(filtered).for_each(|(r, column)| r.axpy(-along, column, 1.0));
            self.r = r.into_iter().map(|r| r.as_slice().to_vec()).collect();
            for (r, column) in self.raw.iter_mut().zip(raw) {
                r.iter_mut().zip(column).for_each(|(r, x)| *r -= along * x);
            }
            for k in 0..self.jacobian.first().map_or(0, DMatrix::ncols) {
                let slopes: Vec<DVector<f64>> = self.jacobian.iter().map(|j| j.column(k).into_owned()).collect();
                let along = dot(&slopes, filtered);
                for (jacobian, column) in self.jacobian.iter_mut().zip(filtered) {
                    jacobian.column_mut(k).axpy(-along, column, 1.0);
                }
            }
        }
    }
}

/// Points from the last one before `low` to the first one after `high`, with times from `start`.
fn around(points: &[(f64, f64)], low: f64, high: f64, start: f64) -> Vec<(f64, f64)> {
    let first = points.partition_point(|(t, _)| *t <= low).saturating_sub(1);
    let last = (points.partition_point(|(t, _)| *t < high) + 1).min(points.len());
    points[first..last].iter().map(|(t, x)| (t - start, *x)).collect()
}

/// Positions and velocities of all joints in every row, by path; 0 of joints that depend on others, which a scene takes
/// as not given.
fn states(scene: &Scene, log: &Log, times: &[f64], dt: f64) -> Result<Vec<State>> {
    let column = |joint: &str, what: &str| {
        let found = log.compare.iter().find(|c| c.channel == format!("{joint}.{what}"));
        found.map(|c| log.table.column(&c.column).map(<[f64]>::to_vec)).transpose()
    };
    let single = scene.joints.iter().filter(|joint| joint.kind.is_single());
    let mut positions = Vec::new();
    for joint in single {
        positions.push((joint.name.clone(), column(&joint.name, "position")?));
    }
    if let Some(coupled) = Coupled::of_scene(scene)? {
        let known = |name: &String| coupled.joint(name);
        let measured: Vec<(usize, &Vec<f64>)> =
            positions.iter().filter_map(|(name, q)| Some((known(name)?, q.as_ref()?))).collect();
        let joints: Vec<usize> = measured.iter().map(|(k, _)| *k).collect();
        if let Some(inverse) = coupled.determine(&joints) {
            let row = |i: usize| measured.iter().map(|(_, q)| q[i]).collect::<Vec<f64>>();
            let rows: Vec<Vec<f64>> = (0..times.len()).map(|i| coupled.positions(&inverse, &joints, &row(i))).collect();
            let told = |k: usize| rows.iter().map(|all| all[k]).collect();
            positions =
                coupled.joints.iter().enumerate().map(|(k, joint)| (joint.name.clone(), Some(told(k)))).collect();
        }
        let mut states = Vec::new();
        for (name, q) in &positions {
            if known(name).is_some_and(|k| !coupled.is_independent(k)) {
                let each = ["position", "velocity"].map(|what| format!("joints.{name}.{what}"));
                states.extend(each.map(|path| State::dependent(path, times.len())));
            } else {
                states.extend(state(log, (name, q.clone()), column(name, "velocity")?, (times, dt))?);
            }
        }
        return Ok(states);
    }
    let mut states = Vec::new();
    for (name, q) in positions {
        let velocity = column(&name, "velocity")?;
        states.extend(state(log, (&name, q), velocity, (times, dt))?);
    }
    Ok(states)
}

/// Position and velocity of one joint; a velocity that is not measured is the slope of the low-passed position.
fn state(
    log: &Log,
    (joint, position): (&str, Option<Vec<f64>>),
    velocity: Option<Vec<f64>>,
    (times, dt): (&[f64], f64),
) -> Result<[State; 2]> {
    let Some(position) = position else {
        let what = format!("windows of a log that does not measure the position of `{joint}`");
        return Err(Error::Unsupported { name: log.table.file.clone(), what });
    };
    let velocity = velocity.unwrap_or_else(|| {
        let mut q = position.clone();
        low_pass(&mut q, SLOPE_BAND / dt, dt);
        differentiate(times, &q)
    });
    let path = |what: &str| format!("joints.{joint}.{what}");
    Ok([State::new(path("position"), position), State::new(path("velocity"), velocity)])
}

impl FitModel {
    /// Refuses signals of the scene that are functions of time where time starts anew in every window.
    pub(super) fn check_windows(&self, scene: &mut Scene) -> Result<()> {
        let from_columns = self.logs.first().map_or(0, |prepared| prepared.signals.len());
        let n_others =
            super::signals::signals_mut(scene).into_iter().filter(|s| !matches!(s, Signal::Constant(_))).count();
        if self.window.is_some() && n_others > from_columns {
            let what = "windows of a scene with signals of its own that are functions of time".into();
            return Err(Error::Unsupported { name: "fit".into(), what });
        }
        Ok(())
    }
}
