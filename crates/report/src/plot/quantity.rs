//! Quantity and unit of a channel, from its name and, where they are known, the kinds of the joints.

use bristle::scene::{Coupling, Kind, LoopKind, Scene};
use std::collections::HashMap;

/// The kind of a joint's coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// An angle: rad, N·m.
    Turns,
    /// A length: m, N.
    Slides,
}

/// Which joints turn and which slide.
#[derive(Debug, Clone, Default)]
pub struct Motions(HashMap<String, Motion>);

impl Motions {
    /// Of the joints of a scene, and of the couplings between them.
    pub fn of(scene: &Scene) -> Self {
        let mut motions = HashMap::new();
        for joint in &scene.joints {
            match joint.kind {
                Kind::Revolute { .. } => motions.insert(joint.name.clone(), Motion::Turns),
                Kind::Prismatic { .. } => motions.insert(joint.name.clone(), Motion::Slides),
                Kind::Fixed | Kind::Free => None,
            };
        }
        // loop joints before the couplings that may name them
        for coupling in &scene.couplings {
            let Coupling::LoopJoint { name, kind, .. } = coupling else { continue };
            match kind {
                LoopKind::Revolute { .. } => motions.insert(name.clone(), Motion::Turns),
                LoopKind::Prismatic { .. } => motions.insert(name.clone(), Motion::Slides),
                LoopKind::Spherical | LoopKind::Fixed => None,
            };
        }
        for coupling in &scene.couplings {
            let first = first_joint(coupling).and_then(|joint| motions.get(joint)).copied();
            if let Some(motion) = first {
                motions.insert(coupling.name().to_owned(), motion);
            }
        }
        Self(motions)
    }

    /// Of one joint or coupling; `None` where nothing is known of it.
    pub fn get(&self, joint: &str) -> Option<Motion> {
        self.0.get(joint).copied()
    }
}

/// The quantity of a panel. The order is that of the panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Of a joint, or of a free joint's origin.
    Position,
    /// Quaternion of a free joint.
    Orientation,
    /// Rate of a joint.
    Velocity,
    /// Angular rate of a free joint.
    AngularVelocity,
    /// Second rate of a joint.
    Acceleration,
    /// Second angular rate of a free joint.
    AngularAcceleration,
    /// Friction effort.
    Friction,
    /// Effort of a drive or controller.
    Effort,
    /// Contact effort of a stop.
    Stop,
    /// Normal load.
    Load,
    /// Mode of slip.
    Mode,
    /// Deflection of bristles.
    Bristle,
    /// Second bristle state.
    SecondBristle,
    /// Heat of one joint.
    Heat,
    /// Stores and flows of energy.
    Energy,
    /// Error of the energy balance.
    Balance,
    /// Anything else.
    Other,
}

/// A channel by its name: the joint it belongs to, what it measures, and its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel<'a> {
    /// Joint or coupling; `energy` for energies; empty where the name has no dot.
    pub owner: &'a str,
    /// The quantity it measures.
    pub quantity: Quantity,
    /// Its unit; empty for pure numbers.
    pub unit: &'static str,
}

impl<'a> Channel<'a> {
    /// Reads the name of a channel.
    pub fn of(name: &'a str, motions: &Motions) -> Self {
        use Quantity::{
            Acceleration, AngularAcceleration, AngularVelocity, Balance, Bristle, Effort, Energy, Friction, Heat, Load,
            Mode, Orientation, Other, Position, SecondBristle, Stop, Velocity,
        };
        // channels of a free joint have a part more: base.velocity.wx
        if let Some((rest, part)) = name.rsplit_once('.')
            && let Some((owner, what)) = rest.rsplit_once('.')
        {
            let found = match (what, part) {
                ("position", "x" | "y" | "z") => Some((Position, "m")),
                ("position", "qw" | "qx" | "qy" | "qz") => Some((Orientation, "")),
                ("velocity", "vx" | "vy" | "vz") => Some((Velocity, "m/s")),
                ("velocity", "wx" | "wy" | "wz") => Some((AngularVelocity, "rad/s")),
                ("acceleration", "vx" | "vy" | "vz") => Some((Acceleration, "m/s²")),
                ("acceleration", "wx" | "wy" | "wz") => Some((AngularAcceleration, "rad/s²")),
                _ => None,
            };
            if let Some((quantity, unit)) = found {
                return Self { owner, quantity, unit };
            }
        }
        let Some((owner, what)) = name.rsplit_once('.') else { return Self { owner: "", quantity: Other, unit: "" } };
        let one_of = |turns, slides, unknown| match motions.get(owner) {
            Some(Motion::Turns) => turns,
            Some(Motion::Slides) => slides,
            None => unknown,
        };
        let (quantity, unit) = match what {
            "balance" if owner == "energy" => (Balance, "J"),
            "kinetic" | "potential" | "elastic" | "bristle" | "load" | "input" | "dissipated" if owner == "energy" => {
                (Energy, "J")
            }
            "position" => (Position, one_of("rad", "m", "rad or m")),
            "velocity" => (Velocity, one_of("rad/s", "m/s", "rad/s or m/s")),
            "acceleration" => (Acceleration, one_of("rad/s²", "m/s²", "rad/s² or m/s²")),
            "friction" => (Friction, one_of("N·m", "N", "N·m or N")),
            "effort" | "drive" => (Effort, one_of("N·m", "N", "N·m or N")),
            "stop" => (Stop, one_of("N·m", "N", "N·m or N")),
            "load" => (Load, "N"),
            "mode" => (Mode, ""),
            // a pin turns, but slips along its circumference
            "z" => (Bristle, one_of("rad or m", "m", "rad or m")),
            "w" => (SecondBristle, ""),
            "dissipated" => (Heat, "J"),
            _ => (Other, ""),
        };
        Self { owner, quantity, unit }
    }
}

impl Quantity {
    /// How it is called over a panel.
    pub fn title(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Orientation => "orientation (quaternion)",
            Self::Velocity => "velocity",
            Self::AngularVelocity => "angular velocity",
            Self::Acceleration => "acceleration",
            Self::AngularAcceleration => "angular acceleration",
            Self::Friction => "friction",
            Self::Effort => "effort",
            Self::Stop => "contact effort of stops",
            Self::Load => "normal load",
            Self::Mode => "mode (0: stuck)",
            Self::Bristle => "bristle deflection z",
            Self::SecondBristle => "bristle state w",
            Self::Heat => "heat by joint",
            Self::Energy => "energy",
            Self::Balance => "energy balance",
            Self::Other => "other channels",
        }
    }

    /// Whether a picture shows it by default, whatever its values are.
    pub fn is_usual(self) -> bool {
        use Quantity::{AngularVelocity, Balance, Friction, Orientation, Position, Velocity};
        matches!(self, Position | Orientation | Velocity | AngularVelocity | Friction | Balance)
    }
}

/// A joint whose motion is that of the coupling.
fn first_joint(coupling: &Coupling) -> Option<&str> {
    match coupling {
        Coupling::Gear { joints, .. }
        | Coupling::SpringDamper { joints, .. }
        | Coupling::Clutch { joints, .. }
        | Coupling::OneWayClutch { joints, .. } => Some(&joints[0]),
        Coupling::Planetary { sun, .. } => Some(sun),
        Coupling::Linear { terms, .. } => terms.first().map(|term| term.0.as_str()),
        Coupling::Brake { joint, .. } => Some(joint),
        Coupling::LoopJoint { name, .. } => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_measured() {
        let scene = Scene {
            joints: vec![
                bristle::scene::Joint::new("hinge", "world", "a", Kind::Revolute { axis: [0.0, 0.0, 1.0] }),
                bristle::scene::Joint::new("rail.x", "a", "b", Kind::Prismatic { axis: [1.0, 0.0, 0.0] }),
            ],
            ..Scene::default()
        };
        let motions = Motions::of(&scene);
        let parsed = |name| {
            let Channel { owner, quantity, unit } = Channel::of(name, &motions);
            (owner, quantity, unit)
        };
        assert_eq!(parsed("hinge.position"), ("hinge", Quantity::Position, "rad"));
        assert_eq!(parsed("rail.x.friction"), ("rail.x", Quantity::Friction, "N"));
        assert_eq!(parsed("hinge.effort"), ("hinge", Quantity::Effort, "N·m"));
        assert_eq!(parsed("rail.x.drive"), ("rail.x", Quantity::Effort, "N"));
        assert_eq!(parsed("hinge.stop"), ("hinge", Quantity::Stop, "N·m"));
        assert_eq!(parsed("hinge with friction.effort"), ("hinge with friction", Quantity::Effort, "N·m or N"));
        assert_eq!(parsed("unknown.velocity"), ("unknown", Quantity::Velocity, "rad/s or m/s"));
        assert_eq!(parsed("base.position.qw"), ("base", Quantity::Orientation, ""));
        assert_eq!(parsed("base.velocity.wx"), ("base", Quantity::AngularVelocity, "rad/s"));
        assert_eq!(parsed("energy.balance"), ("energy", Quantity::Balance, "J"));
        assert_eq!(parsed("energy.load"), ("energy", Quantity::Energy, "J"));
        assert_eq!(parsed("custom"), ("", Quantity::Other, ""));
    }

    #[test]
    fn loop_joints_have_units_of_their_kind() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/slider_crank_pin.ron");
        let scene = Scene::load(path).unwrap();
        let motions = Motions::of(&scene);
        for coupling in &scene.couplings {
            let Coupling::LoopJoint { name, kind, .. } = coupling else { continue };
            let expected = match kind {
                LoopKind::Revolute { .. } => "rad",
                LoopKind::Prismatic { .. } => "m",
                LoopKind::Spherical | LoopKind::Fixed => continue,
            };
            assert_eq!(Channel::of(&format!("{name}.position"), &motions).unit, expected);
            return;
        }
        panic!("the scene has no loop joint that turns or slides");
    }
}
