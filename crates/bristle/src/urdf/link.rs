//! `<link>`: mass, centre of mass, inertia.
//!
//! The inertia is written about the centre of mass in the axes of the inertial frame, turned by `rpy` against the link:
//!
//! ```text
//! I_link = R I Rᵀ,        R = R(rpy)
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use nalgebra::{Matrix3, Quaternion, UnitQuaternion};
use roxmltree::Node as Xml;

use super::frame::Frame;
use super::tree::{self, Words};
use super::xml::{Findings, Text, child, short};
use crate::scene::syntax::Node;

/// Other programs' business.
const FOREIGN: [&str; 5] = ["visual", "collision", "material", "gazebo", "verbose"];

/// Entries of an inertia that may be left out.
const PRODUCTS: [&str; 3] = ["ixy", "ixz", "iyz"];

/// A link on its way into a scene.
pub(super) struct Link<'t> {
    pub name: Text<'t>,
    pub mass: f64,
    pub node: Node,
}

impl<'t> Link<'t> {
    /// Read a `<link>`; `None` where something is wrong with it.
    pub fn read(found: &mut Findings, words: &mut Words, xml: Xml<'t, '_>) -> Option<Link<'t>> {
        found.look_over(xml, &["name"], &["inertial"], &[], &FOREIGN);
        let name = found.required(xml, "name")?;
        let place = found.tag(xml);
        let subject = format!("link `{}`", name.text);
        let mut fields = vec![("name", tree::text(name.place, name.text))];
        let Some(inertial) = child(xml, "inertial") else {
            found.say(subject, "no `inertial`: without mass".into());
            fields.push(("mass", tree::number(place, 0.0)));
            return Some(Link { name, mass: 0.0, node: words.fields(place, "Link", fields) });
        };

        found.look_over(inertial, &[], &["origin", "mass", "inertia"], &[], &[]);
        let mass_xml = found.required_child(inertial, "mass", "<mass value=\"1.0\"/>")?;
        let inertia_xml = found.required_child(
            inertial,
            "inertia",
            "<inertia ixx=\"…\" ixy=\"0\" ixz=\"0\" iyy=\"…\" iyz=\"0\" izz=\"…\"/>",
        )?;
        found.look_over(mass_xml, &["value"], &[], &[], &[]);
        let given = found.required(mass_xml, "value")?;
        let mass = found.number("mass", given)?;
        fields.push(("mass", tree::number(given.place, mass)));

        let frame = match child(inertial, "origin") {
            Some(origin) => Some(Frame::read(found, origin)?),
            None => None,
        };
        if let (Some(frame), Some(origin)) = (&frame, child(inertial, "origin")) {
            let place = found.attribute(origin, "xyz").map_or_else(|| found.tag(origin), |xyz| xyz.place);
            fields.push(("center_of_mass", tree::vector(place, frame.placement.translation)));
        }
        fields.push(("inertia", inertia(found, words, inertia_xml, frame.as_ref())?));
        let lacks: Vec<&str> = PRODUCTS.into_iter().filter(|key| inertia_xml.attribute(*key).is_none()).collect();
        if lacks.is_empty() {
            found.say_leftovers(subject, format!("mass {} kg", short(mass)));
        } else {
            found.say(subject, format!("mass {} kg; `{}` left out: 0", short(mass), lacks.join("`, `")));
        }
        Some(Link { name, mass, node: words.fields(place, "Link", fields) })
    }
}

/// `<inertia>` in the axes of the link; products of inertia that are left out are 0.
fn inertia(found: &mut Findings, words: &mut Words, xml: Xml, frame: Option<&Frame>) -> Option<Node> {
    const ENTRIES: [(&str, usize, usize); 6] =
        [("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2)];
    found.look_over(xml, &ENTRIES.map(|entry| entry.0), &[], &[], &[]);
    let mut I = Matrix3::zeros();
    let mut places = [found.tag(xml); 6];
    for (place, (key, r, c)) in places.iter_mut().zip(ENTRIES) {
        let given = if r == c { Some(found.required(xml, key)?) } else { found.attribute(xml, key) };
        if let Some(given) = given {
            I[(r, c)] = found.number(key, given)?;
            I[(c, r)] = I[(r, c)];
            *place = given.place;
        }
    }

    // I_link = R I Rᵀ; an inertia that is not turned stays unchanged, to the last bit
    let [w, x, y, z] = frame.map_or([1.0, 0.0, 0.0, 0.0], |frame| frame.placement.rotation.quaternion());
    if [w, x, y, z] != [1.0, 0.0, 0.0, 0.0] {
        let R = UnitQuaternion::new_unchecked(Quaternion::new(w, x, y, z)).to_rotation_matrix().into_inner();
        #[expect(clippy::arithmetic_side_effects, reason = "matrices of f64")]
        let turned = R * I * R.transpose();
        I = turned;
    }
    let place = found.tag(xml);
    if !I.iter().all(|x| x.is_finite()) {
        found.problem(place, "in the axes of the link these moments are no longer finite", "");
        return None;
    }
    let entries = ENTRIES.iter().zip(places).map(|(&(key, r, c), place)| (key, tree::number(place, I[(r, c)])));
    Some(words.fields(place, "Full", entries.collect()))
}
