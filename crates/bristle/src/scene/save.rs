//! From a scene back to text.

use ron::extensions::Extensions;
use ron::ser::PrettyConfig;

use super::{Scene, SceneError};

impl Scene {
    /// The scene as a file: reading it gives the same scene. Comments and the way numbers were written are not kept.
    pub fn to_ron(&self) -> Result<String, SceneError> {
        let config = PrettyConfig::new().struct_names(true).depth_limit(3).extensions(Extensions::IMPLICIT_SOME);
        let text = ron::ser::to_string_pretty(self, config)
            .map_err(|error| self.problem("", format!("the scene cannot be written: {error}"), ""))?;
        // reading has this on without asking
        let mut text = text.trim_start_matches("#![enable(implicit_some)]").trim_start().to_owned();
        text.push('\n');
        Ok(text)
    }
}
