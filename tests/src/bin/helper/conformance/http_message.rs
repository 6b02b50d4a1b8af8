//! Heads and bodies of HTTP/1 messages.

use std::io::{BufRead, Read};

use super::Result;

/// Largest head and body, in bytes.
const HEAD_BYTES_MAX: u64 = 64 << 10;
const BODY_BYTES_MAX: u64 = 16 << 20;

/// The first line and the headers of a message.
pub(crate) struct Head {
    first: String,
    headers: Vec<(String, String)>,
}

/// Reads a head, with its empty line.
pub(crate) fn read_head(from: &mut impl BufRead) -> Result<Head> {
    let mut lines = Vec::new();
    let mut limited = from.take(HEAD_BYTES_MAX);
    loop {
        let mut line = String::new();
        limited.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some("") => break,
            Some(line) => lines.push(line.to_owned()),
            None => return Err("the head of a message is incomplete".into()),
        }
    }
    let mut lines = lines.into_iter();
    let first = lines.next().ok_or("a message has no first line")?;
    let header = |line: String| {
        let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
        Ok((name.to_owned(), value.to_owned()))
    };
    let headers: Result<_> = lines.map(header).collect();
    Ok(Head {
        first,
        headers: headers?,
    })
}

/// Reads the body of a request: as many bytes as its head states.
pub(crate) fn read_body(from: &mut impl BufRead, head: &Head) -> Result<Vec<u8>> {
    let length = head
        .value("content-length")
        .map_or(Ok(0), |text| text.trim().parse())?;
    if length > BODY_BYTES_MAX || head.value("transfer-encoding").is_some() {
        return Err("the body of a request is too large, or in chunks".into());
    }
    let mut body = Vec::new();
    from.take(length).read_to_end(&mut body)?;
    Ok(body)
}

impl Head {
    fn value(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    fn remove(&mut self, name: &str) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// Replaces the values of a header.
    pub(crate) fn map_value(&mut self, name: &str, map: impl Fn(&str) -> String) {
        for (known, value) in &mut self.headers {
            if known.eq_ignore_ascii_case(name) {
                *value = map(value);
            }
        }
    }

    pub(crate) fn set_version_of_request(&mut self, version: &str) {
        if let Some((request, _)) = self.first.rsplit_once(' ') {
            self.first = format!("{request} {version}");
        }
    }

    pub(crate) fn set_version_of_response(&mut self, version: &str) {
        if let Some((_, status)) = self.first.split_once(' ') {
            self.first = format!("{version} {status}");
        }
    }

    pub(crate) fn set_length(&mut self, bytes: usize) {
        if self.value("content-length").is_some() {
            self.map_value("content-length", |_| format!(" {bytes}"));
        }
        self.remove("connection");
    }

    /// The end of the connection is the end of the body.
    pub(crate) fn set_close(&mut self) {
        self.remove("content-length");
        self.remove("connection");
        self.headers
            .push(("Connection".to_owned(), " close".to_owned()));
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}\r\n"));
        let headers: String = headers.collect();
        format!("{}\r\n{headers}\r\n", self.first).into_bytes()
    }
}
