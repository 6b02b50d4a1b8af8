use std::os::unix::fs::PermissionsExt;

use toolhost_manifest::bundle::MANIFEST;

use super::*;

/// Writes a program with a bundle behind it, as `xtask/dist/packages.py` does.
fn program(files: &[(&str, &str)]) -> Vec<u8> {
    let index: Vec<_> = files
        .iter()
        .map(|(path, content)| serde_json::json!({"path": path, "bytes": content.len()}))
        .collect();
    let index = serde_json::to_vec(&index).unwrap();
    let mut bytes = b"\x7fELF the program".to_vec();
    bytes.extend(files.iter().flat_map(|(_, content)| content.bytes()));
    bytes.extend(&index);
    bytes.extend((index.len() as u64).to_le_bytes());
    bytes.extend([0xab; DIGEST]);
    bytes.extend(MAGIC);
    bytes
}

fn base(top: &Path, program: &[u8]) -> Base {
    let path = top.join("program");
    fs::write(&path, program).unwrap();
    Base::new(Some(top.join("cache")), Some(path))
}

const FILES: [(&str, &str); 2] = [(MANIFEST, "kind: Tool"), (".toolhost/bash.wasm", "wasm")];

#[test]
fn the_bundle_is_unpacked_once_into_a_private_folder() {
    let top = tempfile::tempdir().unwrap();
    let first = base(top.path(), &program(&FILES));
    let folder = first.unpacked().unwrap();
    assert_eq!(
        folder,
        top.path().join("cache/bundles/base-abababababababab")
    );
    for (path, content) in FILES {
        assert_eq!(fs::read_to_string(folder.join(path)).unwrap(), content);
        let mode = fs::metadata(folder.join(path))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o400, "{path}");
    }
    let parent = fs::metadata(folder.parent().unwrap()).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);
    let written = fs::metadata(folder.join(MANIFEST))
        .unwrap()
        .modified()
        .unwrap();
    let second = base(top.path(), &program(&FILES));
    assert_eq!(second.unpacked().unwrap(), folder);
    let now = fs::metadata(folder.join(MANIFEST))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(now, written);
}

#[test]
fn what_kits_have_behind_the_program_is_not_unpacked() {
    let top = tempfile::tempdir().unwrap();
    let [manifest, component] = FILES;
    let files = [
        manifest,
        ("kits/python-0/common.tar.xz", "packed"),
        component,
    ];
    let base = base(top.path(), &program(&files));
    let folder = base.unpacked().unwrap();
    for (path, content) in FILES {
        assert_eq!(fs::read_to_string(folder.join(path)).unwrap(), content);
    }
    assert!(!folder.join("kits").exists());
}

#[test]
fn files_that_were_changed_or_removed_are_replaced() {
    let top = tempfile::tempdir().unwrap();
    let folder = base(top.path(), &program(&FILES))
        .unpacked()
        .unwrap()
        .to_owned();
    let component = folder.join(".toolhost/bash.wasm");
    for spoiled in [Some("mine"), None] {
        fs::remove_file(&component).unwrap();
        if let Some(content) = spoiled {
            fs::write(&component, content).unwrap();
        }
        base(top.path(), &program(&FILES)).unpacked().unwrap();
        assert_eq!(fs::read_to_string(&component).unwrap(), "wasm");
    }
    let left: Vec<_> = fs::read_dir(top.path().join("cache/bundles"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let bundles = top.path().join("cache/bundles");
    fs::create_dir_all(&bundles).unwrap();
    fs::set_permissions(&bundles, fs::Permissions::from_mode(0o777)).unwrap();
    let failure = base(top.path(), &program(&FILES))
        .unpacked()
        .map(drop)
        .unwrap_err();
    assert!(
        failure
            .message()
            .contains("the base tools cannot be unpacked"),
        "{failure:?}"
    );
    assert_eq!(fs::read_dir(&bundles).unwrap().count(), 0);
}

#[test]
fn a_program_without_the_bundle_says_what_to_do_and_a_damaged_one_is_an_error() {
    let top = tempfile::tempdir().unwrap();
    let check = |program: &[u8], says: &str| {
        let failure = base(top.path(), program).unpacked().map(drop).unwrap_err();
        assert!(failure.message().contains(says), "{failure:?}");
        assert!(!top.path().join("cache").exists());
        failure.hint
    };
    for program in [&b"\x7fELF"[..], &[0; 4096]] {
        let hint = check(program, "built without the base tools").unwrap();
        assert!(hint.contains("cargo xtask guests"), "{hint}");
    }
    let whole = program(&FILES);
    let cut = &whole[whole.len() - FOOTER - 20..];
    check(cut, "the index is cut");
    let leaving = program(&[("../evil", "x")]);
    check(&leaving, "../evil leaves the bundle");
}

#[test]
fn unpacked_bundles_are_listed_and_removed_and_what_others_keep_there_stays() {
    let top = tempfile::tempdir().unwrap();
    let cache = top.path().join("cache");
    assert_eq!(unpacked::clear(&cache).unwrap(), []);
    let unpack = || {
        let base = base(top.path(), &program(&FILES));
        base.unpacked().unwrap().to_owned()
    };
    let folder = unpack();
    let bundles = cache.join("bundles");
    let (left, others) = (bundles.join(".left"), top.path().join("others"));
    for dir in [&left, &others, &bundles.join("notes")] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("file"), "12345").unwrap();
    }
    std::os::unix::fs::symlink(&others, bundles.join("base-link")).unwrap();
    let bytes = FILES.iter().map(|(_, content)| content.len() as u64).sum();
    let expected = [(left, 5), (folder, bytes)];
    let expected = expected.map(|(path, bytes)| unpacked::UnpackedBundle { path, bytes });
    assert_eq!(unpacked::list(&cache).unwrap(), expected);
    assert_eq!(unpacked::clear(&cache).unwrap(), expected);
    assert_eq!(unpacked::list(&cache).unwrap(), []);
    for path in [bundles.join("notes/file"), bundles.join("base-link/file")] {
        assert!(path.exists(), "{path:?}");
    }
    assert!(unpack().exists());
}
