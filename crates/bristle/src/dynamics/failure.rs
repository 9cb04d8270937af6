//! Causes of failed evaluations, and their errors in names.

use super::Dynamics;
use super::branch::Jam;
use crate::constraint::loops::LoopFailure;
use crate::error::Error;
use crate::model::Model;
use crate::modes::ModeError;
use bristle_integrate::EvalError;

/// Cause of a failed evaluation, for the error message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    Mechanics(bristle_multibody::Error),
    Modes {
        contact: usize,
        source: ModeError,
    },
    /// Newton has not converged to accelerations.
    NoAcceleration,
    /// No accelerations exist, or none on the branch that is continuous from zero friction.
    Jam(Jam),
    /// No modes of these contacts are consistent with their reactions, as far as tried; whether all were tried.
    Inconsistent {
        contacts: Vec<usize>,
        is_exhaustive: bool,
    },
    /// How these contacts at rest share the load, and the loads that follow from it, do not converge.
    Shares {
        contacts: Vec<usize>,
    },
    /// A stuck clutch between joints of which one depends on others by a loop.
    DependentClutch {
        contact: usize,
    },
    /// The convex solver of a `RealTime` step has not converged.
    Unbalanced {
        contact: usize,
    },
    /// Loops could not be closed.
    Loop(LoopFailure),
    /// A prescribed motion drives a joint into its stop at this bound.
    MotionIntoStop {
        contact: usize,
        bound: f64,
    },
    /// A joint is past its stop at this bound.
    PastStop {
        contact: usize,
        position: f64,
        bound: f64,
    },
    /// An end was asked for: see [`crate::stop`].
    Stopped,
}

impl Failure {
    /// Whether the failure is a number that is not finite.
    pub(crate) fn is_non_finite(&self) -> bool {
        matches!(self, Self::Mechanics(bristle_multibody::Error::NonFinite { .. }))
    }
}

impl From<LoopFailure> for Failure {
    fn from(failure: LoopFailure) -> Self {
        Self::Loop(failure)
    }
}

impl From<bristle_multibody::Error> for Failure {
    fn from(error: bristle_multibody::Error) -> Self {
        Self::Mechanics(error)
    }
}

impl Dynamics {
    /// The error for a joint without inertia in a coupling from which no armature transfer is possible.
    fn no_transfer(&self, joint: &str, is_pair: bool) -> Option<Error> {
        let Model { tree, coupled, joint_of, .. } = &*self.compiled.model;
        let is_its = |term: &(usize, f64)| tree.joint_names[joint_of[term.0]] == joint;
        let constraint = coupled
            .constraints
            .iter()
            .find(|constraint| (constraint.terms.len() == 2) == is_pair && constraint.terms.iter().any(is_its))?;
        if self.is_real_time() {
            return None;
        }
        let why = if is_pair {
            "and that of the joints coupled to it does not suffice for it in this position"
        } else {
            "and armature transfer needs a coupling of two joints"
        };
        let reason = format!("joint `{joint}` has no inertia of its own, {why}: give it `armature`, or use `RealTime`");
        Some(Error::Coupling { name: coupled.names[constraint.element].clone(), reason })
    }

    pub(crate) fn explain(&self, t: f64, failure: Failure) -> Error {
        match failure {
            Failure::Jam(Jam { contacts, share, has_others }) => {
                let mut names = contacts.iter().map(|&c| self.compiled.contact_name(c).to_owned());
                let joint = names.next().unwrap_or_default();
                if has_others {
                    Error::Jam { t, joint, with: names.collect(), share }
                } else {
                    Error::NoAcceleration { t, joint, with: names.collect(), share }
                }
            }
            Failure::NoAcceleration => {
                let joint = self
                    .compiled
                    .model
                    .reaction_loaded
                    .first()
                    .map_or("", |&c| self.compiled.contact_name(c))
                    .to_owned();
                Error::NoAcceleration { t, joint, with: Vec::new(), share: 1.0 }
            }
            Failure::Mechanics(bristle_multibody::Error::Singular { joint, inertia }) => self
                .no_transfer(&joint, false)
                .unwrap_or(Error::Mechanics { t, source: bristle_multibody::Error::Singular { joint, inertia } }),
            // no load can jam: the pivot is that of a joint whose inertia is transferred
            Failure::Mechanics(bristle_multibody::Error::Jam { joint, inertia })
                if self.compiled.model.reaction_loaded.is_empty() =>
            {
                let transfer = self.no_transfer(&joint, true);
                transfer
                    .unwrap_or(Error::Mechanics { t, source: bristle_multibody::Error::Singular { joint, inertia } })
            }
            Failure::Mechanics(source) => Error::Mechanics { t, source },
            Failure::Modes { contact, source } => {
                let reason = match source {
                    ModeError::Unusable { .. } => "its inertia, load or limit is not a usable number",
                    ModeError::Dependent { .. } => "its constraint is redundant with those of other contacts at rest",
                    ModeError::Stopped => return crate::stop::error(t),
                };
                Error::Modes { t, joint: self.compiled.contact_name(contact).into(), reason: reason.into() }
            }
            Failure::Stopped => crate::stop::error(t),
            Failure::Loop(failure) => {
                let name = |closure: usize| {
                    self.compiled.model.coupled.closures.get(closure).map_or_else(String::new, |c| c.name.clone())
                };
                match failure {
                    LoopFailure::Open { closure, gap } => Error::OpenLoop { t, joint: name(closure), gap },
                    LoopFailure::Singular { closure } => Error::SingularLoop { t, joint: name(closure) },
                    LoopFailure::NonFinite => {
                        Error::Mechanics { t, source: bristle_multibody::Error::NonFinite { function: "loops" } }
                    }
                }
            }
            Failure::MotionIntoStop { contact, bound } => {
                Error::MotionIntoStop { t, joint: self.compiled.contact_name(contact).into(), bound }
            }
            Failure::PastStop { contact, position, bound } => {
                let joint = self.compiled.contact_name(contact).into();
                Error::PastStop { t, joint, position, bound }
            }
            Failure::Unbalanced { contact } => {
                Error::Unbalanced { t, contact: self.compiled.contact_name(contact).into() }
            }
            Failure::Shares { contacts } => {
                let names: Vec<String> =
                    contacts.iter().map(|&c| format!("`{}`", self.compiled.contact_name(c))).collect();
                let (joint, names) = (contacts.first().copied().unwrap_or(0), names.join(", "));
                let reason = format!(
                    "friction limits and loads do not converge: {names} hold a loop together, and no distribution of \
                     friction was found whose reactions give the limits back that it was found with"
                );
                Error::Modes { t, joint: self.compiled.contact_name(joint).into(), reason }
            }
            Failure::DependentClutch { contact } => {
                let reason = "the clutch sticks while the loop moves joints of both of its sides: a fixed step of \
                              `RealTime` takes its constraint as constant, so use `Dopri5`, or `LuGre` in the clutch"
                    .into();
                Error::Modes { t, joint: self.compiled.contact_name(contact).into(), reason }
            }
            Failure::Inconsistent { contacts, is_exhaustive } => {
                let names: Vec<String> =
                    contacts.iter().map(|&c| format!("`{}`", self.compiled.contact_name(c))).collect();
                let (joint, names) = (contacts.first().copied().unwrap_or(0), names.join(", "));
                let reason = if is_exhaustive {
                    format!(
                        "no modes are consistent with their own reactions (Painlevé paradox): each of the {} \
                         combinations of stick and slip of {names} contradicts the friction limits or accelerations \
                         that follow from it",
                        3_usize.pow(contacts.len() as u32)
                    )
                } else {
                    format!(
                        "friction limits and loads do not converge: modes of {names} that are consistent with their \
                         own reactions were not found, and {} contacts at rest are too many to try all combinations",
                        contacts.len()
                    )
                };
                Error::Modes { t, joint: self.compiled.contact_name(joint).into(), reason }
            }
        }
    }

    /// Stores the failure. A shorter step may avoid some failures; the others are final.
    pub(crate) fn record_failure(&mut self, failure: Failure) -> EvalError {
        use bristle_multibody::Error::{Jam, NonFinite};
        let may_go_away = matches!(
            failure,
            Failure::Mechanics(NonFinite { .. } | Jam { .. })
                | Failure::NoAcceleration
                | Failure::Jam(_)
                | Failure::Loop(_)
        );
        self.diagnostics.failure = Some(failure);
        if may_go_away { EvalError::Retry } else { EvalError::Fatal { code: 0 } }
    }
}
