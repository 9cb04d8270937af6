//! Rows of a sweep, by the code of `bristle sweep`: a scene at many points, each run to its end.

use crate::interrupt;
use crate::scene::Scene;
use crate::value;
use bristle::{Error, Simulation};
use bristle_report::sweep::{in_a_line, last_row, merge};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Values by path, as a scene spells them.
type Point = Vec<(String, String)>;

/// The machine at a point, and when its run ends.
fn simulation(scene: &Scene, point: &Point) -> Result<(Simulation, f64), Error> {
    let scene = scene.at_point(point)?;
    Ok((Simulation::new(&scene)?, scene.duration))
}

fn points(points: &[Bound<'_, PyDict>]) -> PyResult<Vec<Point>> {
    points.iter().map(|point| value::overrides(Some(point))).collect()
}

/// Channels that the machines at these points have between them, in the order of the machine; none where all points are
/// refused. A point is a dict from paths to values.
#[pyfunction]
#[pyo3(signature = (scene, points, /))]
pub fn sweep_channels(py: Python<'_>, scene: &Scene, points: Vec<Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let points = self::points(&points)?;
    Ok(py.detach(|| {
        let mut names = Vec::new();
        for point in &points {
            if let Ok((sim, _)) = simulation(scene, point) {
                merge(&mut names, sim.recording().names());
            }
        }
        names
    }))
}

/// Runs the scene at many points, on `threads`; every channel of `names` at the end of each run, NaN where a machine
/// does not have it, and the reason why a run has no such row, or `None`. A point is a dict from paths to values.
#[pyfunction]
#[pyo3(signature = (scene, points, names, /, *, threads=1))]
#[expect(clippy::type_complexity, reason = "a pair of columns")]
pub fn sweep_rows<'py>(
    py: Python<'py>,
    scene: &Scene,
    points: Vec<Bound<'py, PyDict>>,
    names: Vec<String>,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<Option<String>>)> {
    let points = self::points(&points)?;
    let row = |point: &Point| {
        let (mut sim, until) = simulation(scene, point).map_err(|error| in_a_line(&error))?;
        last_row(&mut sim, until, &names)
    };
    let stop = AtomicBool::new(false);
    let (found, raised) =
        interrupt::watched(py, &stop, || in_threads(points.len(), threads, &stop, |k| row(&points[k])));
    raised.map_or(Ok(()), Err)?;
    let mut values = Vec::with_capacity(found.len() * names.len());
    let mut errors = Vec::with_capacity(found.len());
    for row in found {
        match row {
            Some(Ok(row)) => {
                values.extend(row.into_iter().map(|value| value.unwrap_or(f64::NAN)));
                errors.push(None);
            }
            other => {
                values.extend(std::iter::repeat_n(f64::NAN, names.len()));
                errors.push(Some(other.and_then(Result::err).unwrap_or_else(|| "failed".into())));
            }
        }
    }
    Ok((PyArray1::from_vec(py, values).reshape([errors.len(), names.len()])?, errors))
}

/// The results of `work(k)` for k = 0 … n − 1, in order, until a stop is asked for; a free thread takes the next one.
fn in_threads<T: Send>(
    n: usize,
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new((0..n).map(|_| None).collect::<Vec<Option<T>>>()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, n.max(1)) {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= n || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = work(k);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[k] = Some(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}
