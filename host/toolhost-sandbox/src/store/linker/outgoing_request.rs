//! Bounds the texts that a guest sets in a request, and refuses to make responses.

use toolhost_contract::http::METHOD_MAX;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest, Method, OutgoingRequest};
use wasmtime_wasi_http::p2::types::HostOutgoingResponse;

use crate::store::data::CallState;

/// The release under which the engine links the other functions.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Longest host and port, in bytes.
const AUTHORITY_MAX: usize = 300;

/// Replaces two functions of the engine that accept texts of any length, and the constructor of
/// responses, which traps.
pub(super) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, CallState>,
         (request, method): (Resource<OutgoingRequest>, Method)| {
            if matches!(&method, Method::Other(name) if name.len() > METHOD_MAX) {
                return Ok((Err(()),));
            }
            let set = store.data_mut().http().set_method(request, method)?;
            Ok((set,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, CallState>,
         (request, authority): (Resource<OutgoingRequest>, Option<String>)| {
            if authority
                .as_ref()
                .is_some_and(|host| host.len() > AUTHORITY_MAX)
            {
                return Ok((Err(()),));
            }
            let set = store.data_mut().http().set_authority(request, authority)?;
            Ok((set,))
        },
    )?;
    types.func_wrap(
        "[constructor]outgoing-response",
        |_: StoreContextMut<'_, CallState>, (_,): (Resource<FieldMap>,)| {
            let error = "a tool sends requests and receives none: it cannot make a response";
            Err::<(Resource<HostOutgoingResponse>,), _>(wasmtime::Error::msg(error))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
