//! Checks `Host` and `Origin`, so that a page in a browser cannot reach a server on its machine by DNS
//! rebinding.

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri};

/// Returns whether the host of a request is one that the server answers for.
pub(super) fn host_is_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let mut values = headers.get_all(HOST).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let Some(authority) = authority(value) else {
        return false;
    };
    allowed.iter().any(|name| {
        name.eq_ignore_ascii_case(authority.host()) || name.eq_ignore_ascii_case(authority.as_str())
    })
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    let authority: Authority = value.to_str().ok()?.parse().ok()?;
    (!authority.as_str().contains('@')).then_some(authority)
}

/// Returns whether the target of a request, where it names a host, names that of `Host`. The target is the
/// one that counts (RFC 9112 §3.2.2): a proxy before this server may have checked either.
pub(super) fn target_agrees(target: &Uri, headers: &HeaderMap) -> bool {
    let Some(authority) = target.authority() else {
        return true;
    };
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_str().as_bytes()))
}

/// Returns whether a request comes from no page, from a page of the same host and port, or from one that is
/// allowed. The host of the request has been checked.
pub(super) fn origin_is_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    headers.get_all(ORIGIN).iter().all(|value| {
        let origin = value.to_str().unwrap_or_default();
        let is_own = origin
            .strip_prefix("http://")
            .is_some_and(|origin_host| Some(origin_host) == host);
        is_own || allowed.iter().any(|name| name.eq_ignore_ascii_case(origin))
    })
}
