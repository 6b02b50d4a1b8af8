//! Name resolution: one lookup per request, and connections only to checked addresses.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use toolhost::{
    Policy,
    http::{HttpConfig, HttpResolveFuture, HttpResolver},
    tool::Denial,
};

use super::server::{Server, ok};
use super::{Web, answer, error, fetch};

/// Answers the n-th lookup with the n-th answer, and later ones with the last.
#[derive(Debug)]
struct ScriptedResolver {
    answers: Vec<Vec<IpAddr>>,
    lookups: AtomicUsize,
}

impl ScriptedResolver {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|it| it.parse().unwrap()).collect();
        Arc::new(Self {
            answers: answers.iter().map(parse).collect(),
            lookups: AtomicUsize::new(0),
        })
    }
}

impl HttpResolver for ScriptedResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolveFuture<'a> {
        assert!(
            !host.ends_with('.') && host.parse::<IpAddr>().is_err(),
            "{host}"
        );
        let index = self
            .lookups
            .fetch_add(1, SeqCst)
            .min(self.answers.len() - 1);
        let answer = self.answers[index].clone();
        Box::pin(async move {
            if answer.is_empty() {
                return Err(io::Error::other("no such name"));
            }
            Ok(answer)
        })
    }
}

async fn web(http: &Value, resolver: &Arc<ScriptedResolver>) -> Web {
    let resolver = Arc::clone(resolver);
    let mut config = HttpConfig::default();
    config.resolver = resolver;
    Web::of(http, config).await
}

#[tokio::test]
async fn localhost_resolves_to_loopback_if_a_rule_names_it() {
    let server = Server::says(&ok("at home"));
    let url = format!("http://localhost:{}/", server.port());
    let result = fetch(&json!({"allow": [url]}), json!({"url": url})).await;
    assert_eq!(answer(&result)["body"], "at home");
    assert!(server.requests()[0].contains(&format!("host: localhost:{}\r\n", server.port())));
    // A rule for the name does not allow the address, nor the reverse.
    for (rule, url) in [
        (server.origin(), url.clone()),
        (url.clone(), server.origin()),
    ] {
        let result = fetch(&json!({"allow": [rule]}), json!({"url": url})).await;
        assert_eq!(error(&result), "ErrorCode::HttpRequestDenied", "{rule}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_gets_no_connection() {
    let server = Server::says(&ok("inside"));
    let url = format!("http://api.example.com:{}/", server.port());
    let input = json!({"url": url});
    let resolver = ScriptedResolver::of(&[&["127.0.0.1"]]);
    let refused = web(&json!({"allow": [url]}), &resolver).await;
    let refused = refused.fetch(input.clone()).await;
    assert_eq!(error(&refused), "ErrorCode::DestinationIpProhibited");
    assert_eq!((server.accepted(), resolver.lookups.load(SeqCst)), (0, 1));
    let denied = Denial::HttpNetwork {
        host: "api.example.com".to_owned(),
        network: "127.0.0.0/8".to_owned(),
    };
    assert_eq!(refused.usage().denials, [denied]);

    // Addresses of `localhost` other than loopback are refused.
    let local = format!("http://localhost:{}/", server.port());
    let resolver = ScriptedResolver::of(&[&["10.0.0.1"]]);
    let refused = web(&json!({"allow": [local]}), &resolver).await;
    let refused = refused.fetch(json!({"url": local})).await;
    assert_eq!(error(&refused), "ErrorCode::DestinationIpProhibited");

    let resolver = ScriptedResolver::of(&[&["127.0.0.1"]]);
    let http = json!({"allow": [url], "privateNetworks": ["127.0.0.1"]});
    let allowed = web(&http, &resolver).await.fetch(input).await;
    assert_eq!(answer(&allowed)["body"], "inside");
    let host = format!("host: api.example.com:{}\r\n", server.port());
    assert!(
        server.requests()[0].contains(&host),
        "{:?}",
        server.requests()
    );
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_checked_address_is_used() {
    let server = Server::says(&ok("first"));
    let other = Server::on(&format!("127.0.0.2:{}", server.port()), |_, _| ());
    let url = format!("http://api.example.com:{}/", server.port());
    // The first answer is allowed; the second is the private address of a rebinding attack.
    let resolver = ScriptedResolver::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let http = json!({"allow": [url], "privateNetworks": ["127.0.0.1"]});
    let web = web(&http, &resolver).await;
    let input = json!({"url": url});
    let result = web.fetch(input.clone()).await;
    assert_eq!(answer(&result)["body"], "first");
    assert_eq!(resolver.lookups.load(SeqCst), 1);
    // Every request resolves and checks the name again.
    let result = web.fetch(input).await;
    assert_eq!(error(&result), "ErrorCode::DestinationIpProhibited");
    assert_eq!(resolver.lookups.load(SeqCst), 2);
    assert_eq!((server.accepted(), other.accepted()), (1, 0));
}

#[tokio::test]
async fn only_the_allowed_addresses_of_a_name_are_tried() {
    let good = Server::says(&ok("good"));
    let bad = Server::on(&format!("127.0.0.2:{}", good.port()), |_, _| ());
    let url = format!("http://api.example.com:{}/", good.port());
    let addresses: &[&[&str]] = &[&["127.0.0.2", "::ffff:127.0.0.2", "127.0.0.1"]];
    let http = json!({"allow": [url], "privateNetworks": ["127.0.0.1"]});
    let result = web(&http, &ScriptedResolver::of(addresses)).await;
    let result = result.fetch(json!({"url": url})).await;
    assert_eq!(answer(&result)["body"], "good", "{result:?}");
    assert_eq!((good.accepted(), bad.accepted()), (1, 0));
    assert!(result.usage().denials.is_empty());
}

#[tokio::test]
async fn alternative_notations_of_an_address_are_refused() {
    let server = Server::says(&ok("inside"));
    for address in [
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "169.254.169.254",
        "::1",
        "fd00::1",
    ] {
        let url = format!("http://api.example.com:{}/", server.port());
        // A rule for loopback does not allow other notations of it.
        let http = json!({"allow": [url], "privateNetworks": ["127.0.0.0/8"]});
        let web = web(&http, &ScriptedResolver::of(&[&[address]])).await;
        let result = web.fetch(json!({"url": url})).await;
        assert_eq!(
            error(&result),
            "ErrorCode::DestinationIpProhibited",
            "{address}"
        );
    }
    for host in [
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.port());
        let result = fetch(&json!({"allow": [server.origin()]}), json!({"url": url})).await;
        let error = error(&result);
        assert!(
            [
                "ErrorCode::HttpRequestUriInvalid",
                "ErrorCode::HttpRequestDenied"
            ]
            .contains(&error),
            "{host}: {error}"
        );
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn the_guest_gets_an_error_for_an_unknown_name() {
    let url = "http://api.example.com/";
    let web = web(&json!({"allow": [url]}), &ScriptedResolver::of(&[&[]])).await;
    let result = web.fetch(json!({"url": url})).await;
    assert!(
        error(&result).starts_with("ErrorCode::DnsError"),
        "{result:?}"
    );
}

#[tokio::test]
async fn an_embedder_can_answer_every_allowed_request() {
    let server = Server::echo();
    let http = json!({
        "allow": ["https://api.example.com/v1/*"],
        "credentials": [{
            "origin": "https://api.example.com", "header": "authorization",
            "prefix": "Bearer ", "value": {"secret": "sk-12345"},
        }],
    });
    let web = Web::answered_by(&http, server.address).await;
    let result = web
        .fetch(json!({"url": "https://api.example.com/v1/x"}))
        .await;
    assert_eq!(answer(&result)["status"], 200, "{result:?}");
    let request = server.requests().remove(0);
    assert!(request.starts_with("GET /v1/x HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("host: api.example.com\r\n"), "{request}");
    assert!(
        request.contains("authorization: Bearer sk-12345\r\n"),
        "{request}"
    );
    // A request that is not allowed does not reach the embedder's server.
    for url in ["https://api.example.com/v2", "https://other.example/v1/x"] {
        let result = web.fetch(json!({"url": url})).await;
        assert_eq!(error(&result), "ErrorCode::HttpRequestDenied");
    }
    assert_eq!(server.accepted(), 1);
    // A policy cannot set the server.
    assert!(Policy::parse("tools: {t: {http: {answeredBy: 'x'}}}", "p.yaml").is_err());
}
