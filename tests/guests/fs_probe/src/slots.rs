//! The descriptors, listings and streams of a script, by number.

use std::collections::BTreeMap;

use guest_glue::wasi::filesystem::preopens::get_directories;
use guest_glue::wasi::filesystem::types::{Descriptor, DirectoryEntryStream};
use guest_glue::wasi::io::streams::{InputStream, OutputStream};
use guest_glue::{Value, json};

use crate::{Failure, Step};

/// A descriptor, listing or stream.
pub(crate) enum Slot {
    Descriptor(Descriptor),
    Listing(DirectoryEntryStream),
    Input(InputStream),
    Output(OutputStream),
}

pub(crate) struct Slots {
    open: BTreeMap<u64, Slot>,
    next: u64,
}

impl Slots {
    /// Puts the first preopen into slot 0.
    pub(crate) fn with_root() -> Option<Self> {
        let (root, _) = get_directories().into_iter().next()?;
        Some(Self {
            open: BTreeMap::from([(0, Slot::Descriptor(root))]),
            next: 1,
        })
    }

    /// Stores a handle under the number in the step, or the next, and returns `{slot}`.
    pub(crate) fn keep(&mut self, step: &Value, slot: Slot) -> Value {
        let number = step["as"].as_u64().unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        self.open.insert(number, slot);
        json!({ "slot": number })
    }

    /// Drops the handle on which the step acts.
    pub(crate) fn close(&mut self, step: &Value) -> Step {
        match self.open.remove(&number(step, "on")) {
            Some(_) => Ok(json!({})),
            None => Err(Failure::Script("the slot is empty".into())),
        }
    }

    pub(crate) fn descriptor(&self, step: &Value, key: &str) -> Result<&Descriptor, Failure> {
        match self.open.get(&number(step, key)) {
            Some(Slot::Descriptor(descriptor)) => Ok(descriptor),
            _ => Err(Failure::Script(format!("`{key}` is no descriptor"))),
        }
    }

    pub(crate) fn listing(&self, step: &Value) -> Result<&DirectoryEntryStream, Failure> {
        match self.open.get(&number(step, "on")) {
            Some(Slot::Listing(listing)) => Ok(listing),
            _ => Err(Failure::Script("`on` is no listing".into())),
        }
    }

    pub(crate) fn input(&self, step: &Value, key: &str) -> Result<&InputStream, Failure> {
        match self.open.get(&number(step, key)) {
            Some(Slot::Input(stream)) => Ok(stream),
            _ => Err(Failure::Script(format!("`{key}` is no input stream"))),
        }
    }

    pub(crate) fn output(&self, step: &Value) -> Result<&OutputStream, Failure> {
        match self.open.get(&number(step, "on")) {
            Some(Slot::Output(stream)) => Ok(stream),
            _ => Err(Failure::Script("`on` is no output stream".into())),
        }
    }
}

fn number(step: &Value, key: &str) -> u64 {
    step[key].as_u64().unwrap_or(0)
}
