use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;
use toolhost_contract::FileId;

use super::*;
use crate::bundle::described;

const MANIFEST_TEXT: &str = "
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: t}
spec: {entry: ENTRY, exports: [{name: x}]}
";

/// A directory with a manifest whose one Tool has this entry.
fn bundle_with(entry: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join(MANIFEST),
        MANIFEST_TEXT.replace("ENTRY", entry),
    )
    .unwrap();
    dir
}

fn read(dir: &TempDir) -> Result<Vec<u8>, String> {
    read_up_to(dir, 1 << 20)
}

fn read_up_to(dir: &TempDir, max: u64) -> Result<Vec<u8>, String> {
    let open = Bundle::open(dir.path()).unwrap();
    let tool = &open.bundle().tools()[0];
    let place = "documents[0].spec.entry: ";
    open.read_entry(tool, max)
        .map(|entry| entry.component)
        .map_err(|finding| {
            assert_eq!(finding.place.position.map(|at| at.line), Some(5));
            let line = finding.to_string();
            let (_, message) = line.split_once(place).unwrap();
            let message = message.replace(&*dir.path().to_string_lossy(), "DIR");
            format!("{} {message}", finding.code.as_str())
        })
}

fn id(path: impl AsRef<Path>) -> FileId {
    let metadata = fs::symlink_metadata(path).unwrap();
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Makes a named pipe, on which a blocking open would wait.
fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn opens_a_file_or_a_directory_that_holds_a_manifest() {
    let dir = bundle_with("t.wasm");
    for path in [dir.path().to_owned(), dir.path().join(MANIFEST)] {
        let open = Bundle::open(&path).unwrap();
        assert_eq!(open.bundle().tools().len(), 1);
        assert_eq!(open.name(), dir.path().join(MANIFEST).to_string_lossy());
    }
    let own_name = dir.path().join("own.yml");
    fs::rename(dir.path().join(MANIFEST), &own_name).unwrap();
    assert!(Bundle::open(&own_name).is_ok());
    symlink(dir.path(), dir.path().join("link")).unwrap();
    assert!(
        Bundle::open(&dir.path().join("link/own.yml")).is_ok(),
        "the operator's path is followed"
    );
}

#[test]
fn a_path_without_a_bundle_is_an_error_that_names_it() {
    let dir = bundle_with("t.wasm");
    let refused = |path: &Path| {
        let error = Bundle::open(path).unwrap_err();
        let why = std::error::Error::source(&error).map(ToString::to_string);
        assert!(!error.help().is_empty());
        let text = error
            .to_string()
            .replace(&*dir.path().to_string_lossy(), "DIR");
        format!("{text}: {}", why.unwrap_or_default())
    };
    let at = |name: &str| dir.path().join(name);
    let nothing = "cannot be read: there is no such file or directory";
    assert_eq!(
        refused(&at("nope")),
        format!("the bundle DIR/nope {nothing}")
    );
    assert_eq!(
        refused(&at("goondan.yaml/x")),
        format!("the bundle DIR/goondan.yaml/x {nothing}")
    );
    assert_eq!(refused(Path::new("")), format!("the bundle  {nothing}"));

    fs::create_dir(at("empty")).unwrap();
    assert_eq!(
        refused(&at("empty")),
        "there is no goondan.yaml in DIR/empty: "
    );

    pipe(&at("pipe"));
    let kind = "cannot be read: it is a named pipe, not a regular file";
    assert_eq!(refused(&at("pipe")), format!("the bundle DIR/pipe {kind}"));
    fs::create_dir_all(at("d/goondan.yaml")).unwrap();
    let kind = "cannot be read: it is a directory, not a regular file";
    assert_eq!(
        refused(&at("d")),
        format!("the bundle DIR/d/goondan.yaml {kind}")
    );
    let _socket = std::os::unix::net::UnixListener::bind(at("s")).unwrap();
    let kind = "cannot be read: it is a socket, not a regular file";
    assert_eq!(refused(&at("s")), format!("the bundle DIR/s {kind}"));

    fs::create_dir(at("out")).unwrap();
    symlink("/etc/passwd", at("out/goondan.yaml")).unwrap();
    let outside = "cannot be read: the path leaves the directory";
    assert_eq!(
        refused(&at("out")),
        format!("the bundle DIR/out/goondan.yaml {outside}")
    );
}

#[test]
fn a_manifest_that_is_not_text_or_too_large_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(MANIFEST);
    let found = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = Bundle::open(&path).unwrap_err();
        let LoadError::Invalid {
            diagnostics,
            sources,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(sources[0].name(), path.to_string_lossy());
        assert!(error.summary().ends_with("holds 1 error"), "{error}");
        let listed = format!("{}:\n  {}", error.summary(), diagnostics[0]);
        assert_eq!(error.to_string(), listed);
        let codes: Vec<_> = diagnostics
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        codes.join(" ")
    };
    assert_eq!(found(b"a: \xff\xfe"), "E_CONFIG_PARSE_ERROR");
    assert_eq!(found(&vec![b'#'; (1 << 20) + 1]), "E_CONFIG_FILE_TOO_LARGE");
    assert_eq!(found(b""), "E_CONFIG_SCHEMA_INVALID");
    assert_eq!(found(b"\0\0\0"), "E_CONFIG_PARSE_ERROR");
    assert_eq!(found(b"a: ["), "E_CONFIG_PARSE_ERROR");
}

fn ids(guarded: &WriteGuard) -> HashSet<FileId> {
    super::super::guarded::ids(guarded)
        .unwrap()
        .into_iter()
        .collect()
}

#[test]
fn reads_an_entry_and_protects_the_links_and_folders_on_its_path() {
    // tool-spec-v2 §15: the entry exists
    let dir = bundle_with("./tools/now/t.wasm");
    fs::create_dir_all(dir.path().join("builds/v1")).unwrap();
    fs::create_dir(dir.path().join("tools")).unwrap();
    fs::write(dir.path().join("builds/v1/t.wasm"), b"component").unwrap();
    symlink("../builds/v1", dir.path().join("tools/now")).unwrap();

    assert_eq!(read(&dir).unwrap(), b"component");
    let guarded = ids(&Bundle::open(dir.path()).unwrap().guarded(Vec::new()));
    for part in [
        "tools",
        "tools/now",
        "builds",
        "builds/v1",
        "builds/v1/t.wasm",
    ] {
        assert!(guarded.contains(&id(dir.path().join(part))), "{part}");
    }
}

#[test]
fn the_manifest_and_all_folders_above_it_are_protected_by_identity() {
    let dir = bundle_with("t.wasm");
    let open = Bundle::open(dir.path()).unwrap();
    let manifest = dir.path().join(MANIFEST);
    let guarded = open.guarded(Vec::new());
    assert!(ids(&guarded).contains(&id(&manifest)));
    let real = dir.path().canonicalize().unwrap();
    for folder in real.ancestors() {
        assert!(ids(&guarded).contains(&id(folder)), "{}", folder.display());
    }
}

#[test]
fn the_links_on_the_path_of_a_bundle_are_protected() {
    let dir = bundle_with("t.wasm");
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("work")).unwrap();
    symlink(dir.path(), top.path().join("work/tools")).unwrap();
    symlink("work/tools", top.path().join("short")).unwrap();
    for path in ["work/tools", "short", "short/goondan.yaml"] {
        let open = Bundle::open(&top.path().join(path)).unwrap();
        let guarded = ids(&open.guarded(Vec::new()));
        for part in ["work", "work/tools"] {
            assert!(
                guarded.contains(&id(top.path().join(part))),
                "{part} of {path}"
            );
        }
        assert!(guarded.contains(&id(dir.path())), "{path}");
    }
}

#[test]
fn a_file_that_replaces_one_of_the_bundle_is_protected() {
    let dir = bundle_with("t.wasm");
    let guarded = Bundle::open(dir.path()).unwrap().guarded(Vec::new());
    let manifest = dir.path().join(MANIFEST);
    let before = id(&manifest);
    fs::write(dir.path().join("new"), "edited").unwrap();
    fs::rename(dir.path().join("new"), &manifest).unwrap();
    assert_ne!(id(&manifest), before);
    assert!(ids(&guarded).contains(&id(&manifest)));
}

#[test]
fn a_missing_entry_is_a_finding_with_its_directory_and_help() {
    // tool-spec-v2 §15
    let dir = bundle_with("./tools/t.wasm");
    let open = Bundle::open(dir.path()).unwrap();
    let finding = open.read_entry(&open.bundle().tools()[0], 1).unwrap_err();
    let name = dir.path().display();
    assert_eq!(finding.code, ToolErrorCode::ConfigEntry);
    assert_eq!(
        finding.message,
        format!("tool t: entry tools/t.wasm in {name}: there is no such file or directory")
    );
    assert_eq!(
        finding.help,
        format!(
            "Build the component, or correct spec.entry: it is looked up in the directory {name:?}."
        )
    );
    for source in ["index.cts", "main.go", "src/lib.rs"] {
        let message = read(&bundle_with(source)).unwrap_err();
        let expected = format!("tool t: entry {source} is source code, not a WASI component");
        assert_eq!(message, format!("E_CONFIG_ENTRY_NOT_FOUND {expected}"));
    }
}

#[test]
fn an_entry_never_comes_from_outside_the_bundle() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.wasm");
    fs::write(&secret, b"secret").unwrap();
    let refused = |plant: &dyn Fn(&Path)| {
        let dir = bundle_with("in/t.wasm");
        fs::create_dir(dir.path().join("in")).unwrap();
        plant(dir.path());
        let message = read(&dir).unwrap_err();
        assert_eq!(
            message,
            "E_CONFIG_ENTRY_NOT_FOUND tool t: entry in/t.wasm in DIR: the path leaves the directory"
        );
    };
    refused(&|dir| symlink(&secret, dir.join("in/t.wasm")).unwrap());
    refused(&|dir| {
        let climb = "../".repeat(40) + secret.strip_prefix("/").unwrap().to_str().unwrap();
        symlink(climb, dir.join("in/t.wasm")).unwrap();
    });
    refused(&|dir| {
        symlink("../hop", dir.join("in/t.wasm")).unwrap();
        symlink(&secret, dir.join("hop")).unwrap();
    });
    refused(&|dir| {
        fs::rename(dir.join("in"), dir.join("was")).unwrap();
        symlink(outside.path(), dir.join("in")).unwrap();
    });
}

#[test]
fn an_entry_is_a_regular_file_of_bounded_size() {
    let refused = |plant: &dyn Fn(&Path), expected: &str| {
        let dir = bundle_with("t.wasm");
        plant(&dir.path().join("t.wasm"));
        assert_eq!(read_up_to(&dir, 10).unwrap_err(), expected);
    };
    let entry = "tool t: entry t.wasm in DIR:";
    let no_file =
        |kind: &str| format!("E_CONFIG_ENTRY_NOT_FOUND {entry} it is {kind}, not a regular file");
    refused(
        &|path| fs::create_dir(path).unwrap(),
        &no_file("a directory"),
    );
    refused(&|path| pipe(path), &no_file("a named pipe"));
    refused(
        &|path| fs::write(path, [0; 11]).unwrap(),
        &format!("E_COMPONENT_TOO_LARGE {entry} it is larger than 10 bytes"),
    );
    let loops = |path: &Path| symlink("t.wasm", path).unwrap();
    refused(
        &loops,
        &format!("E_CONFIG_ENTRY_NOT_FOUND {entry} too many links"),
    );

    let dir = bundle_with("t.wasm");
    fs::write(dir.path().join("t.wasm"), [0; 10]).unwrap();
    assert_eq!(read_up_to(&dir, 10).unwrap().len(), 10);
}

#[test]
fn a_file_without_read_permission_is_an_error_that_names_it() {
    if rustix::process::geteuid().is_root() {
        // The superuser reads everything: there is nothing to refuse.
        let error = ReadError::from(io::Error::from_raw_os_error(
            rustix::io::Errno::ACCESS.raw_os_error(),
        ));
        assert!(matches!(error, ReadError::Denied));
        return;
    }
    let dir = bundle_with("t.wasm");
    fs::write(dir.path().join("t.wasm"), b"x").unwrap();
    let closed = fs::Permissions::from_mode(0o000);
    fs::set_permissions(dir.path().join("t.wasm"), closed.clone()).unwrap();
    let message = read(&dir).unwrap_err();
    assert_eq!(
        message,
        "E_CONFIG_ENTRY_NOT_FOUND tool t: entry t.wasm in DIR: permission denied"
    );
    fs::set_permissions(dir.path().join(MANIFEST), closed).unwrap();
    let error = Bundle::open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            LoadError::Read {
                source: ReadError::Denied,
                ..
            }
        ),
        "{error}"
    );
}

/// A directory whose one Tool has no exports, with this entry and a component of these bytes.
fn bundle_without_exports(entry: &str, path: &str, component: &[u8]) -> TempDir {
    let dir = bundle_with(entry);
    let manifest = MANIFEST_TEXT.replace("ENTRY", entry);
    let manifest = manifest.replace(", exports: [{name: x}]", "");
    fs::write(dir.path().join(MANIFEST), manifest).unwrap();
    let path = dir.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, component).unwrap();
    dir
}

#[test]
fn a_tool_without_exports_has_those_that_its_component_describes() {
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    let exports = serde_json::json!([
        {"name": "count", "description": "Counts", "parameters": {"type": "object", "required": ["path"]}},
        {"name": "list", "outputSchema": {"type": "object"}},
    ]);
    let exports = exports.as_array().unwrap();
    assert!(described::put_on(&mut component, exports).unwrap());
    for (entry, path) in [("./t.wasm", "t.wasm"), ("./t.py", ".toolhost/t.wasm")] {
        let dir = bundle_without_exports(entry, path, &component);
        let agent = "---\napiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {name: a}\nspec: {tools: [Tool/t], requiredTools: [t__count]}\n";
        let manifest = fs::read_to_string(dir.path().join(MANIFEST)).unwrap() + agent;
        fs::write(dir.path().join(MANIFEST), manifest).unwrap();
        let open = Bundle::open(dir.path()).unwrap();
        let [tool] = open.bundle().tools() else {
            panic!("one Tool");
        };
        let [count, list] = &*tool.spec.exports else {
            panic!("{:?}", tool.spec.exports);
        };
        assert_eq!(
            (count.name.as_str(), count.description.as_deref()),
            ("count", Some("Counts"))
        );
        assert!(count.parameters.is_some() && count.output_schema.is_none());
        assert!(list.parameters.is_none() && list.output_schema.is_some());
        let places = open.bundle().places(&tool.metadata.name).unwrap();
        assert!(places.describes_itself);
        assert!(places.exports[0].file.ends_with("t.wasm"), "{places:?}");
    }
}

#[test]
fn exports_are_unknown_until_a_component_describes_them() {
    let plain = b"\0asm\x0d\0\x01\0".as_slice();
    for component in [plain, b"", b"text"] {
        let dir = bundle_without_exports("./t.ts", ".toolhost/t.wasm", component);
        let open = Bundle::open(dir.path()).unwrap();
        assert_eq!(open.bundle().tools()[0].spec.exports, []);
    }
    let dir = bundle_without_exports("./t.ts", "other.wasm", plain);
    assert_eq!(
        Bundle::open(dir.path()).unwrap().bundle().tools()[0]
            .spec
            .exports,
        []
    );
}

#[test]
fn what_a_component_describes_is_read_as_strictly_as_a_manifest() {
    let described = |exports: serde_json::Value| {
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        described::put_on(&mut component, exports.as_array().unwrap()).unwrap();
        let dir = bundle_without_exports("./t.wasm", "t.wasm", &component);
        let error = Bundle::open(dir.path()).unwrap_err();
        let LoadError::Invalid { diagnostics, .. } = error else {
            panic!("{error}");
        };
        let first = diagnostics.first().unwrap();
        assert!(first.place.file.ends_with("t.wasm"), "{first}");
        first.message.clone()
    };
    let json = |text: &str| serde_json::from_str(text).unwrap();
    for (exports, says) in [
        ("[]", "'exports' is empty"),
        (r#"[{"name": "A"}]"#, "'A' contains 'A'"),
        (r#"[{"name": "a"}, {"name": "a"}]"#, "duplicate export 'a'"),
        (r#"[{"name": "a", "parameter": {}}]"#, "parameter"),
        (
            r#"[{"name": "a", "parameters": {"type": "string"}}]"#,
            "'type'",
        ),
    ] {
        let message = described(json(exports));
        assert!(message.contains(says), "{exports}: {message}");
    }
}
