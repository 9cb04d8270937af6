//! `<joint>`: what moves, along which axis, and what acts in it.
//!
//! | type | kind |
//! |---|---|
//! | `revolute`, `continuous` | `Revolute(axis)` |
//! | `prismatic` | `Prismatic(axis)` |
//! | `fixed` | `Fixed` |
//! | `floating` | `Free` |
//! | `planar` | `Revolute(axis)`, and before it two `Prismatic` in the plane normal to it, see [`Joint::slides`] |

use nalgebra::Vector3;
use roxmltree::Node as Xml;

use super::articulated::Axis;
use super::frame::Frame;
use super::limits::{self, Limit};
use super::tree::{self, Words};
use super::xml::{Findings, Text, child, short};
use crate::scene::Placement;
use crate::scene::span::Span;
use crate::scene::syntax::Node;

pub(super) const TYPES: [&str; 6] = ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"];

/// How `<dynamics friction>` is understood.
pub(super) const COULOMB: &str = ": Coulomb";

const CHILDREN: [&str; 9] =
    ["parent", "child", "origin", "axis", "dynamics", "limit", "mimic", "safety_controller", "calibration"];

/// A joint on its way into a scene.
pub(super) struct Joint<'t> {
    pub name: Text<'t>,
    pub parent: Text<'t>,
    pub child: Text<'t>,
    /// Place of the element.
    pub place: Span,
    /// It has one coordinate.
    pub is_single: bool,
    /// Where it is in its parent, and how it moves.
    pub placement: Placement,
    pub axis: Axis,
    /// Fields of the scene's joint, names of links included.
    pub fields: Vec<(&'static str, Node)>,
    pub mimic: Option<Mimic<'t>>,
    pub limit: Option<Limit>,
    /// Of a planar joint: two directions in its plane.
    pub plane: Option<[[f64; 3]; 2]>,
    /// Index of its line in the report.
    pub line: usize,
}

/// q = multiplier · q_leader + offset
#[derive(Clone, Copy)]
pub(super) struct Mimic<'t> {
    pub leader: Text<'t>,
    pub multiplier: f64,
    pub offset: f64,
    pub place: Span,
    pub multiplier_place: Span,
    pub offset_place: Span,
}

impl<'t> Joint<'t> {
    /// Read a `<joint>`; `None` where something is wrong with it.
    pub fn read(found: &mut Findings, words: &mut Words, xml: Xml<'t, '_>) -> Option<Joint<'t>> {
        // links of fixed joints are never merged: `dont_collapse` asks for what is done anyway
        found.look_over(xml, &["name", "type", "dont_collapse"], &CHILDREN, &[], &["gazebo"]);
        let place = found.tag(xml);
        let name = found.required(xml, "name")?;
        let kind = found.required(xml, "type")?;
        let parent = link_of(found, xml, "parent")?;
        let carried = link_of(found, xml, "child")?;

        let (unit, variant) = match kind.text {
            "revolute" | "continuous" => ("N·m", "Revolute"),
            "prismatic" => ("N", "Prismatic"),
            "fixed" => ("", "Fixed"),
            "floating" => ("", "Free"),
            "planar" => ("", "Revolute"),
            other => {
                let help = found.suggest(other, &TYPES);
                found.problem(kind.place, format!("unknown type of joint `{other}`"), help);
                return None;
            }
        };
        let is_single = !unit.is_empty();
        let mut joint = Joint {
            name,
            parent,
            child: carried,
            place,
            is_single,
            placement: Placement::default(),
            axis: if kind.text == "floating" || kind.text == "planar" { Axis::Free } else { Axis::None },
            fields: vec![
                ("name", tree::text(name.place, name.text)),
                ("parent", tree::text(parent.place, parent.text)),
                ("child", tree::text(carried.place, carried.text)),
            ],
            mimic: None,
            limit: None,
            plane: None,
            line: 0,
        };
        let mut meaning = kind.text.to_owned();
        joint.kind(found, words, xml, (kind.place, variant), &mut meaning)?;
        meaning += &format!(", `{}` to `{}`", parent.text, carried.text);
        if let Some(origin) = child(xml, "origin") {
            let frame = Frame::read(found, origin)?;
            let place = found.tag(origin);
            joint.placement = frame.placement;
            joint.fields.push(("placement", frame.node(words, place)));
        }
        joint.dynamics(found, words, xml, unit, &mut meaning)?;
        joint.mimic(found, xml)?;
        joint.limit = Limit::read(found, xml, kind.text != "continuous")?;
        limits::set_aside(found, xml)?;
        joint.line = found.say(format!("joint `{}`", name.text), meaning);
        Some(joint)
    }

    /// Kind and axis.
    fn kind(
        &mut self,
        found: &mut Findings,
        words: &mut Words,
        xml: Xml,
        (place, variant): (Span, &'static str),
        meaning: &mut String,
    ) -> Option<()> {
        let axis_xml = child(xml, "axis");
        if let Some(axis) = axis_xml {
            found.look_over(axis, &["xyz"], &[], &[], &[]);
        }
        if !self.is_single && variant != "Revolute" {
            if let Some(axis) = axis_xml {
                if let Some(given) = found.attribute(axis, "xyz") {
                    found.numbers::<3>("axis", given)?;
                }
                found.set_aside(found.tag(axis), "axis", "`axis`", 1);
            }
            self.fields.push(("kind", words.variant(place, variant, Vec::new())));
            return Some(());
        }

        // one that is left out is x
        let (mut axis, mut at) = ([1.0, 0.0, 0.0], place);
        if let Some(axis_xml) = axis_xml {
            let given = found.required(axis_xml, "xyz")?;
            let written = found.numbers("axis", given)?;
            let Some(unit) = normalized(written) else {
                let reason = format!("the axis of `{}` is zero", self.name.text);
                found.problem(given.place, reason, "write a direction, such as `0 0 1`");
                return None;
            };
            (axis, at) = (unit, given.place);
        }
        let [x, y, z] = axis;
        let (about, how) = if variant == "Revolute" {
            ("about", Axis::Revolute(axis.into()))
        } else {
            ("along", Axis::Prismatic(axis.into()))
        };
        if self.is_single {
            self.axis = how;
        } else {
            self.plane = Some(plane(axis));
        }
        *meaning += &format!(" {about} ({x}, {y}, {z})");
        if let Some(plane) = self.plane {
            let name = self.name.text;
            let [x, y] = plane.map(|[x, y, z]| format!("({}, {}, {})", short(x), short(y), short(z)));
            *meaning += &format!(": `{name}_x` along {x}, `{name}_y` along {y}, then `{name}` about the axis");
        }
        let node = words.fields(place, variant, vec![("axis", tree::vector(at, axis))]);
        self.fields.push(("kind", node));
        Some(())
    }

    /// `<dynamics damping friction>`: efforts, the second one Coulomb's.
    fn dynamics(
        &mut self,
        found: &mut Findings,
        words: &mut Words,
        xml: Xml,
        unit: &str,
        meaning: &mut String,
    ) -> Option<()> {
        let Some(dynamics) = child(xml, "dynamics") else { return Some(()) };
        found.look_over(dynamics, &["damping", "friction"], &[], &[], &[]);
        for key in ["damping", "friction"] {
            let Some(given) = found.attribute(dynamics, key) else { continue };
            let x = found.number(key, given)?;
            if x == 0.0 {
                continue;
            }
            // in the words of this file: what follows would speak of a law
            if key == "friction" && x < 0.0 {
                let unit = if unit.is_empty() { "N·m or N" } else { unit };
                let help = format!("`friction` is the effort that opposes motion, in {unit}");
                found.problem(given.place, format!("`friction` is {x}; it must be 0 or more"), help);
                return None;
            }
            if !self.is_single {
                let what = format!("`{key}` {x}: the joint has {}, and this is for one", self.coordinates());
                found.unused(given.place, what);
            } else if key == "damping" {
                let per = if unit == "N" { "N·s/m" } else { "N·m·s/rad" };
                *meaning += &format!(", damping {} {per}", short(x));
                self.fields.push(("damping", tree::number(given.place, x)));
            } else {
                *meaning += &format!(", friction {} {unit}{COULOMB}", short(x));
                let level = tree::number(given.place, x);
                let law = words.fields(given.place, "Coulomb", vec![("coulomb", level)]);
                self.fields.push(("friction", law));
            }
        }
        Some(())
    }

    fn mimic(&mut self, found: &mut Findings, xml: Xml<'t, '_>) -> Option<()> {
        let Some(mimic) = child(xml, "mimic") else { return Some(()) };
        found.look_over(mimic, &["joint", "multiplier", "offset"], &[], &[], &[]);
        let place = found.tag(mimic);
        let leader = found.required(mimic, "joint")?;
        let mut number = |key: &str, default: f64| match found.attribute(mimic, key) {
            Some(given) => found.number(key, given).map(|x| (x, given.place)),
            None => Some((default, place)),
        };
        let (multiplier, multiplier_place) = number("multiplier", 1.0)?;
        let (offset, offset_place) = number("offset", 0.0)?;
        if multiplier == 0.0 {
            let reason = format!("`{}` mimics `{}` with a multiplier of 0", self.name.text, leader.text);
            found.problem(multiplier_place, reason, "a joint that does not move is `fixed`");
            return None;
        }
        self.mimic = Some(Mimic { leader, multiplier, offset, place, multiplier_place, offset_place });
        Some(())
    }
}

impl Joint<'_> {
    /// Its coordinates, in words.
    pub fn coordinates(&self) -> &'static str {
        match (self.is_single, self.axis, self.plane) {
            (true, ..) => "one coordinate",
            (false, _, Some(_)) => "three coordinates",
            (false, Axis::Free, None) => "six coordinates",
            (false, ..) => "no coordinate",
        }
    }

    /// The two links without mass and the two prismatic joints between the parent of a planar joint and the revolute
    /// joint that is left of it: `NAME_x` and `NAME_y`, joints and links alike. The placement goes to the first.
    pub fn slides(&mut self, words: &mut Words) -> Option<[(Node, Node); 2]> {
        let directions = self.plane?;
        let place = self.place;
        let names = ["x", "y"].map(|key| format!("{}_{key}", self.name.text));
        let mut parent = tree::text(self.parent.place, self.parent.text);
        let mut placement = take(&mut self.fields, "placement");
        let slides = std::array::from_fn(|i| {
            let link = vec![("name", tree::text(place, &names[i])), ("mass", tree::number(place, 0.0))];
            let kind = words.fields(place, "Prismatic", vec![("axis", tree::vector(place, directions[i]))]);
            let next = tree::text(place, &names[i]);
            let mut joint = vec![
                ("name", tree::text(self.name.place, &names[i])),
                ("parent", std::mem::replace(&mut parent, next.clone())),
                ("child", next),
                ("kind", kind),
            ];
            joint.extend(placement.take().map(|placement| ("placement", placement)));
            (words.fields(place, "Link", link), words.fields(place, "Joint", joint))
        });
        take(&mut self.fields, "parent");
        self.fields.push(("parent", parent));
        Some(slides)
    }
}

/// Takes a field out.
fn take(fields: &mut Vec<(&'static str, Node)>, key: &str) -> Option<Node> {
    let at = fields.iter().position(|field| field.0 == key)?;
    Some(fields.remove(at).1)
}

/// Two directions that with the axis, the last, form a right-handed frame: x and y for z.
fn plane(axis: [f64; 3]) -> [[f64; 3]; 2] {
    let n = Vector3::from(axis);
    // the coordinate direction after the largest entry is farthest from parallel: x for an axis along z
    let first = Vector3::ith((n.iamax().saturating_add(1)) % 3, 1.0);
    #[expect(clippy::arithmetic_side_effects, reason = "vectors of f64")]
    let u = (first - n * n.dot(&first)).normalize();
    [u.into(), n.cross(&u).into()]
}

/// `<parent link="…">` and its twin.
fn link_of<'t>(found: &mut Findings, xml: Xml<'t, '_>, end: &str) -> Option<Text<'t>> {
    let node = found.required_child(xml, end, &format!("<{end} link=\"…\"/>"))?;
    found.look_over(node, &["link"], &[], &[], &[]);
    found.required(node, "link")
}

/// Direction of an axis; `None` for zero. An axis of length 1 to the last digit stays unchanged.
fn normalized(axis: [f64; 3]) -> Option<[f64; 3]> {
    let largest = axis.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if largest == 0.0 {
        return None;
    }
    // scaled first, so that the squares neither overflow nor vanish
    let scaled = axis.map(|x| x / largest);
    let norm = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
    let is_unit = (norm * largest - 1.0).abs() <= f64::EPSILON;
    Some(if is_unit { axis } else { scaled.map(|x| x / norm) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_made_unit_and_units_left_alone() {
        assert_eq!(normalized([0.0, 0.0, -1.0]), Some([0.0, 0.0, -1.0]));
        assert_eq!(normalized([0.0, 3.0e300, 4.0e300]), Some([0.0, 0.6, 0.8]));
        assert_eq!(normalized([5e-324, 0.0, 0.0]), Some([1.0, 0.0, 0.0]));
        assert_eq!(normalized([0.0; 3]), None);
        let unit = [0.6, 0.0, 0.8];
        assert_eq!(normalized(unit), Some(unit));
    }
}
