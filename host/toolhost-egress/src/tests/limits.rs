//! Limits of requests and responses, against senders and servers that exceed them.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Full;
use toolhost_contract::Usage;

use super::server::{Server, ok, silent};
use super::{Setup, eventually, get};
use crate::{RequestError, RequestTimeouts};

/// Writes the same bytes until the other side closes the connection.
fn write_endlessly(stream: &mut TcpStream, piece: &[u8]) {
    while stream.write_all(piece).is_ok() {}
}

/// The memory of this process, in bytes.
fn memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[tokio::test]
async fn a_request_beyond_the_limit_is_not_sent() {
    let server = Server::says(&ok("fine"));
    let setup = Setup::allow(&[server.origin()]);
    let mut call = setup.limit(|limits| limits.http_requests = 3).call();
    for _ in 0..3 {
        assert_eq!(call.get(&server.origin()).await.unwrap().body, "fine");
    }
    let refused = call.get(&server.origin()).await.unwrap_err();
    assert!(refused.to_string().contains("limits.httpRequests"));
    assert_eq!(server.accepted(), 3);
    let mut usage = Usage::default();
    call.meter.add_to(&mut usage);
    assert_eq!((usage.http_requests, usage.http_received), (3, 12));
}

#[tokio::test]
async fn requests_beyond_the_concurrency_limit_wait() {
    let silent = silent();
    let setup = Setup::allow(&[silent.origin()]).limit(|limits| {
        limits.http_concurrent = 3;
        limits.http_connect = Duration::from_millis(200);
        limits.http_first_byte = Duration::from_secs(1);
    });
    let mut call = setup.call();
    let requests = (0..12).map(|_| call.send(get(&silent.origin()), RequestTimeouts::default()));
    let requests: Vec<_> = requests.collect();
    let failed: Vec<_> = join_all(requests).await;
    let count = |why: &RequestError| {
        let failed = failed.iter().filter_map(|it| it.as_ref().err());
        failed.filter(|error| *error == why).count()
    };
    assert_eq!(count(&RequestError::ReadTimeout), 3, "{failed:?}");
    assert_eq!(count(&RequestError::TooManyConnections), 9, "{failed:?}");
    assert_eq!(silent.accepted(), 3);

    let server = Server::says(&ok("fine"));
    let setup = Setup::allow(&[server.origin()]);
    let mut call = setup.limit(|limits| limits.http_concurrent = 3).call();
    let requests = (0..12).map(|_| call.send(get(&server.origin()), RequestTimeouts::default()));
    let requests: Vec<_> = requests.collect();
    for answer in join_all(requests).await {
        assert_eq!(answer.unwrap().body, "fine");
    }
}

#[tokio::test]
async fn a_request_body_beyond_the_limit_is_aborted() {
    let server = Server::echo();
    let origin = server.origin();
    let post = || {
        let body = Full::new(Bytes::from(vec![b'x'; 100_000]));
        Request::post(&origin).body(body).unwrap()
    };
    let setup = Setup::allow(&[&origin]).limit(|limits| limits.http_request_bytes = 16 << 10);
    let refused = setup.call().send(post(), RequestTimeouts::default()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused, RequestError::RequestTooLarge(Some(16 << 10)));
    eventually("the connection is closed", || server.open() == 0).await;
    let mut call = Setup::allow(&[&origin]).call();
    let answer = call.send(post(), RequestTimeouts::default()).await.unwrap();
    let mut usage = Usage::default();
    call.meter.add_to(&mut usage);
    assert_eq!(usage.http_sent, 100_000);
    assert_eq!(usage.http_received, answer.body.len() as u64);
}

#[tokio::test]
async fn headers_beyond_the_limits_are_not_sent() {
    let server = Server::says(&ok("fine"));
    let (origin, large) = (server.origin(), "x".repeat(10_000));
    let allow = || Setup::allow(&[&origin]);
    let with_headers = |count: usize, value: &str| {
        let mut request = get(&origin);
        for _ in 0..count {
            request.headers_mut().append("x", value.parse().unwrap());
        }
        request
    };
    let mut few = allow().limit(|limits| limits.http_headers = 20).call();
    let many = few.send(with_headers(40, "y"), RequestTimeouts::default());
    let refused = many.await.unwrap_err();
    assert!(
        matches!(refused, RequestError::HeadersTooLarge(_)),
        "{refused:?}"
    );
    let short = allow().limit(|limits| limits.http_header_bytes = 8 << 10);
    let mut short = short.call();
    let long = short.send(with_headers(1, &large), RequestTimeouts::default());
    let refused = long.await.unwrap_err();
    assert!(
        matches!(refused, RequestError::HeadersTooLarge(Some(_))),
        "{refused:?}"
    );
    let refused = short.get(&format!("{origin}/{large}")).await.unwrap_err();
    assert_eq!(refused, RequestError::UriTooLong);
    assert_eq!(server.accepted(), 0);
    let mut call = allow().call();
    let sent = call.send(with_headers(1, &large), RequestTimeouts::default());
    assert_eq!(sent.await.unwrap().body, "fine");
}

#[tokio::test]
async fn endless_response_headers_are_aborted() {
    let many = Server::does(|_, stream| {
        let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        write_endlessly(stream, b"x: y\r\n");
    });
    let long = Server::does(|_, stream| {
        let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ");
        write_endlessly(stream, &[b'y'; 4096]);
    });
    let trailers = Server::does(|_, stream| {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";
        let _sent = stream.write_all(head);
        write_endlessly(stream, b"x: y\r\n");
    });
    let extensions = Server::does(|_, stream| {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;";
        let _sent = stream.write_all(head);
        write_endlessly(stream, &[b'y'; 4096]);
    });
    for (server, expected) in [
        (many, RequestError::ResponseHeadersTooLarge),
        (long, RequestError::ResponseHeadersTooLarge),
        (trailers, RequestError::Protocol),
        (extensions, RequestError::Protocol),
    ] {
        let before = memory();
        let answer = Setup::allow(&[server.origin()]).get(&server.origin()).await;
        let failed = match answer {
            Ok(answer) => answer.failed,
            Err(error) => Some(error),
        };
        assert_eq!(failed, Some(expected));
        assert!(memory() < before + (64 << 20));
        eventually("the connection is closed", || server.open() == 0).await;
    }
}

#[tokio::test]
async fn compressed_bodies_are_not_decompressed() {
    let packed = "\u{1f}not unpacked";
    let server = Server::says(&format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n{packed}",
        packed.len()
    ));
    let answer = Setup::allow(&[server.origin()]).get(&server.origin()).await;
    assert_eq!(answer.unwrap().body, packed);
}
