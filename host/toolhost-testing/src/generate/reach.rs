//! How far a schema is followed, and how large its values become. A schema that refers to itself in twenty
//! places describes more values than there is memory.

use super::budget::{Budget, Size};

/// Deepest nesting of schemas that is followed.
const DEPTH_MAX: usize = 6;

/// Parts of one schema that are followed.
const PARTS_MAX: usize = 20_000;

/// Values that one schema is made into. Each level beneath makes at most half as many.
const VALUES_MAX: usize = 120_000;

/// Bytes of the texts of these values.
const BYTES_MAX: usize = 8 << 20;

/// Bytes of one value: no call may have longer arguments by default.
pub(super) const VALUE_BYTES_MAX: usize = 1 << 20;

/// What a part of a schema may use. Parts beside each other get equal shares, so that the first does not
/// leave the others without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    depth: usize,
    parts: usize,
    values: usize,
    bytes: usize,
}

impl Reach {
    /// The reach of a whole schema.
    pub(super) const WHOLE: Self = Self {
        depth: DEPTH_MAX,
        parts: PARTS_MAX,
        values: VALUES_MAX,
        bytes: BYTES_MAX,
    };

    /// Returns the reach one level deeper; none beyond the deepest. It makes at most half of the values, so
    /// that all levels together make a few times as many as the first.
    pub(super) fn deeper(self) -> Option<Self> {
        Some(Self {
            depth: self.depth.checked_sub(1)?,
            parts: self.parts,
            values: self.values / 2,
            bytes: self.bytes / 2,
        })
    }

    /// Returns the share of each of so many parts. If that is nothing, they are left out.
    pub(super) fn share(self, parts: usize, budget: &Budget) -> Option<Self> {
        let share = |of: usize| of / parts.max(1);
        let (parts, values, bytes) = (share(self.parts), share(self.values), share(self.bytes));
        if parts == 0 || values == 0 || bytes == 0 {
            budget.leave_out();
            return None;
        }
        Some(Self {
            depth: self.depth,
            parts,
            values,
            bytes,
        })
    }

    /// Returns the room for the values of this reach.
    pub(super) fn room(self, budget: &Budget) -> Room<'_> {
        Room {
            values: self.values,
            bytes: self.bytes,
            budget,
        }
    }
}

/// The room that is left for values.
#[derive(Debug)]
pub(super) struct Room<'b> {
    values: usize,
    bytes: usize,
    budget: &'b Budget,
}

impl Room<'_> {
    /// Takes a value that is about to be made. Returns false, and counts the value as left out, if it exceeds
    /// the room, the budget or the size of one value.
    pub(super) fn take(&mut self, size: Size) -> bool {
        let values = self.values.checked_sub(size.values);
        let bytes = self.bytes.checked_sub(size.bytes);
        let bytes = bytes.filter(|_| size.bytes <= VALUE_BYTES_MAX);
        let (Some(values), Some(bytes)) = (values, bytes) else {
            self.budget.leave_out();
            return false;
        };
        let is_spent = self.budget.spend(size);
        if is_spent {
            (self.values, self.bytes) = (values, bytes);
        }
        is_spent
    }

    /// Counts a value as left out.
    pub(super) fn leave_out(&self) {
        self.budget.leave_out();
    }
}
