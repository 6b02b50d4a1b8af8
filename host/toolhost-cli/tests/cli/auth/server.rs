//! Servers on loopback: an authorization server, the API of its accounts, and a stranger's server.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request, as a server received it.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) target: String,
    pub(super) authorization: Option<String>,
    pub(super) body: String,
}

impl Received {
    fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query or of the body.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        parameter(query, name).or_else(|| parameter(&self.body, name))
    }
}

/// A parameter of a query, with the escapes that occur here.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let plain = [("%3A", ":"), ("%2F", "/"), ("+", " "), ("%20", " ")];
    let plain = plain
        .iter()
        .fold(value.to_owned(), |value, (escape, plain)| {
            value.replace(escape, plain)
        });
    Some(plain)
}

/// Answers requests, each with a status line and headers, and a body.
type Answer = Box<dyn Fn(&Received) -> (String, String) + Send>;

/// Serves until the test process ends. Returns the address, and what was received.
fn serve(answer: Answer) -> (String, Arc<Mutex<Vec<Received>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = read(&stream) else {
                continue;
            };
            let (head, body) = answer(&request);
            log.lock().unwrap().push(request);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (address, received)
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    let (mut authorization, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match name.to_lowercase().as_str() {
            "authorization" => authorization = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received {
        target,
        authorization,
        body: String::from_utf8(body).ok()?,
    })
}

/// Sends a GET, and returns the answer.
pub(super) fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("http");
    let (authority, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is read");
    answer
}

/// The URL to which the authorization server sends the browser of a user who grants access.
pub(super) fn granted_by_user(url: &str) -> String {
    let answer = get(url);
    let mut lines = answer.lines();
    let location = lines.find_map(|line| line.strip_prefix("Location: "));
    location.expect("it sends the browser on").to_owned()
}

#[derive(Default)]
struct Grants {
    /// The challenge of each code.
    codes: HashMap<String, String>,
    access: HashSet<String>,
    refresh: HashSet<String>,
    issued: usize,
    device_polls: usize,
}

/// The servers of a test.
pub(super) struct Servers {
    /// The authorization server.
    pub(super) issuer: String,
    /// The API: `/` answers what it saw, `/away` redirects to the stranger.
    pub(super) api: String,
    /// The server of a stranger.
    pub(super) other: String,
    to_issuer: Arc<Mutex<Vec<Received>>>,
    to_api: Arc<Mutex<Vec<Received>>>,
    to_other: Arc<Mutex<Vec<Received>>>,
    grants: Arc<Mutex<Grants>>,
}

impl Servers {
    /// Starts the servers. Access tokens are valid for this many seconds.
    pub(super) fn start(expires_in: u32) -> Self {
        let grants = Arc::new(Mutex::new(Grants::default()));
        let [of_issuer, of_api] = [Arc::clone(&grants), Arc::clone(&grants)];
        let (issuer, to_issuer) = serve(Box::new(move |request| {
            of_issuer.lock().unwrap().answer(request, expires_in)
        }));
        let (other, to_other) = serve(Box::new(|_| ("200 OK\r\n".to_owned(), "other".to_owned())));
        let away = format!("http://{other}/");
        let (api, to_api) = serve(Box::new(move |request| {
            let token = request.authorization.as_deref().unwrap_or_default();
            let token = token.strip_prefix("Bearer ").unwrap_or_default();
            let is_valid = of_api.lock().unwrap().access.contains(token);
            if request.path() == "/away" {
                return (format!("302 Found\r\nLocation: {away}\r\n"), String::new());
            }
            let status = if is_valid {
                "200 OK"
            } else {
                "401 Unauthorized"
            };
            let saw = request.authorization.as_deref().unwrap_or("nothing");
            (format!("{status}\r\n"), format!("the API saw {saw}"))
        }));
        Self {
            issuer,
            api,
            other,
            to_issuer,
            to_api,
            to_other,
            grants,
        }
    }

    /// Makes all access tokens invalid before their time.
    pub(super) fn withdraw_access_tokens(&self) {
        self.grants.lock().unwrap().access.clear();
    }

    pub(super) fn to_api(&self) -> Vec<Received> {
        self.to_api.lock().unwrap().clone()
    }

    pub(super) fn to_other(&self) -> Vec<Received> {
        self.to_other.lock().unwrap().clone()
    }

    /// The requests to an endpoint of the authorization server.
    pub(super) fn to_issuer(&self, path: &str) -> Vec<Received> {
        let all = self.to_issuer.lock().unwrap();
        all.iter().filter(|it| it.path() == path).cloned().collect()
    }
}

impl Grants {
    fn answer(&mut self, request: &Received, expires_in: u32) -> (String, String) {
        let json = |status: &str, body: String| {
            (
                format!("{status}\r\nContent-Type: application/json\r\n"),
                body,
            )
        };
        match request.path() {
            "/authorize" => {
                let needed = |name| request.parameter(name).expect(name);
                assert_eq!(needed("code_challenge_method"), "S256");
                let code = format!("code-{}", self.codes.len());
                self.codes.insert(code.clone(), needed("code_challenge"));
                let (redirect, state) = (needed("redirect_uri"), needed("state"));
                let location = format!("{redirect}?code={code}&state={state}");
                (format!("302 Found\r\nLocation: {location}\r\n"), String::new())
            }
            "/device" => json(
                "200 OK",
                r#"{"device_code": "device-secret-0123456789", "user_code": "WDJB-MJHT", "verification_uri": "https://a.example/device", "expires_in": 60, "interval": 1}"#.to_owned(),
            ),
            "/token" => match self.token(request) {
                Ok(()) => {
                    self.issued += 1;
                    let (access, refresh) = (
                        format!("access-secret-{:04}", self.issued),
                        format!("refresh-secret-{:04}", self.issued),
                    );
                    self.access.insert(access.clone());
                    self.refresh.insert(refresh.clone());
                    json(
                        "200 OK",
                        format!(
                            r#"{{"access_token": "{access}", "refresh_token": "{refresh}", "token_type": "Bearer", "expires_in": {expires_in}, "scope": "read"}}"#
                        ),
                    )
                }
                Err(code) => json("400 Bad Request", format!(r#"{{"error": "{code}"}}"#)),
            },
            "/revoke" => {
                let token = request.parameter("token").unwrap_or_default();
                self.access.remove(&token);
                self.refresh.remove(&token);
                json("200 OK", String::new())
            }
            path => panic!("{path}"),
        }
    }

    fn token(&mut self, request: &Received) -> Result<(), &'static str> {
        match request.parameter("grant_type").as_deref() {
            Some("authorization_code") => {
                let code = request.parameter("code").unwrap_or_default();
                let challenge = self.codes.remove(&code).ok_or("invalid_grant")?;
                let verifier = request.parameter("code_verifier").unwrap_or_default();
                let fits = verifier.len() >= 43 && verifier != challenge;
                fits.then_some(()).ok_or("invalid_grant")
            }
            Some("refresh_token") => {
                let token = request.parameter("refresh_token").unwrap_or_default();
                // Each is valid once.
                self.refresh
                    .remove(&token)
                    .then_some(())
                    .ok_or("invalid_grant")
            }
            Some(_) => {
                self.device_polls += 1;
                match self.device_polls {
                    1 => Err("authorization_pending"),
                    _ => Ok(()),
                }
            }
            None => Err("invalid_request"),
        }
    }
}
