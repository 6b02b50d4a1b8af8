//! Credentials that the host adds to requests.

use std::io::Write;

use toolhost_contract::HttpCredential;

use super::server::Server;
use super::{Setup, get};
use crate::RequestTimeouts;

const SECRET: &str = "sk-12345-abcdef";

fn credential(origin: &str) -> HttpCredential {
    HttpCredential::new(origin, "authorization", "Bearer ", SECRET).unwrap()
}

#[tokio::test]
async fn a_credential_reaches_its_server_and_is_redacted_in_the_response() {
    // The server echoes it in two parts of the body, in a header and in a trailer.
    let server = Server::does(|request, stream| {
        let line = request
            .lines()
            .find(|line| line.starts_with("authorization"));
        let echoed = format!("{} and {SECRET}", line.unwrap_or("none"));
        let (begun, rest) = echoed.split_at(26);
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        for piece in [
            format!(
                "HTTP/1.1 200 OK\r\nx-echo: {SECRET}\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n"
            ),
            chunk(begun),
            chunk(rest),
            format!("0\r\nx-end: {SECRET}\r\n\r\n"),
        ] {
            let _sent = stream.write_all(piece.as_bytes());
            let _sent = stream.flush();
            std::thread::yield_now();
        }
    });
    let setup = Setup::allow(&[server.origin()]).credential(credential(&server.origin()));
    let mut request = get(&server.origin());
    for (name, value) in [
        ("authorization", "Bearer the-guests-own"),
        ("accept-encoding", "gzip"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let answer = setup.call().send(request, RequestTimeouts::default()).await;
    let answer = answer.unwrap();
    let request = server.requests().remove(0);
    let sent = request.matches("authorization: ").count();
    assert_eq!(sent, 1, "{request}");
    let line = format!("authorization: Bearer {SECRET}\r\n");
    assert!(request.contains(&line), "{request}");
    // What is compressed could hide the secret.
    assert!(
        request.contains("accept-encoding: identity\r\n"),
        "{request}"
    );
    let covered = "*".repeat(SECRET.len());
    let body = format!("authorization: Bearer {covered} and {covered}");
    assert_eq!((answer.body, answer.failed), (body, None));
    assert_eq!(answer.headers["x-echo"], covered);
    assert_eq!(answer.trailers["x-end"], covered);
}

#[tokio::test]
async fn a_credential_is_not_sent_to_another_origin() {
    let (first, other) = (Server::echo(), Server::echo());
    let local = format!("http://localhost:{}/", other.port());
    let rules = [first.origin(), other.origin(), local.clone()];
    let mut call = Setup::allow(&rules)
        .credential(credential(&first.origin()))
        // The same host and port, with another scheme and with another name.
        .credential(credential(&format!("https://{}", other.address)))
        .credential(credential("http://localhost"))
        .call();
    for url in [first.origin(), other.origin(), local] {
        assert_eq!(call.get(&url).await.unwrap().status, 200);
    }
    assert!(first.requests()[0].contains(SECRET));
    assert_eq!(other.accepted(), 2);
    let requests = other.requests().concat();
    assert!(!requests.contains(SECRET), "{requests}");
    assert!(!requests.contains("authorization"), "{requests}");
}
