//! Friction laws, loads and drives of the copies.

use super::Batch;
use crate::error::Raise;
use crate::law;
use crate::per_copy::{self, changed};
use bristle::component::{Drive, Load};
use bristle::friction::Law;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

/// Parameters, one for all copies or one each.
#[pymethods]
impl Batch {
    /// Sets the friction law of a joint or coupling in copies: a whole law of the same kind, or parameters of the
    /// present one, each one number or one per copy.
    #[pyo3(signature = (of, law=None, *, copies=None, **parameters))]
    fn set_friction(
        &mut self,
        py: Python<'_>,
        of: &str,
        law: Option<&str>,
        copies: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let copies = self.copies(copies)?;
        let parameters = per_copy::given(parameters, copies.len())?;
        let law: Option<Law> = law.map(|law| self.parsed(py, of, "friction", law)).transpose()?;
        let mut laws = Vec::with_capacity(copies.len());
        for (k, &copy) in copies.iter().enumerate() {
            let present = self.batch.contact(copy, of).raised()?.0;
            laws.push(changed("friction law", law.as_ref().unwrap_or(present), &parameters, k)?);
        }
        self.batch.change_each(&copies, |batch, k| batch.set_friction(copies[k], of, laws[k].clone())).raised()
    }

    /// Sets the load of a joint or coupling in copies, in the same way.
    #[pyo3(signature = (of, load=None, *, copies=None, **parameters))]
    fn set_load(
        &mut self,
        py: Python<'_>,
        of: &str,
        load: Option<&str>,
        copies: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let copies = self.copies(copies)?;
        let parameters = per_copy::given(parameters, copies.len())?;
        let load: Option<Load> = load.map(|load| self.parsed(py, of, "load", load)).transpose()?;
        let mut loads = Vec::with_capacity(copies.len());
        for (k, &copy) in copies.iter().enumerate() {
            let present = self.batch.contact(copy, of).raised()?.1;
            loads.push(changed("load", load.as_ref().unwrap_or(present), &parameters, k)?);
        }
        self.batch.change_each(&copies, |batch, k| batch.set_load(copies[k], of, loads[k].clone())).raised()
    }

    /// The friction law of a joint or coupling of one copy, as a scene spells it.
    #[pyo3(signature = (of, copy=0))]
    fn friction_law(&self, of: &str, copy: usize) -> PyResult<String> {
        Ok(bristle_report::written(self.batch.contact(copy, of).raised()?.0))
    }

    /// The load of a joint or coupling of one copy, as a scene spells it.
    #[pyo3(signature = (of, copy=0))]
    fn load_law(&self, of: &str, copy: usize) -> PyResult<String> {
        Ok(bristle_report::written(self.batch.contact(copy, of).raised()?.1))
    }

    /// Sets the drive of a joint in copies: a whole drive of the same kind, or parameters of the present one, each one
    /// number or one per copy.
    ///
    /// >>> import bristle
    /// >>> scene = bristle.Scene.load("scenes/arm_3dof.ron")
    /// >>> scene.set("joints.yaw.drive", "Pid(kp: 50.0, kd: 5.0, target: Constant(0.5))")
    /// >>> batch = bristle.Batch(scene, 3)
    /// >>> batch.set_drive("yaw", kp=[20.0, 40.0, 80.0])
    /// >>> batch.drive("yaw", 2)
    /// 'Pid(kp: 80.0, ki: 0.0, kd: 5.0, target: Constant(0.5))'
    #[pyo3(signature = (joint, drive=None, *, copies=None, **parameters))]
    fn set_drive(
        &mut self,
        py: Python<'_>,
        joint: &str,
        drive: Option<&str>,
        copies: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.take_targets(py);
        let copies = self.copies(copies)?;
        let parameters = per_copy::given(parameters, copies.len())?;
        let drive: Option<Drive> = drive.map(|drive| self.parsed(py, joint, "drive", drive)).transpose()?;
        let mut drives = Vec::with_capacity(copies.len());
        for (k, &copy) in copies.iter().enumerate() {
            let present = self.batch.drive(copy, joint).raised()?;
            drives.push(changed("drive", drive.as_ref().unwrap_or(present), &parameters, k)?);
        }
        self.batch.change_each(&copies, |batch, k| batch.set_drive(copies[k], joint, drives[k].clone())).raised()?;
        // parameters leave the targets that callers have written
        if drive.is_some() {
            self.forget_targets(py, &copies);
        }
        Ok(())
    }

    /// The drive of a joint of one copy, as a scene spells it.
    #[pyo3(signature = (joint, copy=0))]
    fn drive(&self, joint: &str, copy: usize) -> PyResult<String> {
        Ok(bristle_report::written(self.batch.drive(copy, joint).raised()?))
    }
}

impl Batch {
    /// A law, load or drive from its text.
    fn parsed<T: DeserializeOwned>(&self, py: Python<'_>, of: &str, what: &str, text: &str) -> PyResult<T> {
        law::parse(what, text).map_err(|plain| match self.sim.bind(py).try_borrow() {
            Ok(sim) => sim.pointed_at(of, what, text, plain),
            Err(_) => plain,
        })
    }
}
