//! The `bristle` command: arguments in, tables and messages out; no physics.
//!
//! Data go to standard output or a file, messages to standard error. Exit codes: 0 done, 1 the simulation failed (what
//! there is of the results is kept), 2 the input was refused.

mod check;
mod dynamics;
mod import;
mod plot;
#[allow(dead_code, reason = "wired into run next")]
mod report;
#[allow(dead_code, reason = "formats other than CSV are wired in next")]
mod results;
mod run;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Multibody dynamics in which joint friction is a first-class citizen.
#[derive(Parser)]
#[command(name = "bristle", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene
    Run(run::Run),
    /// Check scenes without running them
    Check(check::Check),
    /// Draw results as curves over time
    Plot(plot::Plot),
    /// Mechanics of a scene or robot at given states
    Dynamics(dynamics::Dynamics),
    /// Turn a URDF robot into a scene
    Import(import::ImportRobot),
}

/// How a command ended.
pub(crate) enum Outcome {
    Done,
    Failed,
    Refused,
}

fn main() -> ExitCode {
    // clap leaves with 2 where it refuses arguments
    let outcome = match Arguments::parse().command {
        Command::Run(run) => run.execute(),
        Command::Check(check) => check.execute(),
        Command::Plot(plot) => plot.execute(),
        Command::Dynamics(dynamics) => dynamics.execute(),
        Command::Import(import) => import.execute(),
    };
    match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::from(1),
        Outcome::Refused => ExitCode::from(2),
    }
}
