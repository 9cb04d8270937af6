//! Links: mass, centre of mass, inertia.

use serde::{Deserialize, Serialize};

use super::is_zero3;

/// A rigid body.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name, unique among links; `world` is taken.
    pub name: String,
    /// Mass, kg; zero is allowed.
    pub mass: f64,
    /// Centre of mass in link axes, m; the origin if left out.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub center_of_mass: [f64; 3],
    /// Inertia about the centre of mass in link axes; zero, a point mass, if left out.
    #[serde(default)]
    pub inertia: Inertia,
}

/// Rotational inertia about the centre of mass, link axes, kg·m².
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Inertia {
    /// Principal moments about x, y, z.
    Diagonal(f64, f64, f64),
    /// All six entries of the matrix; products of inertia are 0 if left out. `ixy` is the matrix entry, −∫xy dm.
    Full {
        /// Moment about x.
        ixx: f64,
        /// Moment about y.
        iyy: f64,
        /// Moment about z.
        izz: f64,
        /// Entry (x, y).
        #[serde(default)]
        ixy: f64,
        /// Entry (x, z).
        #[serde(default)]
        ixz: f64,
        /// Entry (y, z).
        #[serde(default)]
        iyz: f64,
    },
}

impl Default for Inertia {
    fn default() -> Self {
        Self::Diagonal(0.0, 0.0, 0.0)
    }
}

impl Inertia {
    /// The symmetric matrix, row by row.
    pub fn matrix(&self) -> [[f64; 3]; 3] {
        match *self {
            Self::Diagonal(x, y, z) => [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]],
            Self::Full { ixx, iyy, izz, ixy, ixz, iyz } => [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]],
        }
    }
}
