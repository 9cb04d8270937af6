//! Memory of the command: that of the system, with a reserve for the moment at which the system has no more.
//!
//! ```text
//! system refuses ─▶ handled by the caller?  null: an error with the size asked for (`bristle::memory`)
//!                ─▶ reserve left?           release it, note the shortage, ask again: the run ends at its next step
//!                ─▶ else                    message, exit code 1
//! ```
//!
//! Rust's own answer to the last two is SIGABRT. Here rows on their way to a file are kept, locks are released by the
//! end of the process, and the exit code is that of a failed run.

use bristle::memory;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Size of the reserve: what it takes to end a run, with its summary, its partial file and its messages. Above the
/// size from which allocators map memory by itself, so that the system gets it back when it is released.
const RESERVE: usize = 8 << 20;

/// Touched once, so that the reserve is memory and no promise of it.
const PAGE: usize = 4096;

/// Attempts after another thread has released the reserve.
const ATTEMPTS: usize = 10;

/// The system's memory and a reserve.
pub struct Reserved {
    reserve: AtomicPtr<u8>,
}

impl Reserved {
    /// Nothing is reserved yet.
    pub const fn new() -> Self {
        Self { reserve: AtomicPtr::new(ptr::null_mut()) }
    }

    fn layout() -> Layout {
        // SAFETY: a page is a power of two, and the size of the reserve is a multiple of it
        unsafe { Layout::from_size_align_unchecked(RESERVE, PAGE) }
    }

    /// Takes the reserve, where the system has as much again.
    pub fn reserve(&self) {
        // SAFETY: the layout has a size
        let [room, more] = [(); 2].map(|()| unsafe { System.alloc(Self::layout()) });
        if !more.is_null() {
            // SAFETY: it was allocated with this layout
            unsafe { System.dealloc(more, Self::layout()) };
        }
        if room.is_null() {
            return;
        }
        if more.is_null() {
            // SAFETY: as above
            unsafe { System.dealloc(room, Self::layout()) };
            return;
        }
        for page in (0..RESERVE).step_by(PAGE) {
            // SAFETY: `page` is within the room, which nothing else refers to
            unsafe { room.add(page).write_volatile(1) };
        }
        self.reserve.store(room, Ordering::Release);
    }

    /// Gives the reserve back to the system; whether there was one.
    fn release(&self) -> bool {
        let room = self.reserve.swap(ptr::null_mut(), Ordering::AcqRel);
        if room.is_null() {
            return false;
        }
        // SAFETY: it was allocated with this layout, and only one thread gets it from the exchange
        unsafe { System.dealloc(room, Self::layout()) };
        true
    }

    /// Asks by `request` again where the system has refused `size` bytes.
    #[cold]
    fn insist(&self, size: usize, request: impl Fn() -> *mut u8) -> *mut u8 {
        if memory::is_handled() {
            return ptr::null_mut();
        }
        for _ in 0..ATTEMPTS {
            let is_released = self.release();
            memory::note_shortage();
            let room = request();
            if !room.is_null() {
                return room;
            }
            if !is_released {
                // another thread may be giving it back at this moment
                std::thread::yield_now();
            }
        }
        exit(size)
    }
}

// SAFETY: all memory is that of `System`, by the layouts it was asked for with. A request that is refused returns null
// or does not return.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: of the caller
        let request = || unsafe { System.alloc(layout) };
        let room = request();
        if room.is_null() { self.insist(layout.size(), request) } else { room }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: of the caller
        let request = || unsafe { System.alloc_zeroed(layout) };
        let room = request();
        if room.is_null() { self.insist(layout.size(), request) } else { room }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: of the caller; a refused request leaves the old room as it is
        let request = || unsafe { System.realloc(old, layout, size) };
        let room = request();
        if room.is_null() { self.insist(size, request) } else { room }
    }

    unsafe fn dealloc(&self, room: *mut u8, layout: Layout) {
        // SAFETY: of the caller
        unsafe { System.dealloc(room, layout) }
    }
}

/// A message of bounded length, without allocation.
struct Message {
    text: [u8; 160],
    length: usize,
}

impl std::fmt::Write for Message {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let room = self.text.get_mut(self.length..self.length + part.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.length += part.len();
        Ok(())
    }
}

/// Says that memory has run out, and ends the program with 1. Allocates nothing and takes no locks.
fn exit(size: usize) -> ! {
    let mut message = Message { text: [0; 160], length: 0 };
    // the size is at most 20 digits: it fits
    let _ = writeln!(message, "error: memory ran out: {size} bytes more are not to be had, nor in the reserve");
    end(&message.text[..message.length])
}

#[cfg(unix)]
fn end(message: &[u8]) -> ! {
    use std::io::Write as _;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd as _;
    unsafe extern "C" {
        fn _exit(status: std::ffi::c_int) -> !;
    }
    // SAFETY: 2 is standard error; it is not closed here. The lock of `stderr()` may be held by this very thread.
    let mut standard_error = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(2) });
    let _ = standard_error.write_all(message);
    // SAFETY: ends the process. Handlers of `exit` could allocate.
    unsafe { _exit(1) }
}

#[cfg(not(unix))]
fn end(message: &[u8]) -> ! {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(message);
    std::process::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_released_once() {
        let reserved = Reserved::new();
        assert!(!reserved.release());
        reserved.reserve();
        assert!(reserved.release() && !reserved.release());
    }

    #[test]
    fn handled_requests_leave_the_reserve_alone() {
        let reserved = Reserved::new();
        reserved.reserve();
        assert!(memory::handled(|| reserved.insist(1 << 60, ptr::null_mut)).is_null());
        assert!(!memory::has_run_out() && reserved.release());
    }

    #[test]
    fn the_longest_message_fits() {
        let mut message = Message { text: [0; 160], length: 0 };
        writeln!(message, "error: memory ran out: {} bytes more are not to be had, nor in the reserve", usize::MAX)
            .unwrap();
        assert!(message.text[..message.length].ends_with(b"reserve\n"));
    }
}
