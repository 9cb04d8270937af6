//! Errors for users: names instead of numbers, places in the scene.

use crate::error::Error;
#[cfg(feature = "scene")]
use crate::scene::Scene;
use crate::stick_slip::Machine;
use bristle_integrate::FiredEvent;

/// Names instead of numbers.
pub(super) fn explain(error: bristle_integrate::Error, system: &mut Machine) -> Error {
    use bristle_integrate::Error as Integrate;
    let met = error.last().and_then(|(t, ..)| system.dynamics.take_failure(t));
    let name = |system: &Machine, joint: usize| system.dynamics.compiled().model.tree.joint_names[joint].clone();
    // a bristle belongs to its joint or coupling
    let owner = |system: &Machine, unknown: usize| match system.dynamics.owner(unknown) {
        (_, Some(contact)) => system.dynamics.compiled().contact_name(contact).to_owned(),
        (joint, None) => name(system, joint),
    };
    let diverged = |system: &Machine, t: f64, step: f64, unknown: usize| {
        let (quantity, is_controlled) = (system.dynamics.unknown(unknown).0, system.dynamics.is_controlled());
        Error::Diverged { quantity, joint: owner(system, unknown), t, step, is_controlled }
    };
    match (error, met) {
        // numbers diverged within the step: the largest one names the place
        (error, Some(Error::Mechanics { t, source: bristle_multibody::Error::NonFinite { .. } }))
            if error.last().is_some_and(|last| !last.2.is_empty()) =>
        {
            let (_, h, state) = error.last().unwrap_or((t, 0.0, &[]));
            let largest = state.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map_or(0, |y| y.0);
            diverged(system, t, h, largest)
        }
        (Integrate::System { .. } | Integrate::StepTooSmall { .. } | Integrate::Newton { .. }, Some(met)) => met,
        (Integrate::NonFinite { t, h, component, .. }, _) => diverged(system, t, h, component),
        (Integrate::EventBudget { t, event: FiredEvent::Root { index, .. }, burst, .. }, _) => {
            let what = if system.is_stop_event(index) { "strikes its stop" } else { "sticks and slips" };
            Error::ModeCycle { t, what, joint: system.name_of_event(index), burst }
        }
        (error @ (Integrate::StepTooSmall { .. } | Integrate::Newton { .. }), None) => {
            // a residual form without solution has no pivots that indicate a jam
            let jam = error.last().and_then(|(t, _, state)| system.near_jam(t, state));
            jam.unwrap_or(Error::Integrate(error))
        }
        (error, _) => Error::Integrate(error),
    }
}

/// An unknown name, with some known ones.
pub(super) fn unknown(what: &'static str, name: impl ToString, names: &[String]) -> Error {
    Error::unknown(what, name, names.iter().skip(1).map(String::as_str))
}

/// Bound of the numbers of a machine: its square is about the largest number.
#[cfg(feature = "scene")]
const HUGE: f64 = 1e100;

/// Errors at the start of a scene, with their place in it.
#[cfg(feature = "scene")]
pub(super) fn placed(scene: &Scene, error: Error) -> Error {
    use bristle_multibody::Error::NonFinite;
    if matches!(error, Error::Diverged { .. } | Error::Mechanics { source: NonFinite { .. }, .. }) {
        let largest = scene.origin.0.as_ref().and_then(|document| document.largest());
        if let Some((path, x)) = largest.filter(|(_, x)| x.abs() > HUGE) {
            let is_name = |part: &&str| part.parse::<usize>().is_err();
            let name = path.rsplit('.').find(is_name).unwrap_or_default();
            let reason = format!("`{name}` is {x:?}: what follows from it at the start is no finite number");
            let help = "is it meant? units are kg, m, s, rad, N and N·m";
            return Error::Scene(scene.problem(&path, reason, help).into());
        }
    }
    let at = |path: String| Error::Scene(scene.problem(&path, error.to_string(), "").into());
    if let Error::Mechanics { t, source: NonFinite { .. } } = error {
        let reason = format!("at t = {t} the accelerations are no finite numbers");
        return Error::Scene(scene.problem("joints", reason, "look for values far too large or too small").into());
    }
    let field = match &error {
        Error::Unsupported { .. } => return at("solver.method".into()),
        Error::Integrate(bristle_integrate::Error::Input { what, .. }) => return at(format!("solver.control.{what}")),
        Error::Jam { .. } | Error::NoAcceleration { .. } => "load",
        Error::Mechanics { .. } | Error::Diverged { .. } | Error::Coupling { .. } => "",
        Error::OpenLoop { .. } | Error::SingularLoop { .. } => "",
        Error::Modes { .. } | Error::ModeCycle { .. } | Error::Unbalanced { .. } | Error::Friction { .. } => "friction",
        Error::Signal { .. } => "drive",
        Error::NotCoupled { what, .. } => what,
        _ => return error,
    };
    match error.place() {
        Some(name) => at(of_element(scene, name, field)),
        None => error,
    }
}

/// The path of a joint or coupling, or of a field of it.
#[cfg(feature = "scene")]
fn of_element(scene: &Scene, name: &str, field: &str) -> String {
    let list = if scene.joints.iter().any(|joint| joint.name == name) { "joints" } else { "couplings" };
    format!("{list}.{name}{}{field}", if field.is_empty() { "" } else { "." })
}
