//! What the host holds for a guest's handles of HTTP.

use std::any::Any;

use http::{HeaderMap, HeaderName, HeaderValue};
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::body::HostOutgoingBody;
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse, HostIncomingResponse, HostOutgoingRequest,
};

use super::egress::PIECE;

/// Longest path and query that the engine takes, in bytes.
const PATH_MAX: usize = 64 << 10;

/// Pieces of a body on their way to the network, and in the stream that takes them.
const PIECES: usize = 2;

/// What a set of headers takes for each byte that it is said to have: the shorter they are, the more
/// there is beside them.
const PER_BYTE: usize = 3;

/// The most bytes that are held for the handles of a table, where a set of headers is said to have at
/// most `headers` bytes.
pub(crate) fn held_for(table: &mut ResourceTable, headers: usize) -> u64 {
    let headers = headers.saturating_mul(PER_BYTE);
    let most = |handle: &(dyn Any + Send)| {
        if handle.is::<HostOutgoingRequest>() || handle.is::<HostFutureIncomingResponse>() {
            // A request, which may wait to be sent: its headers, those that follow its body, and what was
            // written of that.
            headers.saturating_mul(2) + PATH_MAX + PIECES * PIECE
        } else if handle.is::<HostOutgoingBody>() {
            PIECES * PIECE
        } else if let Some(fields) = handle.downcast_ref::<FieldMap>() {
            held_in(fields).min(headers)
        } else if handle.is::<HostIncomingResponse>() {
            headers
        } else {
            0
        }
    };
    table.iter_mut().map(|handle| most(handle) as u64).sum()
}

/// Headers that are weighed one by one; where there are more, the most is reckoned.
const FEW: usize = 64;

/// What a header takes beside its name and its value, in bytes.
const PER_HEADER: usize = 200;

/// What a set of headers holds.
fn held_in(headers: &HeaderMap) -> usize {
    if headers.len() > FEW {
        return usize::MAX;
    }
    let of =
        |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + PER_HEADER;
    headers.iter().map(of).sum()
}
