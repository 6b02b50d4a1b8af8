//! One request and its response, over `wasi:http`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use toolhost_guest::ToolError;
use url::Url;
use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, IncomingBody, IncomingResponse, Method as WasiMethod, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use crate::fault;
use crate::headers::{self, Headers, ResponseHeaders};
use crate::input::Method;
use crate::payload::{Payload, Piece};

/// Bytes that are read from a file at once.
const PIECE: usize = 16 << 10;

/// When to give up.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    until: Instant,
    /// How long that was from the start, for the error.
    timeout: Duration,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        let until = Instant::now() + timeout;
        Self { until, timeout }
    }

    fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) payload: Option<Payload>,
    pub(crate) deadline: Deadline,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: ResponseHeaders,
    pub(crate) body: Body,
}

/// Sends a request, and returns its response as soon as its headers are there.
///
/// # Errors
/// The URL is not an HTTP URL, the host refuses the origin, the network fails, or the time is over.
pub(crate) fn exchange(request: &Request, cookies: Option<&str>) -> Result<Response, ToolError> {
    let fail = |code| fault::http(&request.url, code);
    let outgoing = outgoing(request, cookies)?;
    let body = outgoing
        .body()
        .map_err(|()| fail(ErrorCode::InternalError(None)))?;
    let future = outgoing_handler::handle(outgoing, Some(options(request))).map_err(fail)?;
    send(request, body)?;
    wait(&request.url, request.deadline, &future.subscribe())?;
    let response = match future.get() {
        Some(Ok(response)) => response.map_err(fail)?,
        Some(Err(())) | None => return Err(fail(ErrorCode::InternalError(None))),
    };
    Ok(Response {
        status: response.status(),
        headers: ResponseHeaders::new(&response.headers()),
        body: Body::new(request, response)?,
    })
}

fn outgoing(request: &Request, cookies: Option<&str>) -> Result<OutgoingRequest, ToolError> {
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
    let outgoing = OutgoingRequest::new(headers::fields(&request.headers, cookies)?);
    let set = outgoing
        .set_method(&request.method.to_wasi())
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)));
    set.map_err(|()| fault::http(url, ErrorCode::HttpRequestUriInvalid))?;
    Ok(outgoing)
}

impl Method {
    fn to_wasi(self) -> WasiMethod {
        match self {
            Self::Get => WasiMethod::Get,
            Self::Head => WasiMethod::Head,
            Self::Post => WasiMethod::Post,
            Self::Put => WasiMethod::Put,
            Self::Patch => WasiMethod::Patch,
            Self::Delete => WasiMethod::Delete,
            Self::Options => WasiMethod::Options,
        }
    }
}

/// Sets the timeouts of the host to the timeout of this request.
fn options(request: &Request) -> RequestOptions {
    let left = request.deadline.left();
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
    if let Some(payload) = &request.payload {
        let stream = body
            .write()
            .map_err(|()| fault::http(&request.url, ErrorCode::InternalError(None)))?;
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
            wait(&request.url, request.deadline, &stream.subscribe())?;
            let _ = stream.check_write();
        }
    }
    match OutgoingBody::finish(body, None) {
        // The response says more than the end of what was not read.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns whether the server reads on.
fn write(request: &Request, stream: &OutputStream, bytes: &[u8]) -> Result<bool, ToolError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        wait(&request.url, request.deadline, &stream.subscribe())?;
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
) -> Result<bool, ToolError> {
    let fail = |error| fault::file(path, error);
    let mut file = File::open(path).map_err(fail)?.take(bytes);
    let mut buffer = vec![0; PIECE];
    while file.limit() > 0 {
        let count = file.read(&mut buffer).map_err(fail)?;
        if count == 0 {
            return Err(fault::file_changed(path));
        }
        if !write(request, stream, buffer.get(..count).unwrap_or_default())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The body of a response, as it arrives.
pub(crate) struct Body {
    // Dropped in this order: each belongs to the next.
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    url: Url,
    deadline: Deadline,
    failure: Failure,
}

/// The first failure of the network: a decoder in between may not pass it on as it is.
pub(crate) type Failure = Rc<RefCell<Option<ToolError>>>;

impl Body {
    fn new(request: &Request, response: IncomingResponse) -> Result<Self, ToolError> {
        let fail = |()| fault::http(&request.url, ErrorCode::InternalError(None));
        let body = response.consume().map_err(fail)?;
        Ok(Self {
            stream: body.stream().map_err(fail)?,
            _body: body,
            _response: response,
            url: request.url.clone(),
            deadline: request.deadline,
            failure: Failure::default(),
        })
    }

    /// Returns where the failure will be.
    pub(crate) fn failure(&self) -> Failure {
        Rc::clone(&self.failure)
    }

    fn read_some(&mut self, most: usize) -> Result<Vec<u8>, ToolError> {
        loop {
            wait(&self.url, self.deadline, &self.stream.subscribe())?;
            match self.stream.read(most as u64) {
                // Something else woke it.
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Ok(bytes),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = http_error_code(&error);
                    let code = code
                        .unwrap_or_else(|| ErrorCode::InternalError(Some(error.to_debug_string())));
                    return Err(fault::http(&self.url, code));
                }
            }
        }
    }
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
            Err(error) => {
                *self.failure.borrow_mut() = Some(error.clone());
                Err(io::Error::other(error))
            }
        }
    }
}

/// Waits until something has happened.
///
/// # Errors
/// Time is over first.
fn wait(url: &Url, deadline: Deadline, what: &Pollable) -> Result<(), ToolError> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(fault::timeout(url, deadline.timeout));
    }
    if what.ready() {
        return Ok(());
    }
    let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
    let timer = monotonic_clock::subscribe_duration(nanos);
    if poll(&[what, &timer]).contains(&0) {
        Ok(())
    } else {
        Err(fault::timeout(url, deadline.timeout))
    }
}
