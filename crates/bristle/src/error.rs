//! Errors from a scene to its results, with names and times.

mod text;

#[cfg(feature = "scene")]
use crate::scene::SceneError;
use std::path::PathBuf;
use text::{at_share, shortage, together, with_steps};

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was refused or a run ended early.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scene was refused.
    #[cfg(feature = "scene")]
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The links and joints of a world do not make a tree of rigid bodies.
    #[error(transparent)]
    Model(#[from] bristle_multibody::ModelError),
    /// A link or joint without a name.
    #[error("entity {entity:?} is a {what} without a `Name`; give it one")]
    Nameless {
        /// "link" or "joint".
        what: &'static str,
        /// The entity.
        entity: hecs::Entity,
    },
    /// A joint refers to an entity that is no link.
    #[error(
        "joint `{joint}`: its {end} is not a link of this world (entity {entity:?}); name one with `.from(link)` or \
         `.to(link)`"
    )]
    NotALink {
        /// The joint.
        joint: String,
        /// "parent" or "child".
        end: &'static str,
        /// The entity.
        entity: hecs::Entity,
    },
    /// A component on an entity that cannot have it.
    #[error("`{name}` carries `{component}`, {reason}")]
    Misplaced {
        /// Link or joint, or the entity if it has no name.
        name: String,
        /// The component.
        component: &'static str,
        /// Why it cannot be there.
        reason: &'static str,
    },
    /// A joint is outside its limits.
    #[error(
        "joint `{joint}` is at {position:?}, outside its limits: the stop is at {bound:?}; start it inside, or \
         widen its limits"
    )]
    OutsideLimits {
        /// The joint.
        joint: String,
        /// Its position, rad or m.
        position: f64,
        /// The bound that it is beyond, rad or m.
        bound: f64,
    },
    /// A prescribed motion drives a joint into its stop.
    #[error(
        "t = {t:?} s: the prescribed motion takes joint `{joint}` beyond its stop at {bound:?}; widen its limits, or \
         keep the motion within them"
    )]
    MotionIntoStop {
        /// Time, s.
        t: f64,
        /// The joint.
        joint: String,
        /// The bound, rad or m.
        bound: f64,
    },
    /// A joint has passed a stop: the run cannot go on.
    #[error(
        "t = {t:?} s: joint `{joint}` is at {position:?}, past its stop at {bound:?}; use a tighter tolerance or a \
         shorter step"
    )]
    PastStop {
        /// Time, s.
        t: f64,
        /// The joint.
        joint: String,
        /// Its position, rad or m.
        position: f64,
        /// The bound, rad or m.
        bound: f64,
    },
    /// Something is larger than is allowed, or than there is memory for.
    #[error("{}", shortage(what, *bytes, *limit))]
    Memory {
        /// The object that needs the memory, and an alternative.
        what: String,
        /// Bytes it takes.
        bytes: u64,
        /// Bytes allowed; `None` where there is no memory.
        limit: Option<u64>,
    },
    /// A number that cannot be used.
    #[error("{what} of `{name}` is {value}; it must be {range}")]
    Number {
        /// Link, joint or setting.
        name: String,
        /// The parameter.
        what: &'static str,
        /// The given value.
        value: f64,
        /// The allowed range, in words.
        range: &'static str,
    },
    /// A drive whose signal cannot be used.
    #[error("drive of joint `{joint}`, {path}: {reason}")]
    Signal {
        /// The joint.
        joint: String,
        /// Where in the signal.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A friction law whose parameters cannot be used.
    #[error("friction of `{joint}`, {law}: {reason}")]
    Friction {
        /// The joint or coupling.
        joint: String,
        /// The law.
        law: String,
        /// Parameter and allowed range.
        reason: String,
    },
    /// A joint that is not where its couplings put it.
    #[error(
        "`{joint}`: its {what} is {given:?}, but its couplings put it at {required:?} ({couplings}): leave it out, or \
         mend the others"
    )]
    NotCoupled {
        /// The joint.
        joint: String,
        /// "position" or "velocity".
        what: &'static str,
        /// As it is.
        given: f64,
        /// As the couplings want it.
        required: f64,
        /// Names of the couplings, for a message.
        couplings: String,
    },
    /// Couplings that cannot be.
    #[error("`{name}`: {reason}")]
    Coupling {
        /// The coupling.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A loop that does not close.
    #[error("loop joint `{joint}`, t = {t:?} s: the loop stays open by {gap:e} (m or rad){}", if *t > 0.0 {
        ": the positions near the last ones cannot close it"
    } else {
        ": give positions that close it to 1e-6, or leave out those of the joints that shall be solved for"
    })]
    OpenLoop {
        /// Time, s.
        t: f64,
        /// The loop joint.
        joint: String,
        /// Largest component of the gap, m or rad.
        gap: f64,
    },
    /// A loop in a configuration in which its constraints do not determine its motion.
    #[error("loop joint `{joint}`, t = {t:?} s: singular configuration, its constraints do not determine the motion")]
    SingularLoop {
        /// Time, s.
        t: f64,
        /// The loop joint.
        joint: String,
    },
    /// Gravity on more than one entity.
    #[error("{count} entities carry `Gravity`; a world has one")]
    ManyGravities {
        /// How many.
        count: usize,
    },
    /// One coordinate of a joint that has none, or six.
    #[error("`{name}` is a {kind} joint, without one coordinate of its own{instead}")]
    NotSingle {
        /// The joint.
        name: String,
        /// "fixed" or "free".
        kind: &'static str,
        /// The alternative, as the end of a sentence.
        instead: &'static str,
    },
    /// A simulation that cannot go back to where it began.
    #[error("there is no going back: the machine has other links or joints than it began with; make a new simulation")]
    Begun,
    /// Something that a later version will do.
    #[error("`{name}`: {what} is not yet supported")]
    Unsupported {
        /// Link, joint or setting.
        name: String,
        /// The unsupported request.
        what: String,
    },
    /// No link, joint or channel of this name.
    #[error(
        "there is no {what} `{name}`{}",
        if known.is_empty() { String::new() } else { format!("; there is {known}") }
    )]
    Unknown {
        /// "joint", "channel" …
        what: &'static str,
        /// The name asked for.
        name: String,
        /// Names there are, for a message.
        known: String,
    },
    /// The equations of motion could not be evaluated.
    #[error("at t = {t}: {source}")]
    Mechanics {
        /// Last accepted time, s.
        t: f64,
        /// The cause.
        source: bristle_multibody::Error,
    },
    /// Equations of motion of a machine that cannot move.
    #[error(
        "at t = {t}: nothing can move, and there are no equations to linearise{}; linearise where the machine moves, \
         or without friction",
        if stuck.is_empty() { String::new() } else { format!(": stuck is `{}`", stuck.join("`, `")) }
    )]
    Immobile {
        /// Time, s.
        t: f64,
        /// Joints and couplings that are stuck.
        stuck: Vec<String>,
    },
    /// No modes of the joints at rest could be chosen.
    #[error("at t = {t}, `{joint}`: {reason}")]
    Modes {
        /// Time, s.
        t: f64,
        /// The joint or coupling.
        joint: String,
        /// The cause.
        reason: String,
    },
    /// A bearing jams (Painlevé paradox): the accelerations that are continuous from zero friction end before all of it
    /// acts.
    #[error(
        "at t = {t}, joint `{joint}`{} jams: the accelerations continuous from zero friction end {}; other \
         accelerations satisfy the equations, but the motion cannot reach them without a jump; less friction, a \
         smaller radius or a longer guide would let it move", together(with), at_share(*share)
    )]
    Jam {
        /// Time, s.
        t: f64,
        /// The joint whose friction cancels most of the inertia.
        joint: String,
        /// Others with a part in it.
        with: Vec<String>,
        /// Share of the friction at which the branch folds.
        share: f64,
    },
    /// A bearing jams: no accelerations were found that satisfy the equations of motion with the friction of their own
    /// reactions.
    #[error(
        "at t = {t}, joint `{joint}`{} jams: no accelerations were found that satisfy the equations of motion with \
         the friction of their own reactions; those continuous from zero friction end {}; less friction, a smaller \
         radius or a longer guide would let it move", together(with), at_share(*share)
    )]
    NoAcceleration {
        /// Time, s.
        t: f64,
        /// The joint whose friction cancels most of the inertia.
        joint: String,
        /// Others with a part in it.
        with: Vec<String>,
        /// Share of the friction at which they end.
        share: f64,
    },
    /// The friction of a real-time step was not found in the rounds it may take.
    #[error(
        "at t = {t}, `{contact}`: its friction in the next step was not found in the rounds a step may take; try a \
         shorter step"
    )]
    Unbalanced {
        /// Last accepted time, s.
        t: f64,
        /// Joint or coupling furthest from balance.
        contact: String,
    },
    /// A joint changes between sticking and slipping, or strikes its stop, without end.
    #[error("`{joint}` {what} without end at t = {t}: more than {burst} events in quick succession")]
    ModeCycle {
        /// What it does: "sticks and slips", or strikes a stop.
        what: &'static str,
        /// Time, s.
        t: f64,
        /// The joint or coupling.
        joint: String,
        /// How many events were allowed in quick succession.
        burst: usize,
    },
    /// A coordinate ran out of the numbers there are.
    #[error(
        "{quantity} of joint `{joint}` runs away after t = {t}{}, until it is no finite number; {}look at what acts in \
         this joint",
        with_steps(*step),
        if *is_controlled { "" } else { "try a smaller step or step control by error, and " }
    )]
    Diverged {
        /// "position", "velocity" …
        quantity: &'static str,
        /// The joint.
        joint: String,
        /// Last accepted time, s.
        t: f64,
        /// Step that failed, s; 0 where that is not known.
        step: f64,
        /// Whether steps are chosen by an error estimate.
        is_controlled: bool,
    },
    /// A result is beyond the numbers there are, though the state is not.
    #[error(
        "at t = {t}, {what} is no finite number: the numbers of this state are too large; try a smaller step or step \
         control by error"
    )]
    NotFinite {
        /// Time, s.
        t: f64,
        /// The result.
        what: String,
    },
    /// A copy of a batch could not go on.
    #[error("copy {copy}: {reason}")]
    Copy {
        /// Which one.
        copy: usize,
        /// The reason.
        reason: String,
        /// Whether its input was refused.
        is_refused: bool,
    },
    /// Bytes that are no snapshot of this simulation.
    #[error("the snapshot is refused: {reason}")]
    Snapshot {
        /// The reason.
        reason: String,
    },
    /// The run was ended from outside.
    #[error("stopped at t = {t}")]
    Stopped {
        /// Time reached, s.
        t: f64,
    },
    /// Memory ran out, see [`crate::memory`].
    #[error("memory ran out at t = {t}")]
    OutOfMemory {
        /// Time reached, s.
        t: f64,
    },
    /// A stepper could not go on.
    #[error(transparent)]
    Integrate(#[from] bristle_integrate::Error),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// `main` shows errors by `Debug`: it is the message.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// A number that cannot be used.
    pub(crate) fn number(name: impl ToString, what: &'static str, value: f64, range: &'static str) -> Self {
        Self::Number { name: name.to_string(), what, value, range }
    }

    /// A name that is none, beside up to eight that are.
    pub(crate) fn unknown<'n>(
        what: &'static str,
        name: impl ToString,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().take(8).collect();
        Self::Unknown { what, name: name.to_string(), known: known.join(", ") }
    }

    /// The joint, link, coupling or setting that it is about.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::NotALink { joint: name, .. }
            | Self::Misplaced { name, .. }
            | Self::Number { name, .. }
            | Self::Signal { joint: name, .. }
            | Self::Friction { joint: name, .. }
            | Self::NotCoupled { joint: name, .. }
            | Self::OpenLoop { joint: name, .. }
            | Self::SingularLoop { joint: name, .. }
            | Self::Coupling { name, .. }
            | Self::NotSingle { name, .. }
            | Self::Unsupported { name, .. }
            | Self::Modes { joint: name, .. }
            | Self::OutsideLimits { joint: name, .. }
            | Self::MotionIntoStop { joint: name, .. }
            | Self::PastStop { joint: name, .. }
            | Self::Jam { joint: name, .. }
            | Self::NoAcceleration { joint: name, .. }
            | Self::Unbalanced { contact: name, .. }
            | Self::ModeCycle { joint: name, .. }
            | Self::Diverged { joint: name, .. }
            | Self::Mechanics { source: bristle_multibody::Error::Singular { joint: name, .. }, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether the input was refused, as opposed to a run that failed.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Mechanics { .. }
            | Self::Modes { .. }
            | Self::Jam { .. }
            | Self::NoAcceleration { .. }
            | Self::Unbalanced { .. }
            | Self::ModeCycle { .. }
            | Self::Diverged { .. }
            | Self::NotFinite { .. }
            | Self::SingularLoop { .. }
            | Self::Stopped { .. }
            | Self::OutOfMemory { .. }
            | Self::Io { .. } => false,
            // at the start the positions are refused
            Self::OpenLoop { t, .. } => *t == 0.0,
            Self::Copy { is_refused, .. } => *is_refused,
            Self::Integrate(error) => {
                use bristle_integrate::Error::{Input, Memory, NeedsImplicit};
                matches!(error, Input { .. } | NeedsImplicit { .. } | Memory { .. })
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_prints_the_message() {
        let error = Error::number("arm", "mass", -1.0, "positive");
        assert_eq!(format!("{error:?}"), "mass of `arm` is -1; it must be positive");
        assert_eq!(format!("{error:#?}"), error.to_string());
    }

    #[test]
    fn errors_have_a_place() {
        let couplings = "`gear`".to_owned();
        let error = Error::NotCoupled { joint: "b".into(), what: "position", given: 1.0, required: 2.0, couplings };
        assert_eq!(error.place(), Some("b"));
        let message =
            "`b`: its position is 1.0, but its couplings put it at 2.0 (`gear`): leave it out, or mend the others";
        assert_eq!(error.to_string(), message);
        assert_eq!(Error::Begun.place(), None);
    }
}
