//! `bristle bench`: measurements on this machine.

mod arm;
pub mod chains;
pub mod gearbox;
pub mod pendulum;
mod slider;
pub mod table;
#[cfg(test)]
mod tests;

use crate::Outcome;
use clap::{Args, Subcommand};
use pendulum::{Effort, Pendulum};
use std::io::{self, IsTerminal, Write};

/// Measure what friction costs on this machine, and what fixed steps make of it
#[derive(Args)]
#[command(after_help = "\
Prints a table in Markdown. Times are those of this machine: nothing else should run on it meanwhile.

Examples:
  bristle bench pendulum
  bristle bench gearbox --quick
  bristle bench arm > arm.md

Exit codes: 0 done, 1 a measurement failed, 2 the input was refused.")]
pub struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Single, double and ten-link pendulum with pin friction: three formulations and no friction, at equal error
    Pendulum(Options),
    /// Time of one evaluation on chains of 2 to 256 pins, per joint
    Chains(Options),
    /// A gearbox with LuGre clutches at fixed steps: errors, and the time of a step
    Gearbox(Options),
    /// A seven-joint arm with controllers, 1 ms at a time: the time of a call with LuGre and with dry friction, and errors
    Arm(Options),
    /// The largest fixed step of each stepper on a LuGre slider
    Slider(Options),
}

#[derive(Args)]
struct Options {
    /// A larger error and few repeats: seconds instead of a minute
    #[arg(long)]
    quick: bool,
}

impl Bench {
    /// Measures and prints.
    pub fn execute(self) -> Outcome {
        let result = match self.what {
            What::Pendulum(options) => pendulums(options.quick),
            What::Gearbox(options) => gearbox::table(options.quick, &mut progress),
            What::Arm(options) => arm::table(options.quick, &mut progress),
            What::Slider(options) => slider::table(options.quick, &mut progress),
            What::Chains(options) => chains::table(if options.quick { 10 } else { 200 }, &mut progress),
        };
        progress("");
        match result {
            Ok(text) => {
                crate::print(&text);
                Outcome::Done
            }
            Err(reason) => {
                say!("error: {reason}");
                Outcome::Failed
            }
        }
    }
}

fn pendulums(is_quick: bool) -> Result<String, String> {
    let effort = if is_quick { Effort::QUICK } else { Effort::FULL };
    let mut text = String::new();
    for pendulum in Pendulum::all().map_err(|error| error.to_string())? {
        let measured = pendulum::measure(&pendulum, effort, &mut progress).map_err(|error| error.to_string())?;
        if !text.is_empty() {
            text.push('\n');
        }
        text += &table::text(&pendulum, &measured);
    }
    Ok(text)
}

/// What is being done, on one line of a terminal; nothing elsewhere.
fn progress(what: &str) {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr().lock(), "\r{what}\x1b[K");
    }
}
