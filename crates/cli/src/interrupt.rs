//! Ctrl-C and the signals that ask a program to end: the first ends the run at its next step, the second the program.
//! Memory that has run out ends the run like the first.

use anyhow::{Context, Result};
use bristle::memory;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user asked for an end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on; once per program.
    pub fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        ctrlc::set_handler(move || {
            if heard.0.swap(true, Ordering::Relaxed) {
                std::process::exit(1);
            }
        })
        .context("signals cannot be listened to")?;
        Ok(interrupt)
    }

    /// Whether it has come, or memory has run out.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) || memory::has_run_out()
    }

    /// Which of both.
    pub fn reason(&self) -> &'static str {
        if memory::has_run_out() { "memory ran out" } else { "interrupted" }
    }
}
