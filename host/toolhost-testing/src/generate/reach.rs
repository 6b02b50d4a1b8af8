//! How far a schema is followed, and how large its values become. A schema that refers to itself in twenty
//! places describes more values than there is memory.

use std::cell::Cell;

use serde_json::Value;
use toolhost_contract::JsonObject;

/// Deepest nesting of schemas that is followed.
const DEPTH_MAX: usize = 6;

/// Parts of one schema that are followed.
const PARTS_MAX: usize = 20_000;

/// Bytes of all values of one schema.
const BYTES_MAX: usize = 16 << 20;

/// Bytes of one value: no call may have longer arguments by default.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// What a part of a schema may use. Parts beside each other get equal shares, so that the first does not
/// leave the others without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    depth: usize,
    parts: usize,
    bytes: usize,
}

impl Reach {
    /// The reach of a whole schema.
    pub(super) const WHOLE: Self = Self {
        depth: DEPTH_MAX,
        parts: PARTS_MAX,
        bytes: BYTES_MAX,
    };

    /// Returns the reach one level deeper; none beyond the deepest.
    pub(super) fn deeper(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1)?;
        Some(Self { depth, ..self })
    }

    /// Returns the share of each of so many parts; none if that is nothing.
    fn share(self, parts: usize) -> Option<Self> {
        let share = |of: usize| of / parts.max(1);
        let (parts, bytes) = (share(self.parts), share(self.bytes));
        let is_some = parts > 0 && bytes > 0;
        is_some.then_some(Self {
            parts,
            bytes,
            ..self
        })
    }
}

/// Counts the parts and values of a schema that are left out because they would use too much.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Cell<u32>);

impl LeftOut {
    pub(super) fn add(&self) {
        self.0.set(self.0.get().saturating_add(1));
    }

    pub(super) fn count(&self) -> u32 {
        self.0.get()
    }

    /// Returns the share of each of so many parts. If there is none, they are left out.
    pub(super) fn share(&self, reach: Reach, parts: usize) -> Option<Reach> {
        let share = reach.share(parts);
        if share.is_none() {
            self.add();
        }
        share
    }

    /// Returns the bytes that are left for values of this reach.
    pub(super) fn room(&self, reach: Reach) -> Room<'_> {
        Room {
            left: reach.bytes,
            left_out: self,
        }
    }
}

/// The bytes that are left for values.
#[derive(Debug)]
pub(super) struct Room<'l> {
    left: usize,
    left_out: &'l LeftOut,
}

impl Room<'_> {
    /// Takes the bytes of a value from what is left. Returns false, and counts the value as left out, if they
    /// exceed that or the limit of one value.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        match left.filter(|_| bytes <= VALUE_BYTES_MAX) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left_out.add();
                false
            }
        }
    }
}

/// Returns about how many bytes a value has.
pub(super) fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 8 + text.len(),
        Value::Array(items) => 8 + items.iter().map(bytes_of).sum::<usize>(),
        Value::Object(members) => bytes_of_object(members),
    }
}

/// Returns about how many bytes an object has.
pub(super) fn bytes_of_object(members: &JsonObject) -> usize {
    let members = members.iter();
    8 + members
        .map(|(name, value)| name.len() + bytes_of(value))
        .sum::<usize>()
}
