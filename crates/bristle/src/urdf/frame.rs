//! `<origin xyz rpy>`: a frame in another.

use roxmltree::Node as Xml;

use super::tree::{self, Words};
use super::xml::{Findings, Text};
use crate::scene::syntax::Node;
use crate::scene::{Placement, Rotation};

/// An origin as it was written.
pub(super) struct Frame<'t> {
    pub placement: Placement,
    xyz: Option<Text<'t>>,
    turn: Option<Text<'t>>,
}

impl<'t> Frame<'t> {
    /// Read an `<origin>`. Attributes that are left out are 0.
    pub fn read(found: &mut Findings, node: Xml<'t, '_>) -> Option<Frame<'t>> {
        found.look_over(node, &["xyz", "rpy", "quat_xyzw"], &[], &[], &[]);
        let (xyz, rpy, quaternion) =
            (found.attribute(node, "xyz"), found.attribute(node, "rpy"), found.attribute(node, "quat_xyzw"));
        let translation = match xyz {
            Some(xyz) => found.numbers("xyz", xyz)?,
            None => [0.0; 3],
        };
        let rotation = match (rpy, quaternion) {
            (None, None) => Rotation::default(),
            (Some(given), None) => {
                let [roll, pitch, yaw] = found.numbers("rpy", given)?;
                Rotation::Rpy(roll, pitch, yaw)
            }
            (None, Some(given)) => {
                let [x, y, z, w] = found.numbers("quat_xyzw", given)?;
                if [x, y, z, w] == [0.0; 4] {
                    found.problem(given.place, "a quaternion of zeros is no rotation", "no rotation is `0 0 0 1`");
                    return None;
                }
                Rotation::Quaternion { w, x, y, z }
            }
            (Some(_), Some(given)) => {
                found.problem(given.place, "both `rpy` and `quat_xyzw` are given", "keep one of them");
                return None;
            }
        };
        Some(Frame { placement: Placement { translation, rotation }, xyz, turn: rpy.or(quaternion) })
    }

    /// The same as a scene has it.
    pub fn node(&self, words: &mut Words, place: crate::scene::span::Span) -> Node {
        let xyz = self.xyz.map_or(place, |xyz| xyz.place);
        let turn = self.turn.map_or(place, |turn| turn.place);
        let number = |x| tree::number(turn, x);
        let rotation = match self.placement.rotation {
            Rotation::Rpy(roll, pitch, yaw) => {
                words.variant(turn, "Rpy", vec![number(roll), number(pitch), number(yaw)])
            }
            Rotation::Quaternion { w, x, y, z } => {
                let parts = vec![("w", number(w)), ("x", number(x)), ("y", number(y)), ("z", number(z))];
                words.fields(turn, "Quaternion", parts)
            }
        };
        let translation = tree::vector(xyz, self.placement.translation);
        words.fields(place, "Placement", vec![("translation", translation), ("rotation", rotation)])
    }
}
