use serde_json::{Value, json};

use super::*;

/// Reads a plan with one operation, and returns the path of it.
fn read(version: u32, dirs: &[&str], op: &Value) -> Result<String, String> {
    let plan = json!({
        "version": version,
        "workdir": {"path": "/work", "inode": 1},
        "label": "a call",
        "dirs": dirs,
        "ops": [op],
        "left": [],
    });
    let plan = read_plan(plan.to_string().as_bytes())?;
    Ok(plan.ops[0].path.to_string())
}

fn put(dir: Option<usize>, path: &str) -> Value {
    match dir {
        None => json!({"put": {"staged": "f0", "path": path, "inode": 2}}),
        Some(dir) => json!({"put": {"staged": "f0", "dir": dir, "path": path, "inode": 2}}),
    }
}

#[test]
fn a_path_is_a_name_in_a_directory_of_the_list_or_whole_in_version_1() {
    let refused = |path: &str| Err(format!("`{path}` is not a valid name"));
    for (version, dirs, dir, path, expected) in [
        (2, &["d/e"][..], Some(0), "a", Ok("d/e/a")),
        (2, &[], None, "a", Ok("a")),
        (1, &[], None, "a", Ok("a")),
        (1, &[], None, "d/a", Ok("d/a")),
        (2, &[], None, "d/a", refused("d/a")),
        (2, &["d"], Some(0), "e/a", refused("d/e/a")),
        (2, &["d"], Some(0), "..", refused("d/..")),
        (1, &[], None, "../a", refused("../a")),
        (1, &[], None, "/a", refused("/a")),
        (2, &["d/.."], None, "a", refused("d/..")),
        (
            2,
            &["d"],
            Some(1),
            "a",
            Err("directory 1 is not in `dirs`".to_owned()),
        ),
        (0, &[], None, "a", Err("version 0 is unknown".to_owned())),
        (3, &[], None, "a", Err("version 3 is unknown".to_owned())),
    ] {
        let found = read(version, dirs, &put(dir, path));
        assert_eq!(
            found,
            expected.map(str::to_owned),
            "{version} {dir:?} {path}"
        );
    }
    for op in [
        json!({"take": {"path": "a", "staged": "../f0", "inode": 2}}),
        json!({"exchange": {"staged": "x", "path": "a", "inode": 2, "replaced": 3}}),
        json!({"remove": {"path": "a"}}),
        json!({"put": {"staged": "f0", "path": "a", "inode": 2, "more": 1}}),
        json!({"put": {"staged": "f0", "path": "a", "inode": 2, "replaced": 3}}),
        json!({"exchange": {"staged": "f0", "path": "a", "inode": 2}}),
    ] {
        assert!(read(2, &[], &op).is_err(), "{op}");
    }
}

#[test]
fn a_plan_is_written_with_each_directory_once_and_read_again() {
    let text = json!({
        "version": 2,
        "workdir": {"path": "/work", "inode": 1},
        "label": "a call",
        "dirs": ["d", "d/e"],
        "ops": [
            {"put": {"staged": "f0", "dir": 0, "path": "a", "inode": 2}},
            {"take": {"dir": 1, "path": "b", "staged": "f1", "inode": 3}},
            {"exchange": {"staged": "f2", "path": "c", "inode": 4, "replaced": 5}},
            {"put": {"staged": "f3", "dir": 0, "path": "d", "inode": 6}},
        ],
        "left": [],
    });
    let plan = read_plan(text.to_string().as_bytes()).unwrap();
    let mut written = Vec::new();
    write_plan(&plan, &mut written).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), text);
}
