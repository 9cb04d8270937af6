//! Laws that are given by name alone: `--law joints.slide.friction=Coulomb,Stribeck,LuGre`.
//!
//! ```text
//! levels            those of the present law
//! stiction          1.2 coulomb
//! Stribeck velocity v_s = v_max/20                v_max: the largest measured speed of the joint
//! bristle           σ₀ = coulomb/(10⁻³ · travel), σ₁ = √(σ₀ m)
//! ```
//!
//! What the fit file frees starts where it says. Numbers that a law has and neither the scene nor the fit file does are
//! free, a factor 100 to either side.

use anyhow::{Context, Result};
use bristle::Simulation;
use bristle::fit::Fit;
use std::fmt::Write as _;

/// A number of a law, and how it is free.
struct Number {
    name: &'static str,
    value: f64,
    /// Bounds, where the fit file does not free it.
    bounds: Option<(f64, f64)>,
    /// Whether it is an excess over `coulomb`.
    is_excess: bool,
}

/// Scales of a joint in the logs.
struct Scales {
    travel: f64,
    speed: f64,
    inertia: f64,
}

/// The law with its numbers, and the fit with those free that are new; a law that is written out stays as it is.
pub fn complete(fit: &Fit, path: &str, law: &str) -> Result<(String, Fit)> {
    if law.contains('(') {
        return Ok((law.to_owned(), fit.clone()));
    }
    let scales = || scales(fit, path).with_context(|| format!("--law {law}: write its numbers, `{law}(coulomb: …)`"));
    let number = |name: &str| {
        let at = format!("{path}.{name}");
        fit.freed(&at).map(|(start, _)| start).or_else(|| fit.scene().number(&at).ok())
    };
    let first = |names: &[&str]| names.iter().find_map(|name| number(name));
    // a directional law lends its forward side
    let coulomb = first(&["coulomb", "forward.coulomb"])
        .with_context(|| format!("--law {law}: the present law has no `coulomb`; write `{law}(coulomb: …)`"))?;
    let viscous = first(&["viscous", "sigma2", "forward.viscous"]).unwrap_or(0.0);
    let fixed = |name, value| Number { name, value, bounds: None, is_excess: false };
    let new = |name, value: f64| {
        let bounds = number(name).is_none().then_some((0.01 * value, 100.0 * value));
        Number { name, value: number(name).unwrap_or(value), bounds, is_excess: false }
    };
    let excess = match number("stiction")
        .filter(|level| fit.freed(&format!("{path}.stiction")).is_none() && *level > coulomb)
    {
        Some(level) => Number { name: "stiction", value: level, bounds: None, is_excess: false },
        None => Number { name: "stiction", value: 1.2 * coulomb, bounds: Some((0.0, 20.0 * coulomb)), is_excess: true },
    };
    // the viscous coefficient of a bristle law has another name
    let viscous_bounds = ["viscous", "sigma2"].iter().find_map(|name| fit.freed(&format!("{path}.{name}")));
    let viscous = |name| Number {
        name,
        value: viscous,
        bounds: viscous_bounds.as_ref().map(|(_, bounds)| (*bounds.start(), *bounds.end())),
        is_excess: false,
    };
    let bristle = |scales: &Scales| {
        let sigma0 = coulomb / (1e-3 * scales.travel);
        [new("sigma0", sigma0), new("sigma1", (sigma0 * scales.inertia).sqrt())]
    };
    let numbers = match law {
        "Coulomb" => vec![fixed("coulomb", coulomb), viscous("viscous")],
        "Stribeck" => {
            let velocity = new("stribeck_velocity", scales()?.speed / 20.0);
            vec![fixed("coulomb", coulomb), excess, velocity, viscous("viscous")]
        }
        "Tanh" => {
            let velocity = new("stribeck_velocity", scales()?.speed / 100.0);
            vec![fixed("coulomb", coulomb), velocity, viscous("viscous")]
        }
        "Dahl" => {
            let [sigma0, _] = bristle(&scales()?);
            vec![fixed("coulomb", coulomb), sigma0]
        }
        "LuGre" => {
            let scales = scales()?;
            let [sigma0, sigma1] = bristle(&scales);
            let velocity = new("stribeck_velocity", scales.speed / 20.0);
            vec![fixed("coulomb", coulomb), excess, velocity, sigma0, sigma1, viscous("sigma2")]
        }
        _ => anyhow::bail!("--law {law}: write its numbers, `{law}(…)`; `bristle list laws` shows them"),
    };
    let mut text = format!("{law}(");
    let mut fit = fit.clone();
    for Number { name, value, bounds, is_excess } in numbers {
        if value != 0.0 || name != "viscous" {
            let _ = write!(text, "{name}: {value:?}, ");
        }
        let at = format!("{path}.{name}");
        let Some((low, high)) = bounds.filter(|_| fit.freed(&at).is_none()) else { continue };
        fit = match is_excess {
            true => fit.excess(&at, "coulomb", value - coulomb, low..=high),
            false => fit.free(&at, value.clamp(low, high), low..=high),
        };
    }
    Ok((text.trim_end_matches(", ").to_owned() + ")", fit))
}

/// Travel and largest speed of the joint of a law in the logs, and its inertia at the start.
fn scales(fit: &Fit, path: &str) -> Result<Scales> {
    let joint = path.strip_prefix("joints.").and_then(|rest| rest.strip_suffix(".friction"));
    let joint = joint.context("only the laws of joints have scales in a log")?;
    let (mut travel, mut speed) = (0.0_f64, 0.0_f64);
    for log in fit.logs() {
        let Some(compare) = log.compare.iter().find(|c| c.channel == format!("{joint}.position")) else { continue };
        let (t, q) = (log.times()?, log.table.column(&compare.column)?);
        let (low, high) = q.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), q| (l.min(*q), h.max(*q)));
        travel = travel.max(high - low);
        // over a few rows: of an encoder's counts no speed can be read row by row
        let stride = (q.len() / 500).max(1);
        let fastest = (stride..q.len()).map(|k| ((q[k] - q[k - stride]) / (t[k] - t[k - stride])).abs());
        speed = fastest.fold(speed, f64::max);
    }
    anyhow::ensure!(travel > 0.0 && speed > 0.0, "no log measures a motion of `{joint}`");
    let mut sim = Simulation::new(fit.scene())?;
    let place = sim.coordinates().into_iter().find(|coordinate| coordinate.name == joint).map(|c| c.v);
    let inertia = place.map(|v| sim.mass_matrix().map(|mass| mass[(v, v)])).transpose()?.unwrap_or(1.0);
    Ok(Scales { travel, speed, inertia })
}
