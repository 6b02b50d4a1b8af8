//! A registry on loopback: a working one, and whatever a test has it send.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::registry::digest_of;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    /// With the query.
    pub(super) path: String,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines();
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        pairs.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then(|| value.to_owned()))
    }
}

/// A response.
pub(super) enum Answer {
    /// A status, header lines and a body.
    Whole(u16, String, Vec<u8>),
    /// Whatever this writes.
    Raw(Box<dyn Fn(&mut TcpStream) + Send>),
}

pub(super) fn answer(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Answer {
    Answer::Whole(status, headers.to_owned(), body.into())
}

type Hook = Box<dyn Fn(&Request) -> Option<Answer> + Send + Sync>;

/// What the registry holds.
#[derive(Default)]
struct Stored {
    blobs: HashMap<String, Vec<u8>>,
    /// By tag and by digest.
    manifests: HashMap<String, Vec<u8>>,
}

/// The registry. Its threads end with the process.
pub(super) struct Server {
    /// `127.0.0.1:PORT`.
    pub(super) host: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a registry that keeps lists of referrers, or does not. `hook` answers first.
    pub(super) fn start(
        lists_referrers: bool,
        hook: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let stored: Arc<Mutex<Stored>> = Arc::default();
        let (seen, hook): (_, Arc<Hook>) = (Arc::clone(&requests), Arc::new(Box::new(hook)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, hook, stored) =
                    (Arc::clone(&seen), Arc::clone(&hook), Arc::clone(&stored));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(request) = read(&mut stream) else {
                        return;
                    };
                    seen.lock().unwrap().push(request.clone());
                    let answer = hook(&request);
                    let answer = answer.unwrap_or_else(|| {
                        stored.lock().unwrap().answer(&request, lists_referrers)
                    });
                    send(&mut stream, answer, request.method == "HEAD");
                });
            }
        });
        Self { host, requests }
    }

    /// The requests until now.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    let mut words = head.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut request = Request {
        method,
        path,
        head,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).unwrap();
    Some(request)
}

fn send(stream: &mut TcpStream, answer: Answer, is_head: bool) {
    match answer {
        Answer::Raw(write) => write(stream),
        Answer::Whole(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            // The client may have closed the connection.
            let _ = stream.write_all(head.as_bytes());
            if !is_head {
                let _ = stream.write_all(&body);
            }
        }
    }
}

impl Stored {
    fn answer(&mut self, request: &Request, lists_referrers: bool) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let name = path.rsplit('/').next().unwrap().to_owned();
        let kind = path.rsplit('/').nth(1).unwrap();
        match (request.method.as_str(), kind) {
            ("GET" | "HEAD", "blobs") => found(self.blobs.get(&name)),
            ("GET" | "HEAD", "manifests") => found(self.manifests.get(&name)),
            ("GET", "referrers") if lists_referrers => self.referrers(&name),
            ("POST", "uploads") => answer(202, "location: uploads/1?state=x\r\n", ""),
            ("PUT", "uploads") => {
                let digest = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("digest="));
                let digest = digest.unwrap().replace("%3A", ":");
                assert_eq!(digest, digest_of(&request.body));
                assert!(query.contains("state=x"), "{query}");
                self.blobs.insert(digest, request.body.clone());
                answer(201, "", "")
            }
            ("PUT", "manifests") => {
                let digest = digest_of(&request.body);
                self.manifests.insert(digest.clone(), request.body.clone());
                self.manifests.insert(name, request.body.clone());
                let subject = lists_referrers
                    && String::from_utf8_lossy(&request.body).contains("\"subject\"");
                answer(201, if subject { "oci-subject: x\r\n" } else { "" }, "")
            }
            _ => answer(404, "", r#"{"errors": [{"code": "UNKNOWN"}]}"#),
        }
    }

    fn referrers(&self, digest: &str) -> Answer {
        let mut descriptors = Vec::new();
        for (name, bytes) in &self.manifests {
            let manifest: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            if manifest["subject"]["digest"] == digest && name.starts_with("sha256:") {
                descriptors.push(json!({
                    "mediaType": manifest["mediaType"], "digest": name, "size": bytes.len(),
                    "artifactType": manifest["artifactType"],
                }));
            }
        }
        let index = json!({"schemaVersion": 2, "manifests": descriptors});
        answer(200, "", index.to_string())
    }
}

fn found(bytes: Option<&Vec<u8>>) -> Answer {
    match bytes {
        Some(bytes) => answer(200, "", bytes.clone()),
        None => answer(404, "", ""),
    }
}
