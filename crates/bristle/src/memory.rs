//! Memory that is asked for before it is used, so that a shortage is an error and no abort.
//!
//! Arrays whose size is quadratic in the machine or set by input (matrices, recordings, batches, tables) pass through
//! here. Small ones do not: where not even those fit, it is for the global allocator to say what happens. The one of
//! Rust aborts the program. One with a reserve releases it, calls [`note_shortage`] and goes on: the run that is under
//! way ends with [`Error::OutOfMemory`] at the next place at which it can be stopped (see [`crate::stop`]). The command
//! `bristle` has such an allocator.

use crate::error::{Error, Result};
pub use bristle_integrate::request::{handled, is_handled};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a reserve of memory has been drawn on.
static HAS_RUN_OUT: AtomicBool = AtomicBool::new(false);

/// Ends all runs of the program as soon as they can be stopped. For a global allocator that has released its reserve:
/// allocates nothing.
pub fn note_shortage() {
    HAS_RUN_OUT.store(true, Ordering::Relaxed);
}

/// Whether [`note_shortage`] was called.
#[inline]
pub fn has_run_out() -> bool {
    HAS_RUN_OUT.load(Ordering::Relaxed)
}

/// Refuses `bytes` for `what` where so much cannot be had at once, as by `ulimit -v`. The memory is given back: arrays
/// made next find it, whoever makes them.
pub fn check(what: impl Into<String>, bytes: u64) -> Result<()> {
    let mut room: Vec<u8> = Vec::new();
    let size = usize::try_from(bytes).unwrap_or(usize::MAX);
    match handled(|| room.try_reserve_exact(size)) {
        Ok(()) => Ok(()),
        Err(_) => Err(Error::Memory { what: what.into(), bytes, limit: None }),
    }
}

/// The same, above `limit` in any case.
pub fn check_below(what: impl Into<String>, bytes: u64, limit: u64) -> Result<()> {
    if bytes > limit {
        return Err(Error::Memory { what: what.into(), bytes, limit: Some(limit) });
    }
    check(what, bytes)
}

/// Room for `more` values in a list that grows, a part of its length at a time.
pub fn grow<T>(what: &str, list: &mut Vec<T>, more: usize) -> Result<()> {
    handled(|| list.try_reserve(more)).map_err(|_| {
        let bytes = bytes::<T>(&[list.len().saturating_add(more)]);
        Error::Memory { what: what.into(), bytes, limit: None }
    })
}

/// Bytes of an array of `T` with these dimensions.
pub fn bytes<T>(dimensions: &[usize]) -> u64 {
    dimensions.iter().fold(size_of::<T>() as u64, |bytes, &n| bytes.saturating_mul(n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_can_be_is_an_error_with_its_size() {
        let refused = check("the mass matrix", bytes::<f64>(&[1 << 30, 1 << 30])).unwrap_err();
        assert_eq!(refused.to_string(), "there is no memory for the mass matrix, which takes 9223372036.9 GB");
        assert!(refused.is_refusal());
        assert!(check("all", bytes::<f64>(&[usize::MAX, 3])).is_err());
        let refused = check_below("the matrices", 5_000_000_000, 4_000_000_000).unwrap_err();
        assert_eq!(refused.to_string(), "the matrices: that would take 5.0 GB, and 4.0 GB are the limit");
        let mut list = vec![1.0];
        assert!(grow("a list", &mut list, usize::MAX / 16).is_err() && list == [1.0]);
        grow("a list", &mut list, 1000).unwrap();
        assert!(list.capacity() > 1000);
    }
}
