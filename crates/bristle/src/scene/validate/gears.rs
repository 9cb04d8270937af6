//! Gears with losses: their first joint is a motor's shaft, which carries a rotor and a drive and nothing else.

use super::{At, Check};
use crate::scene::{Coupling, Drive, Joint, Kind, Load};

/// Distance of a centre of mass from the axis that is rounding, relative to its distance from the origin.
const ON_AXIS: f64 = 1e-12;

impl Check<'_> {
    /// The effort that a gear transmits is that of the drive less what the rotor takes: all else on the first joint
    /// would have to be transmitted, too.
    pub(super) fn lossy_gear(&mut self, at: At, coupling: &Coupling) {
        let scene = self.scene;
        let Coupling::Gear { name, joints: [first, _], efficiency, friction, .. } = coupling else { return };
        if *efficiency == [1.0; 2] && *friction == [0.0; 2] {
            return;
        }
        let at_first = at.key("joints");
        let Some(joint) = scene.joints.iter().find(|joint| joint.name == *first) else { return };
        let mut refuse = |what: String, help: &str| {
            let reason = format!("`{name}` has losses, and its first joint `{first}` {what}");
            self.report(at_first.index(0), reason, help.to_owned());
        };
        let Kind::Revolute { axis } = joint.kind else {
            return refuse("does not turn".into(), "name the shaft of the motor first, a `Revolute` joint");
        };
        if let Some(other) = scene.joints.iter().find(|other| other.parent == joint.child) {
            let help = "the first joint turns a rotor that carries nothing";
            return refuse(format!("carries the joint `{}`", other.name), help);
        }
        if joint.parent != "world" {
            let help = "give the joint of the load an `armature` and `load: Transmitted(…)` instead";
            return refuse(format!("stands on the link `{}`", joint.parent), help);
        }
        if scene.links.iter().any(|link| link.name == joint.child && is_off_axis(link.center_of_mass, axis)) {
            return refuse("turns a link that is not balanced".into(), "put its centre of mass on the axis");
        }
        let others = [
            ("friction", joint.friction.is_some()),
            ("load", joint.load != Load::Unit),
            ("damping", joint.damping != 0.0),
            ("spring", joint.spring.is_some()),
            ("offset", joint.offset != 0.0),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            let help = "put it on the second joint; `friction: (…, …)` of the gear is that of the bearings";
            return refuse(format!("has `{key}`"), help);
        }
        let is_other = |other: &&Coupling| {
            let named = match other {
                Coupling::SpringDamper { joints, .. }
                | Coupling::Clutch { joints, .. }
                | Coupling::OneWayClutch { joints, .. } => joints.iter().any(|name| name == first),
                Coupling::Brake { joint, .. } => joint == first,
                _ => other.constrains(first),
            };
            named && other.name() != name
        };
        if let Some(other) = scene.couplings.iter().find(is_other) {
            return refuse(format!("is coupled by `{}`, too", other.name()), "couple the second joint instead");
        }
        self.beside_reducer(at.key("efficiency"), &format!("the losses of `{name}` do"));
    }

    /// Refuses what does not work beside the load of a reducer: machines whose velocities jump, or whose efforts follow
    /// from a motion or from loops.
    pub(super) fn beside_reducer(&mut self, at: At, what: &str) {
        let scene = self.scene;
        let is_motion = |joint: &&Joint| matches!(joint.drive, Some(Drive::Motion(_)));
        let beside = if let Some(other) = scene.joints.iter().find(is_motion) {
            Some((format!("the `Motion` of `{}`", other.name), "write a `Servo` or `Pid` with this target instead"))
        } else if let Some(other) = scene.joints.iter().find(|joint| joint.limits.is_some()) {
            Some((format!("the `limits` of `{}`", other.name), "leave the limits out"))
        } else {
            let is_loop = |coupling: &&Coupling| matches!(coupling, Coupling::LoopJoint { .. });
            let closing = scene.couplings.iter().find(is_loop);
            closing.map(|closing| (format!("the loop joint `{}`", closing.name()), "leave the losses out"))
        };
        if let Some((other, help)) = beside {
            self.report(at, format!("{what} not work beside {other} yet"), help);
        }
    }
}

/// Whether a point is off an axis through the origin.
fn is_off_axis(point: [f64; 3], axis: [f64; 3]) -> bool {
    let cross = |i: usize, j: usize| axis[i] * point[j] - axis[j] * point[i];
    let size = |x: [f64; 3]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    size([cross(1, 2), cross(2, 0), cross(0, 1)]) > ON_AXIS * size(axis) * size(point)
}
