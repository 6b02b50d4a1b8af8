//! Serves `wasi:http/outgoing-handler`.

use tokio::runtime::Handle;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::WasiHttpCtxView;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, FutureIncomingResponse, Host as _, OutgoingRequest, RequestOptions,
};

use crate::store::data::CallState;

/// The release under which the engine links the interface.
const OUTGOING_HANDLER: &str = "wasi:http/outgoing-handler@0.2.12";

type Sent = Result<Resource<FutureIncomingResponse>, ErrorCode>;

/// Links the engine's function, whose tasks run on the network's threads.
pub(super) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut handler = linker.instance(OUTGOING_HANDLER)?;
    handler.func_wrap(
        "handle",
        |mut store: StoreContextMut<'_, CallState>,
         (request, options): (
            Resource<OutgoingRequest>,
            Option<Resource<RequestOptions>>,
        )| {
            let state = store.data_mut();
            state.meters.attempts.count_step();
            let Some(network) = state.http.hooks.runtime() else {
                let reason = "the host could not start a thread for HTTP".to_owned();
                return Ok((Err(ErrorCode::InternalError(Some(reason))),));
            };
            Ok((handle(&mut state.http(), &network, request, options)?,))
        },
    )
}

/// Sends a request. The engine spawns its tasks on the current runtime, which in a call is the clock's: it
/// must not do the guest's work.
fn handle(
    http: &mut WasiHttpCtxView<'_>,
    network: &Handle,
    request: Resource<OutgoingRequest>,
    options: Option<Resource<RequestOptions>>,
) -> wasmtime::Result<Sent> {
    let _entered = network.enter();
    match http.handle(request, options) {
        Ok(response) => Ok(Ok(response)),
        Err(error) => Ok(Err(http.convert_error_code(error)?)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolhost_contract::HttpRule;
    use toolhost_contract::http::HttpGrant;
    use toolhost_egress::{Egress, HttpConfig, HttpMeter, HttpResolveFuture, HttpResolver};
    use toolhost_runtime::{ComponentId, Quota, Threads};
    use wasmtime::component::ResourceTable;
    use wasmtime_wasi_http::FieldMap;
    use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest, Scheme};

    use super::*;
    use crate::host::http::Http;

    /// Resolves no name.
    #[derive(Debug)]
    struct Unresolved;

    impl HttpResolver for Unresolved {
        fn resolve<'a>(&'a self, _: &'a str) -> HttpResolveFuture<'a> {
            Box::pin(std::future::pending())
        }
    }

    /// Sends a request to each host, with a body that never ends.
    fn send(view: &mut WasiHttpCtxView<'_>, network: &Handle, hosts: &[&str]) {
        for host in hosts {
            let headers = view.table.push(FieldMap::new_mutable(1_000)).unwrap();
            let request = HostOutgoingRequest::new(view, headers).unwrap();
            let at = || Resource::new_borrow(request.rep());
            view.set_scheme(at(), Some(Scheme::Http)).unwrap().unwrap();
            let host = Some((*host).to_owned());
            view.set_authority(at(), host).unwrap().unwrap();
            view.set_path_with_query(at(), Some("/".to_owned()))
                .unwrap()
                .unwrap();
            view.body(at()).unwrap().unwrap();
            handle(view, network, request, None).unwrap().unwrap();
        }
    }

    #[test]
    fn no_task_of_a_guests_request_runs_on_the_clock() {
        let threads = Threads::start(1).unwrap();
        let mut config = HttpConfig::default();
        config.resolver = Arc::new(Unresolved);
        let files = Arc::new(Quota::new(100, 3));
        let egress = Egress::new(&config, files, 3, threads.clone()).unwrap();
        let meter = Arc::new(HttpMeter::new(ComponentId(1), crate::Limits::default()));
        let grant = HttpGrant {
            allow: [HttpRule::parse("http://allowed.example").unwrap()].into(),
            ..HttpGrant::default()
        };
        let sender = egress.sender(Some(Arc::new(grant)), meter, None);
        let mut http = Http::new(sender, Arc::default(), None);
        let clock = threads.clock().clone();
        let call = async move {
            let network = http.hooks.runtime().unwrap();
            let mut table = ResourceTable::new();
            let mut view = WasiHttpCtxView {
                ctx: &mut http.ctx,
                table: &mut table,
                hooks: &mut http.hooks,
            };
            // One waits for its name, which takes two tasks, and the body of the other is drained.
            send(&mut view, &network, &["allowed.example", "denied.example"]);
            let tasks = || (clock.tasks(), network.metrics().num_alive_tasks());
            while tasks().0 + tasks().1 < 3 {
                std::thread::yield_now();
            }
            tasks()
        };
        let call = threads.clock().drive(Box::pin(call));
        let (on_clock, on_network) = futures_util::FutureExt::now_or_never(call).unwrap();
        assert_eq!(on_clock, 0);
        assert!(on_network >= 3, "{on_network}");
    }
}
