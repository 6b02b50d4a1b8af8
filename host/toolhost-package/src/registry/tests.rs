//! The client with registries on loopback, of which most are hostile.

mod server;

use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use toolhost_egress::{Egress, HttpConfig};
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_runtime::{Quota, Threads};
use url::Url;

use self::server::{Answer, Request, Server, answer};
use super::client::INDEX_TYPE;
use super::exchange::{HttpRequest, NoResponse};
use super::referrers::fallback_tag;
use super::*;
use crate::credentials::{Credential, Credentials, NoCredentials};

fn registry(credentials: impl Credentials) -> Registry {
    static SHARED: OnceLock<Egress> = OnceLock::new();
    let egress = SHARED.get_or_init(|| {
        let (files, threads) = (Quota::open_files(3), Threads::start(1).unwrap());
        Egress::new(&HttpConfig::default(), Arc::new(files), 3, threads).unwrap()
    });
    let mut config = RegistryConfig::new(egress.clone());
    config.credentials = Arc::new(credentials);
    config.idle_time = Duration::from_millis(500);
    Registry::new(config)
}

fn reference(server: &Server, name: &str) -> PackageReference {
    PackageReference::parse(&format!("{}/{name}", server.host)).unwrap()
}

/// A registry that answers every request with this.
fn one(answer: impl Fn() -> Answer + Send + Sync + 'static) -> (Server, PackageReference) {
    let server = Server::start(true, move |_| Some(answer()));
    let reference = reference(&server, "me/text:1");
    (server, reference)
}

fn works(_: &Request) -> Option<Answer> {
    None
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

#[derive(Debug)]
struct Given(Credential);

impl Credentials for Given {
    fn find(&self, _registry: &str) -> Result<Option<Credential>, String> {
        Ok(Some(self.0.clone()))
    }
}

fn password() -> Given {
    let (user, password) = ("me".to_owned(), "s3cret".to_owned());
    Given(Credential::Password { user, password })
}

#[tokio::test]
async fn blobs_and_manifests_are_written_once_and_read_by_tag_and_digest() {
    let server = Server::start(true, works);
    let (registry, reference) = (registry(NoCredentials), reference(&server, "me/text:1"));
    let blob = registry
        .push_blob(&reference, "application/wasm", bytes("wasm"))
        .await
        .unwrap();
    assert_eq!(registry.blob(&reference, &blob, 4).await.unwrap(), "wasm");
    let again = registry
        .push_blob(&reference, "application/wasm", bytes("wasm"))
        .await
        .unwrap();
    assert_eq!(again, blob);
    let uploads = server
        .requests()
        .into_iter()
        .filter(|request| request.method == "PUT");
    assert_eq!(uploads.count(), 1);
    let digest = registry
        .push_manifest(&reference, bytes("{}"), Some("1"))
        .await
        .unwrap();
    let of_tag = registry.resolve(&reference).await.unwrap();
    assert_eq!(
        (of_tag.digest.as_str(), &*of_tag.bytes),
        (digest.as_str(), &b"{}"[..])
    );
    let of_digest = registry
        .resolve(&reference.with_digest(&digest).unwrap())
        .await
        .unwrap();
    assert_eq!(of_digest, of_tag);
}

#[tokio::test]
async fn referrers_are_listed_by_the_registry_or_under_a_tag() {
    for lists_referrers in [true, false] {
        let server = Server::start(lists_referrers, works);
        let (registry, reference) = (registry(NoCredentials), reference(&server, "me/text:1"));
        let subject = Descriptor::of(MANIFEST_TYPE, b"{}");
        registry
            .push_manifest(&reference, bytes("{}"), Some("1"))
            .await
            .unwrap();
        assert_eq!(
            registry
                .referrers(&reference, &subject.digest, "a/b")
                .await
                .unwrap(),
            []
        );
        let mut attached = Vec::new();
        for text in ["one", "two"] {
            attached.push(
                registry
                    .attach(&reference, &subject, "a/b", bytes(text))
                    .await
                    .unwrap(),
            );
        }
        registry
            .attach(&reference, &subject, "other/type", bytes("three"))
            .await
            .unwrap();
        let digests = registry
            .referrers(&reference, &subject.digest, "a/b")
            .await
            .unwrap();
        let mut digests: Vec<_> = digests.into_iter().map(|one| one.digest).collect();
        digests.sort_unstable();
        attached.sort_unstable();
        assert_eq!(digests, attached, "{lists_referrers}");
        let tag = fallback_tag(&subject.digest);
        let has_tag = registry.manifest(&reference, &tag).await.is_ok();
        assert_eq!(has_tag, !lists_referrers);
    }
}

#[tokio::test]
async fn a_bad_referrer_hides_no_other_and_what_other_clients_listed_is_kept() {
    let server = Server::start(false, works);
    let (registry, reference) = (registry(NoCredentials), reference(&server, "me/text:1"));
    let subject = Descriptor::of(MANIFEST_TYPE, b"{}");
    let put = async |value: Value, tag: Option<&str>| {
        let manifest = bytes(&value.to_string());
        registry
            .push_manifest(&reference, manifest, tag)
            .await
            .unwrap()
    };
    let layer = |text: &str, size: u64| {
        let mut layer = Descriptor::of("a/b", text.as_bytes());
        layer.size = size;
        json!({"config": {}, "layers": [layer]})
    };
    // No manifest, no blob, a blob of another size, a blob that is too large, several blobs, and no artifact.
    let blob = Descriptor::of("a/b", b"listed");
    registry
        .push_blob(&reference, "a/b", bytes("listed"))
        .await
        .unwrap();
    let bad = [
        digest_of(b"nowhere"),
        put(layer("nowhere", 7), None).await,
        put(layer("listed", 5), None).await,
        put(layer("listed", 1 << 30), None).await,
        put(json!({"layers": [blob, blob]}), None).await,
        put(json!([]), None).await,
        "sha256:../../etc".to_owned(),
    ];
    let listed: Vec<_> = bad
        .iter()
        .map(|digest| {
            json!({"mediaType": MANIFEST_TYPE, "digest": digest, "size": 1, "artifactType": "a/b",
                "platform": {"os": "theirs"}})
        })
        .collect();
    let list = json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": listed,
        "annotations": {"of": "theirs"}});
    let tag = fallback_tag(&subject.digest);
    put(list.clone(), Some(&tag)).await;
    let attach = registry.attach(&reference, &subject, "a/b", bytes("good"));
    let good = attach.await.unwrap();
    let attached_bytes = registry.attached(&reference, &subject.digest, "a/b", 100);
    assert_eq!(attached_bytes.await.unwrap(), [bytes("good")]);

    let now = registry.manifest(&reference, &tag).await.unwrap();
    let mut now: Value = serde_json::from_slice(&now.bytes).unwrap();
    let added = now["manifests"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(added["digest"], good);
    assert_eq!(now, list);
}

#[tokio::test]
async fn a_tag_that_is_not_a_list_of_referrers_is_not_replaced() {
    let server = Server::start(false, works);
    let (registry, reference) = (registry(NoCredentials), reference(&server, "me/text:1"));
    let subject = Descriptor::of(MANIFEST_TYPE, b"{}");
    let tag = fallback_tag(&subject.digest);
    for other in ["[]", r#"{"mediaType": "a/b", "manifests": []}"#, "no JSON"] {
        let pushed = registry.push_manifest(&reference, bytes(other), Some(&tag));
        pushed.await.unwrap();
        let attached = registry.attach(&reference, &subject, "a/b", bytes("good"));
        let error = attached.await.unwrap_err().to_string();
        assert!(error.contains("not a list of referrers"), "{error}");
        let now = registry.manifest(&reference, &tag).await.unwrap();
        assert_eq!(now.bytes, other);
    }
}

#[tokio::test]
async fn a_server_behind_a_redirect_gets_no_credential_and_names_no_token_server() {
    let other = Server::start(true, |request| {
        let host = request.header("host").unwrap();
        let challenge = format!("www-authenticate: Bearer realm=\"http://{host}/token\"\r\n");
        Some(answer(401, &challenge, ""))
    });
    let to = other.host.clone();
    let server = Server::start(true, move |_| {
        Some(answer(307, &format!("location: http://{to}/blob\r\n"), ""))
    });
    let blob = Descriptor::of("application/wasm", b"wasm");
    let read = registry(password())
        .blob(&reference(&server, "me/text:1"), &blob, 4)
        .await;
    let error = read.unwrap_err();
    assert!(matches!(error, RegistryError::Refused { .. }), "{error}");
    let [request] = &*other.requests() else {
        panic!("{:?}", other.requests())
    };
    assert_eq!(
        (request.path.as_str(), request.header("authorization")),
        ("/blob", None)
    );
}

/// A registry that asks for a token of its own server, which wants the password if `needs_password`.
fn with_tokens(needs_password: bool) -> Server {
    Server::start(true, move |request| {
        let host = request.header("host").unwrap();
        if request.path.starts_with("/token") {
            let basic = request.header("authorization");
            let is_known = basic.as_deref() == Some("Basic bWU6czNjcmV0");
            return Some(if !needs_password || is_known {
                answer(200, "", r#"{"token": "t0ken"}"#)
            } else {
                answer(401, "", "")
            });
        }
        if request.header("authorization").as_deref() == Some("Bearer t0ken") {
            return None;
        }
        let challenge =
            format!("www-authenticate: Bearer realm=\"http://{host}/token\",service=\"x\"\r\n");
        Some(answer(401, &challenge, ""))
    })
}

#[tokio::test]
async fn a_token_is_asked_for_once_with_the_scope_of_the_repository() {
    let server = with_tokens(true);
    let (registry, reference) = (registry(password()), reference(&server, "me/text:1"));
    for _ in 0..2 {
        registry
            .push_manifest(&reference, bytes("{}"), Some("1"))
            .await
            .unwrap();
    }
    let requests = server.requests();
    let paths: Vec<_> = requests
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    let token = "/token?service=x&scope=repository%3Ame%2Ftext%3Apull%2Cpush";
    let put = "/v2/me/text/manifests/1";
    assert_eq!(paths, [put, token, put, put]);
    assert_eq!(
        requests[0].header("authorization"),
        None,
        "before it is asked for"
    );
}

#[tokio::test]
async fn what_is_public_is_read_without_credentials_and_what_is_not_is_refused() {
    let public = with_tokens(false);
    let reference_of_public = reference(&public, "me/text:1");
    let anonymous = registry(NoCredentials);
    let missing = anonymous.resolve(&reference_of_public).await.unwrap_err();
    assert!(
        matches!(missing, RegistryError::NotFound { .. }),
        "{missing}"
    );
    let private = with_tokens(true);
    let reference_of_private = reference(&private, "me/text:1");
    let error = anonymous.resolve(&reference_of_private).await.unwrap_err();
    assert!(error.to_string().contains("without credentials"), "{error}");
    assert!(error.help().contains("docker login"));
}

#[tokio::test]
async fn an_identity_token_is_exchanged_in_the_body_of_a_request() {
    let server = with_tokens(false);
    let token = Given(Credential::IdentityToken("1dentity".to_owned()));
    let _ = registry(token)
        .resolve(&reference(&server, "me/text:1"))
        .await;
    let requests = server.requests();
    let exchange = requests
        .iter()
        .find(|request| request.path == "/token")
        .unwrap();
    assert_eq!(exchange.method, "POST");
    let body = String::from_utf8_lossy(&exchange.body);
    assert!(
        body.contains("grant_type=refresh_token") && body.contains("refresh_token=1dentity"),
        "{body}"
    );
}

#[tokio::test]
async fn a_registry_cannot_ask_for_a_token_of_another_repository() {
    let server = Server::start(true, |request| {
        let host = request.header("host").unwrap();
        let scope = "repository:someone/else:pull,push";
        let challenge =
            format!("www-authenticate: Bearer realm=\"http://{host}/token\",scope=\"{scope}\"\r\n");
        Some(answer(401, &challenge, ""))
    });
    let _ = registry(password())
        .resolve(&reference(&server, "me/text:1"))
        .await;
    let requests = server.requests();
    let token = requests
        .iter()
        .find(|request| request.path.starts_with("/token"))
        .unwrap();
    assert_eq!(token.path, "/token?scope=repository%3Ame%2Ftext%3Apull");
}

#[tokio::test]
async fn the_credential_does_not_follow_a_redirect_to_another_server() {
    let other = Server::start(true, |_| Some(answer(200, "", "wasm")));
    let to = other.host.clone();
    let server = Server::start(true, move |request| {
        if request.header("authorization").is_none() {
            return Some(answer(401, "www-authenticate: Basic realm=x\r\n", ""));
        }
        Some(answer(
            307,
            &format!("location: http://{to}/elsewhere\r\n"),
            "",
        ))
    });
    let blob = Descriptor::of("application/wasm", b"wasm");
    let read = registry(password())
        .blob(&reference(&server, "me/text:1"), &blob, 4)
        .await;
    assert_eq!(read.unwrap(), "wasm");
    let [request] = &*other.requests() else {
        panic!()
    };
    assert_eq!(request.path, "/elsewhere");
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn bytes_with_another_digest_are_refused() {
    let (_server, reference) = one(|| answer(200, "", "evil"));
    let registry = registry(NoCredentials);
    let blob = Descriptor::of("application/wasm", b"good");
    let error = registry.blob(&reference, &blob, 4).await.unwrap_err();
    assert!(
        matches!(&error, RegistryError::Digest { found, .. } if *found == digest_of(b"evil")),
        "{error}"
    );
    let by_digest = reference.clone().with_digest(&blob.digest).unwrap();
    let error = registry.resolve(&by_digest).await.unwrap_err();
    assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
}

#[tokio::test]
async fn more_bytes_than_are_read_are_refused_announced_or_not() {
    let announced = || answer(200, "", vec![b' '; MANIFEST_MAX as usize + 1]);
    let endless = || {
        Answer::Raw(Box::new(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n");
            let chunk = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
            while stream.write_all(&chunk).is_ok() {}
        }))
    };
    for hostile in [
        Box::new(announced) as Box<dyn Fn() -> Answer + Send + Sync>,
        Box::new(endless),
    ] {
        let (_server, reference) = one(hostile);
        let registry = registry(NoCredentials);
        let error = registry.resolve(&reference).await.unwrap_err();
        assert!(
            matches!(
                error,
                RegistryError::TooLarge {
                    max: MANIFEST_MAX,
                    ..
                }
            ),
            "{error}"
        );
        let blob = Descriptor::of("application/wasm", b"good");
        let error = registry.blob(&reference, &blob, 4).await.unwrap_err();
        assert!(
            matches!(error, RegistryError::TooLarge { max: 4, .. }),
            "{error}"
        );
        let error = registry
            .referrers(&reference, &blob.digest, "a/b")
            .await
            .unwrap_err();
        assert!(matches!(error, RegistryError::TooLarge { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_blob_that_is_too_large_is_not_asked_for() {
    let (server, reference) = one(|| answer(200, "", ""));
    let mut blob = Descriptor::of("application/wasm", b"");
    blob.size = 1 << 40;
    let error = registry(NoCredentials)
        .blob(&reference, &blob, 1 << 20)
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error}");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_registry_that_sends_nothing_or_a_byte_now_and_then_is_given_up() {
    let silent = || Answer::Raw(Box::new(|_| std::thread::sleep(Duration::from_secs(20))));
    let stops = || {
        Answer::Raw(Box::new(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\n{");
            std::thread::sleep(Duration::from_secs(20));
        }))
    };
    for slow in [
        Box::new(silent) as Box<dyn Fn() -> Answer + Send + Sync>,
        Box::new(stops),
    ] {
        let (_server, reference) = one(slow);
        let started = Instant::now();
        let error = registry(NoCredentials)
            .resolve(&reference)
            .await
            .unwrap_err();
        assert!(
            matches!(error, RegistryError::Unreachable { .. }),
            "{error}"
        );
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}

#[tokio::test]
async fn redirects_end_and_lead_to_no_server_that_is_not_allowed() {
    for (location, reason) in [
        ("location: /v2/me/text/manifests/1\r\n", "too often"),
        ("location: file:///etc/passwd\r\n", "http"),
        ("location: http://user:pass@127.0.0.1:1/\r\n", "a user"),
        (
            "location: http://example.com/\r\n",
            "only servers of this machine",
        ),
        (
            "location: https://169.254.169.254/latest\r\n",
            "not a public address",
        ),
        ("", "no valid location"),
    ] {
        let (server, reference) = one(move || answer(302, location, ""));
        let error = registry(NoCredentials)
            .resolve(&reference)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{location}: {error}");
        assert!(server.requests().len() <= 6, "{location}");
    }
}

#[tokio::test]
async fn a_registry_elsewhere_leads_to_no_server_of_this_machine() {
    let server = Server::start(true, works);
    let exchange = &registry(NoCredentials).0.exchange.clone();
    for host in [
        server.host.clone(),
        server.host.replace("127.0.0.1", "localhost"),
    ] {
        let request = HttpRequest {
            method: Method::GET,
            url: Url::parse(&format!("http://{host}/v2/")).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max: 10,
            is_local: false,
        };
        let error = exchange.send(request).await.unwrap_err();
        assert!(
            matches!(&error, NoResponse::Failed(reason) if reason.contains("this machine")),
            "{error:?}"
        );
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn an_upload_does_not_go_to_another_server() {
    let other = Server::start(true, |_| Some(answer(201, "", "")));
    let to = other.host.clone();
    let server = Server::start(true, move |request| match request.method.as_str() {
        "POST" => Some(answer(
            202,
            &format!("location: http://{to}/upload\r\n"),
            "",
        )),
        _ => None,
    });
    let (registry, reference) = (registry(password()), reference(&server, "me/text:1"));
    let pushed = registry.push_blob(&reference, "a/b", bytes("wasm"));
    let error = pushed.await.unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn the_reason_of_a_registry_is_cut_and_escaped() {
    let message = format!("no\u{1b}[31m{}", "x".repeat(10_000));
    let body = json!({"errors": [{"code": "DENIED", "message": message}]}).to_string();
    let (_server, reference) = one(move || answer(403, "", body.clone()));
    let error = registry(NoCredentials)
        .resolve(&reference)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("DENIED no"), "{error}");
    assert!(!error.contains('\u{1b}') && error.len() < 600, "{error}");
}

#[tokio::test]
async fn answers_that_are_not_of_the_protocol_are_errors() {
    for (body, status) in [
        ("<html>", 200),
        ("[]", 200),
        (r#"{"manifests": 1}"#, 200),
        ("", 500),
        ("", 101),
    ] {
        let (_server, reference) = one(move || answer(status, "", body));
        let result = registry(NoCredentials)
            .referrers(&reference, &digest_of(b""), "a/b")
            .await;
        assert!(result.is_err(), "{status} {body}: {result:?}");
    }
}
