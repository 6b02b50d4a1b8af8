//! A table of exchanges: what a server on loopback answers, and what the tool makes of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolhost::ToolResult;
use toolhost_tests::test_host::{TestHost, open_step, tool_call};
use toolhost_tests::{guest, root};

use crate::http::server::Server;

const EXCHANGES: &str = include_str!("../../fixtures/http-exchanges.jsonl");

/// One line of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Exchange {
    name: String,
    /// The export; default `get`.
    export: Option<String>,
    /// With `url` relative to the first answer; `ORIGIN` is the server's.
    #[serde(default)]
    args: Map<String, Value>,
    /// The answers to `/0`, `/1` and so on.
    answers: Vec<Answer>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// A part of the output. `null` is for a member that is not there.
    #[serde(default)]
    output: Map<String, Value>,
    /// Texts within the notes, in order.
    #[serde(default)]
    notes: Vec<String>,
    error: Option<String>,
    /// Texts that the last request has, and has not; its head is in lower case.
    #[serde(default)]
    sent: Vec<String>,
    #[serde(default)]
    not_sent: Vec<String>,
    /// How many requests arrive, if that is what is tested.
    requests: Option<usize>,
    /// The files of the workdir afterwards, if that is what is tested.
    files_after: Option<BTreeMap<String, String>>,
    /// Why Node's `fetch` and Python's `requests` give something else.
    #[expect(dead_code, reason = "for the reader")]
    differs: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Answer {
    status: Option<u16>,
    /// Lines of the head.
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default)]
    body: String,
    /// The body in hexadecimal digits, instead.
    hex: Option<String>,
    /// How often the body is repeated.
    repeat: Option<usize>,
    #[serde(default)]
    framing: Framing,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Framing {
    #[default]
    Length,
    Chunked,
    /// Until the connection closes.
    Close,
    /// With a length beyond the body.
    Incomplete,
    /// The request, instead of a body.
    Echo,
}

fn exchanges() -> Vec<Exchange> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    EXCHANGES.lines().map(parse).collect()
}

impl Answer {
    fn body(&self) -> Vec<u8> {
        let body = match &self.hex {
            Some(hex) => {
                let digits = (0..hex.len()).step_by(2);
                let byte = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap(), 16).unwrap();
                digits.map(byte).collect()
            }
            None => self.body.clone().into_bytes(),
        };
        body.repeat(self.repeat.unwrap_or(1))
    }

    fn send(&self, request: &str, origin: &str, stream: &mut TcpStream) {
        let status = self.status.unwrap_or(200);
        let mut head = format!("HTTP/1.1 {status} As In The Table\r\n");
        for line in &self.headers {
            head.push_str(&line.replace("ORIGIN", origin));
            head.push_str("\r\n");
        }
        let mut body = self.body();
        match self.framing {
            Framing::Length if matches!(status, 204 | 304) => {}
            Framing::Length => head.push_str(&format!("content-length: {}\r\n", body.len())),
            Framing::Chunked => {
                head.push_str("transfer-encoding: chunked\r\n");
                let mut chunks = Vec::new();
                for chunk in body.chunks(7) {
                    write!(chunks, "{:x}\r\n", chunk.len()).unwrap();
                    chunks.extend_from_slice(chunk);
                    chunks.extend_from_slice(b"\r\n");
                }
                chunks.extend_from_slice(b"0\r\n\r\n");
                body = chunks;
            }
            Framing::Close => head.push_str("connection: close\r\n"),
            Framing::Incomplete => {
                head.push_str(&format!("content-length: {}\r\n", body.len() + 10));
            }
            Framing::Echo => {
                body = request.as_bytes().to_vec();
                head.push_str(&format!("content-length: {}\r\n", body.len()));
            }
        }
        head.push_str("\r\n");
        let _sent = stream.write_all(head.as_bytes());
        if !request.starts_with("HEAD ") {
            let _sent = stream.write_all(&body);
        }
    }
}

/// Loads the tool as its manifest describes it, so that each output is checked against the schema.
async fn load(origin: &str) -> TestHost {
    let bundle = fs::read_to_string(root("guest-examples/base/goondan.yaml")).unwrap();
    let document = bundle
        .split("\n---\n")
        .find(|document| document.contains("name: http-fetch\n"));
    let manifest = document.unwrap().replace("./.toolhost/", "./");
    assert!(!guest("http-fetch").is_empty());
    let policy = json!({"tools": {"http-fetch": {"http": {"allow": [origin]}}}}).to_string();
    TestHost::load(&manifest, &["http-fetch"], &policy, None).await
}

/// Returns the files beneath a folder and their texts.
fn files(folder: &std::path::Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
                files.insert(name + "/", String::new());
            } else {
                let bytes = fs::read(path).unwrap();
                files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    files
}

async fn call(
    host: &TestHost,
    server: &Server,
    exchange: &Exchange,
) -> (ToolResult, BTreeMap<String, String>) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in &exchange.files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut args = exchange.args.clone();
    let url = args.get("url").and_then(Value::as_str).unwrap_or("/0");
    let url = match url.strip_prefix('/') {
        Some(path) => format!("{}/{path}", server.origin()),
        None => url.replace("ORIGIN", &server.origin()),
    };
    args.insert("url".to_owned(), url.into());
    let workdir = host.host.workdir(dir.path()).unwrap();
    let step = open_step(&host.agent, "instance", &workdir).await;
    let export = exchange.export.as_deref().unwrap_or("get");
    let call = tool_call(&format!("http-fetch__{export}"), Value::Object(args));
    let result = step.execute_without_message(call).await;
    (result, files(dir.path()))
}

/// Returns how a result differs from its line.
fn differences(
    exchange: &Exchange,
    result: &ToolResult,
    requests: &[String],
    files: &BTreeMap<String, String>,
    origin: &str,
) -> Vec<String> {
    let mut differences = Vec::new();
    match (&exchange.error, result.output(), result.tool_error()) {
        (Some(code), _, Some(error)) if error.code.as_str() == code => {
            if error.suggestion.is_none() {
                differences.push(format!("no suggestion: {error:?}"));
            }
        }
        (None, Some(output), _) => {
            for (name, expected) in &exchange.output {
                let value = output.get(name).unwrap_or(&Value::Null);
                let value = match value.as_str() {
                    Some(text) => Value::from(text.replace(origin, "ORIGIN")),
                    None => value.clone(),
                };
                if value != *expected {
                    differences.push(format!("{name}: expected {expected}, but got {value}"));
                }
            }
            let notes = output.get("notes").and_then(Value::as_array);
            let notes: Vec<_> = notes
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let is_same = notes.len() == exchange.notes.len()
                && notes
                    .iter()
                    .zip(&exchange.notes)
                    .all(|(note, text)| note.contains(text.as_str()));
            if !is_same {
                differences.push(format!("notes: {:?}, but got {notes:?}", exchange.notes));
            }
        }
        (expected, ..) => differences.push(format!("expected {expected:?}, but got {result:?}")),
    }
    let last = requests.last().map(String::as_str).unwrap_or_default();
    let (head, body) = last.split_once("\r\n\r\n").unwrap_or((last, ""));
    let last = format!("{}\r\n\r\n{body}", head.to_lowercase());
    for text in &exchange.sent {
        if !last.contains(&text.replace("\n", "\r\n").replace("\r\r\n", "\r\n")) {
            differences.push(format!("not sent: {text:?} in {last:?}"));
        }
    }
    for text in &exchange.not_sent {
        if last.contains(text.as_str()) {
            differences.push(format!("sent: {text:?} in {last:?}"));
        }
    }
    if exchange
        .requests
        .is_some_and(|count| count != requests.len())
    {
        differences.push(format!("{} requests", requests.len()));
    }
    if exchange.files_after.as_ref().is_some_and(|it| it != files) {
        differences.push(format!("files: {files:?}"));
    }
    differences
}

#[tokio::test]
async fn exchanges_have_the_results_of_the_table() {
    let exchanges = exchanges();
    assert!(exchanges.len() >= 120, "{}", exchanges.len());
    let answers = std::sync::Arc::new(std::sync::Mutex::new(Vec::<Answer>::new()));
    let origin = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let server = Server::does({
        let (answers, origin) = (answers.clone(), origin.clone());
        move |request, stream| {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let step = path.trim_start_matches('/').split(['/', '?']).next();
            let step = step.and_then(|step| step.parse::<usize>().ok());
            let answer = answers.lock().unwrap().get(step.unwrap_or(0)).cloned();
            answer.unwrap().send(request, origin.get().unwrap(), stream);
        }
    });
    origin.set(server.origin()).unwrap();
    let host = load(&server.origin()).await;
    let mut failures = Vec::new();
    for exchange in &exchanges {
        answers.lock().unwrap().clone_from(&exchange.answers);
        let before = server.requests().len();
        let (result, files) = call(&host, &server, exchange).await;
        let requests = server.requests().split_off(before);
        let differences = differences(exchange, &result, &requests, &files, &server.origin());
        for difference in differences {
            failures.push(format!("{}: {difference}", exchange.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
