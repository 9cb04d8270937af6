//! Requests for memory whose failure is handled, so that an allocator can tell them from all others.
//!
//! `Vec::try_reserve` returns an error where memory is short; everything else that allocates cannot, and ends the
//! program. A global allocator sees no difference between both: [`is_handled`] says which it is. One that has a reserve
//! answers a handled request with null, and draws on the reserve for the others.

use std::cell::Cell;

thread_local! {
    static IS_HANDLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the thread is in a request by [`handled`]. Allocates nothing.
pub fn is_handled() -> bool {
    // while a thread ends, nothing is handled
    IS_HANDLED.try_with(Cell::get).unwrap_or(false)
}

/// Calls `request`, which allocates by `try_reserve` alone.
pub fn handled<T>(request: impl FnOnce() -> T) -> T {
    let before = IS_HANDLED.replace(true);
    let answer = request();
    IS_HANDLED.set(before);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_handled_while_it_lasts() {
        assert!(!is_handled());
        assert!(handled(|| is_handled() && handled(is_handled) && is_handled()));
        assert!(!is_handled());
    }
}
