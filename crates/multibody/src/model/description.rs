//! Links and joints as their user describes them.
//!
//! A joint frame sits in its parent link at `placement`; the child link's frame is the joint frame at position 0.

use crate::error::ModelError;
use crate::joint::{JointKind, Kernel};
use crate::principal_moments::{MomentDefect, moment_defect, principal_axes};
use crate::spatial::Symmetric3;
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};

/// Position and orientation of one frame in another.
pub type Placement = Isometry3<f64>;

/// Mass properties of a link, in link axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkInertia {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in the link frame, m.
    pub center_of_mass: Vector3<f64>,
    /// Rotational inertia about the centre of mass, link axes, kg·m².
    pub inertia: Symmetric3,
}

impl LinkInertia {
    /// A point mass.
    pub fn point(mass: f64, center_of_mass: Vector3<f64>) -> Self {
        Self { mass, center_of_mass, inertia: Symmetric3::default() }
    }

    /// Principal moments along the link axes.
    pub fn diagonal(mass: f64, center_of_mass: Vector3<f64>, ixx: f64, iyy: f64, izz: f64) -> Self {
        Self { mass, center_of_mass, inertia: Symmetric3 { xx: ixx, yy: iyy, zz: izz, ..Symmetric3::default() } }
    }

    /// A uniform thin rod from the origin to `tip`.
    pub fn rod(mass: f64, tip: Vector3<f64>) -> Self {
        let (l2, d) = (tip.norm_squared(), tip);
        let entry = |i: usize, j: usize| mass / 12.0 * (if i == j { l2 } else { 0.0 } - d[i] * d[j]);
        Self {
            mass,
            center_of_mass: tip * 0.5,
            inertia: Symmetric3 {
                xx: entry(0, 0),
                xy: entry(0, 1),
                xz: entry(0, 2),
                yy: entry(1, 1),
                yz: entry(1, 2),
                zz: entry(2, 2),
            },
        }
    }

    /// The reason why these mass properties are impossible, if they are.
    pub fn defect(&self) -> Option<String> {
        let I = &self.inertia;
        let numbers = [I.xx, I.xy, I.xz, I.yy, I.yz, I.zz, self.mass];
        if !numbers.iter().chain(self.center_of_mass.iter()).all(|x| x.is_finite()) {
            return Some("a number is not finite".into());
        }
        if self.mass < 0.0 {
            return Some(format!("mass {} is negative", self.mass));
        }
        let moments = principal_axes(&I.to_matrix()).1;
        match moment_defect(moments) {
            Some(MomentDefect::Negative(low)) => return Some(format!("a principal moment is negative ({low:e})")),
            Some(MomentDefect::Triangle { largest, others }) => {
                return Some(format!(
                    "the largest principal moment ({largest:e}) exceeds the sum of the other two ({others:e})"
                ));
            }
            None => {}
        }
        if self.mass == 0.0 && moments.iter().any(|&moment| moment > 0.0) {
            return Some("it has rotational inertia but no mass".into());
        }
        None
    }
}

/// A joint as its user describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSpec {
    /// Its name.
    pub name: String,
    /// Parent link, or `"world"`.
    pub parent: String,
    /// Child link.
    pub child: String,
    /// The motion it allows.
    pub kind: JointKind,
    /// Joint frame in the parent link.
    pub placement: Placement,
    /// Reflected inertia added to the joint's own coordinate, kg·m² or kg.
    pub armature: f64,
}

impl JointSpec {
    /// A joint at the parent's origin, without armature.
    pub fn new(name: &str, parent: &str, child: &str, kind: JointKind) -> Self {
        let placement = Placement::identity();
        Self { name: name.into(), parent: parent.into(), child: child.into(), kind, placement, armature: 0.0 }
    }

    /// A hinge about `axis`.
    pub fn revolute(name: &str, parent: &str, child: &str, axis: Vector3<f64>) -> Self {
        Self::new(name, parent, child, JointKind::Revolute { axis })
    }

    /// A slide along `axis`.
    pub fn prismatic(name: &str, parent: &str, child: &str, axis: Vector3<f64>) -> Self {
        Self::new(name, parent, child, JointKind::Prismatic { axis })
    }

    /// The joint frame moved to `translation` in the parent link.
    pub fn at(mut self, translation: Vector3<f64>) -> Self {
        self.placement.translation = Translation3::from(translation);
        self
    }

    /// The joint frame turned by fixed-axis roll, pitch, yaw, rad.
    pub fn turned(mut self, roll: f64, pitch: f64, yaw: f64) -> Self {
        self.placement.rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
        self
    }

    /// With reflected inertia.
    pub fn with_armature(mut self, armature: f64) -> Self {
        self.armature = armature;
        self
    }
}

impl JointSpec {
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let non_finite = |what| Err(ModelError::NonFinite { name: self.name.clone(), what });
        if !self.placement.translation.vector.iter().all(|x| x.is_finite()) {
            return non_finite("translation");
        }
        let rotation = self.placement.rotation.quaternion().norm();
        if !rotation.is_finite() {
            return non_finite("rotation");
        }
        if (rotation - 1.0).abs() > 1e-9 {
            return Err(ModelError::NotARotation { joint: self.name.clone() });
        }
        if !self.armature.is_finite() {
            return non_finite("armature");
        }
        let has_one_degree = matches!(self.kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. });
        if self.armature < 0.0 || (self.armature != 0.0 && !has_one_degree) {
            return Err(ModelError::Armature { joint: self.name.clone(), armature: self.armature });
        }
        if let JointKind::Revolute { axis } | JointKind::Prismatic { axis } = self.kind {
            if !axis.iter().all(|x| x.is_finite()) {
                return non_finite("axis");
            }
            if axis.amax() == 0.0 {
                return Err(ModelError::ZeroAxis { joint: self.name.clone() });
            }
        }
        Ok(())
    }

    /// Kernel, and the rotation that makes the axis z.
    pub(super) fn canonical(&self) -> (Kernel, Matrix3<f64>) {
        match self.kind {
            JointKind::Fixed => (Kernel::Fixed, Matrix3::identity()),
            JointKind::Free => (Kernel::Free, Matrix3::identity()),
            JointKind::Revolute { axis } => (Kernel::Revolute, axis_to_z(axis)),
            JointKind::Prismatic { axis } => (Kernel::Prismatic, axis_to_z(axis)),
        }
    }
}

/// A rotation whose third row is the direction of `axis`. Coordinate axes give signed permutations.
fn axis_to_z(axis: Vector3<f64>) -> Matrix3<f64> {
    let z = (axis / axis.amax()).normalize();
    // the coordinate axis after the one nearest to z, made orthogonal to z
    let near = z.iamax();
    let mut x = Vector3::zeros();
    x[(near + 1) % 3] = z[near].signum();
    let x = (x - z * z.dot(&x)).normalize();
    let y = z.cross(&x);
    Matrix3::from_rows(&[x.transpose(), y.transpose(), z.transpose()])
}
