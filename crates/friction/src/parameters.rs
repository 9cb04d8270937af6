//! Derivatives of laws in their parameters, at constant slip velocity and state: sensitivities for identification and
//! control.
//!
//! With e = exp(−xⁿ), x = |v|/v_s, the level g = f_c + (f_s − f_c) e, and σ₁(v) = σ₁ f, f = exp(−(v/v_d)²):
//!
//! ```text
//! ∂g/∂f_c = 1 − e     ∂g/∂f_s = e     ∂g/∂v_s = (f_s − f_c) e n xⁿ/v_s     ∂g/∂n = −(f_s − f_c) e xⁿ ln x     (1)
//! sliding     τ = g sign(v) + k v                                                                           (2)
//! bristles    ż = v − a |v| s/g,      ∂ż = −|v| s (∂a/g − a ∂g/g²),     ∂τ = σ₁(v) ∂ż + ∂σ₁(v) ż + ∂σ₂ v     (3)
//! ```
//!
//! a = 1 for LuGre, α of `elasto_plastic.rs` there. The state is s = σ₀ z, so ∂ṡ/∂σ₀ = ż: the deflection z = s/σ₀ is
//! what changes. A table's level at a speed between two of its points is made of both: its slopes are the shares of
//! the two levels, and minus the table's slope times them for the two speeds; at a point, those of the segment above
//! it.
//!
//! `stiction` of [`Coulomb`](crate::Coulomb) and `peak` have no slope: they determine when a stuck joint breaks away,
//! not how it slides.

use crate::elasto_plastic::ElastoPlastic;
use crate::lugre::Plastic;
use crate::{Directional, Law, LuGre, PowerViscous, State, Table};
use std::borrow::Cow;

/// Derivative of a law in one of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSlope {
    /// The parameter as spelled in a scene; `points[2].level` and `points[2].speed` in a table.
    pub name: Cow<'static, str>,
    /// ∂effort/∂p, per unit load.
    pub effort: f64,
    /// ∂rate/∂p of the states.
    pub rate: State,
}

fn slope(name: &'static str, effort: f64, rate: f64) -> ParameterSlope {
    ParameterSlope { name: name.into(), effort, rate: [rate, 0.0] }
}

/// e of (1) and its derivatives in v_s and n. Without v_s the levels are one and the same: nothing is made of
/// `stiction`.
fn weakening(v_s: Option<f64>, n: f64, v: f64) -> [f64; 3] {
    let Some(v_s) = v_s else { return [0.0; 3] };
    let x = v.abs() / v_s;
    let x_n = x.powf(n);
    let e = (-x_n).exp();
    // far out e is 0 and so are its slopes; at rest xⁿ ln x is
    if e == 0.0 || x == 0.0 { [e, 0.0, 0.0] } else { [e, e * n * x_n / v_s, -e * x_n * x.ln()] }
}

/// ∂g/∂p by (1): the levels, then v_s and n where there is a v_s.
fn level_slopes(coulomb: f64, stiction: f64, v_s: Option<f64>, n: f64, v: f64) -> Vec<(&'static str, f64)> {
    let [e, by_v_s, by_n] = weakening(v_s, n, v);
    let mut slopes = vec![("coulomb", 1.0 - e)];
    if v_s.is_some() {
        let fall = stiction - coulomb;
        slopes.extend([("stiction", e), ("stribeck_velocity", fall * by_v_s), ("exponent", fall * by_n)]);
    }
    slopes
}

impl Law {
    /// Derivatives of effort and rates in the parameters of the law, at a slip velocity and a state. `direction` is
    /// that in which a law with modes slides, ±1, or 0 while it is stuck: what holds a stuck joint is equilibrium,
    /// not the law.
    pub fn parameter_slopes(&self, direction: f64, v: f64, state: State) -> Vec<ParameterSlope> {
        let viscous = || slope("viscous", direction.abs() * v, 0.0);
        match self {
            Law::Coulomb(_) => vec![slope("coulomb", direction, 0.0), viscous()],
            Law::Stribeck(law) => {
                let levels =
                    level_slopes(law.coulomb, law.stiction, law.stribeck_velocity, law.exponent, direction * v);
                let slides = |(name, of_level): (&'static str, f64)| slope(name, direction * of_level, 0.0);
                levels.into_iter().map(slides).chain([viscous()]).collect()
            }
            Law::Table(law) => table(law, direction, v),
            Law::Tanh(law) => {
                let v_s = law.stribeck_velocity;
                let th = (v / v_s).tanh();
                vec![
                    slope("coulomb", th, 0.0),
                    slope("stribeck_velocity", -law.coulomb * (1.0 - th * th) * v / (v_s * v_s), 0.0),
                    slope("viscous", v, 0.0),
                ]
            }
            Law::Dahl(law) => {
                // ṡ = σ₀ (v − |v| s/f_c)
                let by_level = v.abs() * state[0] / (law.coulomb * law.coulomb);
                vec![
                    slope("coulomb", 0.0, law.sigma0 * by_level),
                    slope("sigma0", 0.0, v - v.abs() * state[0] / law.coulomb),
                ]
            }
            Law::LuGre(law) => bristle(law, v, v, state[0], &Plastic::FULL, |_, _| 0.0),
            Law::LuGre2(law) => {
                let [s, w] = state;
                let mut slopes = bristle(&law.lugre, v, v + law.beta * w, s, &Plastic::FULL, |_, _| 0.0);
                // ẇ = v − (w³/α − w), and σ₂ (v + β w) in the effort
                let by_alpha = w * w * w / (law.alpha * law.alpha);
                slopes.push(ParameterSlope { name: "alpha".into(), effort: 0.0, rate: [0.0, by_alpha] });
                slopes.push(slope("beta", law.lugre.sigma2 * w, 0.0));
                slopes
            }
            Law::ElastoPlastic(law) => elasto_plastic(law, v, state[0]),
            Law::PowerViscous(law) => power_viscous(law, direction, v, state),
            Law::Directional(law) => directional(law, direction, v, state),
            // what its parameters are is not known here
            Law::Custom(_) => Vec::new(),
        }
    }
}

/// Those of the law inside, its viscous coefficient that of k |v|ⁿ sign(v), and n: k |v|ⁿ ln|v| sign(v).
fn power_viscous(law: &PowerViscous, direction: f64, v: f64, state: State) -> Vec<ParameterSlope> {
    let mut slopes = law.law.parameter_slopes(direction, v, state);
    let acts = law.law.event_driven().is_none() || direction != 0.0;
    let [share, by_exponent, by_v_s] = if acts { law.term_slopes(v) } else { [0.0; 3] };
    for slope in &mut slopes {
        match &*slope.name {
            "viscous" | "sigma2" => slope.effort = share,
            "stribeck_velocity" => slope.effort += by_v_s,
            _ => {}
        }
    }
    slopes.push(slope("viscous_exponent", by_exponent, 0.0));
    slopes
}

/// Those of both laws, by the names of their sides; the side that does not act has none. At rest both act half.
fn directional(law: &Directional, direction: f64, v: f64, state: State) -> Vec<ParameterSlope> {
    let side = if direction == 0.0 { v } else { direction };
    let share = |is_own: bool| match () {
        () if side == 0.0 => 0.5,
        () if is_own => 1.0,
        () => 0.0,
    };
    let mut slopes = Vec::new();
    for (name, law, share) in
        [("forward", &law.forward, share(side > 0.0)), ("backward", &law.backward, share(side < 0.0))]
    {
        slopes.extend(law.parameter_slopes(direction, v, state).into_iter().map(|slope| ParameterSlope {
            name: format!("{name}.{}", slope.name).into(),
            effort: share * slope.effort,
            rate: slope.rate.map(|rate| share * rate),
        }));
    }
    slopes
}

/// (3): `driven` is what σ₂ multiplies, `plastic_slope` gives ∂a/∂p from the parameter's name and ∂g/∂p.
fn bristle(
    law: &LuGre,
    v: f64,
    driven: f64,
    s: f64,
    &Plastic { a, .. }: &Plastic,
    plastic_slope: impl Fn(&str, f64) -> f64,
) -> Vec<ParameterSlope> {
    let (g, _) = law.level(v);
    let sigma1 = law.damping(v).0;
    let z_rate = v - a * v.abs() * s / g;
    let through = |name: &'static str, of_level: f64, of_rate: f64| {
        let z_rate_p = -v.abs() * s * (plastic_slope(name, of_level) / g - a * of_level / (g * g));
        slope(name, sigma1 * z_rate_p, law.sigma0 * z_rate_p + of_rate)
    };
    let levels = level_slopes(law.coulomb, law.stiction, law.stribeck_velocity, law.exponent, v);
    let mut slopes: Vec<_> = levels.into_iter().map(|(name, of_level)| through(name, of_level, 0.0)).collect();
    slopes.push(through("sigma0", 0.0, z_rate));
    let fade = law.damping_velocity.map_or(1.0, |v_d| (-(v / v_d) * (v / v_d)).exp());
    slopes.push(slope("sigma1", fade * z_rate, 0.0));
    slopes.push(slope("sigma2", driven, 0.0));
    if let Some(v_d) = law.damping_velocity {
        let x = v / v_d;
        slopes.push(slope("damping_velocity", law.sigma1 * fade * 2.0 * x * x / v_d * z_rate, 0.0));
    }
    slopes
}

/// (3) with ∂α/∂p = ∂α/∂g ∂g/∂p + ∂α/∂b ∂b/∂p, b = σ₀ z_ba(v).
fn elasto_plastic(law: &ElastoPlastic, v: f64, s: f64) -> Vec<ParameterSlope> {
    let (a, a_g, a_b) = law.plastic_slopes(v, s);
    let [e, e_v_s, e_n] = weakening(law.lugre.stribeck_velocity, law.lugre.exponent, v);
    // without v_s nothing weakens: b is b(0)
    let e = if law.lugre.stribeck_velocity.is_none() { 1.0 } else { e };
    let (by_b, by_coulomb, by_e) = law.breakaway_slopes(e);
    let breakaway_slope = |name: &str| match name {
        "coulomb" => by_coulomb,
        "stribeck_velocity" => by_e * e_v_s,
        "exponent" => by_e * e_n,
        "sigma0" => by_b * law.breakaway,
        "breakaway" => by_b * law.lugre.sigma0,
        _ => 0.0,
    };
    let plastic = Plastic { a, a_v: 0.0, a_s: 0.0 };
    let plastic_slope = |name: &str, of_level: f64| a_g * of_level + a_b * breakaway_slope(name);
    let mut slopes = bristle(&law.lugre, v, v, s, &plastic, plastic_slope);
    let g = law.lugre.level(v).0;
    let z_rate_p = -v.abs() * s / g * a_b * breakaway_slope("breakaway");
    slopes.push(slope("breakaway", law.lugre.damping(v).0 * z_rate_p, law.lugre.sigma0 * z_rate_p));
    slopes
}

/// The shares of the two points about the speed; all others have none.
fn table(law: &Table, direction: f64, v: f64) -> Vec<ParameterSlope> {
    let (first, share, fall) = law.shares(direction * v);
    let mut slopes = Vec::with_capacity(2 * law.points.len());
    for k in 0..law.points.len() {
        let share = if k == first {
            1.0 - share
        } else if k == first + 1 {
            share
        } else {
            0.0
        };
        let of = |what: &str, effort: f64| ParameterSlope {
            name: format!("points[{k}].{what}").into(),
            effort: direction * effort,
            rate: [0.0; 2],
        };
        slopes.push(of("level", share));
        slopes.push(of("speed", -fall * share));
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coulomb, Dahl, Directional, FrictionLaw, LuGre2, Stribeck, Tanh};

    fn lugre() -> LuGre {
        LuGre {
            sigma0: 900.0,
            sigma1: 7.0,
            sigma2: 0.4,
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(0.2),
            exponent: 1.7,
            damping_velocity: Some(0.3),
        }
    }

    /// The law with one of its parameters moved.
    fn moved(law: &Law, name: &str, h: f64) -> Law {
        let in_lugre = |law: &mut LuGre| match name {
            "sigma0" => law.sigma0 += h,
            "sigma1" => law.sigma1 += h,
            "sigma2" => law.sigma2 += h,
            "coulomb" => law.coulomb += h,
            "stiction" => law.stiction += h,
            "exponent" => law.exponent += h,
            "stribeck_velocity" => law.stribeck_velocity = law.stribeck_velocity.map(|v_s| v_s + h),
            "damping_velocity" => law.damping_velocity = law.damping_velocity.map(|v_d| v_d + h),
            other => panic!("{other}"),
        };
        let mut law = law.clone();
        match (&mut law, name) {
            (Law::Directional(law), _) => {
                let (side, name) = name.split_once('.').unwrap();
                let side = if side == "forward" { &mut law.forward } else { &mut law.backward };
                **side = moved(side, name, h);
            }
            (Law::PowerViscous(law), "viscous" | "sigma2") => law.viscous += h,
            (Law::PowerViscous(law), "viscous_exponent") => law.viscous_exponent += h,
            (Law::PowerViscous(law), _) => *law.law = moved(&law.law, name, h),
            (Law::Coulomb(law), "coulomb") => law.coulomb += h,
            (Law::Coulomb(law), "viscous") => law.viscous += h,
            (Law::Stribeck(law), "coulomb") => law.coulomb += h,
            (Law::Stribeck(law), "stiction") => law.stiction += h,
            (Law::Stribeck(law), "viscous") => law.viscous += h,
            (Law::Stribeck(law), "exponent") => law.exponent += h,
            (Law::Stribeck(law), "stribeck_velocity") => {
                law.stribeck_velocity = law.stribeck_velocity.map(|v_s| v_s + h);
            }
            (Law::Tanh(law), "coulomb") => law.coulomb += h,
            (Law::Tanh(law), "viscous") => law.viscous += h,
            (Law::Tanh(law), "stribeck_velocity") => law.stribeck_velocity += h,
            (Law::Dahl(law), "coulomb") => law.coulomb += h,
            (Law::Dahl(law), "sigma0") => law.sigma0 += h,
            (Law::LuGre(law), _) => in_lugre(law),
            (Law::LuGre2(law), "alpha") => law.alpha += h,
            (Law::LuGre2(law), "beta") => law.beta += h,
            (Law::LuGre2(law), _) => in_lugre(&mut law.lugre),
            (Law::ElastoPlastic(law), "breakaway") => law.breakaway += h,
            (Law::ElastoPlastic(law), _) => in_lugre(&mut law.lugre),
            (Law::Table(law), _) => {
                let k: usize = name["points[".len()..name.find(']').unwrap()].parse().unwrap();
                let (speed, level) = &mut law.points[k];
                *(if name.ends_with("speed") { speed } else { level }) += h;
            }
            (law, other) => panic!("{law:?} {other}"),
        }
        law
    }

    #[test]
    fn slopes_are_what_differences_say() {
        let points = vec![(0.0, 1.5), (0.1, 1.2), (0.5, 1.0), (2.0, 1.4)];
        // break-away within the constant share of the level, and beyond it
        let plastic = |share: f64| ElastoPlastic { lugre: lugre(), breakaway: share / 900.0 };
        let laws: Vec<Law> = vec![
            Coulomb { coulomb: 0.5, stiction: 0.7, viscous: 0.1 }.into(),
            Stribeck {
                coulomb: 1.0,
                stiction: 1.5,
                stribeck_velocity: Some(0.2),
                exponent: 1.7,
                viscous: 0.1,
                peak: 1.2,
            }
            .into(),
            Table { points, peak: 1.0 }.into(),
            Table { points: vec![(0.0, 0.8)], peak: 1.0 }.into(),
            Tanh { coulomb: 0.4, stribeck_velocity: 0.2, viscous: 0.3 }.into(),
            Dahl { coulomb: 0.6, sigma0: 500.0 }.into(),
            lugre().into(),
            LuGre2 { lugre: lugre(), alpha: 3.0, beta: 0.8 }.into(),
            plastic(0.5).into(),
            plastic(1.2).into(),
            Law::from(Coulomb { coulomb: 0.5, stiction: 0.7, viscous: 0.1 }).with_viscous_exponent(0.6),
            Law::from(lugre()).with_viscous_exponent(1.4),
            Directional::new(
                Tanh { coulomb: 0.4, stribeck_velocity: 0.2, viscous: 0.3 },
                Law::from(Tanh { coulomb: 0.6, stribeck_velocity: 0.3, viscous: 0.1 }).with_viscous_exponent(0.7),
            )
            .into(),
            Directional::new(lugre(), LuGre { coulomb: 0.7, ..lugre() }).into(),
            Law::from(lugre()).with_viscous_exponent(0.5),
        ];
        let mut seen = 0;
        for law in &laws {
            for v in [-2.5, -0.31, -0.05, 0.02, 0.17, 0.9] {
                for (s, w) in [(-1.3, 0.4), (-0.4, -0.7), (0.7, 0.9), (1.25, 0.1)] {
                    let state = [s, w];
                    for ParameterSlope { name, effort, rate } in law.parameter_slopes(f64::signum(v), v, state) {
                        // a small part of the parameter
                        let h = match &*name {
                            "sigma0" => 1e-4,
                            "breakaway" => 1e-8,
                            _ => 1e-6,
                        };
                        let (up, down) = (moved(law, &name, h), moved(law, &name, -h));
                        let between = |of: &dyn Fn(&Law) -> f64| (of(&up) - of(&down)) / (2.0 * h);
                        let by_effort = between(&|law| law.effort(v, state));
                        let by_rate = [0, 1].map(|k| between(&|law| law.rates(v, state)[k]));
                        for (ours, theirs) in [(effort, by_effort), (rate[0], by_rate[0]), (rate[1], by_rate[1])] {
                            let scale = 1.0 + theirs.abs();
                            assert!(
                                (ours - theirs).abs() < 1e-6 * scale,
                                "{law:?} {name} at {v} {state:?}: {ours} {theirs}"
                            );
                            seen += usize::from(ours.abs() > 1e-3);
                        }
                    }
                }
            }
        }
        assert!(seen > 500, "most of them matter: {seen}");
    }

    #[test]
    fn a_stuck_law_has_no_slopes() {
        let law: Law = Stribeck {
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(0.2),
            exponent: 2.0,
            viscous: 0.1,
            peak: 1.0,
        }
        .into();
        assert!(law.parameter_slopes(0.0, 0.0, [0.0; 2]).iter().all(|slope| slope.effort == 0.0));
    }
}
