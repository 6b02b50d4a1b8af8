//! A collector on loopback that receives OTLP over HTTP/1.1 and records the requests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;

/// The timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Collector {
    pub(crate) url: String,
    requests: Receiver<Request>,
}

pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) spans: Vec<ResourceSpans>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(&stream.unwrap(), &sender));
            }
        });
        Self { url, requests }
    }

    /// Waits for the next request.
    pub(crate) fn next(&self) -> Request {
        self.requests.recv_timeout(TIMEOUT).unwrap()
    }
}

/// Answers the requests of one connection until it is closed.
fn serve(stream: &TcpStream, sender: &Sender<Request>) {
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let answer = ExportTraceServiceResponse::default().encode_to_vec();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if sender.send(request).is_err() {
            return;
        }
        let mut to = stream;
        to.write_all(head.as_bytes()).unwrap();
        to.write_all(&answer).unwrap();
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    // The connection is closed, or the timeout has passed.
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return None;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers["content-length"].parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    Some(Request {
        line: line.trim_end().to_owned(),
        headers,
        spans: request.resource_spans,
    })
}

/// Returns the attributes as text, by name.
pub(crate) fn attributes(of: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|v| v.value.as_ref())
    {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    of.iter().map(|a| (a.key.as_str(), text(a))).collect()
}

/// Formats an id in hexadecimal.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
