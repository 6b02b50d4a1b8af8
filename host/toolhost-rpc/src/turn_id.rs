//! Ids of turns.

use crate::error::{RpcError, RpcErrorCode};

/// Returns a new id, unique among all turns of the host: `turn-` and 16 hexadecimal digits.
pub(crate) fn new_turn_id() -> Result<String, RpcError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system has no random numbers: {error}");
        RpcError::new(RpcErrorCode::Internal, message)
    })?;
    Ok(format!("turn-{:016x}", u64::from_le_bytes(bytes)))
}
