//! An end that is asked for from outside while something long is under way: a signal, a time on the clock.
//!
//! Runs look at it between steps ([`Record::is_stopped`](crate::record::Record::is_stopped)). One step or the start
//! of a machine with thousands of joints can take long, too: with [`until`], the selection of modes and the rounds of
//! `RealTime` steps look at the same request and end with [`Error::Stopped`]. Memory that has
//! run out ends them too, see [`crate::memory`].

use crate::error::Error;
use crate::memory;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

thread_local! {
    static REQUEST: RefCell<Option<Rc<dyn Fn() -> bool>>> = const { RefCell::new(None) };
    /// Whether there is a request, so that rounds of short steps need not look further.
    static IS_SET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`. While it runs, on this thread, `is_asked` is called at least once in every round of mode selection
/// and of the solver of `RealTime` steps; when it returns true, they end.
pub fn until<T>(is_asked: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    // restored also if `work` unwinds
    let _restore = Restore(set(Some(Rc::new(is_asked))));
    work()
}

/// Sets the request; returns the one before.
fn set(request: Option<Rc<dyn Fn() -> bool>>) -> Option<Rc<dyn Fn() -> bool>> {
    IS_SET.with(|is_set| is_set.set(request.is_some()));
    REQUEST.with(|before| before.replace(request))
}

struct Restore(Option<Rc<dyn Fn() -> bool>>);

impl Drop for Restore {
    fn drop(&mut self) {
        set(self.0.take());
    }
}

/// Whether an end is asked for, or memory has run out.
#[inline]
pub(crate) fn is_asked() -> bool {
    IS_SET.with(Cell::get) && ask() || memory::has_run_out()
}

/// The error of a run that ends at t because of it.
pub(crate) fn error(t: f64) -> Error {
    if memory::has_run_out() { Error::OutOfMemory { t } } else { Error::Stopped { t } }
}

#[inline(never)]
fn ask() -> bool {
    let request = REQUEST.with(|request| request.borrow().clone());
    request.is_some_and(|is_asked| is_asked())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_its_call() {
        assert!(!is_asked());
        until(
            || true,
            || {
                assert!(is_asked());
                until(|| false, || assert!(!is_asked()));
                assert!(is_asked());
            },
        );
        assert!(!is_asked());
    }
}
