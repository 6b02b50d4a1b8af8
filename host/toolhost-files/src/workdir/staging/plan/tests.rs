use super::*;

#[test]
fn names_of_a_plan_lead_neither_out_of_the_workdir_nor_of_the_staging_directory() {
    for (name, expected) in [
        ("f0", true),
        ("f12345678901234567890", true),
        ("f123456789012345678901", false),
        ("f", false),
        ("", false),
        ("0", false),
        ("g0", false),
        ("f-1", false),
        ("f0/", false),
        ("f0a", false),
    ] {
        assert_eq!(is_staged_name(name), expected, "{name}");
    }
    for (path, expected) in [
        ("a", true),
        ("a/b", true),
        ("a/..b/...", true),
        ("", false),
        ("/a", false),
        ("a/", false),
        ("a//b", false),
        (".", false),
        ("..", false),
        ("a/..", false),
        ("../a", false),
        ("a/./b", false),
        ("a\0", false),
    ] {
        assert_eq!(is_path(path), expected, "{path:?}");
        assert_eq!(is_tree_path(&path.into()), expected, "{path:?}");
    }
    for (above, name, expected) in [
        ("", "a", true),
        ("a/b", "c", true),
        ("", "a/b", false),
        ("a", "b/c", false),
        ("..", "a", false),
        ("a", "..", false),
        ("a", "", false),
    ] {
        let path = TreePath::new(above.into(), name.into());
        assert_eq!(is_tree_path(&path), expected, "{above} {name}");
    }
}

#[test]
fn a_workdir_is_the_same_by_its_inode_and_its_birth_or_else_its_path() {
    let place = |path: &str, inode, born| WorkdirPlace {
        path: PathText::Text(path.to_owned()),
        inode,
        born,
    };
    let (one, other) = (Some((1, 1)), Some((1, 2)));
    for (before, now, expected) in [
        (place("a", 1, one), place("a", 1, one), true),
        (place("a", 1, one), place("moved", 1, one), true),
        (place("a", 1, one), place("a", 1, other), false),
        (place("a", 1, one), place("a", 2, one), false),
        (place("a", 1, None), place("a", 1, None), true),
        (place("a", 1, None), place("a", 1, one), true),
        (place("a", 1, one), place("a", 1, None), true),
        (place("a", 1, None), place("moved", 1, None), false),
        (place("a", 1, None), place("a", 2, None), false),
    ] {
        assert_eq!(before.is_same(&now), expected, "{before:?} {now:?}");
    }
    let bytes = WorkdirPlace {
        path: PathText::Bytes(b"a\xff".to_vec()),
        ..place("", 1, None)
    };
    assert_eq!(bytes.path().as_os_str().as_bytes(), b"a\xff");
    assert_eq!(place("a", 1, None).path(), Path::new("a"));
}

#[test]
fn a_plan_lists_each_path_once() {
    let op = |way, path: &str, inode| JournalOp {
        way,
        staged: "f1".to_owned(),
        path: path.into(),
        inode,
    };
    let plan = Plan {
        workdir: WorkdirPlace {
            path: PathText::Text("a".to_owned()),
            inode: 1,
            born: None,
        },
        label: String::new(),
        ops: vec![
            op(Way::Take, "b/c", 1),
            op(Way::Put, "b/c", 2),
            op(Way::Exchange { replaced: 4 }, "a", 3),
        ],
        left: vec![],
    };
    assert_eq!(plan.count(), 2);
    assert_eq!(plan.files(9), ["a", "b/c"]);
    assert_eq!(plan.files(1), ["a"]);
}
