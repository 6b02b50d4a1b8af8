//! How much memory a component begins with.

use wasmparser::Payload;

use super::malformed;
use crate::PrepareError;

/// Bytes of a page of linear memory.
const PAGE: u64 = 64 << 10;

/// The memories that a component declares.
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
    /// Counts the memories that a module declares, and what it fills them with.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enum, which grows with every proposal"
    )]
    pub(super) fn add(&mut self, payload: &Payload<'_>) -> Result<(), PrepareError> {
        match payload {
            Payload::MemorySection(section) => {
                self.count = self.count.saturating_add(section.count());
                for memory in section.clone() {
                    let bytes = memory.map_err(malformed)?.initial.saturating_mul(PAGE);
                    self.bytes = self.bytes.saturating_add(bytes);
                }
            }
            Payload::DataSection(section) => {
                let bytes = section.range().len() as u64;
                self.image_bytes = self.image_bytes.saturating_add(bytes);
            }
            _ => {}
        }
        Ok(())
    }
}
