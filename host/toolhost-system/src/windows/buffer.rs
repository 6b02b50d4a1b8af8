//! Buffers that a system call fills.

/// Returns the buffer, to be filled behind what it holds.
pub fn spare_capacity(buffer: &mut Vec<u8>) -> SpareCapacity<'_> {
    SpareCapacity(buffer)
}

/// The capacity of a buffer behind its length.
#[derive(Debug)]
pub struct SpareCapacity<'a>(pub(crate) &'a mut Vec<u8>);
