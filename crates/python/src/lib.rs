//! The native part of the Python module `bristle`: thin, no physics.
//!
//! ```text
//! Scene ─▶ Simulation ─run─▶ Recording ─▶ plot, report, tables      (crates bristle and bristle-report)
//!   │           └─copies─▶ Batch ─rollout─▶ arrays (n, steps, …)
//!   └─▶ Sensitivities, Fit ─solve─▶ Fitted
//! ```
//!
//! Every call that computes releases the interpreter lock. Errors are the classes of `bristle/errors.py`.

#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

mod arrays;
mod batch;
mod columns;
mod error;
mod event;
mod fit;
mod fitted;
mod interrupt;
mod law;
mod per_copy;
mod picture;
mod query;
mod recording;
mod rollout;
mod scene;
mod sensitivities;
mod simulation;
mod sweep;
mod timing;
mod value;

use pyo3::prelude::*;

/// The native part of the module `bristle`.
#[pymodule]
mod _bristle {
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::event::Event;
    #[pymodule_export]
    use crate::fit::Fit;
    #[pymodule_export]
    use crate::fitted::{Errors, Estimate, Fitted};
    #[pymodule_export]
    use crate::picture::Picture;
    #[pymodule_export]
    use crate::query::{Energy, Linearization};
    #[pymodule_export]
    use crate::recording::Recording;
    #[pymodule_export]
    use crate::rollout::Rollout;
    #[pymodule_export]
    use crate::scene::Scene;
    #[pymodule_export]
    use crate::sensitivities::Sensitivities;
    #[pymodule_export]
    use crate::simulation::Simulation;

    #[pymodule_export]
    use crate::sweep::{sweep_channels, sweep_rows};
    #[pymodule_export]
    use crate::timing::{_seconds_of_rollouts, _seconds_of_steps};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        // NumPy's interface is loaded here, not in the middle of a call that a signal may end
        numpy::PyArray1::<f64>::zeros(module.py(), 0, false);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
