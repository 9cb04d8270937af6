//! Many copies of one machine: arrays `(n, …)` over the memory of the library.
//!
//! The library lays its arrays out by coordinate, entry `k · n + i` for copy i: views have shape (n, k) and strides
//! (1, n), and nothing is copied.

mod act;
mod links;
mod parameters;

use crate::arrays::{Count, as_floats, table, wrong_shape};
use crate::error::{Raise, refused};
use crate::interrupt;
use crate::query::Energy;
use crate::rollout::Rollout;
use crate::scene::SceneOrPath;
use crate::simulation::{Simulation, directions};
use bristle::batch;
use numpy::ndarray::{Array2, Array3, ArrayView2, ArrayView3, ShapeBuilder};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Steps of copies, some milliseconds, from which on the first rollout looks for Ctrl-C.
const WATCHED: usize = 20_000;

/// Expected time from which on later rollouts do, s: a thread to look costs a tenth of a millisecond.
const WATCHED_TIME: f64 = 0.05;

/// `n` copies of a machine, stepped together on all cores.
///
/// >>> import bristle, numpy
/// >>> batch = bristle.Batch("scenes/double_pendulum_coulomb.ron", 100)
/// >>> batch.set_friction("elbow", coulomb=numpy.linspace(0.1, 0.3, 100))
/// >>> for _ in range(10):
/// ...     batch.step(1e-2)
/// >>> batch.q.shape, batch.v.shape
/// ((100, 2), (100, 2))
///
/// Arrays are views of the library's memory: `q`, `v`, `a` and `friction_efforts` to read, `efforts`, `targets` and
/// `wrenches` to write. Do not write from another thread while a step is under way. Results do not depend on the number
/// of threads, to the last bit.
#[pyclass(module = "bristle")]
pub struct Batch {
    batch: batch::Batch,
    sim: Py<Simulation>,
    /// Every copy as it was made.
    start: Vec<u8>,
    /// Targets of the drives as callers left them, NaN where a drive follows its own signal.
    targets: Option<Py<PyArray2<f64>>>,
    n_q: usize,
    n_v: usize,
    n_contacts: usize,
    n_links: usize,
    n_drives: usize,
    /// Time on the clock that a step of a copy took in the last rollout, and the length of such a step, s.
    pace: Option<(f64, f64)>,
}

/// A simulation, or what one is made of.
enum Machine<'py> {
    Simulation(Bound<'py, Simulation>),
    Scene(SceneOrPath<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Machine<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.cast::<Simulation>() {
            Ok(sim) => Ok(Self::Simulation(sim.to_owned())),
            Err(_) => value.extract().map(Self::Scene),
        }
    }
}

impl Batch {
    /// A view of an array of the library, one row per copy.
    fn view<'py>(
        this: &Bound<'py, Self>,
        width: usize,
        is_writable: bool,
        of: impl FnOnce(&mut batch::Batch) -> &[f64],
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut batch = this.try_borrow_mut()?;
        let n = batch.batch.len();
        let values = of(&mut batch.batch);
        if width == 0 {
            return Ok(PyArray2::zeros(this.py(), [n, 0], false));
        }
        let view = ArrayView2::from_shape((n, width).strides((1, n)), values);
        let view = view.map_err(|error| refused(error.to_string()))?;
        // SAFETY: the array keeps the object alive; a batch makes its arrays once and never moves them.
        let array = unsafe { PyArray2::borrow_from_array(&view, this.clone().into_any()) };
        if !is_writable {
            array.readwrite().make_nonwriteable();
        }
        Ok(array)
    }

    /// Copies by number or by mask; all of them if none are given.
    fn copies(&self, copies: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<usize>> {
        let n = self.batch.len();
        let Some(copies) = copies else { return Ok((0..n).collect()) };
        let numpy = copies.py().import("numpy")?;
        let mut array = numpy.call_method1("atleast_1d", (copies,))?;
        if array.getattr("dtype")?.getattr("kind")?.extract::<char>()? == 'b' {
            if array.len()? != n {
                return Err(wrong_shape("copies", &array, &format!("({n},) where it is a mask")));
            }
            array = numpy.call_method1("flatnonzero", (array,))?;
        }
        let given: Vec<i64> = array.call_method0("tolist")?.extract()?;
        let place = |copy: i64| usize::try_from(copy).ok().filter(|copy| *copy < n);
        let unknown =
            |copy| refused(format!("there is no copy {copy}: they are numbered from 0 to {}", n.saturating_sub(1)));
        given.into_iter().map(|copy| place(copy).ok_or_else(|| unknown(copy))).collect()
    }

    /// Targets that callers have written.
    fn take_targets(&mut self, py: Python<'_>) {
        let Some(targets) = self.targets.as_ref().filter(|_| self.n_drives > 0) else { return };
        let (n, targets) = (self.batch.len(), targets.bind(py).readonly());
        let (targets, wanted) = (targets.as_array(), self.batch.targets_mut());
        for ((i, k), &target) in targets.indexed_iter() {
            wanted[k * n + i] = if target.is_nan() { None } else { Some(target) };
        }
    }

    /// Targets of copies that have been put elsewhere: their drives follow what they have of themselves.
    fn forget_targets(&self, py: Python<'_>, copies: &[usize]) {
        if let Some(targets) = self.targets.as_ref().filter(|_| self.n_drives > 0) {
            let mut targets = targets.bind(py).readwrite();
            let mut targets = targets.as_array_mut();
            copies.iter().for_each(|&i| targets.row_mut(i).fill(f64::NAN));
        }
    }

    /// A failed step is an error, where callers want that.
    fn checked(&self, result: bristle::Result<()>, check: bool) -> PyResult<()> {
        match result {
            Err(bristle::Error::Copy { .. }) if !check => Ok(()),
            result => result.raised(),
        }
    }
}

#[pymethods]
impl Batch {
    /// Copies of a simulation as it is now, or of a scene; on `threads` of its own, or on all cores.
    #[new]
    #[pyo3(signature = (machine, n, *, threads=None))]
    fn new(py: Python<'_>, machine: Machine<'_>, n: Count, threads: Option<Count>) -> PyResult<Self> {
        let Count(n) = n;
        if n == 0 {
            return Err(refused("a batch has at least one copy"));
        }
        let sim = match machine {
            Machine::Simulation(sim) => sim,
            Machine::Scene(scene) => Bound::new(py, Simulation::of_scene(py, scene.load()?)?)?,
        };
        let mut inner = sim.try_borrow_mut()?;
        let mut batch = inner.compute(py, |sim| batch::Batch::new(sim, n))?;
        if let Some(Count(threads)) = threads {
            batch = batch.with_threads(threads).raised()?;
        }
        let (n_q, n_v) = (inner.sim.positions().len(), inner.sim.velocities().len());
        let (n_contacts, n_links) = (inner.sim.contact_names().len(), inner.sim.link_names().len());
        let n_drives = batch.drive_names().count();
        drop(inner);
        let start = batch.snapshot(0).raised()?;
        let sim = sim.unbind();
        Ok(Self { batch, sim, start, targets: None, n_q, n_v, n_contacts, n_links, n_drives, pace: None })
    }

    /// Number of copies.
    fn __len__(&self) -> usize {
        self.batch.len()
    }

    /// Times of the copies, s; `(n,)`.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let times: bristle::Result<Vec<f64>> = (0..self.batch.len()).map(|i| self.batch.time(i)).collect();
        Ok(PyArray1::from_vec(py, times.raised()?))
    }

    /// Positions, a read-only view; `(n, n_q)`.
    #[getter]
    fn q<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_q = this.try_borrow()?.n_q;
        Self::view(this, n_q, false, |batch| batch.positions())
    }

    /// Velocities, a read-only view; `(n, n_v)`.
    #[getter]
    fn v<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_v = this.try_borrow()?.n_v;
        Self::view(this, n_v, false, |batch| batch.velocities())
    }

    /// Accelerations, a read-only view; `(n, n_v)`.
    #[getter]
    fn a<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_v = this.try_borrow()?.n_v;
        Self::view(this, n_v, false, |batch| batch.accelerations())
    }

    /// Friction efforts, a read-only view; `(n, n_contacts)`.
    #[getter]
    fn friction_efforts<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_contacts = this.try_borrow()?.n_contacts;
        Self::view(this, n_contacts, false, |batch| batch.friction_efforts())
    }

    /// Normal loads now; `(n, n_contacts)`.
    #[getter]
    fn loads<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_contacts = this.try_borrow()?.n_contacts;
        Self::view(this, n_contacts, false, |batch| batch.loads())
    }

    /// Modes now: -1, 0 (stuck), 1; `(n, n_contacts)`.
    #[getter]
    fn modes<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let shape = [self.n_contacts, self.batch.len()];
        let modes = PyArray1::from_vec(py, directions(self.batch.modes())).reshape(shape)?;
        Ok(modes.transpose()?.cast_into()?)
    }

    /// Bristle states now: deflection z, and w of `LuGre2`; `(n, n_contacts, 2)`.
    #[getter]
    fn bristles<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        let (n, bristles) = (self.batch.len(), self.batch.bristles());
        let of = |(i, c, k): (usize, usize, usize)| [bristles[c * n + i].z, bristles[c * n + i].w][k];
        Array3::from_shape_fn((n, self.n_contacts, 2), of).into_pyarray(py)
    }

    /// Efforts from the next step on, a view to write into; `(n, n_v)`.
    ///
    /// >>> import bristle
    /// >>> batch = bristle.Batch("scenes/arm_3dof.ron", 4)
    /// >>> batch.efforts[:, 0] = [0.0, 1.0, 2.0, 3.0]
    /// >>> batch.step(1e-2)
    /// >>> bool((batch.v[1:, 0] > batch.v[:-1, 0]).all())
    /// True
    #[getter]
    fn efforts<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_v = this.try_borrow()?.n_v;
        Self::view(this, n_v, true, |batch| batch.efforts_mut())
    }

    #[setter(efforts)]
    fn put_efforts(this: &Bound<'_, Self>, efforts: &Bound<'_, PyAny>) -> PyResult<()> {
        let (own, floats) = (Self::efforts(this)?, as_floats(efforts)?);
        let shape = own.shape().to_vec();
        own.set_item(pyo3::types::PyEllipsis::get(this.py()), floats)
            .map_err(|_| wrong_shape("efforts", efforts, &format!("({}, {})", shape[0], shape[1])))
    }

    /// Targets of the drives from the next step on, an array to write into; NaN is a drive's own signal;
    /// `(n, n_drives)`.
    #[getter]
    fn targets<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let shape = [self.batch.len(), self.n_drives];
        let own = || PyArray2::from_owned_array(py, Array2::from_elem(shape, f64::NAN)).unbind();
        self.targets.get_or_insert_with(own).bind(py).clone()
    }

    /// Wrenches on the links from the next step on, a view to write into: moment about the link's origin, N·m, then
    /// force, N, in link axes; `(n, n_links, 6)`.
    #[getter]
    fn wrenches<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let mut batch = this.try_borrow_mut()?;
        let (n, n_links) = (batch.batch.len(), batch.n_links);
        let wrenches = batch.batch.wrenches_mut().as_flattened();
        let view = ArrayView3::from_shape((n, n_links, 6).strides((6, 6 * n, 1)), wrenches);
        let view = view.map_err(|error| refused(error.to_string()))?;
        // SAFETY: as in `view`.
        Ok(unsafe { PyArray3::borrow_from_array(&view, this.clone().into_any()) })
    }

    /// Names of the entries of `q`, as of a simulation.
    #[getter]
    fn position_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.sim.bind(py).try_borrow()?.sim.position_names())
    }

    /// Names of the entries of `v`, `a` and `efforts`, as of a simulation.
    #[getter]
    fn velocity_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.sim.bind(py).try_borrow()?.sim.velocity_names())
    }

    /// Names of the joints and couplings with friction.
    #[getter]
    fn contact_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.sim.bind(py).try_borrow()?.sim.contact_names().map(str::to_owned).collect())
    }

    /// Names of the links: the places of `poses`, `link_velocities` and `wrenches`.
    #[getter]
    fn link_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.sim.bind(py).try_borrow()?.sim.link_names().to_vec())
    }

    /// Names of the places of `reactions`: all joints, fixed ones included.
    #[getter]
    fn reaction_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.sim.bind(py).try_borrow()?.sim.reaction_names().to_vec())
    }

    /// Names of the joints with a drive.
    #[getter]
    fn drive_names(&self) -> Vec<&str> {
        self.batch.drive_names().collect()
    }

    /// Copies that failed in the last call of `step` or `rollout`, and why.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (copy, error) in self.batch.failures() {
            dict.set_item(copy, error.to_string())?;
        }
        Ok(dict)
    }

    /// Advances every copy by exactly `dt`, s.
    ///
    /// Where some fail, all others have gone on; that raises, or with `check=False` is left to `failures`.
    #[pyo3(signature = (dt, *, check=true))]
    fn step(&mut self, py: Python<'_>, dt: f64, check: bool) -> PyResult<()> {
        self.take_targets(py);
        let batch = &mut self.batch;
        let result = py.detach(|| batch.step(dt));
        self.checked(result, check)
    }

    /// Advances every copy by `steps` times `dt`, s, and keeps their states after each.
    ///
    /// `efforts` are those of each step, `(n, steps, n_v)`; without them those that act stay. `out` is an earlier
    /// rollout of the same size, whose memory is used again. Ctrl-C ends a rollout; copies stay where they are then.
    ///
    /// >>> import bristle
    /// >>> batch = bristle.Batch("scenes/double_pendulum.ron", 8)
    /// >>> batch.rollout(1e-3, 50).q.shape
    /// (8, 50, 2)
    #[pyo3(signature = (dt, steps, efforts=None, *, out=None, check=true))]
    fn rollout<'py>(
        &mut self,
        py: Python<'py>,
        dt: f64,
        steps: Count,
        efforts: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, Rollout>>,
        check: bool,
    ) -> PyResult<Bound<'py, Rollout>> {
        let (n, Count(steps), widths) = (self.batch.len(), steps, [self.n_q, self.n_v]);
        let out = match out {
            Some(out) => out,
            None => Bound::new(py, Rollout { rollout: batch::Rollout::default(), n, steps, widths })?,
        };
        let mut into = out.try_borrow_mut()?;
        // views into it must stay where they are
        let is_new = into.rollout.position.is_empty() && into.rollout.velocity.is_empty();
        // a size beyond all numbers is refused by the library
        let has = |values: &[f64], width: usize| values.len() == n.saturating_mul(steps).saturating_mul(width);
        let fits = has(&into.rollout.position, self.n_q) && has(&into.rollout.velocity, self.n_v);
        if (into.n, into.steps, into.widths) != (n, steps, widths) || !(is_new || fits) {
            let size = |n, steps, [n_q, n_v]: [usize; 2]| {
                format!("{n} copies and {steps} steps of {n_q} positions and {n_v} velocities")
            };
            let (given, own) = (size(into.n, into.steps, into.widths), size(n, steps, widths));
            return Err(refused(format!("`out` is of {given}; here are {own}")));
        }
        let efforts = match efforts {
            None => None,
            Some(given) => {
                let numpy = py.import("numpy")?;
                let array = numpy.call_method1("ascontiguousarray", (as_floats(given)?,))?;
                let wrong = || wrong_shape("efforts", given, &format!("({n}, {steps}, {})", self.n_v));
                let array = array.extract::<PyReadonlyArray3<'py, f64>>().map_err(|_| wrong())?;
                if array.shape() != [n, steps, self.n_v] {
                    return Err(wrong());
                }
                Some(array)
            }
        };
        self.take_targets(py);
        let efforts = efforts.as_ref().map(|efforts| efforts.as_slice()).transpose()?.unwrap_or(&[]);
        let (batch, rollout) = (&mut self.batch, &mut into.rollout);
        let n_steps = n.saturating_mul(steps);
        let is_short = match self.pace {
            Some((each, length)) => n_steps as f64 * each * (dt / length).max(1.0) < WATCHED_TIME,
            None => n_steps < WATCHED,
        };
        let start = Instant::now();
        let (result, raised) = if is_short {
            (py.detach(|| batch.rollout(dt, steps, efforts, rollout)), None)
        } else {
            let stop = Arc::new(AtomicBool::new(false));
            batch.set_stop(Some(Arc::clone(&stop)));
            let watched = interrupt::watched(py, &stop, || batch.rollout(dt, steps, efforts, rollout));
            self.batch.set_stop(None);
            watched
        };
        // one that ended early tells nothing
        let is_whole = result.is_ok() && n_steps > 0 && dt > 0.0;
        self.pace = is_whole.then(|| (start.elapsed().as_secs_f64() / n_steps as f64, dt));
        drop(into);
        if let Some(raised) = raised {
            return Err(raised);
        }
        self.checked(result, check)?;
        Ok(out)
    }

    /// Puts copies somewhere: `q` is `(m, n_q)` and `v` is `(m, n_v)` for the `m` copies given, by number or mask, or
    /// for all of them; bristles start steady.
    #[pyo3(signature = (q, v, copies=None))]
    fn set_state(
        &mut self,
        q: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        copies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let copies = self.copies(copies)?;
        let q: PyReadonlyArray2<'_, f64> = table("q", q, Some(copies.len()), self.n_q)?;
        let v: PyReadonlyArray2<'_, f64> = table("v", v, Some(copies.len()), self.n_v)?;
        let (q, v) = (q.as_array(), v.as_array());
        let set = |batch: &mut batch::Batch, k| batch.set_state(copies[k], &q.row(k).to_vec(), &v.row(k).to_vec());
        self.batch.change_each(&copies, set).raised()
    }

    /// Copies back to where they were made, with the inputs and friction they had then.
    #[pyo3(signature = (copies=None))]
    fn reset(&mut self, py: Python<'_>, copies: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let copies = self.copies(copies)?;
        for &copy in &copies {
            self.batch.restore(copy, &self.start).raised()?;
        }
        self.forget_targets(py, &copies);
        Ok(())
    }

    /// The energy ledger of one copy, now.
    fn energy(&mut self, copy: Count) -> PyResult<Energy> {
        self.batch.energy(copy.0).raised().map(Energy::from)
    }

    /// Everything of one copy as bytes, for this copy, another one, or a `Simulation` of the same machine.
    fn snapshot<'py>(&mut self, py: Python<'py>, copy: Count) -> PyResult<Bound<'py, PyBytes>> {
        self.take_targets(py);
        Ok(PyBytes::new(py, &self.batch.snapshot(copy.0).raised()?))
    }

    /// Goes on from a snapshot of this machine.
    fn restore(&mut self, py: Python<'_>, copy: Count, snapshot: &[u8]) -> PyResult<()> {
        self.batch.restore(copy.0, snapshot).raised()?;
        self.forget_targets(py, &[copy.0]);
        Ok(())
    }

    /// One copy as a simulation of its own.
    fn simulation(&mut self, py: Python<'_>, copy: Count) -> PyResult<Simulation> {
        self.take_targets(py);
        let snapshot = self.batch.snapshot(copy.0).raised()?;
        let mut sim = self.sim.bind(py).try_borrow_mut()?.copy(py)?;
        sim.restore(py, &snapshot)?;
        Ok(sim)
    }

    /// Internal steps that a copy may take in one step before it is an error.
    fn set_max_steps(&mut self, steps: usize) {
        self.batch.set_max_steps(steps);
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} copies>", self.batch.len())
    }
}
