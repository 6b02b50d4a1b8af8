//! Headers of requests and responses.

use std::collections::BTreeMap;

use toolhost_guest::ToolError;
use wasip2::http::types::Fields;

use crate::fault;
use crate::input::Method;
use crate::payload::{ContentType, Payload};

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
    method: Method,
    payload: Option<&Payload>,
) -> Result<Headers, ToolError> {
    let mut headers = Headers::new();
    for (name, value) in given {
        let name = name.to_ascii_lowercase();
        if has(&headers, &name) {
            return Err(fault::header(&name, "is given twice"));
        }
        headers.push((name, value));
    }
    if let Some(ContentType::Multipart(_)) = payload.map(|it| &it.content_type) {
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
    match payload {
        Some(payload) => {
            let kind = match &payload.content_type {
                ContentType::Default(kind) => (*kind).to_owned(),
                ContentType::Multipart(kind) => kind.clone(),
            };
            default("content-type", kind);
            default("content-length", payload.len().to_string());
        }
        // Some servers answer 411 without it.
        None if !matches!(method, Method::Get | Method::Head) => {
            default("content-length", "0".to_owned());
        }
        None => {}
    }
    Ok(headers)
}

fn has(headers: &Headers, name: &str) -> bool {
    headers.iter().any(|(header, _)| header == name)
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

/// Converts headers to those of `wasi:http`, with cookies beside those of the input.
///
/// # Errors
/// The host refuses one of them, such as `host` or one with a line break.
pub(crate) fn fields(headers: &Headers, cookies: Option<&str>) -> Result<Fields, ToolError> {
    let fields = Fields::new();
    let append = |name: &str, value: &str| {
        let appended = fields.append(name, value.as_bytes());
        appended.map_err(|reason| fault::header(name, &format!("cannot be sent: {reason}")))
    };
    for (name, value) in headers {
        match cookies {
            Some(cookies) if name == "cookie" => append(name, &format!("{value}; {cookies}"))?,
            Some(_) | None => append(name, value)?,
        }
    }
    if let Some(cookies) = cookies
        && !has(headers, "cookie")
    {
        append("cookie", cookies)?;
    }
    Ok(fields)
}

/// Headers of a response: names in lower case, values.
pub(crate) struct ResponseHeaders(Headers);

impl ResponseHeaders {
    pub(crate) fn new(fields: &Fields) -> Self {
        let entries = fields.entries().into_iter();
        Self(
            entries
                .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
                .collect(),
        )
    }

    /// Returns the values of a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(header, _)| header == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a name.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns the headers; values of one name are joined. At most [`MAX_BYTES`].
    pub(crate) fn joined(&self) -> BTreeMap<String, String> {
        let mut joined = BTreeMap::<String, String>::new();
        let mut left = MAX_BYTES;
        for (name, value) in &self.0 {
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
}

/// Returns the text of a value: UTF-8, or else Latin-1, in which headers once were.
fn text(value: Vec<u8>) -> String {
    String::from_utf8(value).unwrap_or_else(|error| {
        error
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect()
    })
}
