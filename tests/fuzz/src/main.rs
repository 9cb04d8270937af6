//! Random inputs for all readers: scenes, robots, friction files, tables, snapshots, and calls in any order.
//!
//! ```text
//! cargo run -p bristle-fuzz -- TARGET --seconds 60 --seed 7     try cases until the time is over
//! cargo run -p bristle-fuzz -- TARGET --seed 7 --case 123       one case again, with its panic and backtrace
//! cargo run -p bristle-fuzz -- TARGET --replay FILE             a case that was saved
//! ```
//!
//! Case k of a seed is a function of the target, the seed and k alone ([`mutate`]), so that any case can be made again
//! by number. The dev profile is optimised and checks arithmetic for overflow, which is why it is used here.
//!
//! A case is a *finding* if it panics, violates a property that its target asserts, takes longer than [`MAX_TIME`],
//! takes more memory than [`MAX_MEMORY`], or kills the process (a stack overflow). The cases run in a child process
//! ([`child`]); its parent watches a file in which the child records the number of the case, saves the cases of a child
//! that had to be stopped or died, and starts another child after them. Findings are written to `fuzz/findings/`, and
//! any finding is exit code 1.

mod case;
mod child;
mod mutate;
mod progress;
mod target;

use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

/// A case may take this long, on the clock and in processor time, so that other work on the machine makes no findings:
/// a thousand times the usual.
const MAX_TIME: Duration = Duration::from_secs(10);
/// On the clock in any case: it waits for something.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// Address space of the child, bytes: the limits of the readers allow tables of 2 GB.
const MAX_MEMORY: u64 = 4 << 30;
/// Findings after which a run ends.
const MAX_FINDINGS: u64 = 20;

/// Random inputs for everything that reads.
#[derive(Parser)]
struct Arguments {
    /// scenes, robots, friction, tables, snapshots or calls
    target: String,
    /// Time to spend, s.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Determines all cases; from the clock if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Try this case only, without catching its panic.
    #[arg(long)]
    case: Option<u64>,
    /// Try the content of a file only, without catching its panic.
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Number of the first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// File of the child's progress.
    #[arg(long, hide = true)]
    progress: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let target = target::find(&arguments.target)?;
    if let Some(path) = &arguments.replay {
        (target.run)(&std::fs::read(path)?);
        return Ok(ExitCode::SUCCESS);
    }
    let seed = arguments.seed.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
    });
    let cases = case::Cases::new(target, seed)?;
    if let Some(number) = arguments.case {
        let bytes = cases.make(number);
        println!("{}", String::from_utf8_lossy(&bytes));
        (target.run)(&bytes);
        return Ok(ExitCode::SUCCESS);
    }
    let until = Duration::from_secs(arguments.seconds);
    match &arguments.progress {
        Some(path) => child::run(&cases, arguments.from, until, path),
        None => watch(&cases, arguments.from, until),
    }
}

fn findings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("findings")
}

/// Whether a case that began at `since`, after `worked` of processor time, has had its time.
fn is_late(child: &Child, since: Instant, worked: Duration) -> bool {
    let own = processor_time(child).map_or(MAX_WAIT, |now| now.saturating_sub(worked));
    own > MAX_TIME || since.elapsed() > MAX_WAIT
}

/// Processor time of a child, where the system tells.
#[cfg(target_os = "linux")]
fn processor_time(child: &Child) -> Option<Duration> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    let id = libc::pid_t::try_from(child.id()).ok()?;
    // SAFETY: system calls, each of which writes the one number or struct it is given
    let is_known =
        unsafe { libc::clock_getcpuclockid(id, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0 };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    is_known.then(|| Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(not(target_os = "linux"))]
fn processor_time(_: &Child) -> Option<Duration> {
    None
}

/// Runs cases in child processes until the time is over.
fn watch(cases: &case::Cases, mut from: u64, time: Duration) -> anyhow::Result<ExitCode> {
    let (name, seed) = (cases.target.name, cases.seed);
    println!("{name}: seed {seed}, {} inputs to begin with", cases.corpus.len());
    let path = std::env::temp_dir().join(format!("bristle-fuzz-{name}-{}", std::process::id()));
    let start = Instant::now();
    let (mut tried, mut accepted, mut found) = (0, 0, 0);
    while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
        && found < MAX_FINDINGS
    {
        progress::Progress { case: from, ..Default::default() }.write(&path)?;
        let numbers = ["--seed", &seed.to_string(), "--from", &from.to_string()].map(str::to_owned);
        let mut child = Command::new(std::env::current_exe()?)
            .arg(name)
            .args(numbers)
            .args(["--seconds", &left.as_secs().max(1).to_string()])
            .arg("--progress")
            .arg(&path)
            .spawn()?;
        let (mut last, mut since, mut worked) = (u64::MAX, Instant::now(), Duration::ZERO);
        let end = loop {
            if let Some(status) = child.try_wait()? {
                break if status.success() { None } else { Some(format!("the process ended: {status}")) };
            }
            let now = progress::Progress::read(&path)?.case;
            if now != last {
                (last, since, worked) = (now, Instant::now(), processor_time(&child).unwrap_or_default());
            } else if since.elapsed() > MAX_TIME && is_late(&child, since, worked) {
                // only the process started here
                child.kill()?;
                child.wait()?;
                break Some(format!("longer than {} s", MAX_TIME.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let done = progress::Progress::read(&path)?;
        tried += done.tried;
        accepted += done.accepted;
        found += done.found;
        let Some(reason) = end else { break };
        found += 1;
        cases.save(done.case, &reason)?;
        from = done.case + 1;
    }
    std::fs::remove_file(&path)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {tried} cases in {seconds:.0} s, {accepted} accepted, {found} findings");
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
