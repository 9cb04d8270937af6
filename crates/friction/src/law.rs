//! Any one of the laws.

use crate::{
    BristleStep, Coulomb, Custom, Dahl, Directional, ElastoPlastic, Evaluation, EventDriven, Finding, FrictionLaw,
    ImplicitStep, LuGre, LuGre2, Mode, PowerViscous, State, Stribeck, Table, Tanh,
};

/// Any one of the laws; reads and writes as `Coulomb(coulomb: 0.4, stiction: 0.6)`, `LuGre(sigma0: 1.0e5, …)`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "crate::law_serde::LawSerde", into = "crate::law_serde::LawSerde"))]
pub enum Law {
    /// Dry friction of constant level.
    Coulomb(Coulomb),
    /// Dry friction that weakens with speed.
    Stribeck(Stribeck),
    /// Dry friction from a table of speeds and levels.
    Table(Table),
    /// Smoothed dry friction: no stiction.
    Tanh(Tanh),
    /// One elastic bristle, constant level.
    Dahl(Dahl),
    /// One elastic bristle with damping, weakening with speed.
    LuGre(LuGre),
    /// LuGre with a second internal state.
    LuGre2(LuGre2),
    /// LuGre that does not creep below its break-away deflection.
    ElastoPlastic(ElastoPlastic),
    /// One of the above with a power of the slip velocity as its viscous term: see [`Law::with_viscous_exponent`].
    PowerViscous(PowerViscous),
    /// One law for each direction of slip.
    Directional(Directional),
    /// A law of one's own, in code.
    Custom(Custom),
}

/// The same expression for whichever law it is.
macro_rules! each {
    ($self:ident, $law:ident => $value:expr) => {
        match $self {
            Law::Coulomb($law) => $value,
            Law::Stribeck($law) => $value,
            Law::Table($law) => $value,
            Law::Tanh($law) => $value,
            Law::Dahl($law) => $value,
            Law::LuGre($law) => $value,
            Law::LuGre2($law) => $value,
            Law::ElastoPlastic($law) => $value,
            Law::PowerViscous($law) => $value,
            Law::Directional($law) => $value,
            Law::Custom($law) => $value,
        }
    };
}

impl Law {
    /// The law's name as spelled in a scene, or as its maker calls it.
    pub fn name(&self) -> &str {
        match self {
            Law::Coulomb(_) => "Coulomb",
            Law::Stribeck(_) => "Stribeck",
            Law::Table(_) => "Table",
            Law::Tanh(_) => "Tanh",
            Law::Dahl(_) => "Dahl",
            Law::LuGre(_) => "LuGre",
            Law::LuGre2(_) => "LuGre2",
            Law::ElastoPlastic(_) => "ElastoPlastic",
            Law::PowerViscous(law) => law.law.name(),
            Law::Directional(_) => "Directional",
            Law::Custom(law) => law.name(),
        }
    }

    /// The law's stick-slip side, if it has modes (`Coulomb`, `Stribeck`, `Table`, some of one's own).
    pub fn event_driven(&self) -> Option<&dyn EventDriven> {
        match self {
            Law::Coulomb(law) => Some(law),
            Law::Stribeck(law) => Some(law),
            Law::Table(law) => Some(law),
            Law::Custom(law) => law.law().event_driven(),
            Law::PowerViscous(law) if law.law.event_driven().is_some() => Some(law),
            Law::Directional(law) if law.forward.event_driven().is_some() => Some(law),
            _ => None,
        }
    }

    /// The law for one direction of slip: one side of [`Directional`], any other law itself. A stuck contact has that
    /// of forward slip.
    pub fn towards(&self, mode: Mode) -> &Law {
        match self {
            Law::Directional(law) if mode == Mode::Backward => &law.backward,
            Law::Directional(law) => &law.forward,
            law => law,
        }
    }

    /// The law without [`PowerViscous`] and [`Directional`] around it; of two, that of forward slip.
    pub fn base(&self) -> &Law {
        self.towards(Mode::Forward).without_power()
    }

    /// The law inside a [`PowerViscous`].
    pub(crate) fn without_power(&self) -> &Law {
        if let Law::PowerViscous(law) = self { &law.law } else { self }
    }

    /// Coefficient and exponent of the term of a [`PowerViscous`]; any other law has the coefficient 0.
    pub fn power_term(&self) -> (f64, f64) {
        if let Law::PowerViscous(law) = self { (law.viscous, law.viscous_exponent) } else { (0.0, 1.0) }
    }

    /// The term of a [`PowerViscous`] and its slope; 0 for any other law.
    pub(crate) fn power_at(&self, v: f64) -> (f64, f64) {
        if let Law::PowerViscous(law) = self { law.term(v) } else { (0.0, 0.0) }
    }

    /// The smallest exponent of a viscous term: 1 without [`PowerViscous`].
    pub fn least_viscous_exponent(&self) -> f64 {
        match self {
            Law::Directional(law) => law.forward.power_term().1.min(law.backward.power_term().1),
            law => law.power_term().1,
        }
    }

    /// The same law with viscous friction in proportion to |v|ⁿ sign(v), n `exponent`, and with the coefficient that it
    /// has. Laws without a viscous term (`Table`, `Dahl`), `LuGre2`, whose σ₂ multiplies v + βw, and `Directional`
    /// stay as they are.
    #[must_use]
    pub fn with_viscous_exponent(self, exponent: f64) -> Law {
        let mut law = match self {
            Law::PowerViscous(law) => law.linear(),
            law => law,
        };
        let Some(viscous) = law.viscous_mut().map(std::mem::take) else { return law };
        Law::PowerViscous(PowerViscous { law: Box::new(law), viscous, viscous_exponent: exponent })
    }

    /// The coefficient of a viscous term that a power can replace.
    pub(crate) fn viscous_mut(&mut self) -> Option<&mut f64> {
        match self {
            Law::Coulomb(law) => Some(&mut law.viscous),
            Law::Stribeck(law) => Some(&mut law.viscous),
            Law::Tanh(law) => Some(&mut law.viscous),
            Law::LuGre(law) => Some(&mut law.sigma2),
            Law::ElastoPlastic(law) => Some(&mut law.lugre.sigma2),
            Law::Table(_)
            | Law::Dahl(_)
            | Law::LuGre2(_)
            | Law::PowerViscous(_)
            | Law::Directional(_)
            | Law::Custom(_) => None,
        }
    }

    /// The single bristle in closed form that the law has or contains, as LuGre.
    pub(crate) fn lugre(&self) -> Option<LuGre> {
        match self.without_power() {
            Law::Dahl(law) => Some(law.lugre()),
            Law::LuGre(law) => Some(*law),
            Law::LuGre2(law) => Some(law.lugre),
            _ => None,
        }
    }

    /// The law over a step of length `h` from `state` where it is one bristle in closed form (`Dahl`, `LuGre`), with
    /// what depends on the slip velocity `v_level` at the start worked out once: the same step as
    /// [`FrictionLaw::implicit_step`].
    pub fn bristle(&self, h: f64, v_level: f64, state: State) -> Option<BristleStep> {
        match self {
            Law::Dahl(law) => Some(law.bristle(h, v_level, state)),
            Law::LuGre(law) => Some(law.bristle(h, v_level, state)),
            _ => None,
        }
    }

    /// The bristle stiffness σ₀ that scales the first state; 1 for laws without bristles.
    pub fn sigma0(&self) -> f64 {
        match self {
            Law::Dahl(law) => law.sigma0,
            Law::LuGre(law) => law.sigma0,
            Law::LuGre2(law) => law.lugre.sigma0,
            Law::ElastoPlastic(law) => law.lugre.sigma0,
            Law::PowerViscous(law) => law.law.sigma0(),
            Law::Directional(law) => law.forward.sigma0(),
            Law::Custom(law) => law.law().sigma0(),
            _ => 1.0,
        }
    }

    /// The Coulomb level: sliding friction per unit load without viscous part, far above the Stribeck velocity. For a
    /// table, the level at zero speed; of two directions, the larger one.
    pub fn coulomb_level(&self) -> f64 {
        match self {
            Law::Coulomb(law) => law.coulomb,
            Law::Stribeck(law) => law.coulomb,
            Law::Table(law) => law.kinetic_level(0.0).0,
            Law::Tanh(law) => law.coulomb,
            Law::Dahl(law) => law.coulomb,
            Law::LuGre(law) => law.coulomb,
            Law::LuGre2(law) => law.lugre.coulomb,
            Law::ElastoPlastic(law) => law.lugre.coulomb,
            Law::PowerViscous(law) => law.law.coulomb_level(),
            Law::Directional(law) => law.forward.coulomb_level().max(law.backward.coulomb_level()),
            Law::Custom(law) => law.law().coulomb_level(),
        }
    }

    /// The largest sliding friction per unit load without viscous part, which a bristle reaches before it breaks away.
    pub fn largest_level(&self) -> f64 {
        match self {
            Law::LuGre(law) => law.coulomb.max(law.stiction),
            Law::LuGre2(law) => law.lugre.coulomb.max(law.lugre.stiction),
            Law::ElastoPlastic(law) => law.lugre.coulomb.max(law.lugre.stiction),
            Law::PowerViscous(law) => law.law.largest_level(),
            Law::Directional(law) => law.forward.largest_level().max(law.backward.largest_level()),
            law => law.event_driven().map_or(law.coulomb_level(), |dry| dry.stiction_level()),
        }
    }

    /// The slip speed that scales the law's low-speed behaviour, where the law has one; of two, the smaller one.
    pub fn stribeck_velocity(&self) -> Option<f64> {
        match self {
            Law::Stribeck(law) => law.stribeck_velocity,
            Law::Tanh(law) => Some(law.stribeck_velocity),
            Law::LuGre(law) => law.stribeck_velocity,
            Law::LuGre2(law) => law.lugre.stribeck_velocity,
            Law::ElastoPlastic(law) => law.lugre.stribeck_velocity,
            Law::PowerViscous(law) => law.law.stribeck_velocity(),
            Law::Directional(law) => {
                let speeds = [&law.forward, &law.backward].into_iter().filter_map(|law| law.stribeck_velocity());
                speeds.reduce(f64::min)
            }
            Law::Custom(law) => law.law().stribeck_velocity(),
            Law::Coulomb(_) | Law::Table(_) | Law::Dahl(_) => None,
        }
    }

    /// The state that a deflection `z` (units of slip) and `w` stand for.
    pub fn state_of(&self, z: f64, w: f64) -> State {
        [self.sigma0() * z, w]
    }

    /// The deflection z itself, in units of slip.
    pub fn deflection(&self, state: State) -> f64 {
        state[0] / self.sigma0()
    }
}

impl FrictionLaw for Law {
    fn n_states(&self) -> usize {
        each!(self, law => law.n_states())
    }

    fn validate(&self) -> Vec<Finding> {
        each!(self, law => law.validate())
    }

    fn warnings(&self) -> Vec<Finding> {
        each!(self, law => law.warnings())
    }

    fn evaluate(&self, v: f64, state: State) -> Evaluation {
        each!(self, law => law.evaluate(v, state))
    }

    fn steady_state(&self, v: f64) -> State {
        each!(self, law => law.steady_state(v))
    }

    fn time_constant(&self, v: f64) -> f64 {
        each!(self, law => law.time_constant(v))
    }

    fn stored_energy(&self, state: State) -> f64 {
        each!(self, law => law.stored_energy(state))
    }

    fn dissipated_power(&self, v: f64, state: State) -> f64 {
        each!(self, law => law.dissipated_power(v, state))
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        each!(self, law => law.implicit_step(h, v, v_level, state))
    }

    fn effort(&self, v: f64, state: State) -> f64 {
        each!(self, law => law.effort(v, state))
    }

    fn rates(&self, v: f64, state: State) -> State {
        each!(self, law => law.rates(v, state))
    }

    fn steady_effort(&self, v: f64) -> f64 {
        each!(self, law => law.steady_effort(v))
    }

    fn initial_state(&self, v: f64) -> State {
        each!(self, law => law.initial_state(v))
    }
}

/// `Coulomb { … }.into()`.
macro_rules! from_law {
    ($($name:ident),*) => {$(
        impl From<$name> for Law {
            fn from(law: $name) -> Law {
                Law::$name(law)
            }
        }
    )*};
}

from_law!(Coulomb, Stribeck, Table, Tanh, Dahl, LuGre, LuGre2, ElastoPlastic, PowerViscous, Directional, Custom);
