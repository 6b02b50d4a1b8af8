//! Maps the names of the suite to those of the server, and nothing else.
//!
//! The suite prescribes names that this server cannot have: a tool's name has the name of its resource and
//! `__`, and a file of the workdir is `workdir:///PATH`. So requests and responses pass this proxy, which
//! replaces, both ways:
//!
//! | suite | server | in requests | in responses |
//! |---|---|---|---|
//! | tool `NAME` | `fixture__NAME` | `params.name` of `tools/call`, header `Mcp-Name` | every string that begins with `fixture__` |
//! | `test://PATH` | `workdir:///PATH` | every string that begins so, header `Mcp-Name` | every such URI |
//!
//! One tool stands for an act of the operator: before the call of [`TRIGGER`] is passed on, the file of the
//! bundle is changed, and the server, which watches it, notices. All else is as the suite and the server
//! send it: methods, headers, statuses, the order and the number of messages. Each request has a connection
//! of its own, over HTTP/1.0 to the server, so that responses come without chunks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::Value;

use super::Result;
use super::fixture::Fixture;
use super::http_message::{read_body, read_head};

const PREFIX: &str = "fixture__";
const SUITE_SCHEME: &str = "test://";
const SERVER_SCHEME: &str = "workdir:///";

/// Where a call has the name of its tool.
const TOOL: &str = "/params/name";

/// The tool that changes the list of tools.
const TRIGGER: &str = "test_trigger_tool_change";

/// Listens until the program ends.
pub(crate) struct Proxy {
    address: SocketAddr,
}

impl Proxy {
    pub(crate) fn start(server: SocketAddr, fixture: Fixture) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let fixture = fixture.clone();
                thread::spawn(move || {
                    // A client or a server that has left ends the exchange.
                    let _is_answered = exchange(client, server, &fixture).is_ok();
                });
            }
        });
        Ok(Self { address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Passes one request on, and its response back.
fn exchange(mut client: TcpStream, server: SocketAddr, fixture: &Fixture) -> Result<()> {
    let mut requests = BufReader::new(client.try_clone()?);
    let mut head = read_head(&mut requests)?;
    let body = read_body(&mut requests, &head)?;
    let request = Request::parse(&body);
    if request.tool() == Some(TRIGGER) {
        fixture.change_tools()?;
    }
    head.map_value("mcp-name", |name| request.header_name(name));
    let body = request.body(&body);
    head.set_version_of_request("HTTP/1.0");
    head.set_length(body.len());
    let mut upstream = TcpStream::connect(server)?;
    upstream.write_all(&head.to_bytes())?;
    upstream.write_all(&body)?;
    // A client that leaves ends the request.
    let (mut rest, end) = (requests, upstream.try_clone()?);
    thread::spawn(move || {
        let _is_gone = rest.read(&mut [0]);
        let _is_open = end.shutdown(Shutdown::Both).is_ok();
    });
    let mut responses = BufReader::new(upstream);
    let mut head = read_head(&mut responses)?;
    head.set_version_of_response("HTTP/1.1");
    head.set_close();
    client.write_all(&head.to_bytes())?;
    // Each message is in one line.
    let mut line = Vec::new();
    while responses.read_until(b'\n', &mut line)? > 0 {
        client.write_all(&for_suite(&line))?;
        line.clear();
    }
    client.shutdown(Shutdown::Both)?;
    Ok(())
}

/// A message of the suite.
struct Request {
    message: Option<Value>,
}

impl Request {
    fn parse(body: &[u8]) -> Self {
        Self {
            message: serde_json::from_slice(body).ok(),
        }
    }

    /// The tool that it calls.
    fn tool(&self) -> Option<&str> {
        let message = self.message.as_ref()?;
        let is_call = message["method"] == "tools/call";
        message.pointer(TOOL)?.as_str().filter(|_| is_call)
    }

    /// The value of the header `Mcp-Name`: spaces around it stay.
    fn header_name(&self, value: &str) -> String {
        let name = value.trim();
        let mapped = match name.strip_prefix(SUITE_SCHEME) {
            Some(path) => format!("{SERVER_SCHEME}{path}"),
            None if self.tool().is_some() => format!("{PREFIX}{name}"),
            None => name.to_owned(),
        };
        value.replacen(name, &mapped, 1)
    }

    /// The body for the server.
    fn body(&self, body: &[u8]) -> Vec<u8> {
        let renamed = self.tool().map(|name| format!("{PREFIX}{name}"));
        let mut message = self.message.clone();
        let name = message
            .as_mut()
            .and_then(|message| message.pointer_mut(TOOL));
        let body = match (name, renamed) {
            (Some(name), Some(renamed)) => {
                *name = Value::String(renamed);
                message.unwrap_or_default().to_string().into_bytes()
            }
            _ => body.to_vec(),
        };
        replaced(
            &body,
            &format!("\"{SUITE_SCHEME}"),
            &format!("\"{SERVER_SCHEME}"),
        )
    }
}

/// A line of a response for the suite.
fn for_suite(line: &[u8]) -> Vec<u8> {
    let line = replaced(line, &format!("\"{PREFIX}"), "\"");
    replaced(&line, SERVER_SCHEME, SUITE_SCHEME)
}

/// Replaces a text. Bytes that are not UTF-8 stay as they are.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace(from, to).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_names_are_mapped() {
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"name": "a"}}});
        let call = Request::parse(call.to_string().as_bytes());
        let mapped: Value = serde_json::from_slice(&call.body(b"")).unwrap();
        assert_eq!(
            mapped["params"],
            json!({"name": "fixture__a", "arguments": {"name": "a"}})
        );
        assert_eq!(call.header_name("  b "), "  fixture__b ");
        let read = br#"{"method": "resources/read", "params": {"uri": "test://a/b"}}"#;
        let request = Request::parse(read);
        assert_eq!(request.header_name("test://a/b"), "workdir:///a/b");
        let body = String::from_utf8(request.body(read)).unwrap();
        assert_eq!(
            body,
            r#"{"method": "resources/read", "params": {"uri": "workdir:///a/b"}}"#
        );
        assert_eq!(Request::parse(b"no JSON").body(b"no JSON"), b"no JSON");
        let line = br#"data: {"name":"fixture__a","uri":"workdir:///x"}"#;
        assert_eq!(for_suite(line), br#"data: {"name":"a","uri":"test://x"}"#);
    }
}
