//! Measurements of the engine on this machine, as tables in Markdown.

pub mod arm;
pub mod chains;
pub mod gearbox;
pub mod pendulum;
pub mod slider;
pub mod table;
#[cfg(test)]
mod tests;

use pendulum::{Effort, Pendulum};

/// Pendulums with pin friction: three formulations and no friction, at equal error. `progress` receives the present
/// task.
pub fn pendulums(is_quick: bool, progress: &mut dyn FnMut(&str)) -> Result<String, String> {
    let effort = if is_quick { Effort::QUICK } else { Effort::FULL };
    let mut text = String::new();
    for pendulum in Pendulum::all().map_err(|error| error.to_string())? {
        let measured = pendulum::measure(&pendulum, effort, progress).map_err(|error| error.to_string())?;
        if !text.is_empty() {
            text.push('\n');
        }
        text += &table::text(&pendulum, &measured);
    }
    Ok(text)
}
