//! Settings of a simulation in terms of a scene, and the options of the integrators made from them.

use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Compiled, Contact};
use crate::real_time::RealTime;
use crate::solver;
use crate::stick_slip::Machine;
use bristle_integrate::driver::MAX_MATRIX_BYTES;
use bristle_integrate::{Control, Method, Options};

/// Settings of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Integration method.
    pub method: solver::Method,
    /// Step control.
    pub control: solver::Control,
    /// Formulation of loads that depend on accelerations.
    pub formulation: solver::Formulation,
    /// Kinks of bristle laws that are located as events under error control.
    pub kinks: solver::Kinks,
    /// Form in which closed loops enter the equations.
    pub constraints: solver::Constraints,
    /// Time between recorded rows, s.
    pub interval: f64,
    /// Whether rows are recorded at the end of every step instead.
    pub steps: bool,
    /// Internal steps that one call of [`Simulation::step`](crate::Simulation::step) may take. A call that needs more,
    /// for example because the motion diverges, ends with an error instead of not returning. Runs that record have no
    /// such bound.
    pub max_steps: usize,
}

impl Default for Settings {
    /// `Dopri5`, error control with rtol 1e-8 and atol 1e-10, the implicit formulation, a row every 0.01 s, 100,000
    /// internal steps in a call.
    fn default() -> Self {
        let solver::Output { interval, steps } = solver::Output::default();
        Self {
            method: solver::Method::Dopri5,
            control: solver::Control::default(),
            formulation: solver::Formulation::default(),
            kinks: solver::Kinks::default(),
            constraints: solver::Constraints::default(),
            interval,
            steps,
            max_steps: 100_000,
        }
    }
}

/// Accepted [`Settings`], as options of the integrators.
#[derive(Debug, Clone)]
pub(super) struct Solver {
    pub options: Options,
    pub control: solver::Control,
    pub formulation: solver::Formulation,
    pub kinks: solver::Kinks,
    pub constraints: solver::Constraints,
}

impl Solver {
    /// Refuses settings that are not compatible.
    pub fn new(settings: &Settings) -> Result<Self> {
        if !(settings.interval.is_finite() && settings.interval > 0.0) {
            return Err(Error::number("output", "interval", settings.interval, "positive and finite"));
        }
        refuse_settings(settings)?;
        settings.control.check_rule()?;
        let options = Options::new(settings.method, settings.control.into());
        let Settings { control, formulation, kinks, constraints, .. } = *settings;
        Ok(Self { options, control, formulation, kinks, constraints })
    }

    /// The system of a machine with these options.
    pub fn system(&self, compiled: Compiled) -> Result<Machine> {
        if self.options.method == Method::RealTime {
            // momentum moves free joints, and loops within one floating tree do not change it
            let model = &*compiled.model;
            if let Some(closure) = model.coupled.closures.iter().find(|closure| closure.moves_free(model)) {
                let reason = "`RealTime` moves free joints by their momentum, which this loop joint changes: use \
                              `Dopri5`, or joints in place of the free one";
                return Err(Error::Coupling { name: closure.name.clone(), reason: reason.to_owned() });
            }
        }
        if self.constraints != solver::Constraints::Reduced {
            refuse_constrained(&compiled, self)?;
        }
        let mut laws = compiled.inputs.contacts.iter().map(|contact| &contact.law);
        if self.formulation == solver::Formulation::Jerk && laws.any(|law| law.least_viscous_exponent() < 1.0) {
            let what = "a `viscous_exponent` below 1, which has no rate at rest, with the formulation `Jerk`";
            return Err(Error::Unsupported { name: "solver".into(), what: what.into() });
        }
        // under error control kinks of bristle laws are located to the tolerance
        let mut system = Machine::new(compiled, self.formulation, self.options.control.tolerances());
        system.set_kinks(self.kinks);
        system.dynamics.set_constraints(self.constraints);
        system.set_step_control(self.control);
        // other controls have been refused
        if let (Method::RealTime, Control::Constant { step }) = (self.options.method, &self.options.control) {
            let what = "the matrices of `RealTime` for this machine (`Dopri5` and `Rk4` need none)";
            memory::check_below(what, RealTime::matrix_bytes(system.dynamics.compiled()), MAX_MATRIX_BYTES)?;
            system.make_real_time(*step);
        }
        Ok(system)
    }
}

/// Refuses what the constrained equations do not have: modes, and other constraints than closures.
fn refuse_constrained(compiled: &Compiled, solver: &Solver) -> Result<()> {
    let refuse = |what: &str| {
        let what = format!("{what} with `constraints: {:?}`, which is offered for comparison", solver.constraints);
        Err(Error::Unsupported { name: "solver".into(), what })
    };
    let coupled = &compiled.model.coupled;
    if !matches!(solver.options.method, Method::Radau5 | Method::Radau3 | Method::GeneralizedAlpha { .. }) {
        return refuse("a method other than `Radau5`, `Radau3` and `GeneralizedAlpha`");
    }
    if solver.formulation != solver::Formulation::Implicit {
        return refuse("a formulation other than `Implicit`");
    }
    if coupled.closures.is_empty() {
        return refuse("a machine without loop joints");
    }
    if compiled.inputs.contacts.iter().any(Contact::is_event_driven) {
        return refuse("dry friction or stops (use `Tanh` or `LuGre`)");
    }
    if !(coupled.constraints.is_empty() && compiled.model.prescribed.is_empty() && compiled.model.free.is_empty()) {
        return refuse("gears, prescribed motions or free joints");
    }
    Ok(())
}

/// Refuses settings that `RealTime` does not have: it has one step, and its own treatment of loads.
fn refuse_settings(settings: &Settings) -> Result<()> {
    let is_constant = matches!(settings.control, solver::Control::Constant { .. });
    if settings.method != solver::Method::RealTime
        || is_constant && settings.formulation == solver::Formulation::Implicit
    {
        return Ok(());
    }
    let what = if is_constant {
        "a formulation other than `Implicit` with `RealTime`, which has its own way with loads,"
    } else {
        "step control other than `Constant(step: …)` with `RealTime`"
    };
    Err(Error::Unsupported { name: "solver".into(), what: what.into() })
}
