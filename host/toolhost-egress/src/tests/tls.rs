//! HTTPS: server certificates are verified.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::server::ok;
use super::{Answer, Setup};
use crate::RequestError;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server with a certificate for a name; answers one request of each connection.
struct Secure {
    address: SocketAddr,
    shaken: Arc<AtomicUsize>,
    names: Arc<Mutex<Vec<Option<String>>>>,
}

async fn secure(name: &str, by: &Issuer, change: impl FnOnce(&mut CertificateParams)) -> Secure {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.signed_by(&key, by).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let server = Secure {
        address: listener.local_addr().unwrap(),
        shaken: Arc::default(),
        names: Arc::default(),
    };
    let (shaken, names) = (Arc::clone(&server.shaken), Arc::clone(&server.names));
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            shaken.fetch_add(1, SeqCst);
            let name = stream.get_ref().1.server_name().map(str::to_owned);
            names.lock().unwrap().push(name);
            let mut head = [0; 4096];
            let _read = stream.read(&mut head).await;
            let _sent = stream.write_all(ok("in private").as_bytes()).await;
            let _over = stream.shutdown().await;
        }
    });
    server
}

async fn get(server: &Secure, host: &str, trusted: &Issuer) -> Result<Answer, RequestError> {
    let url = format!("https://{host}:{}/", server.address.port());
    let mut setup = Setup::allow(&[&url]);
    setup.config.roots = vec![trusted.der().to_vec()];
    setup.get(&url).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_of_an_added_root_is_accepted() {
    let root = authority("ours");
    let server = secure("localhost", &root, |_| ()).await;
    let answer = get(&server, "localhost", &root).await.unwrap();
    assert_eq!(answer.body, "in private");
    assert_eq!(server.shaken.load(SeqCst), 1);
    let names = server.names.lock().unwrap().clone();
    assert_eq!(names, [Some("localhost".to_owned())]);

    let by_address = secure("127.0.0.1", &root, |_| ()).await;
    let answer = get(&by_address, "127.0.0.1", &root).await.unwrap();
    assert_eq!(answer.body, "in private");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_certificate_is_refused_before_any_data_is_sent() {
    let (root, other) = (authority("ours"), authority("another"));
    let unknown = secure("localhost", &other, |_| ()).await;
    let misnamed = secure("example.com", &root, |_| ()).await;
    let expired = secure("localhost", &root, |params| {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    })
    .await;
    for (server, fault) in [
        (&unknown, "its issuer is unknown"),
        (&misnamed, "it was issued for another name"),
        (&expired, "it has expired"),
    ] {
        let refused = get(server, "localhost", &root).await.unwrap_err();
        assert_eq!(refused, RequestError::Certificate(fault));
        assert_eq!(server.shaken.load(SeqCst), 0);
    }
}

#[tokio::test]
async fn a_server_without_tls_is_an_error() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = plain.accept().unwrap();
        let _hello = stream.read(&mut [0; 4096]);
        let _sent = stream.write_all(ok("in the open").as_bytes());
        let _rest = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let refused = Setup::allow(&[&url]).get(&url).await;
    assert_eq!(refused.unwrap_err(), RequestError::Tls);
}
