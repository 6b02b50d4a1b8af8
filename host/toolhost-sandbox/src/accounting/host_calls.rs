//! The last host calls of a call, in short. They are kept while it runs, and reported if it fails.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Mutex;

use toolhost_contract::CallDigest;

use crate::sync::lock;

/// Most host calls that are kept.
const KEPT: usize = 256;

/// Most bytes of a text or a list that are digested, of its head and of its tail each.
const ENDS: usize = 64;

/// The last host calls.
#[derive(Debug, Default)]
pub(crate) struct HostCallLog(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    calls: Vec<(&'static str, u64)>,
    /// The oldest, once there are as many as are kept.
    oldest: usize,
}

impl HostCallLog {
    /// Keeps a host call.
    pub(crate) fn note(&self, function: &'static str, digest: &CallHasher) {
        let call = (function, digest.0.finish());
        let mut kept = lock(&self.0);
        let oldest = kept.oldest;
        if kept.calls.len() < KEPT {
            kept.calls.push(call);
        } else if let Some(slot) = kept.calls.get_mut(oldest) {
            *slot = call;
            kept.oldest = (oldest + 1) % KEPT;
        }
    }

    /// Takes the host calls, the oldest first.
    pub(crate) fn take(&self) -> Vec<CallDigest> {
        let Kept { mut calls, oldest } = std::mem::take(&mut *lock(&self.0));
        calls.rotate_left(oldest);
        let digest = |(function, digest): (&'static str, u64)| CallDigest {
            function: function.to_owned(),
            digest: format!("{digest:016x}"),
        };
        calls.into_iter().map(digest).collect()
    }
}

/// Digests the arguments and the answer of a host call. Its keys are fixed, so that digests of two calls can
/// be compared.
#[derive(Default)]
pub(crate) struct CallHasher(DefaultHasher);

impl CallHasher {
    pub(crate) fn number(&mut self, number: impl Into<u64>) {
        self.0.write_u64(number.into());
    }

    /// Adds the length, the head and the tail.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write_usize(bytes.len());
        let head = bytes.get(..ENDS).unwrap_or(bytes);
        let tail = bytes.get(bytes.len().saturating_sub(ENDS)..);
        self.0.write(head);
        self.0.write(tail.unwrap_or_default());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> CallHasher {
        let mut hasher = CallHasher::default();
        hasher.text(text);
        hasher
    }

    #[test]
    fn the_last_host_calls_are_kept_oldest_first() {
        let log = HostCallLog::default();
        for text in 0..KEPT + 3 {
            log.note("f", &digest(&text.to_string()));
        }
        let calls = log.take();
        assert_eq!(calls.len(), KEPT);
        let of = |text: &str| format!("{:016x}", digest(text).0.finish());
        assert_eq!(calls[0].digest, of("3"));
        assert_eq!(calls[KEPT - 1].digest, of(&(KEPT + 2).to_string()));
        assert_ne!(of("1"), of("2"));
        assert!(log.take().is_empty());
    }
}
