//! Answers in flight: where they are put, and the memory that they share.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use toolhost::tool::JsonShape;

use crate::error::McpFinding;

/// Memory of all parsed answers of all servers of this process that no call has taken yet, in KiB: 256 MiB.
const MEMORY_KIB: u32 = 256 << 10;

/// The memory. A message below [`SMALL_KIB`] takes nothing of it.
static MEMORY: Semaphore = Semaphore::const_new(MEMORY_KIB as usize);

/// Memory of a message that is not counted, in KiB.
const SMALL_KIB: u64 = 64;

/// Most bytes that one parsed value takes beside its text: a member of an object.
const VALUE_BYTES: u64 = 400;

/// Memory of one message, until it is dropped.
pub(crate) type MessageMemory = Option<SemaphorePermit<'static>>;

/// Waits until the memory of a message is free. A message that takes more than all of it waits for all of it.
/// Nothing that a server does delays those who hold it. Cancel safe.
pub(crate) async fn memory_of(message: &str) -> MessageMemory {
    let bytes = message.len() as u64;
    if bytes.saturating_mul(VALUE_BYTES / 2) < SMALL_KIB << 10 {
        return None;
    }
    let values = JsonShape::of(message).values;
    let kib = values
        .saturating_mul(VALUE_BYTES)
        .saturating_add(bytes.saturating_mul(2))
        >> 10;
    if kib < SMALL_KIB {
        return None;
    }
    let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
    // It fails only if the semaphore is closed.
    MEMORY.acquire_many(kib).await.ok()
}

/// The result of a tool, as the server wrote it.
#[derive(Debug)]
pub(crate) struct CallAnswer {
    /// The result, or why it is no JSON that can be used.
    pub(crate) result: Result<Value, String>,
    /// Shared by the answers of a batch.
    pub(crate) _memory: Arc<MessageMemory>,
}

/// Where the result of a call is put. The protocol's SDK gets an empty result in its place, so that results
/// are parsed once and are not logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallSlot(Arc<Mutex<Option<CallAnswer>>>);

impl CallSlot {
    pub(crate) fn fill(&self, answer: CallAnswer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// Takes the result, if there is one.
    pub(crate) fn take(&self) -> Option<CallAnswer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Where the entries of a list are put that are no tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListSlot(Arc<Mutex<Vec<McpFinding>>>);

impl ListSlot {
    pub(crate) fn add(&self, finding: McpFinding) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(finding);
    }

    pub(crate) fn take(&self) -> Vec<McpFinding> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_messages_share_the_memory_and_small_ones_take_none() {
        assert!(memory_of("{\"id\": 1, \"result\": {}}").await.is_none());
        let text = format!("\"{}\"", "x".repeat(20_000));
        assert!(
            memory_of(&text).await.is_none(),
            "a text is not many values"
        );
        let large = format!("[{}0]", "[],".repeat(2_000_000));
        let first = memory_of(&large).await;
        assert_eq!(first.as_ref().unwrap().num_permits(), MEMORY_KIB as usize);
        let mut second = Box::pin(memory_of(&large));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert!(second.await.is_some());
    }
}
