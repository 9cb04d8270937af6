//! The `bristle` command: arguments in, tables and messages out; no physics.
//!
//! Data go to standard output or a file, messages to standard error. Exit codes: 0 done, 1 the simulation failed (what
//! there is of the results is kept), 2 the input was refused.

#![deny(clippy::print_stderr, clippy::print_stdout)]
// Asserts are for our own mistakes; whatever comes from outside is an error.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

/// A message for people, on standard error. If it is closed, the work goes on
/// (`eprintln!` would end the program in the middle of it). Names come from files: control characters in them are
/// shown, not obeyed.
macro_rules! say {
    ($($word:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), "{}", bristle::scene::printable(&format!($($word)*)));
    }};
}

mod allocator;
mod bench;
mod check;
mod collect;
mod compare;
mod difference;
mod dynamics;
mod error_text;
mod fit;
mod import;
mod interrupt;
mod limits;
mod list;
mod plot;
mod progress;
mod reproduce;
mod run;
mod settings;
mod summary;
mod sweep;
mod target;

use clap::{Parser, Subcommand};
use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shortage of memory ends a run, not the program.
#[global_allocator]
static MEMORY: allocator::Reserved = allocator::Reserved::new();

/// Multibody dynamics in which joint friction is a first-class citizen.
#[derive(Parser)]
#[command(name = "bristle", version, about)]
#[command(after_help = "Examples:
  bristle run scenes/double_pendulum.ron
  bristle check scenes/*.ron
  bristle compare scenes/double_pendulum.ron --with method=Rk4,step=1e-3 --with method=Radau5
  bristle list laws

`bristle COMMAND --help` has more for each command.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene
    Run(Box<run::Run>),
    /// Check scenes without running them
    Check(check::Check),
    /// Draw results as curves over time
    Plot(plot::Plot),
    /// Mechanics of a scene or robot at given states
    Dynamics(dynamics::Dynamics),
    /// Turn a URDF robot into a scene
    Import(import::ImportRobot),
    /// Compare two results, or two ways to solve one scene
    Compare(Box<compare::Compare>),
    /// Measure the cost of friction on this computer, and the errors of fixed steps
    Bench(bench::Bench),
    /// Run the experiments of published papers again, each number beside the printed one
    Reproduce(reproduce::Reproduce),
    /// Run a scene over a grid of values
    Sweep(Box<sweep::Sweep>),
    /// Fit parameters of a scene to measurements
    Fit(Box<fit::FitCommand>),
    /// List friction laws, loads, steppers and scenes
    List(list::List),
}

/// How a command ended.
pub(crate) enum Outcome {
    Done,
    Failed,
    Refused,
}

/// Whether something could not be printed.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Prints data on standard output. A reader who has seen enough and closes it is no error; a full disk behind it is,
/// and the program ends with 1.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    note_loss(out.write_all(controlled(text).as_bytes()).and_then(|()| out.flush()));
}

/// Data without control characters, which have no place in any of them but line ends and tabs.
fn controlled(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if text.chars().all(is_plain) {
        return text.into();
    }
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

fn note_loss(printed: io::Result<()>) {
    // once is enough
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
        && !IS_LOST.swap(true, Ordering::Relaxed)
    {
        say!("error: standard output: {error}");
    }
}

/// Starts the threads that computations share. A system without room for them is an error here, and a panic later.
fn start_threads() -> Result<(), String> {
    let started = rayon::ThreadPoolBuilder::new().build_global();
    started.map_err(|error| format!("threads cannot be started: {error}"))
}

/// Room on the stack, bytes: more than readers of nested files need.
const STACK: usize = 1 << 20;

/// Grows the stack once: growth that the system refuses later is no error that can be answered.
#[inline(never)]
fn grow_stack() {
    std::hint::black_box(&mut [0_u8; STACK]);
}

fn main() -> ExitCode {
    if let Err(error) = bristle::memory::check("the stack", 2 * STACK as u64) {
        say!("error: {error}");
        return ExitCode::from(1);
    }
    grow_stack();
    MEMORY.reserve();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // help and version are no errors; refused arguments exit with 2
        Err(error) => {
            note_loss(error.print().and_then(|()| io::stdout().flush()));
            let code = if IS_LOST.load(Ordering::Relaxed) { 1 } else { error.exit_code() };
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    let is_parallel = matches!(arguments.command, Command::Fit(_) | Command::Reproduce(_) | Command::Bench(_));
    if let Err(reason) = if is_parallel { start_threads() } else { Ok(()) } {
        say!("error: {reason}");
        return ExitCode::from(1);
    }
    let outcome = match arguments.command {
        Command::Run(run) => run.execute(),
        Command::Check(check) => check.execute(),
        Command::Plot(plot) => plot.execute(),
        Command::Dynamics(dynamics) => dynamics.execute(),
        Command::Import(import) => import.execute(),
        Command::Compare(compare) => compare.execute(),
        Command::Bench(bench) => bench.execute(),
        Command::Reproduce(reproduce) => reproduce.execute(),
        Command::Sweep(sweep) => sweep.execute(),
        Command::Fit(fit) => fit.execute(),
        Command::List(list) => list.execute(),
    };
    match outcome {
        Outcome::Done if IS_LOST.load(Ordering::Relaxed) => ExitCode::from(1),
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::from(1),
        Outcome::Refused => ExitCode::from(2),
    }
}
