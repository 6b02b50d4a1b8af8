//! `toolhost publish`, `add`, `update` and `vendor` with a registry and clients of others.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::terminal::{Ran, Terminal, guest};

mod signatures;

/// Debian's docker-registry on loopback, which keeps no lists of referrers.
struct Registry {
    folder: PathBuf,
    /// `127.0.0.1:PORT`.
    host: String,
    child: Child,
    _data: TempDir,
}

impl Registry {
    /// Starts it. None, with a line that reports it, where it is not installed.
    #[expect(
        clippy::disallowed_methods,
        clippy::print_stderr,
        reason = "it is where `cargo xtask test` has installed it"
    )]
    fn start() -> Option<Self> {
        let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/registry");
        let folder = env::var_os("TOOLHOST_REGISTRY");
        let folder = folder.map_or_else(|| PathBuf::from(target), PathBuf::from);
        let program = folder.join("debian/usr/bin/docker-registry");
        if !program.exists() {
            let folder = folder.display();
            eprintln!("NOT tested: no registry is in {folder}: run `cargo xtask test`");
            return None;
        }
        let data = tempfile::tempdir().unwrap();
        let config = data.path().join("config.yml");
        let storage = data.path().join("data");
        let settings = json!({
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": storage}},
            "http": {"addr": "127.0.0.1:0"},
        });
        fs::write(&config, settings.to_string()).unwrap();
        let mut child = Command::new(program)
            .arg("serve")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let host = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the registry ended");
            if let Some((_, after)) = line.split_once("listening on ") {
                break after.split('"').next().unwrap().to_owned();
            }
        };
        // Its log has a line for each request.
        thread::spawn(move || log.read_to_end(&mut Vec::new()));
        Some(Self {
            folder,
            host,
            child,
            _data: data,
        })
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Publishes a tool named like the guest, and returns the reference with its digest.
fn publish(terminal: &Terminal, guest: &str, export: &str, reference: &str) -> String {
    let bundle = terminal.bundle("published", &[(guest, &[export])]);
    let mut command = terminal.toolhost(["publish", reference]);
    let published = Ran::of(command.arg(bundle))
        .exits(0)
        .stdout
        .trim_end()
        .to_owned();
    assert!(
        published.starts_with(&format!("oci://{reference}@sha256:")),
        "{published}"
    );
    published
}

fn call(terminal: &Terminal, tool: &str, args: &Value) -> Ran {
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(terminal.path("bundle"))
        .args([tool, "--args", &args.to_string()]);
    Ran::of(&mut command)
}

fn add(terminal: &Terminal, words: &[&str]) -> Ran {
    let mut command = terminal.toolhost(["add"]);
    command
        .args(&words[..1])
        .arg(terminal.path("bundle"))
        .args(&words[1..]);
    Ran::of(&mut command)
}

/// A terminal with an empty cache of packages, and an empty directory for a bundle.
fn terminal() -> Terminal {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path("bundle")).unwrap();
    terminal
}

fn manifest(terminal: &Terminal) -> String {
    fs::read_to_string(terminal.path("bundle/goondan.yaml")).unwrap()
}

#[test]
fn a_tool_that_was_published_is_added_by_digest_and_called_without_the_registry() {
    let Some(mut registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    let published = publish(&terminal, "echo", "say", &reference);
    // The same tool has the same digest.
    assert_eq!(publish(&terminal, "echo", "say", &reference), published);
    let ran = add(&terminal, &[&reference, "--as", "parrot"]).exits(0);
    let expected = format!("added the Tool parrot of {published}\n");
    assert!(ran.stdout.ends_with(&expected), "{}", ran.stdout);
    assert!(
        manifest(&terminal).contains(&published),
        "{}",
        manifest(&terminal)
    );
    registry.stop();
    let result = call(&terminal, "parrot__say", &json!({"text": "hi"}))
        .exits(0)
        .json();
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(result["output"]["text"], "hi", "{result}");
}

#[test]
fn clients_of_others_read_what_is_published() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    let published = publish(&terminal, "echo", "say", &reference);
    let component = fs::read(guest("echo")).unwrap();

    let debian = registry.folder.join("debian");
    let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
    let libraries = libraries
        .map(|path| debian.join(path).display().to_string())
        .join(":");
    let copied = terminal.path("copied");
    let mut skopeo = Command::new(debian.join("usr/bin/skopeo"));
    skopeo
        .env("LD_LIBRARY_PATH", libraries)
        .env("HOME", terminal.path("home"))
        .args(["copy", "--insecure-policy", "--src-tls-verify=false"])
        .arg(format!("docker://{reference}"))
        .arg(format!("dir:{}", copied.display()));
    Ran::of(&mut skopeo).exits(0);
    let text = fs::read_to_string(copied.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        manifest["layers"].as_array().unwrap().len(),
        1,
        "{manifest}"
    );
    let layer = &manifest["layers"][0];
    assert_eq!(layer["mediaType"], "application/wasm");
    let digest = layer["digest"]
        .as_str()
        .unwrap()
        .strip_prefix("sha256:")
        .unwrap();
    assert_eq!(fs::read(copied.join(digest)).unwrap(), component);

    let python = registry.folder.join("python/bin/python");
    if !python.exists() {
        return;
    }
    let program = "import oras.client, sys, json\n\
        client = oras.client.OrasClient(insecure=True)\n\
        manifest = client.get_manifest(sys.argv[1])\n\
        blob = client.get_blob(sys.argv[1], manifest['layers'][0]['digest'])\n\
        print(json.dumps({'config': manifest['config']['mediaType'], 'bytes': len(blob.content)}))";
    let mut oras = Command::new(python);
    oras.env_clear().args(["-c", program, &reference]);
    let read = Ran::of(&mut oras).exits(0).json();
    assert_eq!(
        read["config"], "application/vnd.wasm.config.v0+json",
        "{read}"
    );
    assert_eq!(read["bytes"], component.len(), "{read}");
    assert!(published.len() > reference.len());
}

#[test]
fn what_cannot_be_added_leaves_the_manifest_as_it_is() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    let own = "# mine\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: echo}\n\
               spec: {entry: ./echo.wasm, exports: [{name: say}]}\n";
    terminal.write("bundle/goondan.yaml", own);
    let ran = add(&terminal, &[&reference]).exits(2);
    assert!(ran.stderr.contains("echo"), "{}", ran.stderr);
    assert_eq!(manifest(&terminal), own);
    let missing = format!("{}/me/none:1.0", registry.host);
    let ran = add(&terminal, &[&missing]).exits(2);
    assert!(ran.stderr.contains("has no me/none:1.0"), "{}", ran.stderr);
    assert_eq!(manifest(&terminal), own);
    let ran = add(&terminal, &["echo"]).exits(2);
    assert!(ran.stderr.contains("HOST/REPOSITORY"), "{}", ran.stderr);
    // With another name it is added, and what was there stays.
    add(&terminal, &[&reference, "--as", "other"]).exits(0);
    let changed = manifest(&terminal);
    assert!(
        changed.starts_with(own.trim_end()) && changed.contains("name: other"),
        "{changed}"
    );
}

#[test]
fn an_update_writes_the_digest_that_the_tag_has_now() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/tool:1", registry.host);
    let first = publish(&terminal, "echo", "say", &reference);
    add(&terminal, &[&reference, "--as", "tool"]).exits(0);
    let update = || {
        Ran::of(
            terminal
                .toolhost(["update", "--json"])
                .arg(terminal.path("bundle")),
        )
        .exits(0)
        .json()
    };
    assert_eq!(update(), json!({"updated": []}));
    // Another component and another export under the same tag.
    let second = publish(&terminal, "two_handlers", "a", &reference);
    assert_ne!(first, second);
    // The bundle has the bytes that it names until it is updated.
    call(&terminal, "tool__say", &json!({})).exits(0);
    let updated = update();
    assert_eq!(updated["updated"][0]["before"], first, "{updated}");
    assert_eq!(updated["updated"][0]["after"], second, "{updated}");
    assert_eq!(updated["updated"][0]["words"], "replaced", "{updated}");
    let text = manifest(&terminal);
    assert!(text.contains(&second) && !text.contains(&first), "{text}");
    call(&terminal, "tool__a", &json!({})).exits(0);
}

#[test]
fn an_update_changes_the_tools_that_are_asked_for_and_nothing_else() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/tool:1", registry.host);
    let first = publish(&terminal, "echo", "say", &reference);
    // Two Tools of one entry, of which one has other descriptions, and a comment with the entry.
    add(&terminal, &[&reference, "--as", "one"]).exits(0);
    add(&terminal, &[&reference, "--as", "two"]).exits(0);
    let text = manifest(&terminal).replace("name: one", &format!("name: one # was {first}"));
    terminal.write("bundle/goondan.yaml", &text);
    let update = |more: &[&str]| {
        let mut command = terminal.toolhost(["update"]);
        Ran::of(command.arg(terminal.path("bundle")).args(more))
    };
    let ran = update(&["--tool", "three"]).exits(2);
    assert!(
        ran.stderr.contains("no Tool 'three'") && ran.stderr.contains("one, two"),
        "{}",
        ran.stderr
    );
    assert_eq!(manifest(&terminal), text);

    let second = publish(&terminal, "two_handlers", "a", &reference);
    let ran = update(&["--tool", "two", "--json"]).exits(0).json();
    assert_eq!(ran["updated"][0]["tool"], "two", "{ran}");
    assert_eq!(ran["updated"].as_array().unwrap().len(), 1, "{ran}");
    let changed = manifest(&terminal);
    let (one, two) = changed.split_once("\n---\n").unwrap();
    let (own, _) = text.split_once("\n---\n").unwrap();
    assert_eq!(one, own);
    assert!(two.contains(&second) && !two.contains(&first), "{two}");

    let ran = update(&["--json"]).exits(0).json();
    assert_eq!(ran["updated"][0]["words"], "edited", "{ran}");
    let changed = manifest(&terminal);
    let expected = own.replace(&format!("\"{first}\""), &format!("\"{second}\""));
    assert_eq!(changed.split_once("\n---\n").unwrap().0, expected);
    assert!(expected.contains(&format!("# was {first}")), "{expected}");
}

#[test]
fn the_name_of_a_package_that_the_policy_has_rules_for_is_reported() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    let policy = terminal.write("policy.yaml", "tools: {echo: {agents: true}}");
    let policy = policy.to_str().unwrap();
    let ran = add(
        &terminal,
        &[&reference, "--as", "other", "--policy", policy],
    )
    .exits(0);
    assert!(!ran.stderr.contains("has rules"), "{}", ran.stderr);
    let ran = add(&terminal, &[&reference, "--policy", policy]).exits(0);
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the policy has rules for a Tool named echo"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_vendor_folder_that_is_a_link_is_neither_written_nor_read() {
    let Some(registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    add(&terminal, &[&reference]).exits(0);
    fs::create_dir(terminal.path("elsewhere")).unwrap();
    symlink("../elsewhere", terminal.path("bundle/vendor")).unwrap();
    let ran = Ran::of(terminal.toolhost(["vendor"]).arg(terminal.path("bundle"))).exits(2);
    assert!(ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(terminal.path("elsewhere")).unwrap().count(), 0);
    let ran = call(&terminal, "echo__say", &json!({}));
    assert!(ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn packages_beside_a_bundle_are_loaded_without_registry_and_cache_and_refused_when_changed() {
    let Some(mut registry) = Registry::start() else {
        return;
    };
    let terminal = terminal();
    let reference = format!("{}/me/echo:1.0", registry.host);
    publish(&terminal, "echo", "say", &reference);
    add(&terminal, &[&reference]).exits(0);
    let ran = Ran::of(terminal.toolhost(["vendor"]).arg(terminal.path("bundle"))).exits(0);
    assert!(
        ran.stdout.ends_with("vendor: 1 package\n"),
        "{}",
        ran.stdout
    );
    registry.stop();
    let alone = |path: &Path| {
        let mut command = terminal.toolhost(["call"]);
        command
            .env("XDG_CACHE_HOME", path)
            .arg(terminal.path("bundle"))
            .args(["echo__say", "--args", "{}"]);
        Ran::of(&mut command)
    };
    alone(&terminal.path("empty-cache")).exits(0);
    let vendored = fs::read_dir(terminal.path("bundle/vendor")).unwrap();
    for file in vendored.map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&file).unwrap();
        if bytes.starts_with(b"\0asm") {
            fs::write(&file, [&bytes[..], b"\0"].concat()).unwrap();
        }
    }
    let ran = alone(&terminal.path("empty-cache"));
    assert!(
        ran.stderr.contains("has other bytes than its name says"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stdout.contains("\"ok\""), "{}", ran.stdout);
    // Without them, the registry is asked, which has ended.
    fs::remove_dir_all(terminal.path("bundle/vendor")).unwrap();
    let ran = alone(&terminal.path("other-cache"));
    assert!(ran.stderr.contains("cannot be reached"), "{}", ran.stderr);
}

#[test]
fn an_entry_without_a_digest_is_refused_before_a_registry_is_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let terminal = terminal();
    let entry = format!("oci://{}/me/echo:1.0", listener.local_addr().unwrap());
    let document = format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: echo}}\n\
         spec: {{entry: '{entry}', exports: [{{name: say}}]}}\n"
    );
    terminal.write("bundle/goondan.yaml", document);
    let ran = Ran::of(terminal.toolhost(["check"]).arg(terminal.path("bundle")));
    assert!(ran.stderr.contains("has no digest"), "{}", ran.stderr);
    assert!(listener.accept().is_err(), "the registry was asked");
}
