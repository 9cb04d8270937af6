//! Errors as text: with the file they are about, and with their causes.

use bristle::Error;
use std::path::Path;

/// An error with the file it is about; scene errors name it themselves.
pub fn message(error: &Error, scene: &Path) -> String {
    match error {
        Error::Scene(error) => error.to_string(),
        error => format!("error: {error}\n --> {}", scene.display()),
    }
}

/// The same for an error of any kind.
pub fn explained(error: &anyhow::Error, scene: &Path) -> String {
    if let Some(error) = error.downcast_ref::<bristle::scene::SceneError>() {
        return error.to_string();
    }
    match error.downcast_ref::<Error>() {
        Some(error) => message(error, scene),
        None => format!("error: {}", with_causes(error)),
    }
}

/// An error with its causes, each once: some messages contain their cause already.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
