//! Doubts about logs, units and parameters, before a fit and after it.

use super::Fit;
use super::fitted::{ChannelError, errors_at, inverse_errors};
use super::model::FitModel;
use super::solve::{At, Watch, evaluate};
use super::statistics::{Deviations, Identifiability, WEAK, deviations};
use crate::error::Result;

/// Component of the weakest direction from which a parameter belongs to it: a gain moves by less than the coefficients
/// that make up for it.
const INVOLVED: f64 = 0.03;

/// See [`Fit::doubts_with`].
pub(super) fn before(fit: &Fit, model: &FitModel, watch: &Watch<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for log in fit.logs.iter().chain(&fit.hold_out) {
        found.extend(log.warnings()?);
    }
    let start: Vec<f64> = model.parameters.iter().map(|parameter| parameter.start).collect();
    // a machine that does not run from its start is the concern of the fit
    if let Ok(at) = evaluate(model, &start, false, watch) {
        let is_inverse = model.inverse.is_some();
        found.extend(unit_doubts(&if is_inverse { inverse_errors(model, &at) } else { errors_at(model, &at) }));
    }
    Ok(found)
}

/// Doubts about the parameters.
pub(super) fn doubts(model: &FitModel, p: &[f64], deviations: &Deviations, weak: &Identifiability) -> Vec<String> {
    let mut found = Vec::new();
    for (k, parameter) in model.parameters.iter().enumerate() {
        let path = &parameter.path;
        if deviations.is_unidentifiable[k] {
            let is_level = path.ends_with(".stiction") || path.ends_with(".peak");
            let why = if is_level { " (no break-away depends on it)" } else { "" };
            found.push(if p[k] == parameter.start {
                format!("`{path}` has no influence on these logs{why}: left at its start {}", parameter.start)
            } else {
                format!("`{path}` went to {:.3e}, where these logs no longer tell it{why}", p[k])
            });
        } else if p[k] <= parameter.bounds.0 || p[k] >= parameter.bounds.1 {
            found.push(format!("`{path}` ended at its bound {}: is the bound meant, or the law too simple?", p[k]));
        }
    }
    let n_identifiable = deviations.is_unidentifiable.iter().filter(|unidentifiable| !**unidentifiable).count();
    let identifiable = |path: &str| {
        model.parameters.iter().position(|p| p.path == path).is_some_and(|k| !deviations.is_unidentifiable[k])
    };
    let involved: Vec<&(String, f64)> =
        weak.weakest.iter().filter(|(path, x)| x.abs() > INVOLVED && identifiable(path)).collect();
    if n_identifiable > 1 && involved.len() > 1 && weak.deviation > WEAK {
        let names = involved.iter().map(|(path, _)| {
            let at = |list: &[(String, f64)]| list.iter().find(|(other, _)| other == path).map_or(f64::NAN, |x| x.1);
            format!("`{path}` {:.4}", at(&weak.tried))
        });
        let change = weak
            .largest_change
            .as_ref()
            .map_or(String::new(), |(channel, x)| format!(" (largest change of `{channel}`: {x:.3e}, simulated)"));
        let names = names.collect::<Vec<_>>().join(", ");
        found.push(format!("{names} give nearly the same curves{change}: fix one of them, or give a prior"));
    }
    found
}

/// Curves that differ by the factor of a unit.
pub(super) fn unit_doubts(errors: &[ChannelError]) -> Vec<String> {
    let spread = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
    };
    let mut found = Vec::new();
    for ChannelError { file, channel, measured, simulated, .. } in errors {
        let factor = spread(measured) / spread(simulated);
        let is_near = |unit: f64, within: f64| (factor / unit).ln().abs() < f64::ln(within);
        let guess =
            [(1e3, "milli-units (mm, mrad, mV)"), (1e-3, "kilo-units"), (180.0 / std::f64::consts::PI, "degrees")];
        if let Some((unit, name)) =
            guess.iter().find(|(unit, _)| is_near(*unit, if *unit == 1e3 || *unit == 1e-3 { 3.0 } else { 1.3 }))
        {
            found.push(format!(
                "{file}: the column of `{channel}` is {factor:.3} times the simulation: is it in {name} (factor \
                 {unit:.4})?"
            ));
        }
    }
    found
}

/// See [`Fit::check`].
pub(super) fn check(fit: &Fit, model: &FitModel, watch: &Watch<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for log in fit.logs.iter().chain(&fit.hold_out) {
        found.extend(log.warnings()?);
    }
    let start: Vec<f64> = model.parameters.iter().map(|parameter| parameter.start).collect();
    let at = evaluate(model, &start, true, watch)?;
    found.extend(unit_doubts(&if model.inverse.is_some() {
        inverse_errors(model, &at)
    } else {
        errors_at(model, &at)
    }));
    for k in 0..model.logs.len() {
        let one = FitModel { logs: vec![model.logs[k].clone()], ..model.clone() };
        // initial states and delays of other logs have no influence on this one
        let at = At { p: at.p.clone(), logs: vec![at.logs[k].clone()] };
        let noise = super::solve::spread(&one);
        let deviations = deviations(&one, &at, &noise);
        let named = |is_unidentifiable: bool| {
            let each = model
                .parameters
                .iter()
                .zip(&deviations.is_unidentifiable)
                .filter(|(_, unidentifiable)| **unidentifiable == is_unidentifiable);
            let names: Vec<&str> = each.map(|(parameter, _)| parameter.path.as_str()).collect();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        let others = if deviations.is_unidentifiable.contains(&true) {
            format!("; it does not tell {}", named(true))
        } else {
            String::new()
        };
        found.push(format!(
            "{}: at the start values this log tells {}{others}",
            model.logs[k].log.table.file,
            named(false)
        ));
    }
    Ok(found)
}
