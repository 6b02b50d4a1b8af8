use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use toolhost_runtime::Quota;

use crate::{Egress, HttpConfig};

/// Answers each request with this text. Returns the URL, and how many requests arrived.
fn server(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a?b", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let received = Arc::clone(&count);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            received.fetch_add(1, Ordering::SeqCst);
            let _head = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            // An answer without a length ends when the client has had enough.
            open.push(stream);
        }
    });
    (url, count)
}

fn client(url: &str) -> OriginClient {
    let (files, threads) = (Arc::new(Quota::open_files(3)), Threads::start(1).unwrap());
    let egress = Egress::new(&HttpConfig::default(), files, 3, threads).unwrap();
    let client = egress.to("test", Origin::of_url(url).unwrap());
    client.max_bytes(4).time(Duration::from_secs(20))
}

async fn fetch(client: OriginClient, url: &str) -> Result<Response<Bytes>, HttpClientError> {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    client.fetch(request).await
}

#[tokio::test]
async fn an_address_that_is_not_public_is_reached_only_if_the_operator_has_listed_or_named_it() {
    let (url, count) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let denied = fetch(client(&url), &url).await;
    assert!(matches!(denied, Err(HttpClientError::NotPublic { .. })));
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing is sent");
    let listed = [AddressBlock::parse("127.0.0.0/8").unwrap()];
    let answer = fetch(client(&url).networks(&listed), &url).await.unwrap();
    assert_eq!(answer.body(), "ok");
    let answer = fetch(client(&url).named_by_operator(true), &url).await;
    assert_eq!(answer.unwrap().body(), "ok");
}

#[tokio::test]
async fn another_origin_is_not_reached() {
    let (url, count) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let client = client("http://127.0.0.1:1/").named_by_operator(true);
    let denied = fetch(client, &url).await;
    assert!(matches!(denied, Err(HttpClientError::Denied(_))));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_answer_is_whole_and_not_too_large() {
    for (answer, expected) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfour",
            Some("four"),
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfives", None),
        ("HTTP/1.1 200 OK\r\n\r\nwithout a length", None),
        (
            "HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n",
            Some(""),
        ),
        (
            "HTTP/1.1 401 No\r\ncontent-type: text/event-stream\r\n\r\ndata: 1",
            Some(""),
        ),
    ] {
        let (url, _) = server(answer);
        let fetched = fetch(client(&url).named_by_operator(true), &url).await;
        match (fetched, expected) {
            (Ok(fetched), Some(expected)) => assert_eq!(fetched.body(), expected),
            (Err(HttpClientError::TooLarge { max: 4 }), None) => {}
            (fetched, _) => panic!("{answer}: {fetched:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_end_in_time_is_an_error() {
    let (url, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfou");
    let client = client(&url).named_by_operator(true);
    let late = fetch(client.time(Duration::from_millis(200)), &url).await;
    assert!(
        matches!(late, Err(HttpClientError::Timeout { .. })),
        "{late:?}"
    );
}

#[test]
fn no_timer_of_the_callers_runtime_is_needed() {
    let (url, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let client = client(&url).named_by_operator(true);
    let answer = runtime.unwrap().block_on(fetch(client, &url)).unwrap();
    assert_eq!(answer.body(), "ok");
}
