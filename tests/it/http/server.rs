//! A server on loopback with scripted responses, which records connections and requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server. Its threads end with the process of the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Returns a server that answers each request with these bytes.
    pub(crate) fn says(answer: &str) -> Self {
        let answer = answer.to_owned();
        Self::does(move |_, stream| drop(stream.write_all(answer.as_bytes())))
    }

    /// Returns a server that echoes each request's head and body.
    pub(crate) fn echo() -> Self {
        Self::does(|request, stream| drop(stream.write_all(ok(request).as_bytes())))
    }

    /// Returns a server that runs `act` for each connection, after it has read the request.
    pub(crate) fn does(act: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", act)
    }

    pub(crate) fn on(
        address: &str,
        act: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            accepted: Arc::default(),
            open: Arc::default(),
            requests: Arc::default(),
        };
        let (accepted, requests) = (Arc::clone(&server.accepted), Arc::clone(&server.requests));
        let open = Arc::clone(&server.open);
        let act = Arc::new(act);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                accepted.fetch_add(1, SeqCst);
                open.fetch_add(1, SeqCst);
                let (requests, open, act) =
                    (Arc::clone(&requests), Arc::clone(&open), Arc::clone(&act));
                thread::spawn(move || {
                    let request = read_request(&mut stream);
                    requests.lock().unwrap().push(request.clone());
                    act(&request, &mut stream);
                    // Until the other side closes the connection, or the response is complete.
                    let _over = stream.shutdown(std::net::Shutdown::Write);
                    let _rest = std::io::copy(&mut stream, &mut std::io::sink());
                    open.fetch_sub(1, SeqCst);
                });
            }
        });
        server
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Counts the accepted connections.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(SeqCst)
    }

    /// Counts the open connections.
    pub(crate) fn open(&self) -> usize {
        self.open.load(SeqCst)
    }

    /// Returns the received requests in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns a server that reads requests and never answers.
pub(crate) fn silent() -> Server {
    Server::does(|_, stream| {
        // Until the other side closes the connection.
        let _rest = std::io::copy(stream, &mut std::io::sink());
    })
}

/// Returns a response with a body.
pub(crate) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads a request: its head, and a body of the length in the head.
pub(crate) fn read_request(stream: &mut impl Read) -> String {
    let mut request = Vec::new();
    let mut byte = [0; 1];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        request.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&request).to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
    if let Some(length) = length {
        let start = request.len();
        request.resize(start + length, 0);
        let _ended = stream.read_exact(&mut request[start..]);
    } else if head.contains("transfer-encoding: chunked") {
        while !request.ends_with(b"0\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
            request.push(byte[0]);
        }
    }
    String::from_utf8_lossy(&request).into_owned()
}
