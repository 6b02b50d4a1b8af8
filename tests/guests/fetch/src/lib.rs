//! Sends HTTP requests. Input `{url, method?, headers?: {name: value | [value]}, body?, bodyBytes?,
//! follow?, times?, atOnce?, read?, connectMs?, firstByteMs?, betweenBytesMs?, hold?, respond?, first?, write?, then?}`.
//!
//! Sends the same request `times` times, `atOnce` concurrently; follows up to `follow` redirects; reads
//! `read` bytes of each body, or all. Output `{answers: […]}`, each `{url, status, headers, body,
//! bytes, failed?}` or `{url, error}`; `body` is its first 4,096 bytes as text, and `failed` the error of
//! reading it. `hold`: before that, creates that many requests that are never sent, each with
//! a started body; `respond`: creates a response. `first`: before that, gets that URL, and sends what it answered, the
//! time and random numbers as the body. `write`: before all, writes that file. `then`: `panic` at the end.

mod wit;

use std::hash::{BuildHasher, RandomState};

use guest_glue::{ToolError, Value, json, number, text};
use wit::wasi::http::outgoing_handler;
use wit::wasi::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
    OutgoingBody, OutgoingRequest, OutgoingResponse, RequestOptions, Scheme,
};
use wit::wasi::io::streams::StreamError;

/// Bytes of a body in the output.
const BODY_BYTES: usize = 4096;

guest_glue::serve!(run);

fn run(mut input: Value) -> Result<Value, ToolError> {
    if let Some(path) = input["write"].as_str() {
        std::fs::write(path, "written").map_err(|why| guest_glue::error(why.to_string()))?;
    }
    if let Some(first) = input["first"].as_str().map(str::to_owned) {
        let answer = answer(&first, send(&first, &json!({})), &input);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.unwrap_or_default().as_nanos();
        let random = RandomState::new().hash_one(0);
        input["body"] = format!("{} {nanos} {random}", answer["body"]).into();
    }
    let times = number(&input, "times").unwrap_or(1);
    let at_once = number(&input, "atOnce").unwrap_or(1).max(1);
    let url = text(&input, "url", "");
    let held = (0..number(&input, "hold").unwrap_or(0)).map(|_| {
        let request = request(url, &input)?;
        let body = request.body().map_err(|()| "body")?;
        Ok((body, request))
    });
    let _held = held
        .collect::<Result<Vec<_>, String>>()
        .map_err(guest_glue::error)?;
    if input["respond"] == true {
        OutgoingResponse::new(Fields::new());
    }
    let mut answers = Vec::new();
    let mut left = times;
    while left > 0 {
        let batch: Vec<_> = (0..left.min(at_once)).map(|_| send(url, &input)).collect();
        left -= batch.len() as u64;
        let waited = batch.into_iter().map(|sent| answer(url, sent, &input));
        answers.extend(waited.collect::<Vec<_>>());
    }
    if text(&input, "then", "") == "panic" {
        panic!("nothing came of it");
    }
    Ok(json!({"answers": answers}))
}

/// Makes a request.
fn request(url: &str, input: &Value) -> Result<OutgoingRequest, String> {
    let headers = Fields::new();
    for (name, value) in input["headers"].as_object().into_iter().flatten() {
        let values = value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            let value = value.as_str().unwrap_or_default();
            let set = headers.append(name, value.as_bytes());
            set.map_err(|why| format!("header {name}: {why:?}"))?;
        }
    }
    let request = OutgoingRequest::new(headers);
    let (scheme, rest) = url.split_once("://").ok_or("no scheme")?;
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let method = match text(input, "method", "GET") {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        other => Method::Other(other.to_owned()),
    };
    request.set_method(&method).map_err(|()| "method")?;
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request
        .set_authority(Some(authority))
        .map_err(|()| "authority")?;
    request
        .set_path_with_query(Some(path))
        .map_err(|()| "path")?;
    Ok(request)
}

/// Starts a request.
fn send(url: &str, input: &Value) -> Result<FutureIncomingResponse, String> {
    let request = request(url, input)?;
    let options = RequestOptions::new();
    let nanos = |key| number(input, key).map(|ms| ms * 1_000_000);
    options
        .set_connect_timeout(nanos("connectMs"))
        .map_err(|()| "options")?;
    options
        .set_first_byte_timeout(nanos("firstByteMs"))
        .map_err(|()| "options")?;
    options
        .set_between_bytes_timeout(nanos("betweenBytesMs"))
        .map_err(|()| "options")?;

    let body = input["body"].as_str().map(|body| body.as_bytes().to_vec());
    let many = number(input, "bodyBytes");
    if body.is_none() && many.is_none() {
        return outgoing_handler::handle(request, Some(options)).map_err(to_text);
    }
    let outgoing = request.body().map_err(|()| "body")?;
    let answer = outgoing_handler::handle(request, Some(options)).map_err(to_text)?;
    // If the server closes the connection, its response has the more useful error.
    let _sent = write(outgoing, &body.unwrap_or_default(), many.unwrap_or(0));
    Ok(answer)
}

fn write(outgoing: OutgoingBody, body: &[u8], many: u64) -> Result<(), String> {
    let stream = outgoing.write().map_err(|()| "stream")?;
    let failed = |why: StreamError| format!("{why:?}");
    for piece in body.chunks(4096) {
        stream.blocking_write_and_flush(piece).map_err(failed)?;
    }
    let mut left = many;
    while left > 0 {
        let piece = left.min(4096) as usize;
        stream
            .blocking_write_and_flush(&[b'x'; 4096][..piece])
            .map_err(failed)?;
        left -= piece as u64;
    }
    drop(stream);
    OutgoingBody::finish(outgoing, None).map_err(to_text)
}

/// Waits for a response, reads it, and follows redirects.
fn answer(url: &str, sent: Result<FutureIncomingResponse, String>, input: &Value) -> Value {
    let mut url = url.to_owned();
    let mut sent = sent;
    let mut left = number(input, "follow").unwrap_or(0);
    loop {
        let response = match sent.and_then(|sent| wait(&sent)) {
            Ok(response) => response,
            Err(error) => return json!({"url": url, "error": error}),
        };
        let location = response.headers().get("location").into_iter().next();
        let location = location.map(|it| String::from_utf8_lossy(&it).into_owned());
        match location {
            Some(next) if left > 0 => {
                left -= 1;
                url = next;
                sent = send(&url, input);
            }
            _ => return read(&url, response, number(input, "read").unwrap_or(u64::MAX)),
        }
    }
}

fn wait(sent: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    loop {
        match sent.get() {
            Some(Ok(answer)) => return answer.map_err(to_text),
            Some(Err(())) => return Err("taken".to_owned()),
            None => sent.subscribe().block(),
        }
    }
}

fn read(url: &str, response: IncomingResponse, most: u64) -> Value {
    let headers: Vec<Value> = response
        .headers()
        .entries()
        .into_iter()
        .map(|(name, value)| json!([name, String::from_utf8_lossy(&value)]))
        .collect();
    let status = response.status();
    let body: IncomingBody = response.consume().expect("a body");
    let stream = body.stream().expect("a stream");
    let (mut bytes, mut head, mut failed) = (0u64, Vec::new(), Value::Null);
    while bytes < most {
        match stream.blocking_read((most - bytes).min(65_536)) {
            Ok(piece) => {
                bytes += piece.len() as u64;
                let kept = BODY_BYTES.saturating_sub(head.len()).min(piece.len());
                head.extend_from_slice(&piece[..kept]);
            }
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wit::wasi::http::types::http_error_code(&error);
                failed = code
                    .map(to_text)
                    .unwrap_or_else(|| error.to_debug_string())
                    .into();
                break;
            }
        }
    }
    drop(stream);
    let body = String::from_utf8_lossy(&head).into_owned();
    json!({"url": url, "status": status, "headers": headers, "body": body, "bytes": bytes, "failed": failed})
}

fn to_text(code: ErrorCode) -> String {
    format!("{code:?}")
}
