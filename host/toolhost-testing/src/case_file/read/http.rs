//! Reads the HTTP answers of a case.

use toolhost_contract::HttpRule;
use toolhost_manifest::reader::{Cursor, Findings};
use toolhost_manifest::yaml::Value;

use super::values::{list, number, parsed, refuse};
use crate::case::StubResponse;

/// Longest delay of an answer, in milliseconds.
const DELAY_MAX: i128 = 600_000;

pub(super) fn responses(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<StubResponse>> {
    list(at, findings, response)
}

fn response(at: &Cursor<'_>, findings: &mut Findings) -> Option<StubResponse> {
    at.mapping(findings, |fields| {
        let method = fields.read("method", method);
        let url = fields.required("url", url);
        let mut count = |key, least, most| {
            fields.read(key, |at, findings| number(at, key, least, most, findings))
        };
        let status = count("status", 200, 599).and_then(|status| u16::try_from(status).ok());
        let delay_ms = count("delayMs", 0, DELAY_MAX).unwrap_or(0);
        let mut headers = fields.read("headers", headers).unwrap_or_default();
        let text = fields.read("body", Cursor::string);
        let value = fields.get("json");
        let body = match (text, value) {
            (None, None) => Vec::new(),
            (Some(text), None) => text.into_bytes(),
            (None, Some(at)) => {
                let typed =
                    |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
                if !headers.iter().any(typed) {
                    headers.push(("content-type".to_owned(), "application/json".to_owned()));
                }
                at.node.to_json().to_string().into_bytes()
            }
            (Some(_), Some(at)) => return at.refuse("give either body or json", fields.findings),
        };
        let (authority, path) = url?;
        Some(StubResponse {
            method,
            authority,
            path,
            status: status.unwrap_or(200),
            headers,
            body,
            delay_ms,
        })
    })
}

fn method(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let is_upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    let parse = |text: &str| (!text.is_empty() && is_upper(text)).then(|| text.to_owned());
    parsed(at, findings, parse, "a method such as GET or POST")
}

/// Reads `https://host[:port]/path?query` into the authority and the path of a request.
fn url(at: &Cursor<'_>, findings: &mut Findings) -> Option<(String, String)> {
    let what = "a URL such as https://api.example.com/x";
    parsed(at, findings, parse_url, what)
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
    let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic());
    // A pattern is refused.
    if !is_plain || authority.is_empty() || authority.contains(['@', '*']) || rest.contains('#') {
        return None;
    }
    HttpRule::parse(&format!("{scheme}://{authority}")).ok()?;
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
    for (name, at_key, value) in at.entries(findings)? {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            refuse(name, &at_key, "the name of a header", findings);
        }
        let header = if let Value::Integer(number) = value.node.value {
            number.to_string()
        } else {
            value.string(findings)?
        };
        if header.chars().any(char::is_control) {
            let message = "a header must be one line without control characters";
            findings.invalid(&value, message);
        }
        headers.push((name.to_owned(), header));
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_authority_and_path() {
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
