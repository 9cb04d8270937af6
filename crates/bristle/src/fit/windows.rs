//! Windows: a log in pieces, each simulated from the state measured at its beginning.
//!
//! ```text
//! [t_k, t_k + T]        q(t_k) measured        q̇(t_k) measured, or the slope of the low-passed position
//! ```
//!
//! For machines whose whole run departs from the measured one whatever the parameters: an axis that is driven by the
//! measured effort integrates its noise, and an unstable one amplifies it. The state of bristles is lost between windows:
//! they start as in the scene. Time starts at zero in each window, so that inputs must come from columns.

use super::coupled::Coupled;
use super::filter::{differentiate, low_pass};
use super::log::Initial;
use super::model::{FitModel, Prepared};
use super::{Log, parameter};
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::signal::Signal;

/// Corner frequency of the low-pass before the slope, as a fraction of the sampling frequency.
const SLOPE_BAND: f64 = 0.04;

/// Rows before a window that its inputs keep, for delays, s.
const BEFORE: f64 = 1.0;

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
    fn window(
        &self,
        (begin, end): (usize, usize),
        of: usize,
        start: f64,
        states: &[(String, Vec<f64>)],
        row: usize,
    ) -> Self {
        let slice = |columns: &[Vec<f64>]| columns.iter().map(|x| x[begin..end].to_vec()).collect();
        let (low, high) = (start - BEFORE, self.t[end - 1]);
        let shifted = |signal: &Signal| match signal {
            Signal::Table(points) => Signal::Table(around(points, low, high, start)),
            Signal::Steps(points) => Signal::Steps(around(points, low, high, start)),
            other => other.clone(),
        };
        let mut own: Vec<(String, String)> =
            self.own.iter().filter(|(path, _)| states.iter().all(|(other, _)| other != path)).cloned().collect();
        own.extend(states.iter().map(|(path, x)| (path.clone(), format!("{:?}", x[row]))));
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
fn states(scene: &Scene, log: &Log, times: &[f64], dt: f64) -> Result<Vec<(String, Vec<f64>)>> {
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
                states.extend(
                    ["position", "velocity"].map(|what| (format!("joints.{name}.{what}"), vec![0.0; times.len()])),
                );
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
) -> Result<[(String, Vec<f64>); 2]> {
    let Some(position) = position else {
        let what = format!("windows of a log that does not measure the position of `{joint}`");
        return Err(Error::Unsupported { name: log.table.file.clone(), what });
    };
    let velocity = velocity.unwrap_or_else(|| {
        let mut q = position.clone();
        low_pass(&mut q, SLOPE_BAND / dt, dt);
        differentiate(times, &q)
    });
    Ok([(format!("joints.{joint}.position"), position), (format!("joints.{joint}.velocity"), velocity)])
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
