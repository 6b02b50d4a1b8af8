//! Hands the requests of a guest to its call's sender.

use std::future::ready;
use std::sync::Arc;

use http::{HeaderName, Request, Response};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use toolhost_contract::http::is_reserved_header;
use toolhost_contract::{Attempts, FailedOperation};
use toolhost_egress::{FailedRequest, HttpSender, OutboundRequest, RequestError, RequestTimeouts};
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks,
};

use super::body_drain::{BodyDrain, SharedBody};
use super::error::to_wasi;
use crate::host::effects::{
    EffectsPort, RequestVerdict, to_wasi_response, whole_request, whole_response,
};

/// Maximum bytes of a body that a guest passes at once.
pub(super) const BODY_CHUNK: usize = 16 << 10;

type Connection = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The part of a store that serves `wasi:http`.
pub(crate) struct Http {
    pub(crate) ctx: WasiHttpCtx,
    pub(crate) hooks: HttpHooks,
    /// Whether the guest used its handles since their memory was last counted.
    pub(crate) used: bool,
}

/// Sends the requests of one call.
pub(crate) struct HttpHooks {
    sender: HttpSender,
    attempts: Arc<Attempts>,
    drain: BodyDrain,
    /// Decides about requests; none if none needs consent.
    effects: Option<Arc<dyn EffectsPort>>,
}

impl Http {
    pub(crate) fn new(
        sender: HttpSender,
        attempts: Arc<Attempts>,
        effects: Option<Arc<dyn EffectsPort>>,
    ) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(sender.meter().limits().http_header_bytes);
        let hooks = HttpHooks {
            sender,
            attempts,
            drain: BodyDrain::default(),
            effects,
        };
        Self {
            ctx,
            hooks,
            used: false,
        }
    }
}

impl HttpHooks {
    /// Whether the guest goes on sending requests that are refused.
    pub(crate) fn is_flooded(&self) -> bool {
        self.sender.is_flooded()
    }

    /// Returns the runtime for the tasks of requests. None if the system has no thread for it.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        self.sender.runtime()
    }
}

impl WasiHttpHooks for HttpHooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_reserved_header(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_reserved_header)
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Connection,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Connection), Error>> + Send> {
        let (request, body) = SharedBody::share(request);
        let limits = self.sender.meter().limits();
        let (limit, response_limit) = (limits.http_request_bytes, limits.http_response_bytes);
        let effects = self.effects.clone();
        let (drain, attempts) = (self.drain.clone(), Arc::clone(&self.attempts));
        let options = options.unwrap_or_default();
        let admitted = self.sender.admit(
            request,
            RequestTimeouts {
                connect: options.connect_timeout,
                first_byte: options.first_byte_timeout,
                between_bytes: options.between_bytes_timeout,
            },
        );
        if let Err(error) = &admitted {
            record_denial(&attempts, error);
        }
        Box::new(async move {
            let sent = match (admitted, effects) {
                (Ok(request), None) => {
                    let sent = request.send().await.map_err(|it| record(&attempts, it));
                    sent.map(|it| it.map(|body| body.map_err(to_wasi).boxed_unsync()))
                }
                (Ok(request), Some(effects)) => {
                    let limits = (limit, response_limit);
                    Box::pin(send_with_consent(request, &*effects, &attempts, limits)).await
                }
                (Err(error), _) => Err(error),
            };
            match sent {
                Ok(response) => {
                    // The body owns its connection.
                    Ok((response, Box::new(ready(Ok(()))) as Connection))
                }
                Err(error) => {
                    drain.drain(body, limit);
                    Err(to_wasi(error))
                }
            }
        })
    }
}

/// Sends a request, unless it waits for consent: then this never ends.
async fn send_with_consent(
    request: OutboundRequest<SharedBody>,
    effects: &dyn EffectsPort,
    attempts: &Attempts,
    (limit, response_limit): (u64, u64),
) -> Result<Response<WasiBody>, RequestError> {
    let (request, admitted) = request.take_request();
    let (whole, request) = whole_request(request, admitted.secret_headers(), limit).await?;
    match effects.request(&whole) {
        RequestVerdict::Held => std::future::pending().await,
        RequestVerdict::Answered(response) => to_wasi_response(response),
        RequestVerdict::Failed => Err(RequestError::Closed),
        RequestVerdict::Send(in_flight) => {
            let sent = admitted.with_request(request).send().await;
            let response = match sent.map_err(|it| record(attempts, it)) {
                Ok(response) => whole_response(response, response_limit).await,
                Err(error) => Err(error),
            };
            match &response {
                Ok(response) => effects.answered(&whole, response),
                Err(_) => effects.failed(&whole),
            }
            drop(in_flight);
            to_wasi_response(response?)
        }
    }
}

fn record_denial(attempts: &Attempts, error: &RequestError) {
    if let RequestError::Denied(denial) = error {
        attempts.deny(denial.clone());
    }
}

/// Records a request that got no response: a guest's own error seldom has the cause.
fn record(attempts: &Attempts, failed: FailedRequest) -> RequestError {
    let FailedRequest { origin, error } = failed;
    record_denial(attempts, &error);
    if let Some(origin) = origin {
        let operation = FailedOperation::http(&origin.to_string(), error.to_string());
        attempts.fail(operation);
    }
    error
}
