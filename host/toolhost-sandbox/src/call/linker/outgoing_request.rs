//! What a guest says of a request before it is sent: short, as the host keeps it. Answers, of which a
//! tool sends none, cannot be made.

use toolhost_contract::http::METHOD_MAX;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest, Method, OutgoingRequest};
use wasmtime_wasi_http::p2::types::HostOutgoingResponse;

use super::http_of;
use crate::call::store_data::CallState;

/// The release that the other functions are linked under.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Longest host and port, in bytes.
const AUTHORITY_MAX: usize = 300;

/// Links the two functions whose texts the engine's own take at any length, as the path and the scheme
/// have a limit there; and in place of a response a trap.
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
            let set = http_of(store.data_mut()).set_method(request, method)?;
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
            let set = http_of(store.data_mut()).set_authority(request, authority)?;
            Ok((set,))
        },
    )?;
    types.func_wrap(
        "[constructor]outgoing-response",
        |_: StoreContextMut<'_, CallState>, (_,): (Resource<FieldMap>,)| {
            let error = "a tool makes requests: there is none that it could answer";
            Err::<(Resource<HostOutgoingResponse>,), _>(wasmtime::Error::msg(error))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
