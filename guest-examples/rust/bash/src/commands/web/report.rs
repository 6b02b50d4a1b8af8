//! `-w`: what is told of a transfer.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::settings::method_name;
use super::transfer::Outcome;

pub(super) const VERSION: &str = "7.88.1";

/// A transfer, and which of the command it was.
pub(super) struct Report<'o> {
    pub(super) outcome: &'o Outcome,
    /// As it was given.
    pub(super) url: &'o str,
    pub(super) number: usize,
    pub(super) file: &'o str,
}

/// Where a part of the text goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stream {
    Out,
    Err,
}

enum Value {
    Text(Option<String>),
    Number(u64),
    Seconds(Duration),
}

const NAMES: [&str; 35] = [
    "certs",
    "content_type",
    "errormsg",
    "exitcode",
    "filename_effective",
    "http_code",
    "http_connect",
    "http_version",
    "local_ip",
    "local_port",
    "method",
    "num_certs",
    "num_connects",
    "num_headers",
    "num_redirects",
    "redirect_url",
    "referer",
    "remote_ip",
    "remote_port",
    "response_code",
    "scheme",
    "size_download",
    "size_header",
    "size_request",
    "size_upload",
    "speed_download",
    "speed_upload",
    "ssl_verify_result",
    "time_appconnect",
    "time_connect",
    "time_namelookup",
    "time_pretransfer",
    "time_redirect",
    "time_starttransfer",
    "time_total",
];

impl Report<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let outcome = self.outcome;
        let text = |text: &str| Value::Text((!text.is_empty()).then(|| text.to_owned()));
        let speed = |bytes: u64| {
            let micros = outcome.total.as_micros().max(1);
            Value::Number(u64::try_from(u128::from(bytes) * 1_000_000 / micros).unwrap_or(u64::MAX))
        };
        let port = outcome.url.port_or_known_default().unwrap_or(0);
        Some(match name {
            "certs" => Value::Text(Some(String::new())),
            // The host makes the connection, and does not say how long each step took.
            "local_ip" | "remote_ip" => text(""),
            "local_port" | "num_certs" | "http_connect" | "ssl_verify_result" => Value::Number(0),
            "time_appconnect" | "time_connect" | "time_namelookup" | "time_pretransfer" => {
                Value::Seconds(Duration::ZERO)
            }
            "content_type" => text(outcome.headers.first("content-type").unwrap_or_default()),
            "errormsg" => Value::Text(outcome.failure.as_ref().map(|failure| failure.text.clone())),
            "exitcode" => Value::Number(
                outcome
                    .failure
                    .as_ref()
                    .map_or(0, |failure| failure.code.unsigned_abs().into()),
            ),
            "filename_effective" => text(self.file),
            "http_code" | "response_code" => Value::Number(outcome.status.into()),
            "http_version" => text(if outcome.status == 0 { "0" } else { "1.1" }),
            "method" => text(method_name(&outcome.method)),
            "num_connects" => Value::Number(if outcome.first_byte.is_some() {
                u64::from(outcome.redirects) + 1
            } else {
                0
            }),
            "num_headers" => Value::Number(outcome.headers.entries().len() as u64),
            "num_redirects" => Value::Number(outcome.redirects.into()),
            "redirect_url" => Value::Text(outcome.redirect_url.clone()),
            "referer" => text(""),
            "remote_port" => Value::Number(port.into()),
            "scheme" => text(&outcome.url.scheme().to_ascii_uppercase()),
            "size_download" => Value::Number(outcome.downloaded),
            "size_header" => Value::Number(outcome.head_bytes as u64),
            "size_request" => Value::Number(outcome.request_bytes as u64),
            "size_upload" => Value::Number(outcome.uploaded),
            "speed_download" => speed(outcome.downloaded),
            "speed_upload" => speed(outcome.uploaded),
            "time_redirect" => Value::Seconds(outcome.redirect_time),
            "time_starttransfer" => Value::Seconds(outcome.first_byte.unwrap_or_default()),
            "time_total" => Value::Seconds(outcome.total),
            "url" => text(self.url),
            "url_effective" => text(outcome.url.as_str()),
            "urlnum" => Value::Number(self.number as u64),
            _ => return None,
        })
    }

    fn json(&self) -> String {
        let mut text = "{".to_owned();
        for name in NAMES.into_iter().chain(["url", "url_effective", "urlnum"]) {
            let _ = match self.value(name) {
                Some(Value::Text(Some(value))) => write!(text, "\"{name}\":{},", quoted(&value)),
                Some(Value::Number(number)) => write!(text, "\"{name}\":{number},"),
                Some(Value::Seconds(time)) => write!(text, "\"{name}\":{},", seconds(time)),
                Some(Value::Text(None)) | None => write!(text, "\"{name}\":null,"),
            };
        }
        text + &format!("\"curl_version\":\"libcurl/{VERSION} toolhost\"}}")
    }

    fn header_json(&self) -> String {
        let headers = &self.outcome.headers;
        let mut names = BTreeSet::new();
        let names = headers
            .entries()
            .iter()
            .map(|(name, _)| name)
            .filter(|name| names.insert(*name));
        let members = names.map(|name| {
            let values = headers.all(name).map(quoted).collect::<Vec<_>>().join(",");
            format!("{}:[{values}]", quoted(name))
        });
        format!("{{{}\n}}", members.collect::<Vec<_>>().join(",\n"))
    }

    /// Returns the text of a format, each part with its stream, and the names that are not known.
    pub(super) fn write(&self, format: &str) -> (Vec<(Stream, String)>, Vec<String>) {
        let mut stream = Stream::Out;
        let mut parts = vec![(stream, String::new())];
        let mut unknown = Vec::new();
        let mut rest = format;
        let push = |parts: &mut Vec<(Stream, String)>, stream, text: &str| match parts.last_mut() {
            Some((last, part)) if *last == stream => part.push_str(text),
            _ => parts.push((stream, text.to_owned())),
        };
        while let Some(at) = rest.find(['%', '\\']) {
            let (before, from) = rest.split_at(at);
            push(&mut parts, stream, before);
            let variable = from
                .strip_prefix("%{")
                .and_then(|from| from.split_once('}'));
            let header = from
                .strip_prefix("%header{")
                .and_then(|from| from.split_once('}'));
            if let Some((name, after)) = header {
                let value = self.outcome.headers.first(&name.to_ascii_lowercase());
                push(&mut parts, stream, value.unwrap_or_default());
                rest = after;
            } else if let Some((name, after)) = variable {
                rest = after;
                match name {
                    "stdout" => stream = Stream::Out,
                    "stderr" => stream = Stream::Err,
                    "onerror" if self.outcome.failure.is_none() => rest = "",
                    "onerror" => {}
                    "json" => push(&mut parts, stream, &self.json()),
                    "header_json" => push(&mut parts, stream, &self.header_json()),
                    "http_connect" => push(&mut parts, stream, "000"),
                    "http_code" | "response_code" => {
                        let code = format!("{:03}", self.outcome.status);
                        push(&mut parts, stream, &code);
                    }
                    name => match self.value(name) {
                        Some(Value::Text(text)) => {
                            push(&mut parts, stream, &text.unwrap_or_default())
                        }
                        Some(Value::Number(number)) => {
                            push(&mut parts, stream, &number.to_string())
                        }
                        Some(Value::Seconds(time)) => push(&mut parts, stream, &seconds(time)),
                        None => unknown.push(name.to_owned()),
                    },
                }
            } else {
                let mut chars = from.chars();
                let (mark, next) = (chars.next(), chars.next());
                let text = match (mark, next) {
                    (Some('%'), Some('%')) => "%".to_owned(),
                    (Some('\\'), Some('n')) => "\n".to_owned(),
                    (Some('\\'), Some('r')) => "\r".to_owned(),
                    (Some('\\'), Some('t')) => "\t".to_owned(),
                    (mark, next) => mark.into_iter().chain(next).collect(),
                };
                push(&mut parts, stream, &text);
                rest = chars.as_str();
            }
        }
        push(&mut parts, stream, rest);
        (parts, unknown)
    }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}

fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            char if u32::from(char) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            char => quoted.push(char),
        }
    }
    quoted + "\""
}
