//! `bristle bench`: measurements on this machine; the work is in [`bristle_papers::bench`].

use crate::Outcome;
use crate::reproduce::show;
use bristle_papers::bench::{arm, chains, gearbox, pendulums, slider};
use clap::{Args, Subcommand};

/// Measure the cost of friction on this computer, and the errors of fixed steps
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
    /// A seven-joint arm with controllers, 1 ms at a time: the time of a call with LuGre and with dry friction, and
    /// errors
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
            What::Pendulum(options) => pendulums(options.quick, &mut show),
            What::Gearbox(options) => gearbox::table(options.quick, &mut show),
            What::Arm(options) => arm::table(options.quick, &mut show),
            What::Slider(options) => slider::table(options.quick, &mut show),
            What::Chains(options) => chains::table(if options.quick { 10 } else { 200 }, &mut show),
        };
        show("");
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
