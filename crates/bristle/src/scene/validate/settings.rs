//! Settings: duration, output, method, step control and formulation, and whether they fit together.

use super::{At, Check, Must};
use crate::scene::error::Help;
use crate::scene::{Control, Formulation, Kinks, Method, Output, has_bristle};
use crate::solver::control::Parameter;
use bristle_friction::Law;

/// A constant step, on top of the file.
const STEP: (&str, &str) = ("solver.control", "Constant(step: 1e-3)");

/// More rows than these in one recording are a mistake in `interval`.
const MAX_ROWS: f64 = 1e8;

impl Check<'_> {
    pub(super) fn settings(&mut self) {
        let scene = self.scene;
        self.finite(At::field("gravity"), &scene.gravity);
        let long = self.number(At::field("duration"), scene.duration, Must::BePositive);

        let output = At::field("output");
        let Output { interval, steps } = scene.output;
        if self.number(output.key("interval"), interval, Must::BePositive) && long && !steps {
            let rows = scene.duration / interval;
            if rows > MAX_ROWS {
                let reason = format!("this would record {rows:.1e} rows; the limit is {MAX_ROWS:.0e}");
                // point at the value that is given, and at the override if there is one
                let (interval, duration) = (output.key("interval"), At::field("duration"));
                let is_interval = self.is_given(interval) || !self.is_given(duration);
                if is_interval && (self.is_override(interval) || !self.is_override(duration)) {
                    self.report(interval, reason, "a larger `interval`, or a shorter `duration`");
                } else {
                    let help = "a shorter `duration`, or a larger `interval` in `output: Output(interval: …)`";
                    self.report(duration, reason, help);
                }
            }
        }

        // method and control, and whether they fit
        let solver = At::field("solver");
        let (method, control) = (solver.key("method"), solver.key("control"));
        if let Some(Method::GeneralizedAlpha { spectral_radius }) = scene.solver.method {
            self.number(method.key("spectral_radius"), spectral_radius, Must::BeWithin(0.0, 1.0));
        }
        self.control(control, scene.control());
        if scene.solver.kinks != Kinks::default() && !scene.control().is_by_error() {
            let help = "leave `kinks` out, or write `control: Error(rtol: 1e-8, atol: 1e-10)`";
            self.report(solver.key("kinks"), "kinks are located only where errors control the steps", help);
        }
        self.control_fits(method, control);
        let formulation = At::field("formulation");
        // point at the override if there is one, and give help in its form
        let at = if self.is_override(method) && !self.is_override(formulation) { method } else { formulation };
        if scene.method() == Method::RealTime && scene.formulation != Formulation::Implicit {
            let implicit = self.set_or(at, ("formulation", "Implicit"), "write `formulation: Implicit`");
            self.report(at, "`RealTime` has its own way with loads", Help::from("leave it out, or ").and(implicit));
        } else if scene.formulation == Formulation::Jerk && scene.laws().any(|law| law.least_viscous_exponent() < 1.0) {
            let implicit = self.set_or(at, ("formulation", "Implicit"), "write `Implicit` or `Residual`");
            let reason = "a `viscous_exponent` below 1 has no rate at rest for `Jerk` to integrate";
            self.report(at, reason, implicit);
        } else if scene.formulation == Formulation::Residual && !scene.method().is_implicit() {
            let chosen = if scene.solver.method.is_some() { "" } else { ", the default," };
            let reason =
                format!("`Residual` needs an implicit method; `{}`{chosen} is explicit", scene.method().name());
            // which method is the default depends on every friction law
            if self.unreadable.is_empty() || scene.solver.method.is_some() {
                let help = self.set_or(at, ("solver.method", "Radau5"), "write `solver: Solver(method: Radau5)`");
                self.report(at, reason, help);
            }
        }
    }

    /// Advice in the language of what was said: to set a value on top of the file, or to write it there.
    fn set_or(&self, at: At, (path, value): (&'static str, &'static str), write: &str) -> Help {
        if self.is_override(at) { Help::set(path, value) } else { write.into() }
    }

    /// Steps by error need an error estimate, `RealTime` one step, and rules of bristles a bristle.
    fn control_fits(&mut self, method: At, control: At) {
        let scene = self.scene;
        let name = scene.method().name();
        // point at the override if there is one
        let is_method = scene.solver.control.is_none() || self.is_override(method) && !self.is_override(control);
        let at = if is_method { method } else { control };
        let is_constant = matches!(scene.control(), Control::Constant { .. });
        let step = self.set_or(at, STEP, "write `control: Constant(step: 1e-3)`");
        if scene.method() == Method::RealTime && !is_constant {
            self.report(at, "`RealTime` takes a constant step", step.and(" with the step of your control loop"));
        } else if scene.control().is_by_error() && !scene.method().has_error_estimate() {
            let reason = format!("`{name}` has no error estimate to choose its steps by");
            self.report(at, reason, step.and(", or use `Dopri5`, `Radau5` or `GeneralizedAlpha`"));
        }
        self.rule_has_something_to_watch(control);
    }

    /// Rules that follow friction need friction they can follow: a rule that sees none would set no step, or always
    /// the largest.
    fn rule_has_something_to_watch(&mut self, control: At) {
        let scene = self.scene;
        let joints = scene.joints.iter().filter_map(|joint| joint.friction.as_ref());
        let laws: Vec<&Law> = joints.chain(scene.couplings.iter().filter_map(|c| c.friction().map(|f| f.0))).collect();
        let has_speed = |law: &&Law| law.stribeck_velocity().is_some();
        let (is_watching, what) = match scene.control() {
            Control::Constant { .. } | Control::Error { .. } | Control::Elementary { .. } => return,
            Control::DymoreCoulomb { .. } | Control::Velocity { .. } => (laws.iter().any(has_speed), "slip speeds"),
            Control::DymoreLuGre { .. } => {
                (laws.iter().any(|law| has_bristle(law) && has_speed(law)), "bristles and slip speeds")
            }
            Control::TimeConstant { .. } | Control::TimeConstantSwitch { .. } => {
                (laws.iter().any(|law| has_bristle(law)), "bristles")
            }
        };
        let name = scene.control().name();
        if is_watching || !self.unreadable.is_empty() {
            return;
        }
        let lack = match what {
            "bristles" => "no friction law here has a bristle",
            "slip speeds" => "no friction law here has a `stribeck_velocity` to measure them by",
            _ => "no friction law here has a bristle and a `stribeck_velocity`",
        };
        let step = self.set_or(control, STEP, "write `control: Constant(step: 1e-3)`");
        let help = step.and(", or `Error(rtol: 1e-8, atol: 1e-10)`");
        self.report(control, format!("`{name}` takes its steps from {what}, and {lack}"), help);
    }

    fn control(&mut self, at: At, control: Control) {
        for Parameter { key, index, value, is_valid, range } in control.parameters() {
            let field = at.key(key);
            let at = index.map_or(field, |i| field.index(i));
            if self.number(at, value, Must::BeFinite) && !is_valid {
                self.report_alone(at, format!("`{}` is {value:?}; it must be {range}", at.name()), "");
            }
        }
        if let Control::Error { rtol: 0.0, atol: 0.0 } | Control::Elementary { rtol: 0.0, atol: 0.0 } = control {
            self.report_alone(at, "`rtol` and `atol` are both 0", "write `Error(rtol: 1e-8, atol: 1e-10)`");
        }
    }
}
