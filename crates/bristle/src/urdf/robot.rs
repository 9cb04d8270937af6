//! `<robot>`: links and joints together, and what holds the first link.

use std::collections::{HashMap, HashSet};

use nalgebra::{Matrix6, Quaternion, UnitQuaternion, Vector3};
use roxmltree::Node as Xml;

use super::Options;
use super::articulated::{Axis, Carrier, articulated_inertias, unresisted};
use super::document::xacro;
use super::joint::Joint;
use super::limits;
use super::link::Link;
use super::tree::{self, Words};
use super::xml::{Findings, Repair, Text, children, short};
use crate::scene::Placement;
use crate::scene::span::Span;
use crate::scene::syntax::{Node, Value};

/// Rate of a damped joint, 1/s, from which on the scene asks for `Radau5`: an explicit stepper would take 300,000 steps
/// for each second.
const STIFF: f64 = 1e6;

/// Other programs' business.
const FOREIGN: [&str; 6] = ["material", "transmission", "gazebo", "ros2_control", "sensor", "group"];

/// The tree of values of the scene that a robot describes; to be used only if no problem was found.
pub(super) fn read(found: &mut Findings, words: &mut Words, xml: Xml, options: &Options) -> Option<Node> {
    let place = found.tag(xml);
    if xml.tag_name().name() != "robot" {
        let reason = format!("expected `<robot>`, found `<{}>`", xml.tag_name().name());
        found.problem(place, reason, "URDF is what this reads; other formats must be converted first");
        return None;
    }
    if let Some(namespace) = xml.namespaces().find(|n| n.name() == Some("xacro"))
        && let Some(inner) = xml.descendants().find(|n| n.tag_name().namespace() == Some(namespace.uri()))
    {
        let (reason, help) = xacro();
        found.problem(found.tag(inner), reason, help);
        return None;
    }
    found.look_over(xml, &["name", "version"], &[], &["link", "joint"], &FOREIGN);
    if let Some(version) = found.attribute(xml, "version")
        && !version.text.starts_with("1.")
        && version.text != "1"
    {
        found.problem(version.place, format!("version {} of URDF is not known", version.text), "known are 1.0 to 1.2");
    }
    let name = found.attribute(xml, "name");

    // unused parts of the robot come first
    let n = (children(xml, "link").count(), children(xml, "joint").count());
    let title = name.map_or("without a name".to_owned(), |name| format!("`{}`", name.text));
    let subject = format!("robot {title}");
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    found.say(subject, format!("{}, {}; gravity (0, 0, -9.81) m/s²", count(n.0, "link"), count(n.1, "joint")));
    if n.0 == 0 {
        found.problem(place, "the robot has no links", "write `<link name=\"base\"/>`");
        return None;
    }

    let mut robot = Robot { name, place, links: Vec::new(), joints: Vec::new(), gears: Vec::new(), is_stiff: false };
    let length = longest_origin(xml);
    robot.links.extend(children(xml, "link").filter_map(|xml| Link::read(found, words, xml, length)));
    robot.joints.extend(children(xml, "joint").filter_map(|xml| Joint::read(found, words, xml)));
    if found.problems.is_empty() {
        robot.check_names(found);
    }
    if found.problems.is_empty() {
        robot.follow_mimics(found, words);
        robot.limit_joints(found, words, !options.no_limits);
        robot.support_massless(found);
        robot.into_scene(found, words, options)
    } else {
        None
    }
}

/// The longest `origin` of a joint or a centre of mass, m; those that cannot be read are problems elsewhere.
fn longest_origin(xml: Xml) -> f64 {
    let inertials = children(xml, "link").flat_map(|link| children(link, "inertial"));
    let origins = children(xml, "joint").chain(inertials).flat_map(|part| children(part, "origin"));
    let length = |origin: Xml| {
        let entries = origin.attribute("xyz")?.split_whitespace().map(|x| x.parse::<f64>().unwrap_or(0.0));
        Some(entries.filter(|x| x.is_finite()).fold(0.0, f64::hypot))
    };
    origins.filter_map(length).fold(0.0, f64::max)
}

struct Robot<'t> {
    name: Option<Text<'t>>,
    place: Span,
    links: Vec<Link<'t>>,
    joints: Vec<Joint<'t>>,
    gears: Vec<Node>,
    /// Whether dampers make the equations stiff.
    is_stiff: bool,
}

impl<'t> Robot<'t> {
    /// Parents and children are links of this robot, and no link has two parents.
    fn check_names(&self, found: &mut Findings) {
        let index: HashSet<&str> = self.links.iter().map(|link| link.name.text).collect();
        let names: Vec<&str> = self.links.iter().map(|link| link.name.text).collect();
        for joint in &self.joints {
            for end in [joint.parent, joint.child] {
                if !index.contains(end.text) {
                    let help = found.suggest(end.text, &names);
                    found.problem(end.place, format!("there is no link `{}`", end.text), help);
                }
            }
        }
        let mut carrier: HashMap<&str, &Joint> = HashMap::new();
        for joint in &self.joints {
            if let Some(other) = carrier.insert(joint.child.text, joint) {
                let (link, a, b) = (joint.child.text, other.name.text, joint.name.text);
                let reason = format!("two joints carry `{link}`: `{a}` and `{b}`");
                found.problem(joint.child.place, reason, "a link has one parent; closed chains are not supported");
            }
        }
    }

    /// Gears for the joints that follow others. Their positions follow from the gears at the start.
    fn follow_mimics(&mut self, found: &mut Findings, words: &mut Words) {
        let index: HashMap<&str, usize> = self.joints.iter().enumerate().map(|(i, j)| (j.name.text, i)).collect();
        self.leave_out_mimics(found, &index);
        let positions = self.positions_of_followers(&index, |_| 0.0);
        for (i, position) in positions.into_iter().enumerate() {
            let Some(mimic) = self.joints[i].mimic else { continue };
            match position {
                Some(position) if position.is_finite() => {}
                Some(_) => {
                    found.problem(mimic.place, "this leads to a position that is not finite", "");
                    continue;
                }
                None => {
                    let reason = format!("`{}` ends up following itself", self.joints[i].name.text);
                    found.problem(mimic.leader.place, reason, "one joint of the ring must move on its own");
                    continue;
                }
            }

            let mut gear = format!("{}_mimic", self.joints[i].name.text);
            while index.contains_key(gear.as_str()) {
                gear.push('_');
            }
            let joint = &mut self.joints[i];
            let ends =
                vec![tree::text(mimic.place, joint.name.text), tree::text(mimic.leader.place, mimic.leader.text)];
            let fields = vec![
                ("name", tree::text(mimic.place, &gear)),
                ("joints", tree::tuple(mimic.place, ends)),
                ("ratio", tree::number(mimic.multiplier_place, mimic.multiplier)),
                ("offset", tree::number(mimic.offset_place, mimic.offset)),
            ];
            self.gears.push(words.fields(mimic.place, "Gear", fields));
            let (ratio, offset) = (short(mimic.multiplier), short(mimic.offset));
            let meaning = format!(", mimics `{}`: {ratio} · q + {offset} (gear `{gear}`)", mimic.leader.text);
            found.append(joint.line, &meaning);
        }
    }

    /// Leaves out mimics that couple no two coordinates: of joints that have none or several, or that are not there.
    fn leave_out_mimics(&mut self, found: &mut Findings, index: &HashMap<&str, usize>) {
        const HELP: &str = "without `--strict` such a `mimic` is left out, and named";
        for i in 0..self.joints.len() {
            let Some(mimic) = self.joints[i].mimic else { continue };
            let leader = mimic.leader.text;
            let repair = match index.get(leader) {
                None => {
                    let names: Vec<&str> = self.joints.iter().map(|joint| joint.name.text).collect();
                    let near = found.suggest(leader, &names);
                    let near = if near.is_empty() { near } else { format!("; {near}") };
                    let what = format!("`mimic` of `{leader}`, which is not there: left out{near}");
                    Repair { what, group: "`mimic` of a joint that is not there: left out" }
                }
                Some(_) if !self.joints[i].is_single => Repair {
                    what: format!("`mimic` of `{leader}` on a joint with {}: left out", self.joints[i].coordinates()),
                    group: "`mimic` on a joint that has not one coordinate: left out",
                },
                Some(&at) if !self.joints[at].is_single => Repair {
                    what: format!("`mimic` of `{leader}`, which has {}: left out", self.joints[at].coordinates()),
                    group: "`mimic` of a joint that has not one coordinate: left out",
                },
                Some(_) => continue,
            };
            self.joints[i].mimic = None;
            found.repaired(mimic.place, repair, HELP);
            found.append(self.joints[i].line, "");
        }
    }

    /// Positions of joints that follow others, the last of which is at its `start`; `None` in a ring, and for those
    /// that follow one.
    ///
    /// ```text
    /// q = multiplier · q_leader + offset,  from the leaders down
    /// ```
    fn positions_of_followers(&self, index: &HashMap<&str, usize>, start: impl Fn(&Joint) -> f64) -> Vec<Option<f64>> {
        let leader = |i: usize| self.joints[i].mimic.and_then(|m| index.get(m.leader.text).map(|&leader| (m, leader)));
        let mut positions: Vec<Option<f64>> = vec![None; self.joints.len()];
        let mut is_known = vec![false; self.joints.len()];
        let mut line = Vec::new();
        for i in 0..self.joints.len() {
            // up to one that is known, that leads, or that is in this line already: a ring
            let mut at = i;
            while !std::mem::replace(&mut is_known[at], true) {
                line.push(at);
                match leader(at) {
                    Some((_, leader)) => at = leader,
                    None => positions[at] = Some(start(&self.joints[at])),
                }
            }
            while let Some(at) = line.pop() {
                if let Some((mimic, leader)) = leader(at) {
                    positions[at] = positions[leader].map(|q| mimic.multiplier * q + mimic.offset);
                }
            }
        }
        positions
    }

    /// Stops and effort limits.
    fn limit_joints(&mut self, found: &mut Findings, words: &mut Words, is_used: bool) {
        let index: HashMap<&str, usize> = self.joints.iter().enumerate().map(|(i, j)| (j.name.text, i)).collect();
        let start =
            |joint: &Joint| joint.limit.filter(|_| is_used && joint.is_single).map_or(0.0, |limit| limit.start());
        let starts = self.positions_of_followers(&index, start);
        for (joint, start) in self.joints.iter_mut().zip(starts) {
            let follows = joint.mimic.and(start);
            limits::put(found, words, joint, follows, is_used);
        }
    }

    /// Gives `armature` to joints that nothing else would resist: those that feel no inertia, unless a `mimic` couples
    /// them to one that does.
    ///
    /// ```text
    /// armature = 10⁻⁴ m L²  (revolute),   10⁻⁴ m  (prismatic)
    /// ```
    ///
    /// m is the mass of the robot and L the longest `origin` of a joint: as much as a small drive would have, and
    /// nothing that the rest of the robot notices. Where all joints share an origin L is the largest radius of gyration
    /// of a link about its own origin.
    fn support_massless(&mut self, found: &mut Findings) {
        const SHARE: f64 = 1e-4;
        let link: HashMap<&str, usize> = self.links.iter().enumerate().map(|(i, link)| (link.name.text, i)).collect();
        let spatial: Vec<Matrix6<f64>> = self.links.iter().map(|link| link.spatial).collect();
        let mass: f64 = self.links.iter().map(|link| link.mass).sum();
        let square = |joint: &Joint| Vector3::from(joint.placement.translation).norm_squared();
        let gyration = |link: &Link| link.spatial.fixed_view::<3, 3>(0, 0).trace() / (2.0 * link.mass);
        let length2 = match self.joints.iter().map(square).fold(0.0, f64::max) {
            0.0 => self.links.iter().filter(|link| link.mass > 0.0).map(gyration).fold(0.0, f64::max),
            length2 => length2,
        };
        let unit = |axis: Axis| mass * if matches!(axis, Axis::Revolute(_)) { length2 } else { 1.0 };
        let carriers = self.joints.iter().map(|joint| {
            let [w, x, y, z] = joint.placement.rotation.quaternion();
            Carrier {
                parent: link[joint.parent.text],
                child: link[joint.child.text],
                p: joint.placement.translation.into(),
                turn: UnitQuaternion::new_normalize(Quaternion::new(w, x, y, z)),
                axis: joint.axis,
                armature: SHARE * unit(joint.axis),
            }
        });
        let carriers = carriers.collect::<Vec<_>>();
        let inertias = articulated_inertias(&spatial, &carriers);
        self.find_stiff(found, &inertias);
        let index: HashMap<&str, usize> = self.joints.iter().enumerate().map(|(i, j)| (j.name.text, i)).collect();
        let followed = |joint: &Joint| {
            let mimic = joint.mimic?;
            index.get(mimic.leader.text).map(|&leader| (leader, mimic.multiplier))
        };
        let follows: Vec<Option<(usize, f64)>> = self.joints.iter().map(followed).collect();
        let is_tied = follows.iter().any(Option::is_some);
        let tied = if is_tied { unresisted(&spatial, &carriers, &follows) } else { None };
        let resists = match tied {
            Some(free) => free.iter().map(|is_free| !is_free).collect(),
            None => self.with_leaders(inertias.iter().map(|inertia| *inertia > 0.0).collect()),
        };
        for (joint, resists) in self.joints.iter_mut().zip(resists) {
            if resists || !joint.is_single {
                continue;
            }
            let armature = SHARE * unit(joint.axis);
            if armature <= 0.0 {
                found.append(joint.line, ", feels no inertia: it cannot be moved without `armature`");
                continue;
            }
            joint.fields.push(("armature", tree::number(joint.place, armature)));
            let dimension = if matches!(joint.axis, Axis::Revolute(_)) { "kg·m²" } else { "kg" };
            let repair = Repair {
                what: format!("feels no inertia at position 0: armature {armature:.1e} {dimension}"),
                group: "joint that feels no inertia: armature",
            };
            found.repaired(joint.place, repair, "without `--strict` it is given `armature`, and named");
            found.append(joint.line, "");
        }
    }

    /// Finds the joint whose damping d stops it soonest, at the rate d/D with D the inertia it feels. An explicit
    /// stepper takes steps of 3 D/d at most, however slowly the robot moves: beyond [`STIFF`] the scene asks for an
    /// implicit one.
    fn find_stiff(&mut self, found: &mut Findings, inertias: &[f64]) {
        let mut stiffest = (STIFF, None);
        for (joint, &inertia) in self.joints.iter().zip(inertias) {
            let damping = joint.fields.iter().find_map(|(key, node)| match node.value {
                Value::Number(d) if *key == "damping" => Some(d),
                _ => None,
            });
            let rate = damping.filter(|_| inertia > 0.0 && joint.mimic.is_none()).map_or(0.0, |d| d / inertia);
            if rate > stiffest.0 {
                stiffest = (rate, Some(joint.name.text));
            }
        }
        if let (rate, Some(name)) = stiffest {
            let why = format!("Radau5, because the damping of `{name}` stops it within {:.0e} s", 1.0 / rate);
            found.say("solver".into(), why);
            self.is_stiff = true;
        }
    }

    /// Of every joint: whether it or one that a `mimic` couples it to is one of these.
    fn with_leaders(&self, given: Vec<bool>) -> Vec<bool> {
        let index: HashMap<&str, usize> = self.joints.iter().enumerate().map(|(i, j)| (j.name.text, i)).collect();
        let mut group: Vec<usize> = (0..self.joints.len()).collect();
        fn first(group: &mut [usize], mut i: usize) -> usize {
            while group[i] != i {
                group[i] = group[group[i]];
                i = group[i];
            }
            i
        }
        for (i, joint) in self.joints.iter().enumerate() {
            if let Some(&leader) = joint.mimic.and_then(|mimic| index.get(mimic.leader.text)) {
                let (a, b) = (first(&mut group, i), first(&mut group, leader));
                group[a] = b;
            }
        }
        let mut of_group = vec![false; given.len()];
        for (i, given) in given.into_iter().enumerate() {
            of_group[first(&mut group, i)] |= given;
        }
        (0..of_group.len()).map(|i| of_group[first(&mut group, i)]).collect()
    }

    /// The link that no joint carries. A robot without one has a loop, which the checks of scenes will show.
    fn root(&self, found: &mut Findings) -> Option<usize> {
        let carried: HashSet<&str> = self.joints.iter().map(|joint| joint.child.text).collect();
        let mut roots = (0..self.links.len()).filter(|&i| !carried.contains(self.links[i].name.text));
        let first = roots.next()?;
        for other in roots {
            let (first, other) = (self.links[first].name, self.links[other].name);
            // of links with the same name the checks of scenes speak
            if first.text == other.text {
                continue;
            }
            let reason = format!("no joint carries `{}`, nor `{}`: a robot has one root", first.text, other.text);
            let help = format!(
                "add `<joint name=\"…\" type=\"fixed\"><parent link=\"{}\"/><child link=\"{}\"/></joint>`",
                first.text, other.text
            );
            found.problem(other.place, reason, help);
        }
        Some(first)
    }

    /// Everything in its place; the root hangs on the world.
    fn into_scene(mut self, found: &mut Findings, words: &mut Words, options: &Options) -> Option<Node> {
        let root = self.root(found);
        for (i, link) in self.links.iter().enumerate().filter(|(_, link)| link.name.text == "world") {
            if root != Some(i) {
                let help = "call it something else: `world` is what the root hangs from";
                found.problem(link.name.place, "`world` can only be the root", help);
            }
        }
        if !found.problems.is_empty() {
            return None;
        }
        if let Some(root) = root {
            self.hold(found, words, root, options.floating)?;
        }
        let place = self.place;
        let mut links: Vec<Node> = self.links.into_iter().map(|link| link.node).collect();
        let mut joints = Vec::new();
        for mut joint in self.joints {
            for (link, slide) in joint.slides(words).into_iter().flatten() {
                links.push(link);
                joints.push(slide);
            }
            joints.push(words.fields(joint.place, "Joint", joint.fields));
        }
        let mut fields = Vec::new();
        if let Some(name) = self.name {
            fields.push(("name", tree::text(name.place, name.text)));
        }
        fields.push(("links", tree::list(place, links)));
        fields.push(("joints", tree::list(place, joints)));
        fields.push(("couplings", tree::list(place, self.gears)));
        if self.is_stiff {
            let method = words.variant(place, "Radau5", Vec::new());
            fields.push(("solver", words.fields(place, "Solver", vec![("method", method)])));
        }
        Some(words.fields(place, "Scene", fields))
    }

    /// Lets the link float that a root called `world` carries: its `fixed` joint becomes a free one.
    fn float_from_world(&mut self, found: &mut Findings, words: &mut Words, place: Span) -> Option<()> {
        let carried: Vec<usize> = (0..self.joints.len()).filter(|&i| self.joints[i].parent.text == "world").collect();
        let [i] = carried[..] else {
            let names: Vec<String> = carried.iter().map(|&i| format!("`{}`", self.joints[i].child.text)).collect();
            let reason = format!("the root `world` carries {} links: {}", names.len(), names.join(", "));
            let help = "one link floats: hang the others on it, or call the root something else than `world`";
            found.problem(place, reason, help);
            return None;
        };
        let joint = &mut self.joints[i];
        let (child, name) = (joint.child.text, joint.name.text);
        match joint.fields.iter_mut().find(|(key, _)| *key == "kind").map(|field| &mut field.1) {
            Some(kind) if matches!(&kind.value, Value::Tuple { name: Some(word), .. } if words.is(*word, "Fixed")) => {
                *kind = words.variant(joint.place, "Free", Vec::new());
                joint.axis = Axis::Free;
                found.append(joint.line, &format!("; `{child}` floats: the joint is free"));
            }
            Some(kind) if matches!(&kind.value, Value::Tuple { name: Some(word), .. } if words.is(*word, "Free")) => {}
            _ => {
                let reason = format!("the root `world` carries `{child}` by the joint `{name}`, which is not fixed");
                let help = "a link that floats has no other joint: leave `--floating` out, or make that joint `fixed`";
                found.problem(joint.place, reason, help);
                return None;
            }
        }
        Some(())
    }

    /// Hangs the root on the world: by a joint, or, where it is called `world`, by being it.
    fn hold(&mut self, found: &mut Findings, words: &mut Words, root: usize, floating: bool) -> Option<()> {
        let Text { text: name, place } = self.links[root].name;
        if name == "world" {
            if floating {
                self.float_from_world(found, words, place)?;
            }
            let mass = self.links[root].mass;
            let weight = if mass > 0.0 { format!("; its mass, {mass} kg, moves nothing") } else { String::new() };
            self.links.remove(root);
            if self.links.is_empty() {
                found.problem(place, "the robot has no links but `world`", "add what it carries");
                return None;
            }
            found.say("root `world`".into(), format!("the world of the scene{weight}"));
            return Some(());
        }
        let mut joint = format!("world_to_{name}");
        while self.joints.iter().any(|other| other.name.text == joint) {
            joint.push('_');
        }
        let (kind, how) =
            if floating { ("Free", "floats, free in the world") } else { ("Fixed", "fixed to the world") };
        found.say(format!("root `{name}`"), format!("{how}, joint `{joint}`"));
        let fields = vec![
            ("name", tree::text(place, &joint)),
            ("parent", tree::text(place, "world")),
            ("child", tree::text(place, name)),
            ("kind", words.variant(place, kind, Vec::new())),
        ];
        let name = Text { text: name, place };
        let line = found.lines.len().saturating_sub(1);
        self.joints.insert(
            0,
            Joint {
                name,
                parent: name,
                child: name,
                place,
                is_single: false,
                placement: Placement::default(),
                axis: Axis::None,
                fields,
                mimic: None,
                limit: None,
                plane: None,
                line,
            },
        );
        Some(())
    }
}
