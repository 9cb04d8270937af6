//! Links: mass, centre of mass, and an inertia that a body can have.

use bristle_multibody::{MomentDefect, moment_defect, principal_axes};
use nalgebra::Matrix3;

use super::{At, Check, Must, rounded};
use crate::scene::{Inertia, Link};

impl Check<'_> {
    pub(super) fn links(&mut self) {
        let scene = self.scene;
        if scene.links.is_empty() {
            self.report_alone(
                At::field("links"),
                "a scene needs at least one link",
                "write `links: [Link(name: …, mass: …)]`",
            );
        }
        let links = At::field("links");
        for (i, link) in scene.links.iter().enumerate() {
            self.link(links.index(i), link);
        }
    }

    fn link(&mut self, at: At, link: &Link) {
        let heavy = self.number(at.key("mass"), link.mass, Must::NotBeNegative);
        self.finite(at.key("center_of_mass"), &link.center_of_mass);
        let inertia = at.key("inertia");
        let finite = match link.inertia {
            Inertia::Diagonal(x, y, z) => self.finite(inertia, &[x, y, z]),
            Inertia::Full { ixx, iyy, izz, ixy, ixz, iyz } => {
                [("ixx", ixx), ("iyy", iyy), ("izz", izz), ("ixy", ixy), ("ixz", ixz), ("iyz", iyz)]
                    .into_iter()
                    .all(|(key, value)| self.number(inertia.key(key), value, Must::BeFinite))
            }
        };
        if !finite {
            return;
        }

        let rows = link.inertia.matrix();
        if rows == [[0.0; 3]; 3] {
            return;
        }
        let moments = match link.inertia {
            Inertia::Diagonal(x, y, z) => [x, y, z],
            Inertia::Full { .. } => principal_axes(&Matrix3::from_fn(|r, c| rows[r][c])).1,
        };
        match moment_defect(moments) {
            Some(MomentDefect::Negative(low)) => {
                let reason =
                    format!("the inertia of `{}` has a negative principal moment, {} kg·m²", link.name, rounded(low));
                self.report_alone(
                    inertia,
                    reason,
                    "moments of inertia are 0 or more; a large product of inertia also does this",
                );
            }
            Some(MomentDefect::Triangle { largest, others }) => {
                let reason = format!(
                    "no body has the inertia of `{}`: its largest principal moment, {}, exceeds the sum of the \
                     others, {}",
                    link.name,
                    rounded(largest),
                    rounded(others)
                );
                self.report_alone(inertia, reason, "is it about the centre of mass, and in kg·m²?");
            }
            None if heavy && link.mass == 0.0 => {
                let reason = format!("`{}` has rotational inertia but no mass", link.name);
                self.report(inertia, reason, "give it a `mass`; a rotor without one is `armature` on its joint");
            }
            None => {}
        }
    }
}
