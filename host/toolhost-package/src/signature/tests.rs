use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolhost_contract::ResourceName;
use toolhost_manifest::policy::PackageSigner;

use super::*;

fn digest(text: &str) -> String {
    crate::registry::digest_of(text.as_bytes())
}

fn package(name: &str) -> PackageReference {
    PackageReference::parse(name).unwrap()
}

fn rules(signers: &[(&str, String, &[&str])]) -> PackageRules {
    let mut rules = PackageRules::default();
    for (name, pem, packages) in signers {
        let signer = PackageSigner {
            trust: SignerTrust::Key(pem.clone()),
            packages: (!packages.is_empty())
                .then(|| packages.iter().map(|&name| name.to_owned()).collect()),
        };
        let name = ResourceName::parse(name).unwrap();
        rules.signers.insert(name, signer);
    }
    rules
}

fn key() -> SigningKey {
    SigningKey::generate().unwrap().0
}

/// Changes a bundle.
fn changed(bundle: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut bundle: Value = serde_json::from_str(bundle).unwrap();
    change(&mut bundle);
    bundle.to_string()
}

#[test]
fn a_signature_is_accepted_for_its_digest_and_its_key_alone() {
    let (own, other) = (key(), key());
    let signers = Signers::new(&rules(&[("own", own.public_pem(), &[])])).unwrap();
    let (wanted, of) = (digest("package"), package("ghcr.io/me/notes"));
    let signature = own.sign(&wanted).unwrap();
    let verified = signers.verify(&of, &wanted, std::slice::from_ref(&signature));
    let expected = Verified {
        signers: vec![format!("key {}", own.fingerprint())],
        bundles: vec![signature.clone()],
    };
    assert_eq!(verified.unwrap(), expected);

    let refused = |bundles: &[String], digest: &str| {
        let error = signers.verify(&of, digest, bundles).unwrap_err();
        error.to_string()
    };
    let reason = refused(&[other.sign(&wanted).unwrap()], &wanted);
    assert!(
        reason.contains("own: the signature is not of this key"),
        "{reason}"
    );
    let reason = refused(std::slice::from_ref(&signature), &digest("other"));
    assert!(
        reason.contains("own: its statement is about another digest"),
        "{reason}"
    );
    let reason = refused(&[], &wanted);
    assert!(
        reason.contains("not signed") && reason.contains("own"),
        "{reason}"
    );
    // Among signatures of others, its own is found.
    let both = [other.sign(&wanted).unwrap(), "{}".to_owned(), signature];
    assert!(signers.verify(&of, &wanted, &both).is_ok());
}

#[test]
fn the_signers_do_not_depend_on_the_order_of_the_signatures() {
    let (first, second) = (key(), key());
    let signers = [
        ("a", first.public_pem(), &[][..]),
        ("b", second.public_pem(), &[]),
    ];
    let signers = Signers::new(&rules(&signers)).unwrap();
    let (wanted, of) = (digest("package"), package("ghcr.io/me/notes"));
    let mut bundles = [first.sign(&wanted).unwrap(), second.sign(&wanted).unwrap()];
    let both = [&first, &second].map(|key| format!("key {}", key.fingerprint()));
    for _ in 0..2 {
        bundles.reverse();
        let verified = signers.verify(&of, &wanted, &bundles).unwrap();
        assert_eq!(verified.signers, both);
    }
    assert!(first.has_signed(&wanted, &bundles) && second.has_signed(&wanted, &bundles));
    assert!(!key().has_signed(&wanted, &bundles));
    assert!(!first.has_signed(&digest("other"), &bundles));
}

#[test]
fn a_signature_of_a_key_needs_no_log_and_is_checked_with_one_alike() {
    let signing_key = key();
    let signers = Signers::new(&rules(&[("own", signing_key.public_pem(), &[])])).unwrap();
    let (wanted, of) = (digest("package"), package("ghcr.io/me/notes"));
    let logged = |bundle: &str| {
        changed(bundle, |bundle| {
            bundle["verificationMaterial"]["tlogEntries"] = json!([{
                "logIndex": "1", "logId": {"keyId": "AAAA"}, "integratedTime": "1",
                "kindVersion": {"kind": "dsse", "version": "0.0.1"},
                "inclusionPromise": {"signedEntryTimestamp": "AAAA"},
                "canonicalizedBody": "AAAA",
            }]);
        })
    };
    let signed = logged(&signing_key.sign(&wanted).unwrap());
    signers.verify(&of, &wanted, &[signed]).unwrap();
    let forged = logged(&key().sign(&wanted).unwrap());
    let error = signers.verify(&of, &wanted, &[forged]).unwrap_err();
    assert!(error.to_string().contains("not of this key"), "{error}");
}

#[test]
fn a_bundle_of_another_digest_or_a_file_that_is_none_is_not_attached() {
    let (own, pem) = SigningKey::generate().unwrap();
    let digest_of_package = digest("package");
    check_bundle(&own.sign(&digest_of_package).unwrap(), &digest_of_package).unwrap();
    for (text, reason) in [
        (own.sign(&digest("other")).unwrap(), "another digest"),
        (pem.to_string(), "not a valid Sigstore bundle"),
    ] {
        let error = check_bundle(&text, &digest_of_package)
            .unwrap_err()
            .to_string();
        assert!(error.contains(reason), "{error}");
        let secret = pem.lines().nth(1).unwrap();
        assert!(!error.contains(secret), "{error}");
    }
}

#[test]
fn a_signature_that_was_changed_is_refused() {
    let signing_key = key();
    let signers = Signers::new(&rules(&[("own", signing_key.public_pem(), &[])])).unwrap();
    let (wanted, of) = (digest("package"), package("ghcr.io/me/notes"));
    let bundle = signing_key.sign(&wanted).unwrap();
    let payload = |text: &str| {
        let text = text.to_owned();
        move |bundle: &mut Value| {
            bundle["dsseEnvelope"]["payload"] =
                data_encoding::BASE64.encode(text.as_bytes()).into();
        }
    };
    let other = signing_key.sign(&digest("other")).unwrap();
    let other: Value = serde_json::from_str(&other).unwrap();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": wanted.strip_prefix("sha256:").unwrap()}}],
        "predicateType": SIGNATURE,
        "predicate": {"other": true},
    });
    for (bundle, reason) in [
        // Another statement under the signature.
        (
            changed(&bundle, payload(&statement.to_string())),
            "not of this key",
        ),
        // The signature of another statement.
        (
            changed(&bundle, |bundle| {
                bundle["dsseEnvelope"]["signatures"] = other["dsseEnvelope"]["signatures"].clone();
            }),
            "not of this key",
        ),
        // None, and two.
        (
            changed(&bundle, |bundle| {
                bundle["dsseEnvelope"]["signatures"] = json!([])
            }),
            "exactly one signature",
        ),
        (
            changed(&bundle, |bundle| {
                let one = bundle["dsseEnvelope"]["signatures"][0].clone();
                bundle["dsseEnvelope"]["signatures"] = json!([one, one]);
            }),
            "exactly one signature",
        ),
        // The bytes of a statement in an envelope that is no statement.
        (
            changed(&bundle, |bundle| {
                bundle["dsseEnvelope"]["payloadType"] = "text/plain".into()
            }),
            "not a statement",
        ),
        (changed(&bundle, payload("{}")), "missing field"),
        (changed(&bundle, payload("not JSON")), "is not valid JSON"),
        (
            changed(&bundle, |bundle| {
                bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=9".into();
            }),
            "not a valid Sigstore bundle",
        ),
        ("[".repeat(100_000), "not a valid Sigstore bundle"),
        (String::new(), "not a valid Sigstore bundle"),
    ] {
        let error = signers.verify(&of, &wanted, &[bundle]).unwrap_err();
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert!(error.to_string().len() < 1000, "{error}");
    }
}

#[test]
fn a_signature_over_bytes_or_of_another_kind_of_statement_approves_of_nothing() {
    let signers = Signers::new(&rules(&[("own", key().public_pem(), &[])])).unwrap();
    let (wanted, of) = (digest("package"), package("ghcr.io/me/notes"));
    let message = json!({
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": []},
        "messageSignature": {"signature": "AAAA"},
    });
    let error = signers
        .verify(&of, &wanted, &[message.to_string()])
        .unwrap_err();
    assert!(error.to_string().contains("has no statement"), "{error}");
    let own_bundle = key().sign(&wanted).unwrap();
    let vulnerable = changed(&own_bundle, |bundle| {
        let statement = json!({"predicateType": "https://openvex.dev/ns", "subject": []});
        let text = statement.to_string();
        bundle["dsseEnvelope"]["payload"] = data_encoding::BASE64.encode(text.as_bytes()).into();
    });
    let error = signers.verify(&of, &wanted, &[vulnerable]).unwrap_err();
    assert!(error.to_string().contains("neither a signature"), "{error}");
}

#[test]
fn a_signer_signs_the_packages_that_the_policy_names() {
    let (acme, other) = (key(), key());
    let mut rules = rules(&[
        (
            "acme",
            acme.public_pem(),
            &["ghcr.io/acme/*", "localhost:5000/tool"],
        ),
        ("other", other.public_pem(), &["quay.io/*"]),
    ]);
    rules.unsigned = vec!["localhost:5000/own/*".to_owned()];
    let signers = Signers::new(&rules).unwrap();
    let wanted = digest("package");
    let bundles = [acme.sign(&wanted).unwrap()];
    let verify = |name: &str| signers.verify(&package(name), &wanted, &bundles);
    for accepted in [
        "ghcr.io/acme/notes:1.0",
        "ghcr.io/acme/deep/notes",
        "localhost:5000/tool",
    ] {
        assert!(verify(accepted).is_ok(), "{accepted}");
    }
    for nobody in [
        "ghcr.io/acmes/notes",
        "ghcr.io/evil/acme/notes",
        "localhost:5000/tools",
    ] {
        assert_eq!(
            verify(nobody).unwrap_err(),
            SignatureError::NoSigner,
            "{nobody}"
        );
    }
    assert!(matches!(
        verify("quay.io/acme/notes").unwrap_err(),
        SignatureError::NotAccepted { .. }
    ));
    assert!(signers.exempts(&package("localhost:5000/own/tool")));
    assert!(!signers.exempts(&package("localhost:5000/owned/tool")));
}

#[test]
fn keys_of_other_programs_sign_and_verify() {
    // `openssl genpkey -algorithm ed25519`
    let ed25519 = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
        -----END PRIVATE KEY-----\n";
    let key = SigningKey::from_pem(ed25519).unwrap();
    let signers = Signers::new(&rules(&[("own", key.public_pem(), &[])])).unwrap();
    let wanted = digest("package");
    let bundles = [key.sign(&wanted).unwrap()];
    signers
        .verify(&package("ghcr.io/a/b"), &wanted, &bundles)
        .unwrap();
}

#[test]
fn rules_that_cannot_be_used_name_the_signer() {
    let private = SigningKey::generate().unwrap().1;
    for pem in ["", "not PEM", &private] {
        let error = Signers::new(&rules(&[("acme", pem.to_owned(), &[])])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("signer acme"), "{text}");
        let secret = private.lines().nth(1).unwrap();
        assert!(!text.contains(secret), "{text}");
    }
    for root in ["", "{}", "[1]"] {
        let rules = PackageRules {
            trusted_root: Some(root.to_owned()),
            signers: BTreeMap::new(),
            ..PackageRules::default()
        };
        let error = Signers::new(&rules).unwrap_err();
        assert!(
            matches!(error, SignersError::TrustedRoot(_)),
            "{root}: {error}"
        );
    }
}
