//! Which requests are sent.

use toolhost_contract::Denial;

use super::server::{Server, ok};
use super::{Setup, get};
use crate::{RequestError, RequestTimeouts};

#[tokio::test]
async fn a_request_without_a_rule_is_refused_before_any_connection() {
    let server = Server::says(&ok("never"));
    let origin = server.origin();
    let mut call = Setup::allow(&[format!("GET {origin}/open/*")]).call();
    for (method, path) in [
        ("POST", "/open/x"),
        ("GET", "/closed"),
        ("GET", "/open/../closed"),
        ("GET", "/open/%2e%2e/closed"),
    ] {
        let mut request = get(&format!("{origin}{path}"));
        *request.method_mut() = method.parse().unwrap();
        let denied = call.send(request, RequestTimeouts::default()).await;
        assert!(
            matches!(denied, Err(RequestError::Denied(Denial::HttpRequest(_)))),
            "{method} {path}: {denied:?}"
        );
        assert_eq!(server.accepted(), 0, "{method} {path}");
    }
    let answer = call.get(&format!("{origin}/open/x")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body), (200, "never"));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_connect_request_is_refused() {
    let server = Server::says(&ok("never"));
    let mut call = Setup::allow(&[server.origin()]).call();
    for method in ["CONNECT", "TRACE"] {
        let mut request = get(&server.origin());
        *request.method_mut() = method.parse().unwrap();
        let refused = call.send(request, RequestTimeouts::default()).await;
        assert_eq!(refused.unwrap_err(), RequestError::MethodInvalid);
    }
    assert_eq!(server.accepted(), 0);
}
