//! Slow servers, and servers that close the connection.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use super::server::{Server, silent};
use super::{Setup, get};
use crate::{RequestError, RequestTimeouts};

const LONG: Option<Duration> = Some(Duration::from_secs(1_000_000));
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_sender_can_shorten_the_timeouts_and_not_lengthen_them() {
    let server = silent();
    let origin = server.origin();
    let short = Setup::allow(&[&origin]).limit(|limits| limits.http_first_byte = SHORT);
    for (setup, first_byte) in [(short, LONG), (Setup::allow(&[&origin]), Some(SHORT))] {
        let timeouts = RequestTimeouts {
            first_byte,
            ..RequestTimeouts::default()
        };
        let late = setup.call().send(get(&origin), timeouts).await;
        assert_eq!(late.unwrap_err(), RequestError::ReadTimeout);
    }

    let slow = Server::does(|_, stream| {
        let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
        let _rest = std::io::copy(stream, &mut std::io::sink());
    });
    let setup = Setup::allow(&[slow.origin()]).limit(|limits| limits.http_between_bytes = SHORT);
    let timeouts = RequestTimeouts {
        between_bytes: LONG,
        ..RequestTimeouts::default()
    };
    let answer = setup.call().send(get(&slow.origin()), timeouts).await;
    let answer = answer.unwrap();
    assert_eq!(answer.failed, Some(RequestError::ReadTimeout));
    assert_eq!(answer.body, "half");

    // A listener with a full backlog accepts no connection and does not answer.
    let full = tokio::net::TcpSocket::new_v4().unwrap();
    full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = full.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        waiting.push(stream);
    }
    let url = format!("http://{address}");
    let setup = Setup::allow(&[&url]).limit(|limits| limits.http_connect = SHORT);
    let timeouts = RequestTimeouts {
        connect: LONG,
        ..RequestTimeouts::default()
    };
    let late = setup.call().send(get(&url), timeouts).await;
    assert_eq!(late.unwrap_err(), RequestError::ConnectTimeout);
}

#[tokio::test]
async fn a_server_that_closes_the_connection_is_an_error() {
    let rude = Server::does(|_, stream| drop(stream.shutdown(std::net::Shutdown::Both)));
    let closed = Setup::allow(&[rude.origin()]).get(&rude.origin()).await;
    assert_eq!(closed.unwrap_err(), RequestError::Incomplete);
    let half = Server::says("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
    let answer = Setup::allow(&[half.origin()]).get(&half.origin()).await;
    assert_eq!(answer.unwrap().failed, Some(RequestError::Incomplete));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let url = format!("http://{}", closed.unwrap());
    let refused = Setup::allow(&[&url]).get(&url).await;
    assert_eq!(refused.unwrap_err(), RequestError::Refused);
}
