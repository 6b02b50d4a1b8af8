//! Headers of requests and responses.

use std::collections::BTreeMap;

use toolhost_guest::ToolError;
use wasip2::http::types::Fields;

use crate::fault;

/// The most bytes of a response's headers that are returned.
const MAX_BYTES: usize = 16 << 10;

/// Names in lower case, values.
pub(crate) type Headers = Vec<(String, String)>;

/// Returns the headers of the first request: those in the input, and defaults.
///
/// # Errors
/// Two names differ only in case.
pub(crate) fn of_request(
    given: BTreeMap<String, String>,
    body: Option<&[u8]>,
) -> Result<Headers, ToolError> {
    let mut headers = Headers::new();
    for (name, value) in given {
        let name = name.to_ascii_lowercase();
        if has(&headers, &name) {
            return Err(fault::header(&name, "is given twice"));
        }
        headers.push((name, value));
    }
    let mut default = |name: &str, value: String| {
        if !has(&headers, name) {
            headers.push((name.to_owned(), value));
        }
    };
    default("user-agent", "toolhost-http-fetch".to_owned());
    default("accept", "*/*".to_owned());
    if let Some(body) = body {
        let is_json = serde_like_json(body);
        let kind = if is_json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        };
        default("content-type", kind.to_owned());
        default("content-length", body.len().to_string());
    }
    Ok(headers)
}

/// Returns whether a body looks like a JSON object or array.
fn serde_like_json(body: &[u8]) -> bool {
    let ends = (body.first(), body.last());
    matches!(ends, (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

fn has(headers: &Headers, name: &str) -> bool {
    headers.iter().any(|(known, _)| known == name)
}

/// Removes the headers that describe a body.
pub(crate) fn without_body(headers: &mut Headers) {
    headers.retain(|(name, _)| !name.starts_with("content-"));
}

/// Removes headers that another origin must not get.
pub(crate) fn without_secrets(headers: &mut Headers) {
    let secret = [
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-api-key",
    ];
    headers.retain(|(name, _)| !secret.contains(&name.as_str()));
}

/// Converts headers to those of `wasi:http`.
///
/// # Errors
/// The host refuses one of them, such as `host` or one with a line break.
pub(crate) fn fields(headers: &Headers) -> Result<Fields, ToolError> {
    let fields = Fields::new();
    for (name, value) in headers {
        fields
            .append(name, value.as_bytes())
            .map_err(|reason| fault::header(name, &format!("cannot be sent: {reason}")))?;
    }
    Ok(fields)
}

/// Returns the headers of a response; values of one name are joined. At most [`MAX_BYTES`].
pub(crate) fn of_response(fields: &Fields) -> BTreeMap<String, String> {
    let mut joined = BTreeMap::<String, String>::new();
    let mut left = MAX_BYTES;
    for (name, value) in fields.entries() {
        let bytes = name.len() + value.len();
        if bytes > left {
            continue;
        }
        left -= bytes;
        let value = String::from_utf8_lossy(&value);
        let known = joined.entry(name.to_ascii_lowercase()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(&value);
    }
    joined
}
