use super::*;

#[test]
fn a_path_is_that_of_its_directory_and_a_name() {
    for (path, above, name, depth) in [
        ("a", "", "a", 0),
        ("a/b", "a", "b", 1),
        ("a/b/c", "a/b", "c", 2),
        ("/a", "", "/a", 0),
        ("a/", "a", "", 1),
    ] {
        let read = TreePath::from(path);
        assert_eq!((&**read.above(), read.name()), (above, name), "{path}");
        assert_eq!(
            (&**read.shared_name(), read.depth()),
            (name, depth),
            "{path}"
        );
        assert_eq!(read.to_string(), path);
    }
}

#[test]
fn a_file_is_found_by_its_whole_path_until_it_is_removed() {
    let id = |inode| FileId { device: 1, inode };
    let mut files = ByPath::default();
    assert!(files.is_empty());
    for (path, inode) in [("a", 1), ("d/a", 2), ("d/b", 3)] {
        files.insert(&path.into(), id(inode));
    }
    let found = |files: &ByPath, above: &str, name: &str| {
        let found = files.get(above, name);
        let path = TreePath::new(above.into(), name.into());
        assert_eq!(files.contains(&path), found.is_some());
        found.map(|id| id.inode)
    };
    for (above, name, expected) in [
        ("", "a", Some(1)),
        ("d", "a", Some(2)),
        ("d", "b", Some(3)),
        ("", "b", None),
        ("e", "a", None),
        ("", "d/a", None),
    ] {
        assert_eq!(found(&files, above, name), expected, "{above} {name}");
    }
    assert!(!files.is_empty());
    files.remove(&"d/a".into());
    assert_eq!(found(&files, "d", "a"), None);
    assert_eq!(found(&files, "d", "b"), Some(3));
    files.remove(&"e/a".into());
    files.remove(&"d/b".into());
    assert_eq!(found(&files, "", "a"), Some(1));
    files.remove(&"a".into());
    assert!(files.is_empty());
}
