//! The HTTP client of one server.

use std::sync::Arc;
use std::time::Duration;

use toolhost::{
    http::{Egress, HttpClient, HttpCredential, HttpGrant, HttpOrigin},
    sandbox::Limits,
};

/// Returns a client that reaches what the grant allows, and adds the token to requests to the URL's origin and
/// to no other.
pub(crate) fn client(
    egress: &Egress,
    url: &str,
    grant: &Arc<HttpGrant>,
    token: Option<&str>,
) -> HttpClient {
    let credential = token.and_then(|token| {
        let origin = HttpOrigin::of_url(url).ok()?.to_string();
        HttpCredential::new(&origin, "authorization", "Bearer ", token).ok()
    });
    let grant = match credential {
        None => Arc::clone(grant),
        Some(credential) => {
            let mut grant = HttpGrant::clone(grant);
            grant.credentials.push(credential);
            Arc::new(grant)
        }
    };
    egress.client(url, grant, limits())
}

/// Limits of one request. A stream of events stays open, so that neither its bytes nor its silence end
/// it: see [`McpLimits::message_bytes`], and the deadline of calls.
///
/// [`McpLimits::message_bytes`]: crate::McpLimits::message_bytes
fn limits() -> Limits {
    const HOUR: Duration = Duration::from_secs(3600);
    Limits {
        http_response_bytes: u64::MAX,
        http_first_byte: HOUR,
        http_between_bytes: HOUR,
        ..Limits::default()
    }
}
