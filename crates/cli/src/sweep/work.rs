//! The work of a sweep, shared by threads.

use super::table::Table;
use crate::interrupt::Interrupt;
use crate::progress::{bar, clock};
use bristle::memory;
use bristle_plot::format::count;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Rows that may wait for one that comes before them.
const MAX_AHEAD: usize = 4096;
/// Time between two checks for an interrupt, and between two lines of progress.
const PERIOD: Duration = Duration::from_millis(100);

/// Computes the rows that the table lacks, each thread the first that nobody has begun, and puts each into the table
/// when it is done.
pub fn fill(
    table: &mut Table,
    n_rows: usize,
    threads: usize,
    row: &(impl Fn(usize) -> String + Sync),
    progress: &mut Progress,
    interrupt: &Interrupt,
) -> io::Result<()> {
    let begun = AtomicUsize::new(table.n_written());
    let has: Vec<usize> = (table.n_written()..n_rows).filter(|&i| table.has(i)).collect();
    // rows in their places
    let (written, moved) = (Mutex::new(table.n_written()), Condvar::new());
    let work = |rows: mpsc::Sender<(usize, String)>| {
        loop {
            let i = begun.fetch_add(1, Ordering::Relaxed);
            if i >= n_rows {
                return;
            }
            if has.binary_search(&i).is_ok() {
                continue;
            }
            // not too far ahead of the slowest
            let mut at = written.lock().unwrap_or_else(PoisonError::into_inner);
            while i.saturating_sub(*at) >= MAX_AHEAD {
                at = moved.wait(at).unwrap_or_else(PoisonError::into_inner);
            }
            drop(at);
            let row = row(i);
            // a point that memory was too short for is not done
            if memory::has_run_out() || rows.send((i, row)).is_err() {
                return;
            }
        }
    };
    let reached = |n: usize| {
        *written.lock().unwrap_or_else(PoisonError::into_inner) = n;
        moved.notify_all();
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for k in 0..threads {
            let sender = sender.clone();
            match std::thread::Builder::new().spawn_scoped(scope, || work(sender)) {
                Ok(_) => {}
                // one is enough to go on
                Err(error) if k == 0 => return Err(error),
                Err(_) => break,
            }
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok((i, row)) => {
                    if let Err(error) = table.put(i, row) {
                        // points under way may take hours, and nobody waits for them
                        progress.clear();
                        say!("error: {}: {error}", table.path().display());
                        std::process::exit(1);
                    }
                    reached(table.n_written());
                    progress.at(table.n_done(), table.n_failed());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) if !memory::has_run_out() => return Ok(()),
                Err(mpsc::RecvTimeoutError::Disconnected) => {}
            }
            if interrupt.is_asked() {
                // points under way may take hours: what is done is on disk, and nobody waits for them
                progress.clear();
                let (done, all, reason) = (table.n_done(), count(n_rows, "point"), interrupt.reason());
                say!("error: {reason}: {done} of {all} are done and kept; started again, the sweep goes on from there");
                std::process::exit(1);
            }
        }
    })
}

/// How far a sweep is, on one line of a terminal; nothing elsewhere.
pub struct Progress {
    total: usize,
    found: usize,
    start: Instant,
    next: Instant,
    is_shown: bool,
}

impl Progress {
    /// Of so many points, some of which were found done.
    pub fn new(total: usize, found: usize, is_quiet: bool) -> Self {
        let start = Instant::now();
        let mut progress = Self { total, found, start, next: start, is_shown: !is_quiet && io::stderr().is_terminal() };
        progress.at(found, 0);
        progress
    }

    fn at(&mut self, done: usize, failed: usize) {
        let now = Instant::now();
        if self.is_shown && now >= self.next {
            self.next = now + PERIOD;
            let line = progress_line(done, self.total, failed, self.found, (now - self.start).as_secs_f64());
            let _ = write!(io::stderr().lock(), "\r{line}\x1b[K");
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn progress_line(done: usize, total: usize, failed: usize, found: usize, elapsed: f64) -> String {
    let part = done as f64 / total.max(1) as f64;
    let mut line = format!("{} {:3.0} %  {done} of {}", bar(part), 100.0 * part, count(total, "point"));
    if failed > 0 {
        line += &format!("  {failed} failed");
    }
    // too early to tell in the first moments
    if elapsed > 0.5 && done > found {
        line += &format!("  {} left", clock(elapsed * (total - done) as f64 / (done - found) as f64));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_points() {
        let line = progress_line(30, 120, 2, 10, 5.0);
        assert!(
            line.starts_with("██████░") && line.ends_with("25 %  30 of 120 points  2 failed  0:22 min left"),
            "{line}"
        );
        assert!(progress_line(0, 1, 0, 0, 9.0).ends_with("0 %  0 of 1 point"));
    }
}
