//! From a scene back to text.

use ron::extensions::Extensions;
use ron::ser::PrettyConfig;

use super::Scene;

impl Scene {
    /// The scene as a file: reading it gives the same scene. Comments and the way numbers were written are not kept.
    pub fn to_ron(&self) -> String {
        let config = PrettyConfig::new().struct_names(true).depth_limit(3).extensions(Extensions::IMPLICIT_SOME);
        let text = ron::ser::to_string_pretty(self, config).expect("a scene is plain data");
        // reading has this on without asking
        let mut text = text.trim_start_matches("#![enable(implicit_some)]").trim_start().to_owned();
        text.push('\n');
        text
    }
}
