//! The memory that a component begins with.

/// The memories of one instance of a module or a component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeclaredMemory {
    /// How many there are.
    pub(crate) count: u32,
    /// Sum of their initial sizes.
    pub(crate) bytes: u64,
    /// Bytes of the data sections.
    pub(crate) image_bytes: u64,
}

impl DeclaredMemory {
    pub(super) fn add(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.image_bytes = self.image_bytes.saturating_add(more.image_bytes);
    }
}
