//! Signatures of packages: `toolhost sign`, `toolhost verify`, and the key `packages` of policies.

use super::*;

mod identities;

/// The command line with a cache of its own: another test may have signed the same bytes.
fn toolhost(terminal: &Terminal, words: &[&str]) -> Command {
    let mut command = terminal.toolhost(words);
    command.env("XDG_CACHE_HOME", terminal.path("cache"));
    command
}

/// Makes a key, and returns the path of the private one.
fn new_key(terminal: &Terminal, name: &str) -> PathBuf {
    let path = terminal.path(name);
    let mut command = toolhost(terminal, &["sign", "--new-key"]);
    let made = Ran::of(command.arg(&path)).exits(0);
    assert!(made.stdout.contains("sha256:"), "{}", made.stdout);
    path
}

fn sign(terminal: &Terminal, option: &str, file: &Path, reference: &str) -> Ran {
    let mut command = toolhost(terminal, &["sign", option]);
    Ran::of(command.arg(file).arg(reference))
}

/// Writes a policy with a signer for each of these public keys.
fn policy_of(terminal: &Terminal, keys: &[&str]) -> PathBuf {
    let signers = keys
        .iter()
        .map(|key| format!("    {key}: {{key: {{fromFile: {key}.pub}}}}\n"));
    let signers: String = signers.collect();
    terminal.write("policy.yaml", format!("packages:\n  signers:\n{signers}"))
}

/// Runs a command on the bundle under a policy.
fn under(terminal: &Terminal, words: &[&str], policy: &Path) -> Ran {
    let mut command = toolhost(terminal, &[words[0]]);
    command
        .args(&words[1..])
        .arg(terminal.path("bundle"))
        .arg("--policy")
        .arg(policy);
    Ran::of(&mut command)
}

fn call_under(terminal: &Terminal, policy: &Path) -> Ran {
    let mut command = toolhost(terminal, &["call"]);
    command
        .arg(terminal.path("bundle"))
        .args(["echo__say", "--args", r#"{"text": "hi"}"#, "--policy"])
        .arg(policy);
    Ran::of(&mut command)
}

fn refused(ran: Ran, reason: &str) {
    let ran = ran.exits(2);
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("E_CONFIG_SIGNATURE"), "{}", ran.stderr);
    assert!(words.contains(reason), "{reason}: {}", ran.stderr);
    assert!(!ran.stdout.contains("hi"), "{}", ran.stdout);
}

/// The files of the cache with this extension.
fn cached(terminal: &Terminal, of: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let packages = terminal.path("cache/toolhost/packages");
    let files = fs::read_dir(packages).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| of(path)).collect()
}

fn is_signature(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "jsonl")
}

#[test]
fn a_package_runs_only_if_a_signer_of_the_policy_has_signed_it() {
    let Some(mut registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let (own, other) = (new_key(&terminal, "own"), new_key(&terminal, "other"));
    let policy = policy_of(&terminal, &["own"]);
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);

    // Without a signature it is not added.
    let ran = under(&terminal, &["add", &reference], &policy).exits(2);
    assert!(ran.stderr.contains("not signed"), "{}", ran.stderr);
    assert!(!terminal.path("bundle/goondan.yaml").exists());
    // Added without a policy, it does not run under one.
    let mut command = toolhost(&terminal, &["add", &reference]);
    Ran::of(command.arg(terminal.path("bundle"))).exits(0);
    refused(call_under(&terminal, &policy), "it is not signed");
    // The signature of somebody else changes nothing.
    sign(&terminal, "--key", &other, &reference).exits(0);
    refused(
        call_under(&terminal, &policy),
        "own: the signature is not of this key",
    );
    let verified = under(&terminal, &["verify"], &policy).exits(1);
    assert!(
        verified.stdout.contains("refused: no signature"),
        "{}",
        verified.stdout
    );

    sign(&terminal, "--key", &own, &reference).exits(0);
    call_under(&terminal, &policy).exits(0);
    let verified = under(&terminal, &["verify", "--json"], &policy)
        .exits(0)
        .json();
    assert_eq!(verified["packages"][0]["accepted"], true, "{verified}");
    let signer = verified["packages"][0]["signers"][0].as_str().unwrap();
    assert!(signer.starts_with("key sha256:"), "{signer}");

    let page = under(&terminal, &["docs", "-o", "-"], &policy)
        .exits(0)
        .stdout;
    assert!(
        page.contains("Signed by") && page.contains(signer),
        "{page}"
    );

    // From the cache, the signature is verified again.
    registry.stop();
    call_under(&terminal, &policy).exits(0);
    let [signature] = &cached(&terminal, is_signature)[..] else {
        panic!("one file of signatures is kept");
    };
    let kept = fs::read_to_string(signature).unwrap();
    // By whoever the policy names then: both signatures are kept.
    call_under(&terminal, &policy_of(&terminal, &["other"])).exits(0);
    new_key(&terminal, "nobody");
    let of_nobody = policy_of(&terminal, &["nobody"]);
    refused(
        call_under(&terminal, &of_nobody),
        "nobody: the signature is not of this key",
    );
    let policy = policy_of(&terminal, &["own"]);
    fs::write(signature, kept.replace("\"sig\":\"M", "\"sig\":\"N")).unwrap();
    refused(
        call_under(&terminal, &policy),
        "the registry could not be asked for other signatures",
    );
    fs::write(signature, &kept).unwrap();
    call_under(&terminal, &policy).exits(0);
    // And so are the bytes of the component.
    let is_component = |path: &Path| fs::read(path).unwrap().starts_with(b"\0asm");
    let component = cached(&terminal, is_component).remove(0);
    fs::write(&component, fs::read(guest("two_handlers")).unwrap()).unwrap();
    let ran = call_under(&terminal, &policy).exits(2);
    assert!(
        ran.stderr.contains("has other bytes than its name says"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_is_published_with_a_key_runs_offline_with_its_signature_beside_the_bundle() {
    let Some(mut registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let own = new_key(&terminal, "own");
    let policy = policy_of(&terminal, &["own"]);
    let reference = format!("{}/me/echo:1.0", registry.host);
    let bundle = terminal.bundle("published", &[("echo", &["say"])]);
    let mut command = toolhost(&terminal, &["publish", &reference]);
    Ran::of(command.arg(bundle).arg("--key").arg(&own)).exits(0);
    under(&terminal, &["add", &reference], &policy).exits(0);
    // Copied without a policy, the signatures are there for who has one.
    Ran::of(toolhost(&terminal, &["vendor"]).arg(terminal.path("bundle"))).exits(0);
    registry.stop();
    fs::remove_dir_all(terminal.path("cache")).unwrap();
    call_under(&terminal, &policy).exits(0);
    let mut public = own.into_os_string();
    public.push(".pub");
    let mut command = toolhost(&terminal, &["verify", "--key"]);
    Ran::of(command.arg(public).arg(terminal.path("bundle"))).exits(0);
}

#[test]
fn another_signer_of_the_same_bytes_differs_from_the_lock() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    for key in ["one", "two"] {
        sign(&terminal, "--key", &new_key(&terminal, key), &reference).exits(0);
    }
    let policy = policy_of(&terminal, &["one"]);
    under(&terminal, &["add", &reference], &policy).exits(0);
    under(&terminal, &["lock"], &policy).exits(0);
    call_under(&terminal, &policy).exits(0);
    let policy = policy_of(&terminal, &["two"]);
    let ran = call_under(&terminal, &policy).exits(2);
    assert!(ran.stderr.contains("E_CONFIG_LOCK"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("hi"), "{}", ran.stdout);
    let checked = under(&terminal, &["lock", "--check", "--json"], &policy)
        .exits(1)
        .json();
    assert_eq!(checked["drifts"][0]["grade"], "signer", "{checked}");
    assert_eq!(checked["drifts"].as_array().unwrap().len(), 1, "{checked}");
    // Where both are accepted, the signer of the lock is.
    let both = policy_of(&terminal, &["one", "two"]);
    call_under(&terminal, &both).exits(0);
    let lock = fs::read_to_string(terminal.path("bundle/toolhost.lock")).unwrap();
    under(&terminal, &["lock", "--check"], &both).exits(0);
    // Without signers in the policy, the lock is neither compared nor written.
    let unsigned = terminal.write("unsigned.yaml", "{}");
    for words in [
        &["lock"][..],
        &["lock", "--check"],
        &["lock", "--update", "echo"],
    ] {
        let ran = under(&terminal, words, &unsigned).exits(2);
        assert!(ran.stderr.contains("does not verify any"), "{}", ran.stderr);
    }
    let after = fs::read_to_string(terminal.path("bundle/toolhost.lock")).unwrap();
    assert_eq!(after, lock);
    let ran = under(&terminal, &["check"], &unsigned).exits(1);
    assert!(
        ran.stderr.contains("the lock has signers of packages"),
        "{}",
        ran.stderr
    );
    call_under(&terminal, &unsigned).exits(2);
    let lenient = terminal.write("lenient.yaml", "lock: [bytes]");
    let ran = under(&terminal, &["check"], &lenient).exits(0);
    assert!(
        ran.stderr.contains("the lock has signers of packages"),
        "{}",
        ran.stderr
    );
    // Signed again with a key that has signed it, the package has no other signature.
    let key = terminal.path("one");
    sign(&terminal, "--key", &key, &reference).exits(0);
    let signatures = |terminal: &Terminal| {
        fs::remove_dir_all(terminal.path("cache")).unwrap();
        call_under(terminal, &both).exits(0);
        let [signatures] = &cached(terminal, is_signature)[..] else {
            panic!("one file of signatures is kept");
        };
        fs::read_to_string(signatures).unwrap().lines().count()
    };
    assert_eq!(signatures(&terminal), 2);
    // Without a policy nobody looks at signatures, and the lock has signers.
    let mut command = toolhost(&terminal, &["call"]);
    Ran::of(
        command
            .arg(terminal.path("bundle"))
            .args(["echo__say", "--args", "{}"]),
    )
    .fails(
        2,
        "the lock has signers of packages, which the policy does not verify",
    );
}

#[test]
fn a_signature_is_of_the_digest_that_is_named_whatever_the_tag_names_by_then() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let own = new_key(&terminal, "own");
    let reference = format!("{}/me/tool:1", registry.host);
    let first = publish(&terminal, "echo", "say", &reference);
    let second = publish(&terminal, "two_handlers", "a", &reference);
    assert_ne!(first, second);
    let ran = sign(&terminal, "--key", &own, &first).exits(0);
    assert_eq!(ran.stdout, format!("signed {first}\n"));
    let verify = |reference: &str| {
        let mut command = toolhost(&terminal, &["verify", reference, "--key"]);
        Ran::of(command.arg(terminal.path("own.pub")))
    };
    verify(&first).exits(0);
    verify(&second).exits(1);
    // What a tag names that was published with a key is signed.
    let bundle = terminal.bundle("published", &[("echo", &["say"])]);
    let mut command = toolhost(&terminal, &["publish", &reference]);
    Ran::of(command.arg(bundle).arg("--key").arg(&own)).exits(0);
    verify(&reference).exits(0);
}

#[test]
fn a_file_that_is_not_a_signature_of_the_package_is_not_published() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let own = new_key(&terminal, "own");
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    // The private key, in the place of a bundle.
    let ran = sign(&terminal, "--bundle", &own, &reference).exits(2);
    assert!(
        ran.stderr.contains("is not a signature of"),
        "{}",
        ran.stderr
    );
    let mut command = toolhost(&terminal, &["verify", &reference, "--key"]);
    let ran = Ran::of(command.arg(terminal.path("own.pub"))).exits(1);
    assert!(ran.stdout.contains("it is not signed"), "{}", ran.stdout);
}

#[test]
fn a_name_of_a_package_and_of_a_file_is_not_verified() {
    let terminal = terminal();
    new_key(&terminal, "own");
    terminal.bundle("ghcr.io/acme/notes:1.0", &[("echo", &["say"])]);
    let mut command = toolhost(&terminal, &["verify", "ghcr.io/acme/notes:1.0", "--key"]);
    command.arg("own.pub").current_dir(terminal.path(""));
    let ran = Ran::of(&mut command).exits(2);
    assert!(
        ran.stderr.contains("names a package and a file"),
        "{}",
        ran.stderr
    );
    let mut command = toolhost(&terminal, &["verify", "./ghcr.io/acme/notes:1.0", "--key"]);
    command.arg("own.pub").current_dir(terminal.path(""));
    let ran = Ran::of(&mut command).exits(0);
    assert!(
        ran.stdout.contains("no entry is a package"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_policy_whose_signers_cannot_be_used_loads_nothing() {
    let terminal = terminal();
    let bundle = terminal.bundle("bundle", &[("echo", &["say"])]);
    assert!(bundle.join("goondan.yaml").exists());
    new_key(&terminal, "own");
    let root = r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;
    terminal.write("root.json", root);
    for (packages, reason) in [
        (
            "{signers: {own: {}}}",
            "either 'key', or 'identity' and 'issuer'",
        ),
        (
            "{signers: {own: {identity: a}}}",
            "either 'key', or 'identity' and 'issuer'",
        ),
        (
            "{signers: {own: {identity: a, issuer: b}}}",
            "needs 'trustedRoot'",
        ),
        (
            "{signers: {own: {key: {fromFile: missing}}}}",
            "could not be read",
        ),
        (
            "{signers: {own: {key: {fromFile: own}}}}",
            "signer own cannot be used",
        ),
        (
            "{signers: {own: {key: x, packages: ['*']}}}",
            "HOST/REPOSITORY",
        ),
        ("{trustedRoot: 'x'}", "trusted root cannot be used"),
        (
            "{signers: {own: {key: x, packages: []}}}",
            "an empty list accepts the signer for no package",
        ),
        (
            "{signers: {own: {key: x, packages: ['oci://ghcr.io/acme/*']}}}",
            "HOST/REPOSITORY",
        ),
        ("{signer: {}}", "unknown"),
    ] {
        let policy = terminal.write("policy.yaml", format!("packages: {packages}\n"));
        let ran = under(&terminal, &["check"], &policy);
        assert_ne!(ran.code, Some(0), "{packages}");
        let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(reason), "{packages}: {}", ran.stderr);
    }
}
