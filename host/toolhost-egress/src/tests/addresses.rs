//! Name resolution: one lookup per request, and connections only to checked addresses.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toolhost_contract::Denial;

use super::Setup;
use super::server::{Server, ok};
use crate::{HttpResolveFuture, HttpResolver, RequestError};

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

    fn lookups(&self) -> usize {
        self.lookups.load(SeqCst)
    }
}

impl HttpResolver for ScriptedResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> HttpResolveFuture<'a> {
        assert!(
            !host.ends_with('.') && host.parse::<IpAddr>().is_err(),
            "{host}"
        );
        let index = self.lookups.fetch_add(1, SeqCst);
        let answer = self.answers[index.min(self.answers.len() - 1)].clone();
        Box::pin(async move {
            if answer.is_empty() {
                return Err(io::Error::other("no such name"));
            }
            Ok(answer)
        })
    }
}

fn allow(url: &str, resolver: &Arc<ScriptedResolver>) -> Setup {
    let mut setup = Setup::allow(&[url]);
    setup.config.resolver = Arc::clone(resolver) as Arc<dyn HttpResolver>;
    setup
}

fn is_network_denied(error: &RequestError) -> bool {
    matches!(error, RequestError::Denied(Denial::HttpNetwork { .. }))
}

#[tokio::test]
async fn localhost_resolves_to_loopback_if_a_rule_names_it() {
    let server = Server::says(&ok("at home"));
    let url = format!("http://localhost:{}/", server.port());
    let answer = Setup::allow(&[&url]).get(&url).await.unwrap();
    assert_eq!(answer.body, "at home");
    assert!(server.requests()[0].contains(&format!("host: localhost:{}\r\n", server.port())));
    // A rule for the name does not allow the address, nor the reverse.
    for (rule, url) in [
        (server.origin(), url.clone()),
        (url.clone(), server.origin()),
    ] {
        let denied = Setup::allow(&[&rule]).get(&url).await.unwrap_err();
        let is_denied = matches!(denied, RequestError::Denied(Denial::HttpRequest(_)));
        assert!(is_denied, "{rule}: {denied:?}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_gets_no_connection() {
    let server = Server::says(&ok("inside"));
    let url = format!("http://api.example.com:{}/", server.port());
    let resolver = ScriptedResolver::of(&[&["127.0.0.1"]]);
    let refused = allow(&url, &resolver).get(&url).await.unwrap_err();
    assert_eq!((server.accepted(), resolver.lookups()), (0, 1));
    let denied = Denial::HttpNetwork {
        host: "api.example.com".to_owned(),
        network: "127.0.0.0/8".to_owned(),
    };
    assert_eq!(refused, RequestError::Denied(denied));

    // Addresses of `localhost` other than loopback are refused.
    let local = format!("http://localhost:{}/", server.port());
    let resolver = ScriptedResolver::of(&[&["10.0.0.1"]]);
    let refused = allow(&local, &resolver).get(&local).await.unwrap_err();
    assert!(is_network_denied(&refused), "{refused:?}");

    let resolver = ScriptedResolver::of(&[&["127.0.0.1"]]);
    let listed = allow(&url, &resolver).network("127.0.0.1");
    assert_eq!(listed.get(&url).await.unwrap().body, "inside");
    let host = format!("host: api.example.com:{}\r\n", server.port());
    let requests = server.requests();
    assert!(requests[0].contains(&host), "{requests:?}");
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_checked_address_is_used() {
    let server = Server::says(&ok("first"));
    let other = Server::on(&format!("127.0.0.2:{}", server.port()), |_, _| ());
    let url = format!("http://api.example.com:{}/", server.port());
    // The first answer is allowed; the second is the private address of a rebinding attack.
    let resolver = ScriptedResolver::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let mut call = allow(&url, &resolver).network("127.0.0.1").call();
    assert_eq!(call.get(&url).await.unwrap().body, "first");
    assert_eq!(resolver.lookups(), 1);
    // Every request resolves and checks the name again.
    let refused = call.get(&url).await.unwrap_err();
    assert!(is_network_denied(&refused), "{refused:?}");
    assert_eq!(resolver.lookups(), 2);
    assert_eq!((server.accepted(), other.accepted()), (1, 0));
}

#[tokio::test]
async fn only_the_allowed_addresses_of_a_name_are_tried() {
    let good = Server::says(&ok("good"));
    let bad = Server::on(&format!("127.0.0.2:{}", good.port()), |_, _| ());
    let url = format!("http://api.example.com:{}/", good.port());
    let addresses: &[&[&str]] = &[&["127.0.0.2", "::ffff:127.0.0.2", "127.0.0.1"]];
    let setup = allow(&url, &ScriptedResolver::of(addresses)).network("127.0.0.1");
    assert_eq!(setup.get(&url).await.unwrap().body, "good");
    assert_eq!((good.accepted(), bad.accepted()), (1, 0));
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
        let setup = allow(&url, &ScriptedResolver::of(&[&[address]])).network("127.0.0.0/8");
        let refused = setup.get(&url).await.unwrap_err();
        assert!(is_network_denied(&refused), "{address}: {refused:?}");
    }
    for host in [
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.port());
        let refused = Setup::allow(&[server.origin()]).get(&url).await;
        assert!(
            matches!(
                refused,
                Err(RequestError::UriInvalid | RequestError::Denied(_))
            ),
            "{host}: {refused:?}"
        );
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn an_unknown_name_is_an_error() {
    let url = "http://api.example.com/";
    let unknown = allow(url, &ScriptedResolver::of(&[&[]])).get(url).await;
    assert_eq!(unknown.unwrap_err(), RequestError::Dns);
}
