//! The methods, by name.

mod approval;
mod bundle;
mod call;
mod event;
mod info;
mod message;
mod oauth;
mod turn;
mod undo;

use std::sync::Arc;

use serde_json::Value;

use crate::error::{RpcError, RpcErrorCode};
use crate::message::quoted;
use crate::params::parse;
use crate::session::Session;

/// Notification of the client: cancels one of its requests.
pub(crate) const CANCEL: &str = "$/cancel";

/// Carries out a request.
pub(crate) async fn call(
    session: &Arc<Session>,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "host/info" => info::info(session, parse(params)?),
        "bundle/load" => bundle::load(session, parse(params)?).await,
        "bundle/unload" => bundle::unload(session, &parse(params)?),
        "agents/list" => bundle::agents(session, &parse(params)?),
        "catalog/get" => bundle::catalog(session, &parse(params)?),
        "turn/open" => turn::open(session, parse(params)?).await,
        "turn/status" => turn::status(session, &parse(params)?),
        "turn/close" => turn::close(session, parse(params)?).await,
        "step/open" => turn::open_step(session, parse(params)?).await,
        "step/close" => turn::close_step(session, parse(params)?).await,
        "message/execute" => message::execute(session, parse(params)?).await,
        "call/execute" => call::execute(session, parse(params)?).await,
        "call/submit" => call::submit(session, parse(params)?).await,
        "call/poll" => call::poll(session, parse(params)?).await,
        "call/cancel" => call::cancel(session, parse(params)?).await,
        "undo/list" => undo::list(session, parse(params)?).await,
        "undo/run" => undo::run(session, parse(params)?).await,
        "approvals/list" => approval::list(session, parse(params)?).await,
        "approvals/get" => approval::get(session, parse(params)?).await,
        "approvals/approve" => approval::approve(session, parse(params)?).await,
        "approvals/deny" => approval::deny(session, parse(params)?).await,
        "oauth/callback" => oauth::callback(session, parse(params)?).await,
        "events/subscribe" => event::subscribe(session, parse(params)?),
        "events/unsubscribe" => event::unsubscribe(session, parse(params)?),
        unknown => Err(RpcError::new(
            RpcErrorCode::Method,
            format!("there is no method `{}`", quoted(unknown)),
        )),
    }
}
