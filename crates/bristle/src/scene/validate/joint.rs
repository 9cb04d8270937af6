//! Joints: axis, placement, initial state, and the friction, load and drive that act along the axis.

use super::{At, Check, Must};
use crate::model::servo::MAX_DIFFERENCE;
use crate::scene::{Coordinate, Drive, Joint, Kind, Load, Placement, Rate, Rotation, has_bristle};
use bristle_friction::{FrictionLaw, Law};

impl Check<'_> {
    pub(super) fn joints(&mut self) {
        let scene = self.scene;
        let joints = At::field("joints");
        for (i, joint) in scene.joints.iter().enumerate() {
            self.joint(joints.index(i), joint);
        }
    }

    pub(super) fn joint(&mut self, at: At, joint: &Joint) {
        if let Some(axis) = joint.kind.axis() {
            let kind = at.key("kind");
            if self.finite(kind.key("axis"), &axis) && axis == [0.0; 3] {
                self.report_alone(
                    kind.key("axis"),
                    format!("the axis of `{}` is zero", joint.name),
                    "write a direction, such as (0, 0, 1)",
                );
            }
        }
        self.placement(at.key("placement"), &joint.placement);
        self.initial_state(at, joint);
        if !joint.kind.is_single() {
            self.nothing_acts(at, joint, kind_name(&joint.kind));
            return;
        }

        self.number(at.key("damping"), joint.damping, Must::NotBeNegative);
        self.number(at.key("armature"), joint.armature, Must::NotBeNegative);
        self.number(at.key("offset"), joint.offset, Must::BeFinite);
        if let Some(spring) = joint.spring {
            let at = at.key("spring");
            self.number(at.key("stiffness"), spring.stiffness, Must::NotBeNegative);
            self.number(at.key("rest"), spring.rest, Must::BeFinite);
        }
        if let Some(law) = &joint.friction {
            self.law(at.key("friction"), law);
        }
        if let Some(bristle) = joint.bristle {
            let at = at.key("bristle");
            self.number(at.key("z"), bristle.z, Must::BeFinite);
            self.number(at.key("w"), bristle.w, Must::BeFinite);
            if !joint.friction.as_ref().is_some_and(has_bristle) {
                let reason =
                    format!("`{}` has an initial bristle state but no friction law with a bristle", joint.name);
                self.report(at, reason, "leave `bristle` out, or use `Dahl`, `LuGre`, `LuGre2` or `ElastoPlastic`");
            } else if bristle.w != 0.0 && !matches!(joint.friction.as_ref().map(Law::base), Some(Law::LuGre2(_))) {
                let reason =
                    format!("`{}` starts with w = {:?}, a state that only `LuGre2` has", joint.name, bristle.w);
                self.report(at.key("w"), reason, "leave `w` out, or use `LuGre2`");
            }
        }
        self.load(at.key("load"), &joint.load);
        let (needs, load) = match joint.load {
            Load::Pin { .. } => ("Revolute", "Pin"),
            Load::Thrust { .. } => ("Revolute", "Thrust"),
            Load::Guide { .. } => ("Prismatic", "Guide"),
            Load::Unit | Load::Constant(_) | Load::Signal { .. } | Load::Transmitted { .. } => ("", ""),
        };
        if !needs.is_empty() && needs != kind_name(&joint.kind) {
            let reason =
                format!("`{load}` is the load of a `{needs}` joint; `{}` is `{}`", joint.name, kind_name(&joint.kind));
            let help =
                if needs == "Revolute" { "write `Guide`" } else { "write `Pin(radius: …)` or `Thrust(radius: …)`" };
            self.report(at.key("load"), reason, help);
        }
        self.reducer(at, joint);
        if let Some(drive) = &joint.drive {
            self.drive(at.key("drive"), drive);
        }
        if let Some(limits) = &joint.limits {
            self.limits(at, joint, limits);
        }
        if let Some(limit) = joint.effort_limit {
            self.number(at.key("effort_limit"), limit, Must::BePositive);
            if let Some(Drive::Motion(_)) = joint.drive {
                let reason =
                    format!("`{}` has an `effort_limit` and a prescribed motion, which takes any effort", joint.name);
                let help = "leave `effort_limit` out, or drive the joint with `Pid` or `Servo`";
                self.report(at.key("effort_limit"), reason, help);
            }
        }
    }

    pub(super) fn placement(&mut self, at: At, placement: &Placement) {
        self.finite(at.key("translation"), &placement.translation);
        let rotation = at.key("rotation");
        match placement.rotation {
            Rotation::Rpy(roll, pitch, yaw) => _ = self.finite(rotation, &[roll, pitch, yaw]),
            Rotation::Quaternion { w, x, y, z } => {
                let parts = [("w", w), ("x", x), ("y", y), ("z", z)];
                let finite = parts.iter().all(|(key, value)| self.number(rotation.key(key), *value, Must::BeFinite));
                if finite && parts.iter().all(|part| part.1 == 0.0) {
                    self.report_alone(
                        rotation,
                        "a quaternion of zeros is no rotation",
                        "no rotation is Quaternion(w: 1, x: 0, y: 0, z: 0)",
                    );
                }
            }
        }
    }

    /// Position and velocity fit the kind of joint.
    fn initial_state(&mut self, at: At, joint: &Joint) {
        let (name, kind) = (&joint.name, kind_name(&joint.kind));
        let (position, velocity) = (at.key("position"), at.key("velocity"));
        match (joint.position, joint.kind) {
            (Coordinate::Scalar(q), Kind::Revolute { .. } | Kind::Prismatic { .. }) => {
                self.number(position, q, Must::BeFinite);
            }
            (Coordinate::Placement(placement), Kind::Free) => self.placement(position, &placement),
            (Coordinate::Scalar(0.0), _) => {}
            (_, Kind::Fixed) => {
                self.report(position, format!("`{name}` is fixed: it has no position"), "move it with `placement`");
            }
            (Coordinate::Scalar(_), _) => {
                let help = "write `Placement(translation: (x, y, z), rotation: Quaternion(w: 1, x: 0, y: 0, z: 0))`";
                self.report(position, format!("the position of `{name}`, a free joint, is not one number"), help);
            }
            (Coordinate::Placement(_), _) => {
                let help = "the frame of the joint in its parent is `placement`";
                self.report(position, format!("the position of `{name}`, `{kind}`, is one number"), help);
            }
        }
        match (joint.velocity, joint.kind) {
            (Rate::Scalar(v), Kind::Revolute { .. } | Kind::Prismatic { .. }) => {
                self.number(velocity, v, Must::BeFinite);
            }
            (Rate::Twist(twist), Kind::Free) => {
                self.finite(velocity.key("angular"), &twist.angular);
                self.finite(velocity.key("linear"), &twist.linear);
            }
            (Rate::Scalar(0.0), _) => {}
            (_, Kind::Fixed) => self.report(velocity, format!("`{name}` is fixed: it has no velocity"), ""),
            (Rate::Scalar(_), _) => {
                let help = "write `Twist(angular: (x, y, z), linear: (x, y, z))`";
                self.report(velocity, format!("the velocity of `{name}`, a free joint, is not one number"), help);
            }
            (Rate::Twist(_), _) => {
                self.report(velocity, format!("the velocity of `{name}`, `{kind}`, is one number"), "");
            }
        }
    }

    /// Fixed and free joints have no axis for anything to act along.
    pub(super) fn nothing_acts(&mut self, at: At, joint: &Joint, kind: &str) {
        let given = [
            ("damping", joint.damping != 0.0),
            ("armature", joint.armature != 0.0),
            ("offset", joint.offset != 0.0),
            ("spring", joint.spring.is_some()),
            ("friction", joint.friction.is_some()),
            ("load", joint.load != Load::Unit),
            ("bristle", joint.bristle.is_some()),
            ("drive", joint.drive.is_some()),
            ("limits", joint.limits.is_some()),
            ("effort_limit", joint.effort_limit.is_some()),
        ];
        for (key, given) in given {
            if given {
                let reason = format!("`{}` is `{kind}`: it cannot have `{key}`", joint.name);
                self.report(at.key(key), reason, "this acts along the axis of a `Revolute` or `Prismatic` joint");
            }
        }
    }

    /// A transmitted load takes a law with modes, and a machine whose velocities do not jump.
    fn reducer(&mut self, at: At, joint: &Joint) {
        if !matches!(joint.load, Load::Transmitted { .. }) {
            return;
        }
        if joint.friction.as_ref().is_some_and(|law| law.event_driven().is_none()) {
            let reason =
                format!("`Transmitted` is the load of a law with stick and slip; `{}` has another", joint.name);
            self.report(at.key("friction"), reason, "write `Coulomb(coulomb: 1.0)`, `Stribeck(…)` or `Table(…)`");
        }
        self.beside_reducer(at.key("load"), &format!("`Transmitted` on `{}` does", joint.name));
    }

    pub(super) fn law(&mut self, at: At, law: &Law) {
        if let Law::Directional(pair) = law {
            let findings = pair.validate_pair();
            let fits = findings.is_empty();
            findings.into_iter().for_each(|one| self.report_part(at, at.key(one.parameter), one.reason, ""));
            if fits {
                self.law(at.key("forward"), pair.forward());
                self.law(at.key("backward"), pair.backward());
            }
            return;
        }
        for finding in law.validate() {
            let parameter = at.key(finding.parameter);
            if let Some((i, k)) = finding.point {
                let point = parameter.index(i);
                self.report_part(at, point.index(k), finding.reason, "");
                continue;
            }
            // point at the override: it may put a value of the file out of its range
            let is_cause = |other: &&&str| self.is_override(at.key(other)) && !self.is_override(parameter);
            match finding.range_of.iter().find(is_cause) {
                Some(cause) => {
                    let help = format!("set `{}` too", self.path(&parameter.steps()));
                    self.report_part(at, at.key(cause), finding.reason, help);
                }
                None => self.report_part(at, parameter, finding.reason, ""),
            }
        }
    }

    pub(super) fn load(&mut self, at: At, load: &Load) {
        match load {
            Load::Unit | Load::Guide { length: None } => {}
            Load::Constant(n) => _ = self.number(at.index(0), *n, Must::NotBeNegative),
            Load::Pin { radius } | Load::Thrust { radius } => {
                self.number(at.key("radius"), *radius, Must::BePositive);
            }
            Load::Guide { length: Some(length) } => _ = self.number(at.key("length"), *length, Must::BePositive),
            Load::Transmitted { .. } => {
                for (key, x) in load.coefficients().into_iter().flatten() {
                    self.number(at.key(key), x, Must::NotBeNegative);
                }
            }
            Load::Signal { max, signal, geometry } => {
                self.signal(at.key("signal"), signal);
                self.number(at.key("max"), *max, Must::NotBeNegative);
                self.number(at.key("geometry"), *geometry, Must::BePositive);
            }
        }
    }

    fn drive(&mut self, at: At, drive: &Drive) {
        match drive {
            Drive::Effort(signal) | Drive::Motion(signal) => self.signal(at.index(0), signal),
            Drive::Pull { stiffness, target } => {
                self.signal(at.key("target"), target);
                self.number(at.key("stiffness"), *stiffness, Must::NotBeNegative);
            }
            Drive::Servo { .. } => self.servo(at, drive),
            Drive::Pid { kp, ki, kd, target } => {
                self.signal(at.key("target"), target);
                self.number(at.key("kp"), *kp, Must::NotBeNegative);
                self.number(at.key("ki"), *ki, Must::NotBeNegative);
                self.number(at.key("kd"), *kd, Must::NotBeNegative);
            }
        }
    }

    fn servo(&mut self, at: At, drive: &Drive) {
        let Drive::Servo {
            kp,
            kd,
            error_gain,
            difference,
            target,
            delay,
            period,
            supply,
            duty_limit,
            voltage_limit,
            constant,
            resistance,
            enable,
        } = drive
        else {
            return;
        };
        self.signal(at.key("target"), target);
        for (key, signal) in [("supply", supply), ("enable", enable)] {
            if let Some(signal) = signal {
                self.signal(at.key(key), signal);
            }
        }
        let numbers = [("kp", *kp), ("kd", *kd), ("error_gain", *error_gain), ("delay", *delay), ("period", *period)];
        for (key, value) in numbers {
            self.number(at.key(key), value, Must::NotBeNegative);
        }
        self.number(at.key("constant"), *constant, Must::BePositive);
        let limits = [("resistance", resistance), ("duty_limit", duty_limit), ("voltage_limit", voltage_limit)];
        for (key, value) in limits {
            if let Some(value) = value {
                self.number(at.key(key), *value, Must::BePositive);
            }
        }
        if *difference > MAX_DIFFERENCE || *difference > 0 && *period == 0.0 {
            let reason = format!("`difference` is {difference}; it must be a number of samples up to {MAX_DIFFERENCE}");
            let reason = if *period == 0.0 { format!("{reason}, and `period` is 0") } else { reason };
            self.report(at.key("difference"), reason, "write `period: …`, the time between samples, or leave it out");
        }
    }
}

pub(super) fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Revolute { .. } => "Revolute",
        Kind::Prismatic { .. } => "Prismatic",
        Kind::Fixed => "Fixed",
        Kind::Free => "Free",
    }
}
