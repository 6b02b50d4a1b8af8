//! Estimates the memory that the host holds for a guest's HTTP handles.

use std::any::Any;

use http::HeaderMap;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::body::HostOutgoingBody;
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse, HostIncomingResponse, HostOutgoingRequest,
};

use super::hooks::BODY_CHUNK;

/// Maximum bytes of path and query that the engine accepts.
const PATH_MAX: usize = 64 << 10;

/// Chunks of a body in memory: one on its way to the network, one in the stream before it.
const BODY_CHUNKS: usize = 2;

/// Bytes of memory for each byte that the engine counts for a header set; short headers cost most.
const BYTES_PER_COUNTED: usize = 3;

/// Returns the maximum bytes held for the handles of a table, if the engine counts at most
/// `header_bytes` for each header set.
pub(crate) fn handle_memory(table: &mut ResourceTable, header_bytes: usize) -> u64 {
    let headers = header_bytes.saturating_mul(BYTES_PER_COUNTED);
    let body = BODY_CHUNKS * BODY_CHUNK;
    let of_handle = |handle: &(dyn Any + Send)| {
        if handle.is::<HostOutgoingRequest>() || handle.is::<HostFutureIncomingResponse>() {
            // A request that may wait to be sent, with headers, trailers and the start of its body.
            headers.saturating_mul(2) + PATH_MAX + body
        } else if handle.is::<HostOutgoingBody>() {
            body
        } else if let Some(fields) = handle.downcast_ref::<FieldMap>() {
            header_memory(fields).min(headers)
        } else if handle.is::<HostIncomingResponse>() {
            headers
        } else {
            0
        }
    };
    let handles = table.iter_mut();
    handles.map(|handle| of_handle(handle) as u64).sum()
}

/// Maximum headers that are added up one by one; a larger set counts as the maximum.
const ADDED_UP_MAX: usize = 64;

/// Bytes for a header besides its name and value.
const PER_HEADER: usize = 200;

fn header_memory(headers: &HeaderMap) -> usize {
    if headers.len() > ADDED_UP_MAX {
        return usize::MAX;
    }
    let bytes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + PER_HEADER);
    bytes.sum()
}
