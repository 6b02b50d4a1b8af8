//! Signatures of identities, made by services that a test imitates.

use super::*;

/// The identity and the issuer of `right.json`, which `tests/npm/sign.mjs` writes.
const IDENTITY: &str =
    "https://github.com/acme/tools/.github/workflows/release.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// Signs a digest with the services that `cargo xtask test` installs, in every way, into a folder. None, with a line
/// that reports it, without them.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "they are where `cargo xtask test` has installed them"
)]
fn signed_by_services(terminal: &Terminal, digest: &str) -> Option<PathBuf> {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/npm-tools");
    let tools = env::var_os("TOOLHOST_NPM_TOOLS");
    let tools = tools.map_or_else(|| PathBuf::from(target), PathBuf::from);
    let node = tools.join("node");
    if !node.exists() || !tools.join("node_modules/@sigstore/mock").exists() {
        let tools = tools.display();
        eprintln!("NOT tested: no services that sign are in {tools}: run `cargo xtask test`");
        return None;
    }
    let folder = terminal.path("signed");
    fs::create_dir(&folder).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm/sign.mjs");
    let mut node = Command::new(node);
    node.arg(script)
        .arg(&folder)
        .arg(digest)
        .env("TOOLHOST_NPM_TOOLS", tools);
    Ran::of(&mut node).exits(0);
    Some(folder)
}

#[test]
fn a_signature_of_an_identity_is_accepted_only_as_a_whole() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let host = &registry.host;
    let published = publish(&terminal, "echo", "say", &format!("{host}/me/echo:1.0"));
    let digest = published.split_once('@').unwrap().1;
    let Some(signed) = signed_by_services(&terminal, digest) else {
        return;
    };
    let policy = terminal.write(
        "policy.yaml",
        format!(
            "packages:\n  trustedRoot: {{fromFile: signed/trusted_root.json}}\n  signers:\n    \
             release: {{identity: '{IDENTITY}', issuer: '{ISSUER}'}}\n"
        ),
    );
    let verify = |name: &str| {
        let reference = format!("{host}/{name}/echo:1.0");
        let mut command = toolhost(&terminal, &["verify", &reference, "--policy"]);
        // The signatures that the cache has are those of other repositories.
        command.env("XDG_CACHE_HOME", terminal.path(&format!("cache-{name}")));
        Ran::of(command.arg(&policy))
    };
    // The same bytes in a repository of their own, which has this signature alone.
    let attach = |file: &str| {
        let name = file.strip_suffix(".json").unwrap();
        let reference = format!("{host}/{name}/echo:1.0");
        publish(&terminal, "echo", "say", &reference);
        sign(&terminal, "--bundle", &signed.join(file), &reference)
    };
    for accepted in ["right", "right-build"] {
        attach(&format!("{accepted}.json")).exits(0);
        let ran = verify(accepted).exits(0);
        let expected = format!("signed by {IDENTITY} of {ISSUER}");
        assert!(ran.stdout.contains(&expected), "{accepted}: {}", ran.stdout);
    }
    // What is not a signature of the package is not attached.
    for (name, reason) in [
        ("other-digest", "about another digest"),
        (
            "other-statement",
            "neither a signature nor the record of a build",
        ),
    ] {
        let ran = attach(&format!("{name}.json")).exits(2);
        assert!(ran.stderr.contains(reason), "{name}: {}", ran.stderr);
        let ran = verify(name).exits(1);
        assert!(ran.stdout.contains("it is not signed"), "{}", ran.stdout);
    }
    let refusals = [
        ("other-identity", "identity mismatch"),
        ("other-issuer", "issuer mismatch"),
        ("no-log", "must have an inclusion proof"),
        ("tampered", "invalid signature"),
        ("log-entry-of-another", "log entry"),
        ("expired", "CertExpired"),
        ("other-services", "No log key"),
    ];
    for (name, reason) in refusals {
        attach(&format!("{name}.json")).exits(0);
        let ran = verify(name).exits(1);
        assert!(ran.stdout.contains(reason), "{name}: {}", ran.stdout);
    }
    let mut files = fs::read_dir(&signed).unwrap().count();
    files -= 1; // the trusted root
    assert_eq!(files, 11, "every bundle is verified");

    // Loads refuse them too, here from the cache.
    let mut command = toolhost(&terminal, &["add", &format!("{host}/me/echo:1.0")]);
    Ran::of(command.arg(terminal.path("bundle"))).exits(0);
    let of_digest = format!("{}.jsonl", digest.replace(':', "-"));
    let in_cache = terminal.path("cache/toolhost/packages").join(of_digest);
    let others = [
        ("other-digest", "artifact mismatch"),
        (
            "other-statement",
            "neither a signature nor the record of a build",
        ),
    ];
    for (name, reason) in refusals.into_iter().chain(others) {
        let bundle = fs::read_to_string(signed.join(format!("{name}.json"))).unwrap();
        fs::write(&in_cache, bundle.replace('\n', " ")).unwrap();
        refused(call_under(&terminal, &policy), reason);
    }
    fs::remove_file(in_cache).unwrap();
    refused(call_under(&terminal, &policy), "it is not signed");
    fs::remove_file(terminal.path("bundle/goondan.yaml")).unwrap();

    // A load under the policy runs what the identity has signed.
    under(
        &terminal,
        &["add", &format!("{host}/right/echo:1.0")],
        &policy,
    )
    .exits(0);
    call_under(&terminal, &policy).exits(0);
}
