//! One request and its response, over `wasi:http`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use url::Url;
use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::error::Error as IoError;
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use crate::fault::Fault;
use crate::headers::{self, Headers, ResponseHeaders};
use crate::payload::{Payload, Piece};

/// Bytes that are read from a file at once.
const PIECE: usize = 16 << 10;

/// When to give up.
#[derive(Clone, Copy)]
pub struct Deadline {
    until: Instant,
    /// How long that was from the start, for the error.
    timeout: Duration,
}

impl Deadline {
    pub fn after(timeout: Duration) -> Self {
        let until = Instant::now() + timeout;
        Self { until, timeout }
    }

    pub fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: Headers,
    pub payload: Option<Payload>,
    pub deadline: Deadline,
    /// The host's limit for the connection, if it is shorter than the time that is left.
    pub connect_timeout: Option<Duration>,
}

pub struct Response {
    pub status: u16,
    pub headers: ResponseHeaders,
    pub body: Body,
}

impl Response {
    /// Returns the location of a redirect.
    pub fn redirect(&self) -> Option<&str> {
        let redirects = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.headers.first("location").filter(|_| redirects)
    }
}

/// Sends a request, and returns its response as soon as its headers are there.
///
/// # Errors
/// The URL is not an HTTP URL, the host refuses the request, the network fails, or the time is over.
pub fn exchange(request: &Request, cookies: Option<&str>) -> Result<Response, Fault> {
    let outgoing = outgoing(request, cookies)?;
    let body = outgoing.body().map_err(|()| internal())?;
    let future = outgoing_handler::handle(outgoing, Some(options(request))).map_err(Fault::Http)?;
    send(request, body)?;
    wait(request.deadline, &future.subscribe())?;
    let response = match future.get() {
        Some(Ok(response)) => response.map_err(Fault::Http)?,
        Some(Err(())) | None => return Err(internal()),
    };
    Ok(Response {
        status: response.status(),
        headers: ResponseHeaders::new(&response.headers()),
        body: Body::new(request, response)?,
    })
}

fn internal() -> Fault {
    Fault::Http(ErrorCode::InternalError(None))
}

fn outgoing(request: &Request, cookies: Option<&str>) -> Result<OutgoingRequest, Fault> {
    let url = &request.url;
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let host = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let outgoing = OutgoingRequest::new(headers::fields(&request.headers, cookies)?);
    let set = outgoing
        .set_method(&request.method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)));
    set.map_err(|()| Fault::Http(ErrorCode::HttpRequestUriInvalid))?;
    Ok(outgoing)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// Sets the timeouts of the host to the timeout of this request.
fn options(request: &Request) -> RequestOptions {
    let left = Some(nanos(request.deadline.left()));
    let options = RequestOptions::new();
    let connect = request.connect_timeout.map(nanos);
    // A host that does not have one of them has a deadline all the same.
    let _ = options.set_connect_timeout(left.min(connect.or(left)));
    let _ = options.set_first_byte_timeout(left);
    let _ = options.set_between_bytes_timeout(left);
    options
}

/// Writes the body, and says that it is complete. A server that answers early need not read it.
fn send(request: &Request, body: OutgoingBody) -> Result<(), Fault> {
    if let Some(payload) = &request.payload {
        let stream = body.write().map_err(|()| internal())?;
        for piece in &payload.pieces {
            let is_read = match piece {
                Piece::Bytes(bytes) => write(request, &stream, bytes)?,
                Piece::File(path, bytes) => write_file(request, &stream, path, *bytes)?,
            };
            if !is_read {
                break;
            }
        }
        if stream.flush().is_ok() {
            wait(request.deadline, &stream.subscribe())?;
            let _ = stream.check_write();
        }
    }
    match OutgoingBody::finish(body, None) {
        // The response says more than the end of what was not read.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns whether the server reads on.
fn write(request: &Request, stream: &OutputStream, bytes: &[u8]) -> Result<bool, Fault> {
    let mut rest = bytes;
    while !rest.is_empty() {
        wait(request.deadline, &stream.subscribe())?;
        let Ok(room) = stream.check_write() else {
            return Ok(false);
        };
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(rest.len());
        let (now, later) = rest.split_at(room);
        if stream.write(now).is_err() {
            return Ok(false);
        }
        rest = later;
    }
    Ok(true)
}

fn write_file(
    request: &Request,
    stream: &OutputStream,
    path: &str,
    bytes: u64,
) -> Result<bool, Fault> {
    let fail = |error| Fault::File {
        path: path.to_owned(),
        error,
    };
    let mut file = File::open(path).map_err(fail)?.take(bytes);
    let mut buffer = vec![0; PIECE];
    while file.limit() > 0 {
        let count = file.read(&mut buffer).map_err(fail)?;
        if count == 0 {
            return Err(Fault::FileChanged(path.to_owned()));
        }
        if !write(request, stream, buffer.get(..count).unwrap_or_default())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The body of a response, as it arrives.
pub struct Body {
    // Dropped in this order: each belongs to the next.
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    deadline: Deadline,
    failure: Failure,
}

/// The first failure of the network: a decoder in between may not pass it on as it is.
pub type Failure = Rc<RefCell<Option<Fault>>>;

impl Body {
    fn new(request: &Request, response: IncomingResponse) -> Result<Self, Fault> {
        let body = response.consume().map_err(|()| internal())?;
        Ok(Self {
            stream: body.stream().map_err(|()| internal())?,
            _body: body,
            _response: response,
            deadline: request.deadline,
            failure: Failure::default(),
        })
    }

    /// Returns where the failure will be.
    pub fn failure(&self) -> Failure {
        Rc::clone(&self.failure)
    }

    fn read_some(&mut self, most: usize) -> Result<Vec<u8>, Fault> {
        loop {
            wait(self.deadline, &self.stream.subscribe())?;
            match self.stream.read(most as u64) {
                // Something else woke it.
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Ok(bytes),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(Fault::Http(code_of(&error)));
                }
            }
        }
    }
}

/// The code of an error of a body. Hosts on wasmtime-wasi-http 48 say it only in words.
fn code_of(error: &IoError) -> ErrorCode {
    http_error_code(error).unwrap_or_else(|| {
        let words = error.to_debug_string();
        match words.as_str() {
            "connection read timeout" => ErrorCode::ConnectionReadTimeout,
            "connection terminated" => ErrorCode::ConnectionTerminated,
            "incomplete HTTP response" => ErrorCode::HttpResponseIncomplete,
            _ => ErrorCode::InternalError(Some(words)),
        }
    })
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.read_some(buffer.len()) {
            Ok(bytes) => {
                for (place, byte) in buffer.iter_mut().zip(&bytes) {
                    *place = *byte;
                }
                Ok(bytes.len())
            }
            Err(fault) => {
                *self.failure.borrow_mut() = Some(fault);
                Err(io::Error::other("the exchange failed"))
            }
        }
    }
}

/// Waits until something has happened.
///
/// # Errors
/// Time is over first.
fn wait(deadline: Deadline, what: &Pollable) -> Result<(), Fault> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(Fault::Timeout(deadline.timeout));
    }
    if what.ready() {
        return Ok(());
    }
    let timer = monotonic_clock::subscribe_duration(nanos(left));
    if poll(&[what, &timer]).contains(&0) {
        Ok(())
    } else {
        Err(Fault::Timeout(deadline.timeout))
    }
}
