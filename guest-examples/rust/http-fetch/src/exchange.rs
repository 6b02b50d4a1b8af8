//! One request and its response, over `wasi:http`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use toolhost_guest::ToolError;
use url::Url;
use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use crate::fault;
use crate::headers::{self, Headers};

/// Bytes that are read or written at once; the contract lets one write have 4096.
const PIECE: usize = 4096;

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Option<Vec<u8>>,
    /// When to give up.
    pub(crate) until: Instant,
    /// How long that was from the start, for the error.
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: usize,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// The body is longer than what was read of it.
    pub(crate) truncated: bool,
}

/// Sends a request and reads its response.
///
/// # Errors
/// The URL is not an HTTP URL, the host refuses the origin, the network fails, or the time is over.
pub(crate) fn exchange(request: &Request) -> Result<Response, ToolError> {
    let fail = |code| fault::http(&request.url, code);
    let outgoing = outgoing(request)?;
    let body = outgoing
        .body()
        .map_err(|()| fail(ErrorCode::InternalError(None)))?;
    let future = outgoing_handler::handle(outgoing, Some(options(request))).map_err(fail)?;
    send(request, body)?;
    wait(request, &future.subscribe())?;
    let response = match future.get() {
        Some(Ok(response)) => response.map_err(fail)?,
        Some(Err(())) | None => return Err(fail(ErrorCode::InternalError(None))),
    };
    let status = response.status();
    let headers = headers::of_response(&response.headers());
    let (body, truncated) = receive(request, &response)?;
    Ok(Response {
        status,
        headers,
        body,
        truncated,
    })
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, ToolError> {
    let url = &request.url;
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(fault::scheme(url)),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault::credentials(url));
    }
    let host = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let outgoing = OutgoingRequest::new(headers::fields(&request.headers)?);
    let set = outgoing
        .set_method(&request.method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)));
    set.map_err(|()| fault::http(url, ErrorCode::HttpRequestUriInvalid))?;
    Ok(outgoing)
}

/// Sets the timeouts of the host to the timeout of this request.
fn options(request: &Request) -> RequestOptions {
    let left = request.until.saturating_duration_since(Instant::now());
    let left = Some(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX).max(1));
    let options = RequestOptions::new();
    // A host that does not have one of them has a deadline all the same.
    let _ = options.set_connect_timeout(left);
    let _ = options.set_first_byte_timeout(left);
    let _ = options.set_between_bytes_timeout(left);
    options
}

/// Writes the body, and says that it is complete. A server that answers early need not read it.
fn send(request: &Request, body: OutgoingBody) -> Result<(), ToolError> {
    if let Some(bytes) = &request.body {
        let stream = body
            .write()
            .map_err(|()| fault::http(&request.url, ErrorCode::InternalError(None)))?;
        write(request, &stream, bytes)?;
    }
    match OutgoingBody::finish(body, None) {
        // The response says more than the end of what was not read.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write(request: &Request, stream: &OutputStream, bytes: &[u8]) -> Result<(), ToolError> {
    for piece in bytes.chunks(PIECE) {
        let mut rest = piece;
        while !rest.is_empty() {
            wait(request, &stream.subscribe())?;
            let Ok(room) = stream.check_write() else {
                return Ok(());
            };
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at(room);
            if stream.write(now).is_err() {
                return Ok(());
            }
            rest = later;
        }
    }
    if stream.flush().is_ok() {
        wait(request, &stream.subscribe())?;
        let _ = stream.check_write();
    }
    Ok(())
}

fn receive(request: &Request, response: &IncomingResponse) -> Result<(Vec<u8>, bool), ToolError> {
    let fail = || fault::http(&request.url, ErrorCode::InternalError(None));
    let body: IncomingBody = response.consume().map_err(|()| fail())?;
    let stream = body.stream().map_err(|()| fail())?;
    let mut bytes = Vec::new();
    // One byte more tells whether there is more.
    while bytes.len() <= request.max_bytes {
        wait(request, &stream.subscribe())?;
        match read(&stream) {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(StreamError::Closed) => return Ok((bytes, false)),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = http_error_code(&error);
                let text = error.to_debug_string();
                return Err(fault::http(
                    &request.url,
                    code.unwrap_or(ErrorCode::InternalError(Some(text))),
                ));
            }
        }
    }
    Ok((bytes, true))
}

fn read(stream: &InputStream) -> Result<Vec<u8>, StreamError> {
    stream.read(16 * PIECE as u64)
}

/// Waits until something has happened.
///
/// # Errors
/// Time is over first.
fn wait(request: &Request, what: &Pollable) -> Result<(), ToolError> {
    if what.ready() {
        return Ok(());
    }
    let left = request.until.saturating_duration_since(Instant::now());
    let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
    let timer = monotonic_clock::subscribe_duration(nanos);
    if poll(&[what, &timer]).contains(&0) {
        Ok(())
    } else {
        Err(fault::timeout(&request.url, request.timeout))
    }
}
