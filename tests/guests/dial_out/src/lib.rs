//! Tries to reach the network. Input `{host, port, times?, files?, then?}`.
//!
//! Output `{tcp, udp, dns, listen}`, each `{ok: true, detail}` or `{ok: false, error}`: the results of a
//! TCP connection, a UDP packet, the lookup of a name (`host`, or `localhost` if `host` is an address), and
//! a socket that listens on the port. With `times`, repeats this and returns the last results. Then it
//! reads the metadata of `/` `files` times, and ends as `then` says: `trap`, `panic`, `spin`, `fail`, or
//! with the output.

use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use guest_glue::{Attempt, ToolError, Value, error, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let host = text(&input, "host", "127.0.0.1");
    let port = number(&input, "port").unwrap_or(0) as u16;
    let is_number = host.parse::<std::net::IpAddr>().is_ok();
    let name = if is_number { "localhost" } else { host };
    for _ in 1..number(&input, "times").unwrap_or(1) {
        let _refused = TcpStream::connect((host, port));
    }
    let dialled = json!({
        "tcp": TcpStream::connect((host, port)).map(|_| "connected").attempt(),
        "udp": send(host, port).map(|bytes| bytes as u64).attempt(),
        "dns": look_up(name, port).attempt(),
        "listen": TcpListener::bind(("127.0.0.1", port)).map(|_| "listening").attempt(),
    });
    for _ in 0..number(&input, "files").unwrap_or(0) {
        let _ = std::fs::metadata("/");
    }
    match text(&input, "then", "answer") {
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("no answer arrived"),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "fail" => Err(error("no answer arrived")),
        _ => Ok(dialled),
    }
}

fn send(host: &str, port: u16) -> io::Result<usize> {
    UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", (host, port))
}

fn look_up(name: &str, port: u16) -> io::Result<String> {
    let addresses: Vec<String> = (name, port)
        .to_socket_addrs()?
        .map(|it| it.to_string())
        .collect();
    Ok(addresses.join(" "))
}
