//! Access tokens of an OAuth authorization server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use toolhost_mcp::{HttpConfig, HttpError, HttpServer, OAuthConfig, OAuthKeys};

use super::http::{Workspaces, call_2026, headers_2026};
use super::http_client::{Answer, Served};
use super::{server, test_host};
use crate::http::server::{Server, ok};

/// What the tokens of the tests are for.
const RESOURCE: &str = "https://tools.example.com/mcp";

/// A key pair of an authorization server.
struct Signer {
    id: &'static str,
    pair: Ed25519KeyPair,
}

impl Signer {
    fn new(id: &'static str, seed: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Self { id, pair }
    }

    fn jwk(&self) -> Value {
        let public = BASE64URL_NOPAD.encode(self.pair.public_key().as_ref());
        json!({"kty": "OKP", "crv": "Ed25519", "kid": self.id, "use": "sig", "x": public})
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({"alg": "EdDSA", "kid": self.id}), claims)
    }

    fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(message.as_bytes());
        format!("{message}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn claims(issuer: &str) -> Value {
    json!({
        "iss": issuer, "aud": RESOURCE, "sub": "auth0|alice", "scope": "openid tools",
        "exp": now() + 600, "iat": now(),
    })
}

/// Returns claims in which these have other values. Null removes one.
fn with(mut claims: Value, changes: Value) -> Value {
    let fields = claims.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    claims
}

fn set(signers: &[&Signer]) -> String {
    let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
    json!({"keys": keys}).to_string()
}

async fn start(workspaces: &Workspaces, issuer: &str, keys: OAuthKeys) -> Served {
    Served::start(&workspaces.server, |config| {
        let mut oauth = OAuthConfig::new(RESOURCE, issuer);
        oauth.keys = keys;
        oauth.scopes = vec!["tools".to_owned()];
        config.oauth = Some(oauth);
    })
    .await
}

/// Writes a file with a token.
async fn write(served: &Served, path: &str, token: &str) -> Answer {
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let header = format!("Bearer {token}");
    let headers = headers_2026("files__run", &[("Authorization", &header)]);
    served.post_to(path, &write, &headers).await
}

#[tokio::test]
async fn the_subject_of_a_token_is_its_instance() {
    let workspaces = Workspaces::new().await;
    let (issuer, signer) = ("https://id.example.com", Signer::new("one", 1));
    let served = start(&workspaces, issuer, OAuthKeys::Set(set(&[&signer]))).await;
    let alice = signer.sign(&claims(issuer));
    let bob = signer.sign(&with(
        claims(issuer),
        json!({"sub": "bob", "aud": ["x", RESOURCE]}),
    ));
    for token in [&alice, &bob, &alice] {
        let answer = write(&served, "/mcp", token).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 2);
    assert_eq!(write(&served, "/mcp/bob", &bob).await.status, 200);
    assert_eq!(write(&served, "/mcp/bob", &alice).await.status, 403);
    assert_eq!(workspaces.instances(), 2);
    // The page of metrics is for the operator.
    let host = served.address;
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {alice}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        Answer::read(&mut served.send(&request).await).await.status,
        401
    );
}

#[tokio::test]
async fn a_token_that_is_not_for_this_resource_runs_nothing() {
    let workspaces = Workspaces::new().await;
    let (issuer, signer) = ("https://id.example.com", Signer::new("one", 1));
    let stranger = Signer::new("one", 2);
    let served = start(&workspaces, issuer, OAuthKeys::Set(set(&[&signer]))).await;
    let valid = claims(issuer);
    let changed = |changes: Value| signer.sign(&with(valid.clone(), changes));
    let none = BASE64URL_NOPAD.encode(br#"{"alg":"none"}"#);
    let payload = BASE64URL_NOPAD.encode(valid.to_string().as_bytes());
    let of_valid = signer.sign(&valid);
    let (message, signature) = of_valid.rsplit_once('.').unwrap();
    let wrong = [
        (
            "audience of another",
            changed(json!({"aud": "https://other.example.com/mcp"})),
        ),
        ("audiences of others", changed(json!({"aud": ["a", "b"]}))),
        (
            "audience that begins alike",
            changed(json!({"aud": format!("{RESOURCE}/more")})),
        ),
        ("no audience", changed(json!({"aud": null}))),
        (
            "issuer",
            changed(json!({"iss": "https://id.example.com.evil"})),
        ),
        ("no issuer", changed(json!({"iss": null}))),
        ("expired", changed(json!({"exp": now() - 120}))),
        ("no expiry", changed(json!({"exp": null}))),
        (
            "expiry that is a text",
            changed(json!({"exp": (now() + 600).to_string()})),
        ),
        ("not yet valid", changed(json!({"nbf": now() + 600}))),
        ("start that is a text", changed(json!({"nbf": "0"}))),
        ("no subject", changed(json!({"sub": null}))),
        ("empty subject", changed(json!({"sub": ""}))),
        ("long subject", changed(json!({"sub": "s".repeat(257)}))),
        ("signed by a stranger", stranger.sign(&valid)),
        (
            "key that is unknown",
            signer.sign_as(&json!({"alg": "EdDSA", "kid": "two"}), &valid),
        ),
        (
            "another algorithm",
            signer.sign_as(&json!({"alg": "HS256", "kid": "one"}), &valid),
        ),
        (
            "extension",
            signer.sign_as(
                &json!({"alg": "EdDSA", "kid": "one", "crit": ["x"]}),
                &valid,
            ),
        ),
        ("no algorithm", format!("{none}.{payload}.")),
        ("no signature", format!("{message}.")),
        (
            "other payload",
            format!(
                "{}.{payload}x.{signature}",
                message.split('.').next().unwrap()
            ),
        ),
        ("a text", "neither.this.nor-that".to_owned()),
        ("too long", "x".repeat(9000)),
    ];
    for (what, token) in wrong {
        let answer = write(&served, "/mcp", &token).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(
            challenge.contains("error=\"invalid_token\""),
            "{what}: {challenge}"
        );
        assert!(!answer.body.contains(&token), "{what}: {answer:?}");
    }
    let scope = changed(json!({"scope": "openid toolsmith"}));
    let answer = write(&served, "/mcp", &scope).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    let challenge = answer.header("www-authenticate").unwrap();
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"tools\""),
        "{challenge}"
    );
    assert_eq!(workspaces.instances(), 0, "nothing ran");
    assert_eq!(write(&served, "/mcp", &of_valid).await.status, 200);
}

#[tokio::test]
async fn a_client_finds_the_authorization_server_by_the_challenge() {
    let workspaces = Workspaces::new().await;
    let (issuer, signer) = ("https://id.example.com", Signer::new("one", 1));
    let served = start(&workspaces, issuer, OAuthKeys::Set(set(&[&signer]))).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let refused = served.post(&list, &[]).await;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap();
    let metadata = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
    assert!(
        challenge.contains(&format!("resource_metadata=\"{metadata}\"")),
        "{challenge}"
    );
    assert!(
        !challenge.contains("error="),
        "no token was sent: {challenge}"
    );
    let document = served
        .get("/.well-known/oauth-protected-resource/mcp")
        .await;
    assert_eq!(document.header("content-type").unwrap(), "application/json");
    let document: Value = serde_json::from_str(&document.body).unwrap();
    assert_eq!(document["resource"], RESOURCE);
    assert_eq!(document["authorization_servers"], json!([issuer]));
    assert_eq!(document["scopes_supported"], json!(["tools"]));
    assert_eq!(
        served
            .get("/.well-known/oauth-protected-resourcex")
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn the_keys_are_those_that_the_issuer_publishes() {
    let (old, new) = (Signer::new("old", 1), Signer::new("new", 2));
    let is_rotated = Arc::new(AtomicBool::new(false));
    let rotated = Arc::clone(&is_rotated);
    let (first, second) = (set(&[&old]), set(&[&new]));
    let issuer = Server::does(move |request, stream| {
        let host = request.to_lowercase();
        let host = host
            .split("host: ")
            .nth(1)
            .unwrap()
            .split("\r\n")
            .next()
            .unwrap()
            .to_owned();
        let answer = if request.starts_with("GET /.well-known/oauth-authorization-server ") {
            let origin = format!("http://{host}");
            ok(&json!({"issuer": origin, "jwks_uri": format!("{origin}/keys")}).to_string())
        } else if request.starts_with("GET /keys ") {
            ok(if rotated.load(SeqCst) {
                &second
            } else {
                &first
            })
        } else {
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned()
        };
        drop(std::io::Write::write_all(stream, answer.as_bytes()));
    });
    let workspaces = Workspaces::new().await;
    let origin = issuer.origin();
    let served = start(&workspaces, &origin, OAuthKeys::Discovered).await;
    let of_another = with(claims(&origin), json!({"aud": "https://other.example.com"}));
    let answer = write(&served, "/mcp", &old.sign(&of_another)).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(issuer.requests().is_empty(), "no keys are fetched for it");
    let token = old.sign(&claims(&origin));
    for _ in 0..5 {
        let answer = write(&served, "/mcp", &token).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(issuer.requests().len(), 2, "the keys are kept");
    is_rotated.store(true, SeqCst);
    for _ in 0..20 {
        let answer = write(&served, "/mcp", &new.sign(&claims(&origin))).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    // Whatever tokens clients send, the issuer is asked once in ten seconds.
    assert_eq!(issuer.requests().len(), 2);
}

#[tokio::test]
async fn an_issuer_that_does_not_publish_keys_makes_no_token_valid() {
    let signer = Signer::new("one", 1);
    let other_name = json!({"issuer": "https://id.example.com", "jwks_uri": "http://127.0.0.1:9/"});
    let large = format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(300_000));
    let redirect = "HTTP/1.1 302 Found\r\nlocation: /keys\r\ncontent-length: 0\r\n\r\n".to_owned();
    let answers = [
        ("another issuer", ok(&other_name.to_string()), false),
        (
            "no metadata",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            false,
        ),
        ("too large", ok(&large), true),
        ("no key", ok("{\"keys\":[]}"), true),
        ("a redirect", redirect, true),
    ];
    for (what, answer, is_url) in answers {
        let issuer = Server::says(&answer);
        let workspaces = Workspaces::new().await;
        let origin = issuer.origin();
        let keys = if is_url {
            OAuthKeys::Url(format!("{origin}/keys"))
        } else {
            OAuthKeys::Discovered
        };
        let served = start(&workspaces, &origin, keys).await;
        let answer = write(&served, "/mcp", &signer.sign(&claims(&origin))).await;
        assert_eq!(answer.status, 503, "{what}: {answer:?}");
        assert_eq!(workspaces.instances(), 0, "{what}");
    }
}

#[tokio::test]
async fn a_configuration_that_protects_nothing_is_refused() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let loopback = "127.0.0.1:0".parse().unwrap();
    let bind = async |change: &dyn Fn(&mut OAuthConfig)| {
        let mut config = HttpConfig::default();
        let mut oauth = OAuthConfig::new(RESOURCE, "https://id.example.com");
        change(&mut oauth);
        config.oauth = Some(oauth);
        HttpServer::bind(&server, loopback, config).await.map(drop)
    };
    assert!(bind(&|_| ()).await.is_ok());
    let wrong: [&dyn Fn(&mut OAuthConfig); 5] = [
        &|oauth| oauth.issuer = "http://id.example.com".to_owned(),
        &|oauth| oauth.resource = "tools".to_owned(),
        &|oauth| oauth.keys = OAuthKeys::Set("{\"keys\": []}".to_owned()),
        &|oauth| {
            oauth.keys =
                OAuthKeys::Set("{\"keys\": [{\"kty\": \"oct\", \"k\": \"AAAA\"}]}".to_owned())
        },
        &|oauth| oauth.keys = OAuthKeys::Url("ftp://id.example.com/keys".to_owned()),
    ];
    for change in wrong {
        assert!(matches!(bind(change).await, Err(HttpError::OAuth(_))));
    }
}
