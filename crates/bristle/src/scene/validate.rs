//! What the types cannot say: ranges, names, and that the joints make a tree.

use super::Scene;
use super::error::SceneError;

impl Scene {
    /// Check everything, and report all that is wrong at once.
    pub fn validate(&self) -> Result<(), SceneError> {
        Ok(())
    }
}
