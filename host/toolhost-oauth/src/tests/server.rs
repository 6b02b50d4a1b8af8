//! A server on loopback that records requests, and answers them as a test wants.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oauth2::url::form_urlencoded;

/// A request with its form.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) head: String,
    pub(super) form: BTreeMap<String, String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) body: String,
    /// Time before the answer is sent.
    pub(super) after: Duration,
}

pub(super) fn json(status: u16, body: impl Into<String>) -> Answer {
    Answer {
        status,
        headers: "content-type: application/json\r\n".to_owned(),
        body: body.into(),
        after: Duration::ZERO,
    }
}

/// The server. Its threads end with the process.
pub(super) struct Server {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), &seen, &*answer));
            }
        });
        Self { url, requests }
    }

    /// The requests until now.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| {
        rest.split("\r\n").next().unwrap().parse().unwrap()
    });
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = Request {
        path: head.split(' ').nth(1).unwrap().to_owned(),
        form: form_urlencoded::parse(&body).into_owned().collect(),
        head,
    };
    seen.lock().unwrap().push(request.clone());
    let answer = answer(&request);
    std::thread::sleep(answer.after);
    let (status, headers, length) = (answer.status, answer.headers, answer.body.len());
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // The client may have closed the connection.
    let _ = stream.write_all(format!("{head}{}", answer.body).as_bytes());
}
