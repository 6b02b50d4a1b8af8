//! Headers of requests and responses.

use std::collections::BTreeMap;

use http_exchange::{Headers, ResponseHeaders, has};
use toolhost_guest::ToolError;

use crate::fault;
use crate::input::Method;
use crate::payload::{ContentType, RequestBody};

/// The most bytes of a response's headers that are returned.
const MAX_BYTES: usize = 16 << 10;

/// Returns the headers of the first request: those in the input, and defaults.
///
/// # Errors
/// Two names differ only in case.
pub(crate) fn of_request(
    given: BTreeMap<String, String>,
    method: Method,
    body: Option<&RequestBody>,
) -> Result<Headers, ToolError> {
    let mut headers = Headers::new();
    for (name, value) in given {
        let name = name.to_ascii_lowercase();
        if has(&headers, &name) {
            return Err(fault::header(&name, "is given twice"));
        }
        headers.push((name, value));
    }
    if let Some(ContentType::Multipart(_)) = body.map(|it| &it.content_type) {
        headers.retain(|(name, _)| name != "content-type");
    }
    // A range is one of encoded bytes.
    let encodings = if has(&headers, "range") {
        "identity"
    } else {
        "gzip, deflate, br, zstd"
    };
    let mut default = |name: &str, value: String| {
        if !has(&headers, name) {
            headers.push((name.to_owned(), value));
        }
    };
    default("user-agent", "toolhost-http-fetch".to_owned());
    default("accept", "*/*".to_owned());
    default("accept-encoding", encodings.to_owned());
    match body {
        Some(body) => {
            let kind = match &body.content_type {
                ContentType::Default(kind) => (*kind).to_owned(),
                ContentType::Multipart(kind) => kind.clone(),
            };
            default("content-type", kind);
            default("content-length", body.payload.len().to_string());
        }
        // Some servers answer 411 without it.
        None if !matches!(method, Method::Get | Method::Head) => {
            default("content-length", "0".to_owned());
        }
        None => {}
    }
    Ok(headers)
}

/// Returns the headers of a response; values of one name are joined. At most [`MAX_BYTES`].
pub(crate) fn joined(headers: &ResponseHeaders) -> BTreeMap<String, String> {
    let mut joined = BTreeMap::<String, String>::new();
    let mut left = MAX_BYTES;
    for (name, value) in headers.entries() {
        let bytes = name.len() + value.len();
        if bytes > left {
            continue;
        }
        left -= bytes;
        let values = joined.entry(name.clone()).or_default();
        if !values.is_empty() {
            values.push_str(", ");
        }
        values.push_str(value);
    }
    joined
}
