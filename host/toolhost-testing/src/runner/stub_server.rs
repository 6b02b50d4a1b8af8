//! Answers the HTTP requests of one case from the case itself, on loopback. No request reaches the
//! network.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::case::StubResponse;

/// Status of a request without an answer. No real server sends it.
const UNANSWERED: u16 = 599;

/// Most requests without an answer that are reported.
const UNANSWERED_MAX: usize = 20;

/// A server with the answers of a case. Stops when dropped.
#[derive(Debug)]
pub(super) struct StubServer {
    address: SocketAddr,
    answers: Arc<Answers>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Answers {
    responses: Vec<StubResponse>,
    log: Mutex<RequestLog>,
}

#[derive(Debug)]
struct RequestLog {
    /// Which answers have been sent.
    sent: Vec<bool>,
    unanswered: Vec<String>,
}

impl StubServer {
    /// Starts a server with these answers.
    pub(super) async fn start(answers: Vec<StubResponse>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let answers = Arc::new(Answers {
            log: Mutex::new(RequestLog {
                sent: vec![false; answers.len()],
                unanswered: Vec::new(),
            }),
            responses: answers,
        });
        Ok(Self {
            address: listener.local_addr()?,
            serving: tokio::spawn(serve(listener, Arc::clone(&answers))),
            answers,
        })
    }

    /// The address that it listens on.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests that had no answer, such as `GET api.example.com/x`.
    pub(super) fn unanswered(&self) -> Vec<String> {
        self.answers.log().unanswered.clone()
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Serves connections until the task is aborted.
async fn serve(listener: TcpListener, answers: Arc<Answers>) {
    let mut connections = JoinSet::new();
    loop {
        // One failed connection does not end the server.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let answers = Arc::clone(&answers);
        connections.spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&answers), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // The tool may close the connection early.
            let _served = connection.await.is_ok();
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    answers: Arc<Answers>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, mut body) = request.into_parts();
    // A client that is answered before it has sent its body may report a failure.
    while let Some(Ok(_)) = body.frame().await {}
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().to_ascii_lowercase();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let method = head.method.as_str();
    let Some(stub) = answers.next(method, &host, path) else {
        let line = format!("{method} {host}{path}");
        let text = format!("no answer in the case's `http` for {line}\n");
        let mut log = answers.log();
        if log.unanswered.len() < UNANSWERED_MAX {
            log.unanswered.push(line);
        }
        return Ok(response(UNANSWERED, text.into_bytes()));
    };
    tokio::time::sleep(Duration::from_millis(stub.delay_ms)).await;
    let mut response = response(stub.status, stub.body.clone());
    for (name, value) in &stub.headers {
        // Both were checked when the case file was read.
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(value.as_bytes()),
        ) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

fn response(status: u16, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response
}

impl Answers {
    fn log(&self) -> MutexGuard<'_, RequestLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer to a request: the first that fits and was not sent yet, else the last that fits.
    fn next(&self, method: &str, host: &str, path: &str) -> Option<&StubResponse> {
        let fits = |answer: &StubResponse| {
            answer
                .method
                .as_deref()
                .is_none_or(|expected| expected == method)
                && answer.authority == host
                && answer.path == path
        };
        let mut last = None;
        for (answer, sent) in self.responses.iter().zip(&mut self.log().sent) {
            if fits(answer) {
                last = Some(answer);
                if !std::mem::replace(sent, true) {
                    break;
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_request_is_read_to_its_end_before_it_is_answered() {
        const BODY: usize = 4 << 20;
        let answer = StubResponse {
            method: None,
            authority: "a.example".to_owned(),
            path: "/".to_owned(),
            status: 200,
            headers: Vec::new(),
            body: b"fine".to_vec(),
            delay_ms: 0,
        };
        let server = StubServer::start(vec![answer]).await.unwrap();
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\ncontent-length: {BODY}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; BODY]).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(
            response.starts_with("HTTP/1.1 200") && response.ends_with("fine"),
            "{response}"
        );
    }
}
