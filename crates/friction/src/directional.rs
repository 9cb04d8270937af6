//! Friction that differs with the direction of slip: one law forward, one backward.
//!
//! ```text
//! τ_f(v, s) = forward(v, s)   v > 0                                      (1)
//!           = backward(v, s)  v < 0
//! −level of backward ≤ τ_f ≤ level of forward      v = 0, stuck          (2)
//! ```
//!
//! Both laws are of one kind. Bristle laws share one bristle: its deflection is continuous where slip changes its
//! direction, and its stiffness σ₀ is one. Axes with seals, screws and gears differ by 20 to 40 %.
//!
//! At v = 0 derivatives are the mean of both sides, as those of any law.

use crate::{
    BristleStep, ElastoPlastic, Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, Law, LuGre, Mode, State,
};

/// One law for each direction of slip.
#[derive(Debug, Clone, PartialEq)]
pub struct Directional {
    /// The law for v > 0.
    pub(crate) forward: Box<Law>,
    /// The law for v < 0, of the same kind.
    pub(crate) backward: Box<Law>,
}

impl Directional {
    /// One law for each direction of slip; [`FrictionLaw::validate`] finds what does not fit.
    pub fn new(forward: impl Into<Law>, backward: impl Into<Law>) -> Self {
        Self { forward: Box::new(forward.into()), backward: Box::new(backward.into()) }
    }

    /// The law for v > 0.
    pub fn forward(&self) -> &Law {
        &self.forward
    }

    /// The law for v < 0.
    pub fn backward(&self) -> &Law {
        &self.backward
    }

    /// The law of the direction of `v`; at 0 that of forward slip.
    fn of(&self, v: f64) -> &Law {
        if v < 0.0 { &self.backward } else { &self.forward }
    }

    /// Findings about the pair, apart from those of each law.
    pub fn validate_pair(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let (forward, backward) = (&*self.forward, &*self.backward);
        for (side, law) in [("forward", forward), ("backward", backward)] {
            if matches!(law, Law::Directional(_)) {
                let reason = format!("`{side}` of a `Directional` law is a law for one direction, not another pair");
                found.push(Finding::new(side, f64::NAN, reason));
            }
        }
        if !found.is_empty() {
            return found;
        }
        if forward.name() != backward.name() {
            let (forward, backward) = (forward.name(), backward.name());
            let reason = format!("`backward` is `{backward}` and `forward` is `{forward}`: both must be of one kind");
            found.push(Finding::new("backward", f64::NAN, reason));
        } else if forward.sigma0() != backward.sigma0() {
            let reason = format!(
                "`sigma0` is {:?} forward and {:?} backward: both directions share one bristle, of one stiffness",
                forward.sigma0(),
                backward.sigma0()
            );
            found.push(Finding { range_of: &["forward"], ..Finding::new("backward", backward.sigma0(), reason) });
        }
        found
    }

    /// The bristles of LuGre and Dahl over an implicit step, in the direction of `v`: within the levels of both sides.
    fn bristle(&self, h: f64, v: f64, v_level: f64, state: State) -> Option<BristleStep> {
        let (forward, backward) = (self.forward.lugre()?, self.backward.lugre()?);
        let speed = v_level.abs();
        let levels = [forward.level(speed).0, backward.level(speed).0];
        let (own, k) = (if v < 0.0 { &backward } else { &forward }, h * forward.sigma0);
        let damper = self.damper(&forward, &backward, v, v_level);
        let sigma1 = damper.damping(speed).0;
        Some(BristleStep::towards(v < 0.0, k, v_level, levels, state[0], sigma1, own.sigma2))
    }

    /// The side whose σ₁ acts over a step: that of the slip at its start, so that nothing jumps at v = 0.
    fn damper<'a>(&self, forward: &'a LuGre, backward: &'a LuGre, v: f64, v_level: f64) -> &'a LuGre {
        let side = if v_level == 0.0 { v } else { v_level };
        if side < 0.0 { backward } else { forward }
    }

    fn elasto_plastic(&self) -> Option<[&ElastoPlastic; 2]> {
        match (self.forward.without_power(), self.backward.without_power()) {
            (Law::ElastoPlastic(forward), Law::ElastoPlastic(backward)) => Some([forward, backward]),
            _ => None,
        }
    }
}

impl FrictionLaw for Directional {
    fn n_states(&self) -> usize {
        self.forward.n_states()
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = self.validate_pair();
        for (side, law) in [("forward", &self.forward), ("backward", &self.backward)] {
            if !matches!(**law, Law::Directional(_)) {
                let of_side = law.validate().into_iter();
                found.extend(of_side.map(|one| Finding { reason: format!("in `{side}`: {}", one.reason), ..one }));
            }
        }
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (side, law) in [("forward", &self.forward), ("backward", &self.backward)] {
            let of_side = law.warnings().into_iter();
            found.extend(of_side.map(|one| Finding { reason: format!("in `{side}`: {}", one.reason), ..one }));
        }
        found
    }

    fn evaluate(&self, v: f64, state: State) -> Evaluation {
        if v != 0.0 {
            return self.of(v).evaluate(v, state);
        }
        let (a, b) = (self.forward.evaluate(v, state), self.backward.evaluate(v, state));
        let mean = |a: State, b: State| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
        Evaluation {
            effort: 0.5 * (a.effort + b.effort),
            effort_v: 0.5 * (a.effort_v + b.effort_v),
            effort_state: mean(a.effort_state, b.effort_state),
            rate: mean(a.rate, b.rate),
            rate_v: mean(a.rate_v, b.rate_v),
            rate_state: [mean(a.rate_state[0], b.rate_state[0]), mean(a.rate_state[1], b.rate_state[1])],
        }
    }

    fn steady_state(&self, v: f64) -> State {
        self.of(v).steady_state(v)
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.of(v).time_constant(v)
    }

    fn stored_energy(&self, state: State) -> f64 {
        self.forward.stored_energy(state)
    }

    fn dissipated_power(&self, v: f64, state: State) -> f64 {
        self.of(v).dissipated_power(v, state)
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        let own = self.of(v);
        let (viscous, slope) = own.power_at(v);
        let mut step = if let Some(bristle) = self.bristle(h, v, v_level, state) {
            bristle.end(v, state[1])
        } else if let Some([forward, backward]) = self.elasto_plastic() {
            let speed = v_level.abs();
            let levels = [forward.lugre.level(speed).0, backward.lugre.level(speed).0];
            let damper = self.damper(&forward.lugre, &backward.lugre, v, v_level);
            let own = if v < 0.0 { backward } else { forward };
            own.step_within(levels, damper, h, v, v_level, state)
        } else {
            return own.implicit_step(h, v, v_level, state);
        };
        if let (Law::LuGre2(forward), Law::LuGre2(backward)) = (&*self.forward, &*self.backward) {
            // σ₂β acts with the side of the start: a jump of its effort at v = 0 would be no function of v
            (if v_level < 0.0 { backward } else { forward }).step_second(h, v, state, &mut step);
        }
        ImplicitStep { effort: step.effort + viscous, effort_v: step.effort_v + slope, ..step }
    }
}

impl EventDriven for Directional {
    /// The larger one: see [`Law::towards`] for that of one direction.
    fn stiction_level(&self) -> f64 {
        let level = |law: &Law| law.event_driven().map_or(0.0, |law| law.stiction_level());
        level(&self.forward).max(level(&self.backward))
    }

    /// That of forward slip: see [`Law::towards`] for that of one direction.
    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        self.forward.event_driven().map_or((0.0, 0.0), |law| law.kinetic_level(speed))
    }

    fn sliding(&self, mode: Mode, v: f64) -> (f64, f64) {
        let law = if mode == Mode::Backward { &self.backward } else { &self.forward };
        law.event_driven().map_or((0.0, 0.0), |law| law.sliding(mode, v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coulomb, Dahl, LuGre2, Stribeck};
    use approx::assert_relative_eq;

    fn lugre(coulomb: f64, sigma1: f64) -> LuGre {
        LuGre {
            sigma0: 1e3,
            sigma1,
            sigma2: 0.4,
            coulomb,
            stiction: 1.4 * coulomb,
            stribeck_velocity: Some(0.1),
            exponent: 2.0,
            damping_velocity: Some(0.5),
        }
    }

    fn pairs() -> Vec<Law> {
        let plastic = |coulomb: f64| ElastoPlastic { lugre: lugre(coulomb, 3.0), breakaway: 0.7 * coulomb / 1e3 };
        vec![
            Directional::new(lugre(1.0, 3.0), lugre(1.6, 5.0)).into(),
            Directional::new(lugre(1.6, 0.0), Law::from(lugre(1.0, 5.0)).with_viscous_exponent(0.6)).into(),
            Directional::new(Dahl { coulomb: 1.0, sigma0: 1e3 }, Dahl { coulomb: 0.7, sigma0: 1e3 }).into(),
            Directional::new(plastic(1.0), plastic(1.5)).into(),
            Directional::new(
                LuGre2 { lugre: lugre(1.0, 3.0), alpha: 3.0, beta: 0.0 },
                LuGre2 { lugre: lugre(1.5, 3.0), alpha: 2.0, beta: 0.0 },
            )
            .into(),
        ]
    }

    #[test]
    fn each_direction_has_its_law_and_a_stuck_joint_both() {
        let coulomb = |coulomb: f64, viscous: f64| Coulomb { coulomb, stiction: 1.5 * coulomb, viscous };
        let law: Law = Directional::new(coulomb(20.0, 160.0), coulomb(25.0, 240.0)).into();
        assert_eq!((law.steady_effort(0.5), law.steady_effort(-0.5)), (100.0, -145.0));
        let dry = law.event_driven().unwrap();
        assert_eq!(dry.sliding(Mode::Forward, -0.1), (4.0, 160.0));
        assert_eq!(dry.sliding(Mode::Backward, 0.1), (-1.0, 240.0));
        assert_eq!(dry.sliding(Mode::Stuck, 0.0), (0.0, 0.0));
        let level = |mode| law.towards(mode).event_driven().unwrap().stiction_level();
        assert_eq!((level(Mode::Forward), level(Mode::Backward), dry.stiction_level()), (30.0, 37.5, 37.5));
        assert_eq!(law.evaluate(0.0, [0.0; 2]).effort, 0.0);
    }

    /// The step of a whole machine has one solution because of this, whatever the deflection at its start.
    #[test]
    fn implicit_steps_never_fall_and_do_not_jump() {
        for law in pairs() {
            for (v_level, s) in [(0.0, 0.0), (0.0, 0.9), (0.7, 1.9), (-0.3, -1.9), (-0.3, 1.9), (0.02, -1.2)] {
                for h in [1e-5, 1e-3, 0.05] {
                    let at = |v: f64| law.implicit_step(h, v, v_level, [s, 0.3]);
                    let mut before = at(-1.0).effort;
                    for i in -400..=400 {
                        let v = (f64::from(i) / 400.0).powi(5);
                        let step = at(v);
                        // σ₁ (s₁ − s)/(h σ₀) cancels
                        let size = step.effort.abs() + 10.0 / h * f64::EPSILON;
                        let rounding = 64.0 * f64::EPSILON * size.max(1.0 / h);
                        assert!(step.effort >= before - rounding, "{law:?} falls at {v}, {v_level}, {s}, {h}");
                        assert!(step.effort_v >= 0.0);
                        before = step.effort;
                    }
                    let (below, above) = (at(-1e-30), at(1e-30));
                    assert_relative_eq!(below.effort, above.effort, epsilon = 1e-9, max_relative = 1e-9);
                }
            }
        }
    }

    /// Over short steps the implicit step is the law itself.
    #[test]
    fn short_implicit_steps_follow_the_law() {
        for law in pairs() {
            for (v, s) in [(0.2, 0.6), (-0.2, 0.6), (-0.4, -0.65), (0.01, -0.3)] {
                let (now, h) = (law.evaluate(v, [s, 0.3]), 1e-9);
                let step = law.implicit_step(h, v, v, [s, 0.3]);
                assert_relative_eq!((step.state[0] - s) / h, now.rate[0], max_relative = 1e-5, epsilon = 1e-5);
                assert_relative_eq!(step.effort, now.effort, max_relative = 1e-5, epsilon = 1e-5);
            }
        }
    }

    #[test]
    fn pairs_that_do_not_fit_are_refused() {
        let dry = Coulomb { coulomb: 1.0, stiction: 1.0, viscous: 0.0 };
        let falling =
            Stribeck { coulomb: 1.0, stiction: 1.0, stribeck_velocity: None, exponent: 2.0, viscous: 0.0, peak: 1.0 };
        let reason = |law: Directional| law.validate().into_iter().map(|one| one.reason).collect::<Vec<_>>();
        assert!(
            reason(Directional::new(dry, falling))[0].contains("`backward` is `Stribeck` and `forward` is `Coulomb`")
        );
        let nested = Directional::new(Directional::new(dry, dry), dry);
        assert!(reason(nested)[0].contains("`forward` of a `Directional` law"));
        let soft = Directional::new(lugre(1.0, 0.0), LuGre { sigma0: 2e3, ..lugre(1.0, 0.0) });
        assert!(reason(soft)[0].contains("one bristle"));
        let bad = Directional::new(dry, Coulomb { coulomb: -1.0, ..dry });
        assert!(reason(bad)[0].starts_with("in `backward`: `coulomb` is -1.0"));
        assert!(reason(Directional::new(dry, Coulomb { coulomb: 0.5, ..dry })).is_empty());
    }
}
