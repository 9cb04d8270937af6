//! `<link>`: mass, centre of mass, inertia.
//!
//! The inertia is written about the centre of mass in the axes of the inertial frame, turned by `rpy` against the link:
//!
//! ```text
//! I_link = R I Rᵀ,        R = R(rpy)
//! ```
//!
//! An inertia that no body has is replaced by the nearest one that a body has (`principal_moments` of `multibody`),
//! and a mass of zero under a rotational inertia by tr I / (1 km)², which nothing notices; each is named. A change
//! below ε m L² with the longest `origin` L of the robot is rounding, no repair.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use bristle_multibody::{MomentDefect, moment_defect, nearest_moments, principal_axes};
use nalgebra::{Matrix3, Matrix6, Quaternion, UnitQuaternion};
use roxmltree::Node as Xml;

use super::articulated::spatial;
use super::frame::Frame;
use super::tree::{self, Words};
use super::xml::{Findings, Repair, Text, child, short};
use crate::scene::span::Span;
use crate::scene::syntax::Node;

/// Other programs' business.
const FOREIGN: [&str; 8] =
    ["visual", "collision", "material", "gazebo", "verbose", "contact", "self_filter", "collision_checking"];

/// Note on a link without `inertial`.
pub(super) const NO_INERTIAL: &str = "no `inertial`: without mass";

/// Radius of gyration that a rotational inertia without mass is given, m: far larger than any robot.
const GYRATION: f64 = 1000.0;

/// Entries of an inertia that may be left out.
const PRODUCTS: [&str; 3] = ["ixy", "ixz", "iyz"];

/// A link on its way into a scene.
pub(super) struct Link<'t> {
    pub name: Text<'t>,
    pub mass: f64,
    /// Spatial inertia.
    pub spatial: Matrix6<f64>,
    pub node: Node,
}

impl<'t> Link<'t> {
    /// Read a `<link>` of a robot whose longest `origin` is `length`, m; `None` where something is wrong with it.
    pub fn read(found: &mut Findings, words: &mut Words, xml: Xml<'t, '_>, length: f64) -> Option<Link<'t>> {
        found.look_over(xml, &["name"], &["inertial"], &[], &FOREIGN);
        let name = found.required(xml, "name")?;
        let place = found.tag(xml);
        let subject = format!("link `{}`", name.text);
        let mut fields = vec![("name", tree::text(name.place, name.text))];
        let Some(inertial) = child(xml, "inertial") else {
            found.say(subject, NO_INERTIAL.into());
            fields.push(("mass", tree::number(place, 0.0)));
            let spatial = Matrix6::zeros();
            return Some(Link { name, mass: 0.0, spatial, node: words.fields(place, "Link", fields) });
        };

        found.look_over(inertial, &[], &["origin", "mass", "inertia"], &[], &[]);
        let inertia_xml = found.required_child(
            inertial,
            "inertia",
            "<inertia ixx=\"…\" ixy=\"0\" ixz=\"0\" iyy=\"…\" iyz=\"0\" izz=\"…\"/>",
        )?;
        let (mut mass, mass_place) = mass(found, inertial)?;

        let frame = match child(inertial, "origin") {
            Some(origin) => Some(Frame::read(found, origin)?),
            None => None,
        };
        if let (Some(frame), Some(origin)) = (&frame, child(inertial, "origin")) {
            let place = found.attribute(origin, "xyz").map_or_else(|| found.tag(origin), |xyz| xyz.place);
            fields.push(("center_of_mass", tree::vector(place, frame.placement.translation)));
        }
        let rounding = f64::EPSILON * mass * length * length;
        let (I, node) = inertia(found, words, inertia_xml, frame.as_ref(), rounding)?;
        fields.push(("inertia", node));
        if mass == 0.0 && I != Matrix3::zeros() {
            mass = I.trace() / (GYRATION * GYRATION);
            let what = format!("rotational inertia without mass: {mass:.1e} kg");
            let help = "without `--strict` it is given a mass that nothing notices, and named";
            found.repaired(mass_place, Repair { what, group: "rotational inertia without mass: a small one" }, help);
        }
        fields.push(("mass", tree::number(mass_place, mass)));
        let c = frame.as_ref().map_or([0.0; 3], |frame| frame.placement.translation);
        let spatial = spatial(mass, c.into(), &I);
        let lacks: Vec<&str> = PRODUCTS.into_iter().filter(|key| inertia_xml.attribute(*key).is_none()).collect();
        if lacks.is_empty() {
            found.say_leftovers(subject, format!("mass {} kg", short(mass)));
        } else {
            found.say(subject, format!("mass {} kg; `{}` left out: 0", short(mass), lacks.join("`, `")));
        }
        Some(Link { name, mass, spatial, node: words.fields(place, "Link", fields) })
    }
}

/// `<mass>` and its place. A mass that is left out is 0.
fn mass(found: &mut Findings, inertial: Xml) -> Option<(f64, Span)> {
    let Some(xml) = child(inertial, "mass") else {
        let place = found.tag(inertial);
        let group = "`inertial` without `mass`: 0 kg";
        found.repaired(place, Repair { what: group.into(), group }, "without `--strict` it is 0, and named");
        return Some((0.0, place));
    };
    found.look_over(xml, &["value"], &[], &[], &[]);
    let given = found.required(xml, "value")?;
    Some((found.number("mass", given)?, given.place))
}

/// `<inertia>` in the axes of the link; products of inertia that are left out are 0. A change of `rounding`, kg·m², is
/// no repair.
fn inertia(
    found: &mut Findings,
    words: &mut Words,
    xml: Xml,
    frame: Option<&Frame>,
    rounding: f64,
) -> Option<(Matrix3<f64>, Node)> {
    const ENTRIES: [(&str, usize, usize); 6] =
        [("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2)];
    // the matrix is symmetric: what stands below its diagonal says nothing new where it says the same
    const BELOW: [(&str, &str); 3] = [("iyx", "ixy"), ("izx", "ixz"), ("izy", "iyz")];
    let mut known = ENTRIES.map(|entry| entry.0).to_vec();
    for (below, above) in BELOW {
        if let (Some(below_given), Some(above_given)) = (found.attribute(xml, below), found.attribute(xml, above)) {
            known.push(below);
            if found.number(below, below_given)? != found.number(above, above_given)? {
                found.unused(below_given.place, format!("`{below}` of `inertia`, which differs from `{above}`"));
            }
        }
    }
    found.look_over(xml, &known, &[], &[], &[]);
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
    if let Some((possible, change, repair)) = nearest(&I) {
        I = possible;
        if change > rounding {
            found.repaired(place, repair, REPAIR_HELP);
        }
    }
    let entries = ENTRIES.iter().zip(places).map(|(&(key, r, c), place)| (key, tree::number(place, I[(r, c)])));
    Some((I, words.fields(place, "Full", entries.collect())))
}

const REPAIR_HELP: &str = "without `--strict` the nearest inertia that a body has takes its place, and is named";

/// The nearest inertia that a body has, the largest change of an entry, and the defect; `None` if a body has the one
/// given.
#[expect(clippy::arithmetic_side_effects, reason = "matrices of f64")]
fn nearest(I: &Matrix3<f64>) -> Option<(Matrix3<f64>, f64, Repair)> {
    let (axes, moments) = principal_axes(I);
    let reason = match moment_defect(moments)? {
        MomentDefect::Negative(low) => format!("principal moment {low:.3e} kg·m² is negative"),
        MomentDefect::Triangle { largest, others } => {
            format!("largest principal moment {largest:.3e} kg·m² exceeds the sum of the others, {others:.3e}")
        }
    };
    let moments = nearest_moments(moments);
    let possible = axes * Matrix3::from_diagonal(&moments.into()) * axes.transpose();
    let possible = (possible + possible.transpose()) * 0.5;
    let change = (possible - I).amax();
    let what = format!("inertia: {reason}; the nearest that a body has differs by up to {change:.1e} kg·m²");
    Some((possible, change, Repair { what, group: "inertia that no body has: the nearest one" }))
}
