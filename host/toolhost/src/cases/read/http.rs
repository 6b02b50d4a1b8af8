//! Reads the canned answers of a case.

use toolhost_sandbox::HttpRule;

use super::{json, number};
use crate::cases::CannedAnswer;
use toolhost_contract::text;
use toolhost_manifest::reader::{Cursor, Findings};
use toolhost_manifest::yaml::Value;

/// Longest that an answer is held back, in milliseconds.
const DELAY_MAX: i128 = 600_000;

/// Keys of an answer.
const KEYS: [&str; 7] = [
    "method", "url", "status", "headers", "body", "json", "delayMs",
];

/// Reads a list of them.
pub(super) fn answers(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<CannedAnswer>> {
    let items = at.items(findings)?;
    let read = items.iter().filter_map(|at| answer(at, findings));
    Some(read.collect())
}

fn answer(at: &Cursor<'_>, findings: &mut Findings) -> Option<CannedAnswer> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&KEYS, findings);
    let method = fields.get("method").and_then(|at| method(&at, findings));
    let (authority, path) = url(&fields.required("url", findings)?, findings)?;
    let mut count = |key, least, most| {
        let at = fields.get(key)?;
        number(&at, key, least, most, findings)
    };
    let status = count("status", 200, 599).and_then(|status| u16::try_from(status).ok());
    let delay_ms = count("delayMs", 0, DELAY_MAX).unwrap_or(0);
    let mut headers = match fields.get("headers") {
        Some(at) => headers(&at, findings)?,
        None => Vec::new(),
    };
    let body = match (fields.get("body"), fields.get("json")) {
        (None, None) => Vec::new(),
        (Some(at), None) => at.text(findings)?.as_bytes().to_vec(),
        (None, Some(at)) => {
            let typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
            if !headers.iter().any(typed) {
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
            }
            json(&at, findings)?.to_string().into_bytes()
        }
        (Some(_), Some(at)) => {
            findings.invalid(&at, "say one of body and json");
            return None;
        }
    };
    Some(CannedAnswer {
        method,
        authority,
        path,
        status: status.unwrap_or(200),
        headers,
        body,
        delay_ms,
    })
}

fn method(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let method = at.text(findings)?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_method {
        let shown = text::shorten(method, 80);
        findings.invalid(at, format!("'{shown}' is not a method such as GET or POST"));
        return None;
    }
    Some(method.to_owned())
}

/// Reads `https://host[:port]/path?query` into what the request says of it.
fn url(at: &Cursor<'_>, findings: &mut Findings) -> Option<(String, String)> {
    let url = at.text(findings)?;
    let parsed = parse_url(url);
    if parsed.is_none() {
        let shown = text::shorten(url, 80);
        let message = format!("'{shown}' is not a URL such as https://api.example.com/x");
        findings.invalid(at, message);
    }
    parsed
}

fn parse_url(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let split = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(split)?;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if authority.is_empty() || authority.contains(['@', '#']) || path.contains('#') {
        return None;
    }
    if !plain(authority) || !plain(path) {
        return None;
    }
    // As a request may name it, and no pattern.
    HttpRule::parse(&format!("{scheme}://{authority}")).ok()?;
    if authority.contains('*') {
        return None;
    }
    // The default port is not sent.
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    let path = match path.as_bytes().first() {
        Some(b'/') => path.to_owned(),
        _ => format!("/{path}"),
    };
    Some((authority.to_ascii_lowercase(), path))
}

fn headers(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for (name, at_key, value) in at.fields(findings)?.entries() {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            let shown = text::shorten(name, 80);
            findings.invalid(&at_key, format!("'{shown}' is not the name of a header"));
        }
        let said = match &value.node.value {
            Value::Integer(number) => number.to_string(),
            Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => value.text(findings)?.to_owned(),
        };
        if said.chars().any(char::is_control) {
            findings.invalid(&value, "a header is one line without control characters");
        }
        headers.push((name.to_owned(), said));
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_by_host_and_path() {
        let check = |url: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(host, path)| (host.to_owned(), path.to_owned()));
            assert_eq!(parse_url(url), expected, "{url}");
        };
        check("https://a.example/x?y=1", Some(("a.example", "/x?y=1")));
        check("https://A.example:443", Some(("a.example", "/")));
        check("http://a.example:80/", Some(("a.example", "/")));
        check("http://a.example:443/", Some(("a.example:443", "/")));
        check("http://localhost:8080?q", Some(("localhost:8080", "/?q")));
        for bad in [
            "a.example/x",
            "ftp://a/",
            "https:///x",
            "https://u@a/",
            "https://a/#x",
            "https://a/ b",
            "https://a.example:abc/x",
            "https://127.1/",
            "https://*.a.example/",
        ] {
            check(bad, None);
        }
    }
}
