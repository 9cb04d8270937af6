//! How far a run is, on one line of a terminal: simulated time, speed relative to real time, events, time
//! left.

use bristle_plot::format::{count, significant};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two looks of the reader.
const PERIOD: Duration = Duration::from_millis(100);
const BAR: usize = 24;

/// A line that is written over and over, on a terminal; nothing elsewhere.
pub struct Progress {
    /// Which of several runs, such as `1 of 2`; may be empty.
    which: &'static str,
    end: f64,
    start: Instant,
    next: Instant,
    is_shown: bool,
}

impl Progress {
    /// From now to simulated time `end`.
    pub fn new(end: f64, is_quiet: bool) -> Self {
        let start = Instant::now();
        Self { which: "", end, start, next: start, is_shown: !is_quiet && io::stderr().is_terminal() }
    }

    /// The same for one of several runs.
    pub fn of(which: &'static str, end: f64) -> Self {
        Self { which, ..Self::new(end, false) }
    }

    /// Simulated time is `t`; true if it was time to say so, which is ten times a second.
    pub fn at(&mut self, t: f64, n_events: usize) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + PERIOD;
        if self.is_shown {
            // the rest of the line is wiped: it may have been longer
            let line = line(t, self.end, (now - self.start).as_secs_f64(), n_events);
            let gap = if self.which.is_empty() { "" } else { "  " };
            let _ = write!(io::stderr().lock(), "\r{}{gap}{line}\x1b[K", self.which);
        }
        true
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Part of the way, from 0 to 1, as a bar.
pub fn bar(part: f64) -> String {
    let full = (part * BAR as f64) as usize;
    (0..BAR).map(|k| if k < full { '█' } else { '░' }).collect()
}

fn line(t: f64, end: f64, elapsed: f64, n_events: usize) -> String {
    let part = if end > 0.0 { (t / end).clamp(0.0, 1.0) } else { 1.0 };
    let mut line = format!("{} {:3.0} %  t = {t:.3} of {end} s", bar(part), 100.0 * part);
    if elapsed > 0.0 && t > 0.0 {
        line += &format!("  {} × real time", significant(t / elapsed));
    }
    if n_events > 0 {
        line += &format!("  {}", count(n_events, "event"));
    }
    // too early to tell in the first moments
    if elapsed > 0.5 && part > 0.0 {
        line += &format!("  {} left", clock(elapsed * (1.0 - part) / part));
    }
    line
}

/// Seconds as people say them.
pub fn clock(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{}:{:02} min", seconds as u64 / 60, seconds as u64 % 60)
    } else {
        // a cast of a number out of range gives the nearest there is
        format!("{}:{:02} h", seconds as u64 / 3600, seconds as u64 % 3600 / 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_and_how_fast() {
        let line = line(2.5, 10.0, 5.0, 7);
        assert!(line.starts_with("██████░"), "{line}");
        assert!(line.ends_with("25 %  t = 2.500 of 10 s  0.500 × real time  7 events  0:15 min left"), "{line}");
    }

    #[test]
    fn seconds_as_people_say_them() {
        assert_eq!([9.94, 61.0, 7265.0].map(clock), ["9.9 s", "1:01 min", "2:01 h"].map(String::from));
    }
}
