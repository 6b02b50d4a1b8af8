//! Receives the answer of an authorization: one request of a browser to a port of loopback.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::failure::Failure;

/// Largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// Time for one request.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Connections that are read at once; further ones wait.
pub(super) const CONNECTIONS_MAX: usize = 16;

/// Listens on 127.0.0.1 alone.
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
    path: Arc<str>,
}

impl Callback {
    /// Listens on a port, for answers at a path; 0: any port.
    pub(super) async fn listen(port: u16, path: &str) -> Result<Self, Failure> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = bound.with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            path: path.into(),
        })
    }

    /// Returns the URL to which the authorization server sends the browser.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    /// Waits for the answer to the authorization that `url` begins. Returns its path and query.
    pub(super) async fn receive(&self, url: &str) -> Result<String, String> {
        let state = parameter(url, "state").ok_or("the URL has no state")?;
        let state: Arc<str> = state.into();
        let mut readers: JoinSet<Option<String>> = JoinSet::new();
        loop {
            tokio::select! {
                Some(target_result) = readers.join_next() => {
                    if let Ok(Some(target)) = target_result {
                        return Ok(target);
                    }
                }
                accepted = self.listener.accept(), if readers.len() < CONNECTIONS_MAX => {
                    let (stream, _) = accepted.map_err(|error| error.to_string())?;
                    let (path, state) = (Arc::clone(&self.path), Arc::clone(&state));
                    readers.spawn(async move {
                        timeout(REQUEST_TIME, receive(stream, &path, &state)).await.ok().flatten()
                    });
                }
            }
        }
    }
}

/// Reads a request. Returns its path and query if it is the answer: others get an error page, and do not
/// end the waiting.
async fn receive(mut stream: TcpStream, path: &str, state: &str) -> Option<String> {
    let head = read_head(&mut stream).await?;
    let target = target(&head, path, state);
    let (status, words) = match target {
        Some(_) => (
            "200 OK",
            "The answer was received. Close this page; the terminal has the result.",
        ),
        None => (
            "400 Bad Request",
            "This is not the answer to the authorization that was asked for.",
        ),
    };
    write_page(&mut stream, status, words).await;
    target
}

/// Reads the head of a request. Returns none if it is not complete, or too large.
pub(super) async fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() >= HEAD_MAX || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Answers a request with a page of text.
pub(super) async fn write_page(stream: &mut TcpStream, status: &str, words: &str) {
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{words}",
        words.len()
    );
    let _is_written = stream.write_all(page.as_bytes()).await.is_ok();
    let _is_closed = stream.shutdown().await.is_ok();
}

/// Returns the path and the query of a GET request.
pub(super) fn path_and_query(head: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(head).ok()?.lines().next()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    target.split_once('?')
}

/// Returns the path and query of a request for the callback, if it has the state.
fn target(head: &[u8], expected: &str, state: &str) -> Option<String> {
    let (path, query) = path_and_query(head)?;
    let target = format!("{path}?{query}");
    let is_answer = path == expected && parameter(&target, "state") == Some(state);
    is_answer.then_some(target)
}

/// Returns a parameter of a URL, as it is written there. The state has no characters that are escaped.
fn parameter<'u>(url: &'u str, name: &str) -> Option<&'u str> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_callback_with_the_state_is_the_answer() {
        let of = |line: &str| {
            target(
                format!("{line}\r\nHost: x\r\n\r\n").as_bytes(),
                "/callback",
                "s-1_A",
            )
        };
        let answer = "/callback?code=c&state=s-1_A&iss=https%3A%2F%2Fa.example";
        let line = format!("GET {answer} HTTP/1.1");
        assert_eq!(of(&line).as_deref(), Some(answer));
        for line in [
            "GET /callback?code=c&state=s-1 HTTP/1.1",
            "GET /callback?code=c HTTP/1.1",
            "GET /callback HTTP/1.1",
            "GET /?state=s-1_A HTTP/1.1",
            "POST /callback?state=s-1_A HTTP/1.1",
            "GET /callback?xstate=s-1_A HTTP/1.1",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
