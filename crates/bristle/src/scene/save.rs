//! From a scene back to text.

use ron::extensions::Extensions;
use ron::ser::PrettyConfig;

use crate::atomic_file::write_whole;
use crate::error::Error;
use bristle_friction::Law;
use std::io::Write as _;
use std::path::Path;

use super::{Scene, SceneError};

impl Scene {
    /// The scene as a file: reading it gives the same scene. Comments and the way numbers were written are not kept.
    /// A law of one's own is code, which a file cannot hold: refused.
    pub fn to_ron(&self) -> Result<String, SceneError> {
        let joints = self.joints.iter().filter_map(|joint| Some((joint.name.as_str(), joint.friction.as_ref()?)));
        let couplings = self.couplings.iter().filter_map(|coupling| Some((coupling.name(), coupling.friction()?.0)));
        if let Some((name, Law::Custom(law))) = joints.chain(couplings).find(|(_, law)| matches!(law, Law::Custom(_))) {
            let reason = format!("`{name}` has the law `{}`, which exists in code alone", law.name());
            return Err(self
                .problem(name, reason, "give it a law that scenes have before the scene is written")
                .into());
        }
        let config = PrettyConfig::new().struct_names(true).depth_limit(3).extensions(Extensions::IMPLICIT_SOME);
        let text = ron::ser::to_string_pretty(self, config)
            .map_err(|error| self.problem("", format!("the scene cannot be written: {error}"), ""))?;
        // reading has this on without asking
        let mut text = text.trim_start_matches("#![enable(implicit_some)]").trim_start().to_owned();
        text.push('\n');
        Ok(text)
    }

    /// Writes [`Scene::to_ron`] into a file, which is complete or as it was before.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let text = self.to_ron()?;
        write_whole(path.as_ref(), |file| file.write_all(text.as_bytes()))
    }
}
