//! The method `host/info`.

use serde_json::{Value, json};

use crate::error::RpcError;
use crate::params::NoParams;
use crate::session::Session;

/// Version of the methods. It changes if a client of the earlier version would no longer work.
const PROTOCOL: u32 = 1;

/// Describes the server: `{"name", "version", "protocol", "servesBundle", "limits"}`.
pub(super) fn info(session: &Session, _: NoParams) -> Result<Value, RpcError> {
    let limits = &session.config.limits;
    Ok(json!({
        "name": "toolhost",
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": PROTOCOL,
        "servesBundle": session.config.bundle.is_some(),
        "limits": {
            "lineBytes": limits.line_bytes,
            "lineValues": limits.line_values,
            "requests": limits.requests,
            "bundles": limits.bundles,
            "turns": limits.turns,
            "steps": limits.steps,
            "idleTurnSeconds": limits.idle_turn.as_secs(),
        },
    }))
}
