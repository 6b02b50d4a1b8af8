//! Locks that ignore poisoning, and waits that end.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait of whoever has no deadline of its own.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Takes a lock. What it guards stays usable after a panic of another holder.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits while `is_blocked` returns true, until `ends`; without that for at most 10 s. None if it still does then.
pub fn wait_while<'a, T>(
    condvar: &Condvar,
    mut guard: MutexGuard<'a, T>,
    ends: Option<Instant>,
    mut is_blocked: impl FnMut(&mut T) -> bool,
) -> Option<MutexGuard<'a, T>> {
    if !is_blocked(&mut guard) {
        return Some(guard);
    }
    let left = ends.map_or(WAIT_MAX, |ends| {
        ends.saturating_duration_since(Instant::now())
    });
    let waited = condvar.wait_timeout_while(guard, left, is_blocked);
    let (guard, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    (!waited.timed_out()).then_some(guard)
}

/// A mutex for holders that may hang, such as in a file system: others wait for it until a deadline.
#[derive(Debug, Default)]
pub struct DeadlineMutex<T> {
    is_taken: Mutex<bool>,
    given_back: Condvar,
    value: Mutex<T>,
}

impl<T> DeadlineMutex<T> {
    /// Takes the lock. None if another holder has it until `ends`, or for 10 s without that.
    pub fn lock(&self, ends: Option<Instant>) -> Option<DeadlineGuard<'_, T>> {
        let is_taken = lock(&self.is_taken);
        let mut is_taken = wait_while(&self.given_back, is_taken, ends, |is_taken| *is_taken)?;
        *is_taken = true;
        drop(is_taken);
        let turn = Turn {
            is_taken: &self.is_taken,
            given_back: &self.given_back,
        };
        Some(DeadlineGuard {
            value: lock(&self.value),
            _turn: turn,
        })
    }
}

/// Gives back a [`DeadlineMutex`] when dropped.
pub struct DeadlineGuard<'a, T> {
    // Dropped first: whoever has the turn finds the value free.
    value: MutexGuard<'a, T>,
    _turn: Turn<'a>,
}

impl<T> Deref for DeadlineGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for DeadlineGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

struct Turn<'a> {
    is_taken: &'a Mutex<bool>,
    given_back: &'a Condvar,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(self.is_taken) = false;
        self.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_holder_that_hangs_delays_others_until_their_deadline() {
        let mutex = DeadlineMutex::default();
        let soon = || Instant::now().checked_add(Duration::from_millis(20));
        let mut held = mutex.lock(None).unwrap();
        thread::scope(|scope| {
            // One without a deadline still waits after both, and gets it.
            let patient = scope.spawn(|| *mutex.lock(None).unwrap());
            for _ in 0..2 {
                let refused = scope.spawn(|| mutex.lock(soon()).is_none());
                assert!(refused.join().unwrap());
            }
            *held = 7;
            drop(held);
            assert_eq!(patient.join().unwrap(), 7);
        });
        // A deadline that has passed refuses nobody where the lock is free.
        assert!(mutex.lock(Some(Instant::now())).is_some());
    }
}
