//! Threads for the copies of a [`Batch`](crate::Batch): those of rayon with the feature `parallel`, the caller's
//! alone without it. Results are the same bits either way.

#[cfg(feature = "parallel")]
pub(crate) use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};
#[cfg(not(feature = "parallel"))]
pub(crate) use sequential::*;

/// The part of rayon's interface that a batch uses, on one thread.
#[cfg(not(feature = "parallel"))]
mod sequential {
    use std::convert::Infallible;

    pub(crate) struct ThreadPool;

    impl ThreadPool {
        pub fn install<R>(&self, work: impl FnOnce() -> R) -> R {
            work()
        }
    }

    pub(crate) struct ThreadPoolBuilder;

    impl ThreadPoolBuilder {
        pub fn new() -> Self {
            Self
        }

        pub fn num_threads(self, _: usize) -> Self {
            self
        }

        pub fn build(self) -> Result<ThreadPool, Infallible> {
            Ok(ThreadPool)
        }
    }

    pub(crate) trait ParallelIterator<T> {
        fn par_iter_mut(&mut self) -> std::slice::IterMut<'_, T>;
    }

    impl<T> ParallelIterator<T> for [T] {
        fn par_iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
            self.iter_mut()
        }
    }
}
