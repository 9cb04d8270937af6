//! Joint reactions: the wrench that the parent link exerts on the child link through the joint.
//!
//! The whole of it, effort along the joint axis included, at the joint's origin (which is the child's), in the user's
//! child axes; and resolved along and across the joint axis, which bearings carry and load-dependent friction
//! reads. Armature acts inside the joint and is not part of it.

use crate::error::{Error, check_length};
use crate::model::Model;
use crate::rnea::rnea;
use crate::spatial::Force;
use crate::work::Work;

/// The reaction of one joint, parent on child.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reaction {
    /// Moment about the joint's origin and force, user's child axes, N·m and N.
    pub wrench: Force,
    /// Force along the joint axis, N, signed. Thrust of a hinge; effort of a slide. (z for fixed and free joints.)
    pub axial_force: f64,
    /// Magnitude of the force across the joint axis, N. Pin load of a hinge; lateral load of a slide.
    pub radial_force: f64,
    /// Moment about the joint axis, N·m, signed. Effort of a hinge.
    pub axial_moment: f64,
    /// Magnitude of the moment across the joint axis, N·m, which tilts a bearing.
    pub bending_moment: f64,
}

impl Reaction {
    /// No reaction.
    pub const ZERO: Self =
        Self { wrench: Force::ZERO, axial_force: 0.0, radial_force: 0.0, axial_moment: 0.0, bending_moment: 0.0 };
}

impl Work {
    /// Force through joint `i`, parent on child, at the joint's origin, **canonical** axes (z along the joint axis): as
    /// the last of [`rnea`], [`reactions`] and [`crate::jerk_begin`] left it, plus what
    /// [`Work::add_force_changes`] added since. `aba`, `solve` and the derivatives use the same place for other forces.
    /// Zero for the world; panics, like a slice, where there is no body `i`.
    #[inline(always)]
    pub fn reaction(&self, i: usize) -> Force {
        if i == 0 { Force::ZERO } else { self.link[i].f }
    }
}

/// No `hypot`: forces are nowhere near the ends of the range, and it takes as long as a link of the recursion.
#[inline]
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// Fills `out` (`n_bodies`; entry 0, the world, is zero) with the reactions at `q`, `v` and the accelerations `a`.
pub fn reactions(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    out: &mut [Reaction],
) -> Result<(), Error> {
    check_length("reactions", out.len(), model.n_bodies())?;
    rnea(model, work, q, v, a)?;
    out[0] = Reaction::ZERO;
    for (i, out) in out.iter_mut().enumerate().skip(1) {
        let f = &work.link[i].f;
        let back = model.to_canonical[i].transpose();
        *out = Reaction {
            wrench: Force::new(back * f.moment(), back * f.force()),
            axial_force: f.force[2],
            radial_force: length(f.force[0], f.force[1]),
            axial_moment: f.moment[2],
            bending_moment: length(f.moment[0], f.moment[1]),
        };
    }
    Ok(())
}
