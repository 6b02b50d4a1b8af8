//! Credentials and TLS.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use toolhost::fleet::{Carrier as _, WorkerLease};
use toolhost_nats::{NatsAuth, NatsCarrier, NatsConfig, NatsError};

use crate::server::{NatsServer, any, before, calls, id, next, send, send_call, text};

/// An nkey of a user: the seed, and what the server knows of it.
const SEED: &str = "SUABTOZXXUAHC37OZVHAYW5HAP73SYPF5PVY2MWQZ6XYAGPKNTQPSNWQIY";
const PUBLIC: &str = "UBE5MOGARLOICTQ6SDQ6WAQN24H3QRKMKKQ7GPWZCEBJCV4BLGRAXY2J";

fn pem(tag: &str, der: &[u8]) -> String {
    pem::encode(&pem::Pem::new(tag, der))
}

async fn works(config: NatsConfig) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let carrier = NatsCarrier::connect(config).await.unwrap();
    let mut from = calls(&carrier, &[any()]).await;
    send(&carrier, &any(), number).await;
    let delivery = next(&mut from).await;
    assert_eq!(delivery.message, text(number));
    carrier.acknowledge(&delivery.receipt).await.unwrap();
}

async fn refused(config: NatsConfig, secret: &str) {
    let debug = format!("{config:?}");
    let error = NatsCarrier::connect(config).await.unwrap_err();
    assert!(matches!(error, NatsError::Credentials { .. }), "{error:?}");
    let texts = format!("{error} {error:?} {debug}");
    assert!(!texts.contains(secret), "{texts}");
    assert!(texts.contains("'auth'"), "{texts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_an_error_without_them() {
    let lines = "authorization { user: me, password: \"right-hunter2\" }";
    let Some(server) = NatsServer::start_with(lines) else {
        return;
    };
    let with = |auth: NatsAuth| {
        let mut config = server.config();
        config.auth = auth;
        config
    };
    let password = |password: &str| NatsAuth::Password {
        user: "me".to_owned(),
        password: password.to_owned().into(),
    };
    works(with(password("right-hunter2"))).await;
    refused(with(password("wrong-hunter2")), "hunter2").await;
    refused(
        with(NatsAuth::Token("hunter2".to_owned().into())),
        "hunter2",
    )
    .await;
    refused(with(NatsAuth::Nkey("hunter2".to_owned().into())), "hunter2").await;
    refused(with(NatsAuth::Nkey(SEED.to_owned().into())), SEED).await;
    refused(with(NatsAuth::Open), "hunter2").await;
    let broken = with(NatsAuth::Credentials("hunter2".to_owned().into()));
    let error = NatsCarrier::connect(broken).await.unwrap_err();
    assert!(
        matches!(error, NatsError::Config { key: "auth", .. }),
        "{error:?}"
    );
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_and_an_nkey_open_a_server() {
    let Some(server) = NatsServer::start_with("authorization { token: \"hunter2\" }") else {
        return;
    };
    let mut config = server.config();
    config.auth = NatsAuth::Token("hunter2".to_owned().into());
    works(config).await;

    let lines = format!("authorization {{ users: [{{ nkey: {PUBLIC} }}] }}");
    let server = NatsServer::start_with(&lines).unwrap();
    let mut config = server.config();
    config.auth = NatsAuth::Nkey(SEED.to_owned().into());
    works(config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_of_the_readme_suffice() {
    let subjects = "\"toolhost.default.>\", \"$JS.API.>\", \"$JS.ACK.>\", \"$KV.toolhost_default_claims.>\", \
                    \"$KV.toolhost_default_leases.>\", \"$O.toolhost_default_blobs.>\", \"_INBOX.>\"";
    let lines = format!(
        "authorization {{ users: [{{ user: me, password: pass, permissions: {{ \
         publish: [{subjects}], subscribe: [{subjects}] }} }}] }}"
    );
    let Some(server) = NatsServer::start_with(&lines) else {
        return;
    };
    let mut config = server.config();
    config.auth = NatsAuth::Password {
        user: "me".to_owned(),
        password: "pass".to_owned().into(),
    };
    works(config.clone()).await;
    let carrier = NatsCarrier::connect(config).await.unwrap();
    let mut from = calls(&carrier, &[any()]).await;
    let large = Bytes::from(vec![7; 2 << 20]);
    let sent = send_call(&carrier, &any(), 100, 1, large.clone()).await;
    sent.unwrap();
    assert_eq!(next(&mut from).await.message, large);
    let (call, lease) = (
        id(100),
        WorkerLease {
            worker: "one".to_owned(),
            says: text(1),
        },
    );
    assert_eq!(before(carrier.claim(&call, text(1)).await.unwrap()), None);
    carrier.forget(&call).await.unwrap();
    carrier.keep_lease(&lease).await.unwrap();
    assert_eq!(carrier.leases().await.unwrap(), [lease]);
    carrier.end_lease("one").await.unwrap();
    let mut orders = carrier.orders().await.unwrap();
    carrier.tell(text(2)).await.unwrap();
    assert_eq!(next(&mut orders).await.message, text(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_takes_a_private_authority_and_a_certificate_of_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = pem("CERTIFICATE", params.self_signed(&key).unwrap().der());
    let issuer = Issuer::new(params, key);
    let sign = |name: &str, usage: ExtendedKeyUsagePurpose| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &issuer).unwrap();
        (
            pem("CERTIFICATE", certificate.der()),
            pem("PRIVATE KEY", key.serialized_der()),
        )
    };
    let server = sign("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    let client = sign("worker", ExtendedKeyUsagePurpose::ClientAuth);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let lines = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}",
        write("server.pem", &server.0),
        write("server.key", &server.1),
        write("ca.pem", &authority),
    );
    let Some(server) = NatsServer::start_with(&lines) else {
        return;
    };
    let url = server.url().replace("nats:", "tls:");
    let with = |ca: Option<&str>, client: Option<&(String, String)>| {
        let mut config = NatsConfig::new(&url);
        config.ca = ca.map(str::to_owned);
        config.certificate = client.map(|client| client.0.clone());
        config.key = client.map(|client| client.1.clone().into());
        config
    };
    works(with(Some(&authority), Some(&client))).await;
    // Also if the server asks for TLS, and the URL does not.
    let mut config = with(Some(&authority), Some(&client));
    config.url = vec![server.url()];
    works(config).await;
    for config in [with(None, Some(&client)), with(Some(&authority), None)] {
        let error = NatsCarrier::connect(config).await.unwrap_err();
        assert!(matches!(error, NatsError::Unreachable { .. }), "{error:?}");
    }
    // A server without TLS.
    let open = NatsServer::start().unwrap();
    let mut config = open.config();
    config.tls = true;
    let error = NatsCarrier::connect(config).await.unwrap_err();
    assert!(matches!(error, NatsError::Unreachable { .. }), "{error:?}");
}
