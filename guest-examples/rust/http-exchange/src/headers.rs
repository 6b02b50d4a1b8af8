//! Headers of requests and responses.

use wasip2::http::types::Fields;

use crate::fault::Fault;

/// Names in lower case, values.
pub type Headers = Vec<(String, String)>;

pub fn has(headers: &Headers, name: &str) -> bool {
    headers.iter().any(|(header, _)| header == name)
}

/// Removes the headers that describe a body.
pub fn without_body(headers: &mut Headers) {
    headers.retain(|(name, _)| !name.starts_with("content-"));
}

/// Removes headers that another origin must not get.
pub fn without_secrets(headers: &mut Headers) {
    let secret = [
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-api-key",
    ];
    headers.retain(|(name, _)| !secret.contains(&name.as_str()));
}

/// Converts headers to those of `wasi:http`, with cookies beside those of the request.
///
/// # Errors
/// The host refuses one of them.
pub(crate) fn fields(headers: &Headers, cookies: Option<&str>) -> Result<Fields, Fault> {
    let fields = Fields::new();
    let append = |name: &str, value: &str| {
        let appended = fields.append(name, value.as_bytes());
        appended.map_err(|reason| Fault::Header {
            name: name.to_owned(),
            reason: reason.to_string(),
        })
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
#[derive(Debug, Default)]
pub struct ResponseHeaders(Headers);

impl ResponseHeaders {
    pub(crate) fn new(fields: &Fields) -> Self {
        let entries = fields.entries().into_iter();
        Self(
            entries
                .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
                .collect(),
        )
    }

    /// Returns names and values in order.
    pub fn entries(&self) -> &[(String, String)] {
        &self.0
    }

    /// Returns the values of a name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(header, _)| header == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a name.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
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
