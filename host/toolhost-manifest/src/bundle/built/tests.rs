use std::sync::Arc;

use cap_std::fs::Dir;

use super::*;
use toolhost_files::ChangedFiles;

const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn stamp(entry: &str) -> Stamp {
    Stamp {
        entry: entry.to_owned(),
        kit: "typescript-1".to_owned(),
        sources: vec![Source::new("index.ts", b"export const handlers = {}")],
        absent: None,
        handlers: None,
    }
}

#[test]
fn a_stamp_is_read_back_and_the_last_one_counts() {
    let mut component = EMPTY_COMPONENT.to_vec();
    assert_eq!(Stamp::read(&component), None);
    for entry in ["./first.ts", "./second.ts"] {
        let stamp = stamp(entry);
        stamp.put_on(&mut component).unwrap();
        assert_eq!(Stamp::read(&component), Some(stamp));
    }
    assert!(component.starts_with(EMPTY_COMPONENT));
}

#[test]
fn a_large_stamp_is_read_back() {
    let mut large = stamp("./index.ts");
    large.sources = vec![Source::new("a".repeat(100), b""); 3_000];
    let mut component = EMPTY_COMPONENT.to_vec();
    large.put_on(&mut component).unwrap();
    assert_eq!(Stamp::read(&component), Some(large));
}

#[test]
fn a_component_without_a_valid_stamp_has_none() {
    let mut component = EMPTY_COMPONENT.to_vec();
    stamp("./index.ts").put_on(&mut component).unwrap();
    for length in 0..component.len() {
        let cut = component.get(..length).unwrap_or_default();
        assert_eq!(Stamp::read(cut), None, "{length}");
    }
    let mut many = stamp("./index.ts");
    many.sources = vec![Source::new("a", b""); SOURCES_MAX + 1];
    let mut component = EMPTY_COMPONENT.to_vec();
    many.put_on(&mut component).unwrap();
    assert_eq!(Stamp::read(&component), None);
    let mut garbled = EMPTY_COMPONENT.to_vec();
    section::append(&mut garbled, SECTION, b"{}");
    assert_eq!(Stamp::read(&garbled), None);
}

#[test]
fn an_entry_tells_its_language() {
    for (entry, expected) in [
        ("./index.ts", Some(Language::TypeScript)),
        ("a/b.mjs", Some(Language::TypeScript)),
        ("./tool.py", Some(Language::Python)),
        ("./Cargo.toml", Some(Language::Rust)),
        ("rust/text/Cargo.toml", Some(Language::Rust)),
        ("./other.toml", None),
        ("./tool.wasm", None),
        ("src/lib.rs", None),
        ("ts", None),
    ] {
        assert_eq!(Language::of(entry), expected, "{entry}");
    }
}

#[test]
fn sources_are_read_up_to_the_budget() {
    let budget = Budget::default();
    budget.take(SOURCE_BYTES_MAX - 1_024);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.ts"), "x").unwrap();
    let folder = Dir::open_ambient_dir(dir.path(), cap_std::ambient_authority()).unwrap();
    let folder = DirView::new(Arc::new(folder), ChangedFiles::default());
    let refused = stamp("./index.ts").check(&folder, &budget);
    assert!(matches!(refused, Err(Stale::TooMuch)), "{refused:?}");

    // Nor are more files and folders looked for, be they empty.
    let check = |path: fn(usize) -> String, many: usize| {
        let mut stamp = stamp("./index.ts");
        let sources = (0..many).map(|n| Source::new(path(n), b""));
        stamp.sources = sources.collect();
        let refused = stamp.check(&folder, &Budget::default());
        assert!(matches!(refused, Err(Stale::TooMuch)), "{refused:?}");
    };
    check(|n| format!("{n}.ts"), 40_000);
    check(|n| format!("{n}/index.ts"), 3_000);
    check(|_| format!("{}index.ts", "a/".repeat(SOURCE_DEPTH_MAX)), 1);
}

#[test]
fn a_file_where_the_build_found_none_makes_a_component_out_of_date() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.ts"), "export const handlers = {}").unwrap();
    std::fs::create_dir(dir.path().join("contents")).unwrap();
    std::fs::write(dir.path().join("contents/1"), "{}").unwrap();
    let check = |stamp: &Stamp, view: ChangedFiles| {
        let dir_handle = Dir::open_ambient_dir(dir.path(), cap_std::ambient_authority()).unwrap();
        let folder = DirView::new(Arc::new(dir_handle), view);
        stamp.check(&folder, &Budget::default())
    };
    let view = |content: Option<&str>| {
        let files = [("sub/package.json".into(), content.map(Into::into))];
        ChangedFiles::new(&dir.path().join("contents"), files.into()).unwrap()
    };
    let mut stamp = stamp("./index.ts");
    let absent = [
        "sub/package.json",
        "package.json/x",
        "../package.json",
        "node_modules",
    ];
    stamp.absent = Some(absent.map(str::to_owned).to_vec());
    assert!(check(&stamp, ChangedFiles::default()).is_ok());
    assert!(check(&stamp, view(None)).is_ok());
    // A changeset writes it.
    let new = check(&stamp, view(Some("1")));
    assert!(matches!(new, Err(Stale::New { .. })), "{new:?}");
    for path in ["node_modules", "sub/package.json"] {
        std::fs::create_dir_all(dir.path().join(path)).unwrap();
        let new = check(&stamp, ChangedFiles::default());
        assert!(
            matches!(&new, Err(Stale::New { path: it }) if it == path),
            "{new:?}"
        );
        std::fs::remove_dir(dir.path().join(path)).unwrap();
    }
    // The stamp of an older kit has no such paths.
    let json = serde_json::to_string(&stamp).unwrap();
    let older = json.replace("\"absent\"", "\"other\"");
    let older: Stamp = serde_json::from_str(&older).unwrap();
    assert_eq!(older.absent, None);
    stamp.absent = Some(vec![String::new(); SOURCES_MAX + 1]);
    assert!(!stamp.is_compared());
}
