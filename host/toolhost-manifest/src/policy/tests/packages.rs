//! Whose signatures packages must have.

use super::*;
use crate::bundle::package::PackageReference;

fn rules(packages: &str) -> PackageRules {
    let policy = parse(&format!("packages: {packages}"));
    policy.packages().unwrap().clone()
}

fn package(reference: &str) -> PackageReference {
    PackageReference::parse(reference).unwrap()
}

#[test]
fn a_pattern_names_one_package_or_all_beneath_a_path() {
    let rules = rules("{unsigned: [ghcr.io/me/notes, ghcr.io/acme/*, 'localhost:5000/*']}");
    for (reference, expected) in [
        ("ghcr.io/me/notes:1", true),
        ("ghcr.io/me/notes/more:1", false),
        ("ghcr.io/me/notes2:1", false),
        ("ghcr.io/me/other:1", false),
        ("ghcr.io/acme/a:1", true),
        ("ghcr.io/acme/a/b:1", true),
        ("ghcr.io/acme2/a:1", false),
        ("ghcr.io/acme:1", false),
        ("other.example/acme/a:1", false),
        ("localhost:5000/a:1", true),
        ("localhost:50001/a:1", false),
    ] {
        assert_eq!(rules.exempts(&package(reference)), expected, "{reference}");
    }
}

#[test]
fn a_signer_is_accepted_for_its_packages_and_without_a_list_for_all() {
    let rules = rules("{signers: {all: {key: A}, acme: {key: B, packages: [ghcr.io/acme/*]}}}");
    let signers = |reference: &str| {
        let package = package(reference);
        let signers = rules.signers_of(&package);
        let signers = signers.map(|(name, signer)| format!("{name} {:?}", signer.trust));
        signers.collect::<Vec<_>>()
    };
    assert_eq!(signers("ghcr.io/me/a:1"), ["all Key(\"A\")"]);
    assert_eq!(
        signers("ghcr.io/acme/a:1"),
        ["acme Key(\"B\")", "all Key(\"A\")"]
    );
    assert!(!rules.exempts(&package("ghcr.io/acme/a:1")));
}

#[test]
fn a_signer_is_a_key_or_an_identity_that_somebody_has_checked() {
    let secrets = |source: SecretSource<'_>| match source {
        SecretSource::File(file @ ("key.pem" | "root.json")) => Ok(format!("text of {file}")),
        SecretSource::Env(_) | SecretSource::File(_) => Err("it is not there".to_owned()),
    };
    let read = |packages: &str| {
        let policy = Policy::parse_with(&format!("packages: {packages}"), "p.yaml", &secrets)?;
        Ok(policy.packages().unwrap().clone())
    };
    let rules = read(
        "{signers: {k: {key: {fromFile: key.pem}}, i: {identity: a@a.example, issuer: 'https://b.example'}}, trustedRoot: {fromFile: root.json}, privateNetworks: [10.0.0.0/8]}",
    );
    let rules: Result<PackageRules, PolicyError> = rules;
    let rules = rules.unwrap();
    let shown = rules
        .signers
        .values()
        .map(|signer| signer.trust.to_string());
    assert_eq!(
        shown.collect::<Vec<_>>(),
        ["a@a.example of https://b.example", "a key"]
    );
    let key = SignerTrust::Key("text of key.pem".to_owned());
    assert_eq!(rules.signers[&name("k")].trust, key);
    assert_eq!(rules.trusted_root.as_deref(), Some("text of root.json"));
    assert_eq!(rules.private_networks.len(), 1);

    let either = "a signer has either 'key', or 'identity' and 'issuer'";
    let pattern = "is not HOST/REPOSITORY or HOST/PATH/*";
    for (packages, says) in [
        ("{signers: {k: {}}}", either),
        ("{signers: {k: {key: A, issuer: b}}}", either),
        ("{signers: {k: {key: A, identity: a, issuer: b}}}", either),
        ("{signers: {k: {identity: a}}}", either),
        ("{signers: {k: {issuer: b}}}", either),
        (
            "{signers: {k: {identity: ' ', issuer: b}}}",
            "it must not be empty",
        ),
        (
            "{signers: {k: {identity: a, issuer: b}}}",
            "needs 'trustedRoot'",
        ),
        (
            "{signers: {k: {key: A, packages: []}}}",
            "accepts the signer for no package",
        ),
        (
            "{signers: {k: {key: {fromFile: other}}}}",
            "the file could not be read: it is not there",
        ),
        (
            "{signers: {k: {key: {file: key.pem}}}}",
            "unknown key 'file'",
        ),
        ("{unsigned: [ghcr.io/me/a:1]}", pattern),
        ("{unsigned: ['ghcr.io/me/a:1/*']}", pattern),
        ("{unsigned: ['oci://ghcr.io/me/a']}", pattern),
        ("{unsigned: ['ghcr.io/*/a']}", pattern),
        ("{unsigned: ['*']}", pattern),
        ("{unsigned: [ghcr.io]}", pattern),
    ] {
        let error = read(packages).unwrap_err().to_string();
        assert!(error.contains(says), "{packages}: {error}");
    }
    let digest = format!("{{unsigned: ['ghcr.io/me/a@sha256:{}']}}", "a".repeat(64));
    assert!(read(&digest).unwrap_err().to_string().contains(pattern));
}
