//! Connections that break, and servers that crash.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::*;

/// What the proxy does with the next COMMIT.
const PASS: u8 = 0;
/// The server never sees it.
const CUT_BEFORE: u8 = 1;
/// The server does it, and the answer is lost.
const CUT_AFTER: u8 = 2;

/// A proxy between a process and the server that cuts connections.
fn proxy(server: u16) -> (u16, Arc<AtomicU8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let next = Arc::new(AtomicU8::new(PASS));
    let rule = Arc::clone(&next);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else {
                continue;
            };
            let (rule, is_cut) = (Arc::clone(&rule), Arc::new(Mutex::new(false)));
            let ends = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            let cut = Arc::clone(&is_cut);
            std::thread::spawn(move || answers(upstream, client, &cut));
            std::thread::spawn(move || requests(ends.0, ends.1, &rule, &is_cut));
        }
    });
    (port, next)
}

fn requests(mut from: TcpStream, mut to: TcpStream, rule: &AtomicU8, is_cut: &Mutex<bool>) {
    let mut bytes = [0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let sent = &bytes[..count];
        if sent.windows(6).any(|it| it == b"COMMIT") {
            match rule.swap(PASS, SeqCst) {
                CUT_BEFORE => break,
                CUT_AFTER => {
                    *is_cut.lock().unwrap() = true;
                    to.write_all(sent).unwrap();
                    std::thread::sleep(Duration::from_millis(300));
                    break;
                }
                _ => {}
            }
        }
        if to.write_all(sent).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn answers(mut from: TcpStream, mut to: TcpStream, is_cut: &Mutex<bool>) {
    let mut bytes = [0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if *is_cut.lock().unwrap() || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[tokio::test]
async fn a_connection_that_breaks_in_a_commit_loses_nothing_and_does_nothing_twice() {
    let Some(server) = testing::server() else {
        return;
    };
    let (port, next) = proxy(server.port());
    let config = server.config(port, "cut");
    let store = open(&Database::Postgres(Postgres::new(config)));
    let all = "CREATE TABLE again (text TEXT NOT NULL)";
    store.write(move |tx| tx.execute_batch(all)).await.unwrap();
    for (n, cut) in [CUT_BEFORE, CUT_AFTER, CUT_AFTER, CUT_BEFORE]
        .into_iter()
        .enumerate()
    {
        next.store(cut, SeqCst);
        // Nothing in the table keeps it from being there twice.
        let insert = "INSERT INTO again VALUES (?1)";
        let text = format!("{n}");
        let stored = store.write(move |tx| tx.execute(insert, [&text]));
        assert_eq!(stored.await.unwrap(), 1);
        assert_eq!(next.load(SeqCst), PASS, "it was cut");
    }
    let select = "SELECT text FROM again ORDER BY text";
    let read = store.read(move |tx| tx.query_map(select, (), |row| row.get::<String>(0)));
    assert_eq!(read.await.unwrap(), ["0", "1", "2", "3"]);
}

#[tokio::test]
async fn each_acknowledged_write_is_there_once_after_the_server_was_killed() {
    let durable = ["fsync=on"];
    let Some(mut server) = Server::start(&durable) else {
        return;
    };
    let store = open(&server.database("crash"));
    let make = "CREATE TABLE again (text TEXT NOT NULL)";
    store.write(move |tx| tx.execute_batch(make)).await.unwrap();
    let mut all = JoinSet::new();
    for of in 0..8 {
        let store = store.clone();
        all.spawn(async move {
            let mut acknowledged = Vec::new();
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_secs(3) {
                let text = format!("{of}/{}", acknowledged.len());
                let (stored, insert) = (text.clone(), "INSERT INTO again VALUES (?1)");
                let written = store.write(move |tx| tx.execute(insert, [&stored])).await;
                written.unwrap();
                acknowledged.push(text);
            }
            acknowledged
        });
    }
    let crash = tokio::task::spawn_blocking(move || {
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(700));
            server.crash(&durable);
        }
        server
    });
    let acknowledged: Vec<String> = all.join_all().await.into_iter().flatten().collect();
    let _server = crash.await.unwrap();
    let select = "SELECT text FROM again";
    let read = store.read(move |tx| tx.query_map(select, (), |row| row.get::<String>(0)));
    let stored = read.await.unwrap();
    let distinct: HashSet<&String> = stored.iter().collect();
    assert_eq!(distinct.len(), stored.len(), "nothing is there twice");
    assert_eq!(acknowledged.len(), stored.len());
    assert!(acknowledged.iter().all(|text| distinct.contains(text)));
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_error_after_a_bounded_time() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let store = open(&server.database("gone"));
    note(&store, "one").await.unwrap();
    drop(server);
    let begin = std::time::Instant::now();
    let (write, read) = tokio::join!(
        note(&store, "two"),
        store.read(|tx| tx.exists("SELECT 1 FROM notes", ()))
    );
    for error in [write.unwrap_err(), read.unwrap_err()] {
        let text = error.with_causes();
        assert!(text.contains("look whether it runs"), "{text}");
        assert!(!text.contains(PASSWORD), "{text}");
    }
    assert!(begin.elapsed() < Duration::from_secs(15));
}
