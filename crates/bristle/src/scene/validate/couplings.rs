//! Couplings: the joints they name exist, and their numbers lie in their ranges.

use std::collections::HashMap;

use super::{At, Check, Must, kind_name};
use crate::scene::{Coupling, Drive, Load, LoopKind};
use bristle_friction::Law;

impl Check<'_> {
    pub(super) fn couplings(&mut self) {
        let scene = self.scene;
        let index: HashMap<&str, usize> = scene.joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect();
        let couplings = At::field("couplings");
        for (i, coupling) in scene.couplings.iter().enumerate() {
            let at = couplings.index(i);
            match coupling {
                Coupling::Gear { joints, ratio, offset, efficiency, friction, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("ratio"), *ratio, Must::NotBeZero);
                    self.number(at.key("offset"), *offset, Must::BeFinite);
                    for (k, eta) in efficiency.iter().enumerate() {
                        let _ = self.number(at.key("efficiency").index(k), *eta, Must::BePositive)
                            && self.number(at.key("efficiency").index(k), *eta, Must::BeWithin(0.0, 1.0));
                        self.number(at.key("friction").index(k), friction[k], Must::NotBeNegative);
                    }
                    self.lossy_gear(at, coupling);
                }
                Coupling::Planetary { sun, ring, carrier, ratio, .. } => {
                    let named = [("sun", sun), ("ring", ring), ("carrier", carrier)];
                    for (n, (key, name)) in named.into_iter().enumerate() {
                        self.joint_name(&index, at.key(key), name);
                        if named[..n].iter().any(|other| other.1 == name) {
                            self.report_alone(at.key(key), format!("`{name}` is named twice"), "");
                        }
                    }
                    // teeth of the ring over teeth of the sun
                    self.number(at.key("ratio"), *ratio, Must::BePositive);
                }
                Coupling::Linear { terms, offset, .. } => {
                    let at_terms = at.key("terms");
                    if terms.is_empty() {
                        self.report_alone(
                            at_terms,
                            "a linear coupling needs terms",
                            "write `terms: [(\"a\", 1.0), (\"b\", -2.0)]`",
                        );
                    }
                    for (t, (name, coefficient)) in terms.iter().enumerate() {
                        let term = at_terms.index(t);
                        self.joint_name(&index, term.index(0), name);
                        if terms[..t].iter().any(|other| other.0 == *name) {
                            self.report_alone(
                                term.index(0),
                                format!("`{name}` is named twice"),
                                "add up its coefficients",
                            );
                        }
                        if self.number(term.index(1), *coefficient, Must::BeFinite) && *coefficient == 0.0 {
                            self.report_alone(
                                term.index(1),
                                format!("the coefficient of `{name}` is 0"),
                                "leave the term out",
                            );
                        }
                    }
                    self.number(at.key("offset"), *offset, Must::BeFinite);
                }
                Coupling::SpringDamper { joints, stiffness, damping, rest, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("stiffness"), *stiffness, Must::NotBeNegative);
                    self.number(at.key("damping"), *damping, Must::NotBeNegative);
                    self.number(at.key("rest"), *rest, Must::BeFinite);
                }
                Coupling::Clutch { joints, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                }
                Coupling::Brake { joint, .. } => self.joint_name(&index, at.key("joint"), joint),
                Coupling::OneWayClutch { joints, lock_factor, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("lock_factor"), *lock_factor, Must::BeAtLeast(1.0));
                }
                Coupling::LoopJoint { .. } => self.loop_joint(at, coupling),
            }
            self.all_led(at, coupling);
            if let Coupling::OneWayClutch { name, friction, .. } = coupling
                && let law @ Law::LuGre2(_) = friction.base()
            {
                let reason = format!(
                    "one-way clutch `{name}`: which side `{}` holds is not known, it has two states",
                    law.name()
                );
                self.report_alone(at.key("friction"), reason, "any other law will do, `LuGre` for one");
            }
            if let Some((law, load)) = coupling.friction().filter(|_| coupling.loop_joint().is_none()) {
                self.law(at.key("friction"), law);
                self.load(at.key("load"), load);
                if !matches!(load, Load::Unit | Load::Constant(_) | Load::Signal { .. }) {
                    let reason = format!("`{}` has no reaction to take its load from", coupling.name());
                    self.report(at.key("load"), reason, "write `Unit`, `Constant(…)` or `Signal(max: …, signal: …)`");
                }
            }
        }
    }

    /// Two different links, and the fields of a joint.
    fn loop_joint(&mut self, at: At, coupling: &Coupling) {
        let Coupling::LoopJoint { name: of, kind, links: ends, placements, .. } = coupling else { return };
        let at_links = at.key("links");
        let links = &self.scene.links;
        for (i, name) in ends.iter().enumerate() {
            if name != "world" && !links.iter().any(|link| link.name == *name) && self.knows("links", "name") {
                let help = self.suggest(name, std::iter::once("world").chain(links.iter().map(|l| l.name.as_str())));
                self.report_alone(at_links.index(i), format!("there is no link `{name}`"), help);
            }
        }
        if ends[0] == ends[1] {
            let reason = format!("`{of}` joins `{}` to itself", ends[1]);
            self.report_alone(at_links.index(1), reason, "name two different links");
        }
        let at_placements = at.key("placements");
        for (i, placement) in placements.iter().enumerate() {
            self.placement(at_placements.index(i), placement);
        }
        match coupling.loop_joint() {
            Some(joint) if *kind == LoopKind::Spherical => self.nothing_acts(at, &joint, "Spherical"),
            Some(joint) => self.joint(at, &joint),
            None => {}
        }
    }

    /// A tie needs a joint that it can move.
    fn all_led(&mut self, at: At, coupling: &Coupling) {
        let (at_joints, joints): (&str, Vec<&str>) = match coupling {
            Coupling::Gear { joints, .. } => ("joints", joints.iter().map(String::as_str).collect()),
            Coupling::Planetary { sun, ring, carrier, .. } => ("sun", vec![sun, ring, carrier]),
            Coupling::Linear { terms, .. } => ("terms", terms.iter().map(|term| term.0.as_str()).collect()),
            _ => return,
        };
        let is_led = |name: &&str| {
            self.scene.joints.iter().any(|joint| joint.name == *name && matches!(joint.drive, Some(Drive::Motion(_))))
        };
        if joints.iter().all(is_led) && !joints.is_empty() {
            let named: Vec<String> = joints.iter().map(|name| format!("`{name}`")).collect();
            let (named, all) = (named.join(" and "), if joints.len() == 1 { "has" } else { "have" });
            let reason =
                format!("`{}`: {named} {all} a `Motion` already, which leaves it nothing to move", coupling.name());
            self.report(at.key(at_joints), reason, "take a `Motion` out: that joint follows by the coupling");
        }
    }

    /// Two different joints with one coordinate each.
    fn joint_names(&mut self, index: &HashMap<&str, usize>, at: At, names: &[&str; 2]) {
        for (i, name) in names.iter().enumerate() {
            self.joint_name(index, at.index(i), name);
        }
        if names[0] == names[1] {
            self.report_alone(at.index(1), format!("`{}` is coupled to itself", names[1]), "name two different joints");
        }
    }

    fn joint_name(&mut self, index: &HashMap<&str, usize>, at: At, name: &str) {
        let joints = &self.scene.joints;
        let closing = self.scene.couplings.iter().find(|coupling| coupling.name() == name);
        if let Some(Coupling::LoopJoint { kind, .. }) = closing {
            if !matches!(kind, LoopKind::Revolute { .. } | LoopKind::Prismatic { .. }) {
                let reason = format!("the loop joint `{name}` has no coordinate to couple");
                self.report_alone(at, reason, "name a `Revolute` or `Prismatic` joint");
            }
            return;
        }
        match index.get(name) {
            Some(&j) if joints[j].kind.is_single() => {}
            Some(&j) => {
                let reason = format!("`{name}` is `{}`: it has no coordinate to couple", kind_name(&joints[j].kind));
                self.report_alone(at, reason, "name a `Revolute` or `Prismatic` joint");
            }
            None => {
                let help = self.suggest(name, joints.iter().map(|joint| joint.name.as_str()));
                if self.knows("joints", "name") {
                    self.report_alone(at, format!("there is no joint `{name}`"), help);
                }
            }
        }
    }
}
