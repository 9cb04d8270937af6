//! Errors: of a machine that cannot be built, and of an evaluation that met numbers it cannot use.

use thiserror::Error;

/// Why a model was refused. Every variant names the link or joint.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Two links or two joints share a name, or a link is called "world".
    #[error("the name `{name}` is used twice; give each {what} a name of its own (`world` is taken)")]
    DuplicateName {
        /// The name.
        name: String,
        /// "link" or "joint".
        what: &'static str,
    },
    /// A joint names a link that does not exist.
    #[error("joint `{joint}` names the link `{link}`, which does not exist")]
    MissingLink {
        /// The joint.
        joint: String,
        /// The name that leads nowhere.
        link: String,
    },
    /// A link is the child of two joints.
    #[error("link `{link}` is the child of two joints, `{first}` and `{second}`; a tree allows one")]
    TwoParents {
        /// The link.
        link: String,
        /// One joint.
        first: String,
        /// The other joint.
        second: String,
    },
    /// The world is the child of a joint.
    #[error("joint `{joint}` has the world as its child; swap parent and child")]
    WorldIsChild {
        /// The joint.
        joint: String,
    },
    /// Joints form a ring.
    #[error("the joints {} form a cycle that never reaches the world", joints.join(", "))]
    Cycle {
        /// The joints of the ring, in order.
        joints: Vec<String>,
    },
    /// A link hangs on no joint.
    #[error("link `{link}` is the child of no joint; attach it with a Free or a Fixed joint")]
    Unattached {
        /// The link.
        link: String,
    },
    /// Mass or inertia that no rigid body can have.
    #[error("link `{link}` has a non-physical inertia: {reason}")]
    NonPhysicalInertia {
        /// The link.
        link: String,
        /// The reason.
        reason: String,
    },
    /// A joint axis of length zero.
    #[error("joint `{joint}` has an axis of length zero")]
    ZeroAxis {
        /// The joint.
        joint: String,
    },
    /// A rotation that is none.
    #[error("joint `{joint}` has a placement whose rotation is not a rotation")]
    NotARotation {
        /// The joint.
        joint: String,
    },
    /// NaN or infinity in a parameter.
    #[error("{what} of `{name}` is not a finite number")]
    NonFinite {
        /// Link or joint, or "model".
        name: String,
        /// The parameter.
        what: &'static str,
    },
    /// Armature below zero, or on a joint that has none.
    #[error("joint `{joint}` has armature {armature}; it must be zero or positive, and zero on fixed and free joints")]
    Armature {
        /// The joint.
        joint: String,
        /// The value.
        armature: f64,
    },
}

/// Why an evaluation failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine could not be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A slice has the wrong length for this model.
    #[error("{what} has {got} entries, the model needs {expected}")]
    Length {
        /// Which argument.
        what: &'static str,
        /// The number that the model needs.
        expected: usize,
        /// The number given.
        got: usize,
    },
    /// A body, joint or row index the model does not have.
    #[error("there is no {what} {index}; the model has {count}")]
    NoSuch {
        /// "body", "joint" …
        what: &'static str,
        /// The index given.
        index: usize,
        /// The number there is.
        count: usize,
    },
    /// A list that must be ordered is not.
    #[error("{what} must be ordered by body")]
    Unordered {
        /// Which list.
        what: &'static str,
    },
    /// A NaN or infinity went in, or arose.
    #[error("{function} met a number that is not finite")]
    NonFinite {
        /// The function that met it.
        function: &'static str,
    },
    /// The mass matrix is singular: a joint moves nothing that has inertia.
    #[error(
        "the articulated inertia of joint `{joint}` is {inertia:?}: only rounding resists its motion; give the \
        links beyond it mass, the joint armature, or the machine another position"
    )]
    Singular {
        /// The joint.
        joint: String,
        /// The articulated inertia along the joint axis.
        inertia: f64,
    },
    /// A joint that has inertia, but whose row reads no positive part of it: its load grows faster with its
    /// acceleration than the effort does.
    #[error(
        "joint `{joint}` jams: read along its loaded row the inertia it feels is {inertia:?}, so that no \
        acceleration follows from its effort"
    )]
    Jam {
        /// The joint.
        joint: String,
        /// D = Pᵀ IA S + armature; of a free joint, whose joints beyond are loaded, the determinant of its 6×6 inertia.
        inertia: f64,
    },
}

/// `Ok` if the slice has the length the model needs.
#[inline(always)]
pub(crate) fn check_length(what: &'static str, got: usize, expected: usize) -> Result<(), Error> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

/// `Ok` if the model has a body `index`.
#[inline(always)]
pub(crate) fn check_body(index: usize, count: usize) -> Result<(), Error> {
    if index < count { Ok(()) } else { Err(Error::NoSuch { what: "body", index, count }) }
}

/// `Ok` if every number of a result is finite. One addition each: `x·0` is 0 for finite x and NaN otherwise.
#[inline(always)]
pub(crate) fn check_finite(function: &'static str, results: &[f64]) -> Result<(), Error> {
    // eight sums side by side where there are that many
    let (eights, rest) = results.as_chunks::<8>();
    let mut zero: f64 = rest.iter().map(|x| x * 0.0).sum();
    if !eights.is_empty() {
        let mut sums = [0.0; 8];
        for x in eights {
            sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += x * 0.0);
        }
        zero += sums.iter().sum::<f64>();
    }
    if zero == 0.0 { Ok(()) } else { Err(Error::NonFinite { function }) }
}
