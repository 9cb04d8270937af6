//! The process in which cases are tried, one after the other.

use crate::case::Cases;
use crate::progress::Progress;
use crate::{MAX_FINDINGS, MAX_MEMORY};
use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub fn run(cases: &Cases, from: u64, time: Duration, progress: &Path) -> anyhow::Result<ExitCode> {
    let limit = libc::rlimit { rlim_cur: MAX_MEMORY, rlim_max: MAX_MEMORY };
    // SAFETY: a system call that reads one struct
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    anyhow::ensure!(limited == 0, "the memory cannot be limited");
    // a panic is reported with its case, once
    std::panic::set_hook(Box::new(|_| ()));

    let file = OpenOptions::new().write(true).open(progress)?;
    let mut done = Progress { case: from, ..Progress::default() };
    let start = Instant::now();
    while start.elapsed() < time && done.found < MAX_FINDINGS {
        done.note(&file)?;
        let bytes = cases.make(done.case);
        match catch_unwind(AssertUnwindSafe(|| (cases.target.run)(&bytes))) {
            Ok(is_accepted) => done.accepted += u64::from(is_accepted),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                cases.save(done.case, said)?;
                done.found += 1;
            }
        }
        done.tried += 1;
        done.case += 1;
    }
    done.note(&file)?;
    Ok(ExitCode::SUCCESS)
}
