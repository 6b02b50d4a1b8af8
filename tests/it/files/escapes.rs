//! Ways out of the workdir. Whatever a guest names, nothing outside is read, made or changed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_sandbox::{CallReport, Workdir, WorkdirRules};
use toolhost_tests::sandbox;

use super::probe::{Ran, call, code, output};
use super::snapshot::{Tree, tree};

const SECRET: &str = "the canary's secret";

/// The releases of WASI that guests are built against here.
const WASI: [&str; 4] = ["0.2.0", "0.2.6", "0.2.9", "0.2.12"];

/// A workdir, with links out of it, beside what no guest may reach.
struct World {
    /// The release of WASI that the guests in it are built against.
    wasi: &'static str,
    top: tempfile::TempDir,
    workdir: Workdir,
    outside: Tree,
    inside: Tree,
}

impl World {
    fn new(wasi: &'static str) -> Self {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for dir in ["outside/empty", "work/dir/sub"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for canary in ["canary", "outside/secret"] {
            fs::write(at(canary), SECRET).unwrap();
            let long_ago = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            fs::File::open(at(canary))
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        for inside in ["work/inside", "work/dir/inside"] {
            fs::write(at(inside), "inside").unwrap();
        }
        let outside = at("outside").to_str().unwrap().to_owned();
        let canary = at("canary").to_str().unwrap().to_owned();
        let made = at("made").to_str().unwrap().to_owned();
        for (link, target) in [
            ("out_abs", outside.as_str()),
            ("out_rel", "../outside"),
            ("out_slash", "../outside/"),
            ("out_file", "../canary"),
            ("out_file_abs", &canary),
            ("chain", "chain2"),
            ("chain2", "dir/chain3"),
            ("dir/chain3", "../out_rel"),
            ("dir/up", "../.."),
            ("dangling_out", "../made"),
            ("dangling_out_abs", &made),
            ("loop_a", "loop_b"),
            ("loop_b", "dir/../loop_a"),
            ("root", "/"),
            ("proc_root", "/proc/self/root"),
            ("proc_cwd", "/proc/self/cwd"),
            ("proc_fd", "/proc/self/fd"),
            ("out_and_back", "../work/dir"),
        ] {
            symlink(target, at("work").join(link)).unwrap();
        }
        let workdir = sandbox()
            .open_workdir(&at("work"), &WorkdirRules::default())
            .unwrap();
        let outside = tree(top.path(), Some(&at("work")));
        let inside = tree(&at("work"), None);
        Self {
            wasi,
            top,
            workdir,
            outside,
            inside,
        }
    }

    /// Runs a handler of a guest.
    async fn call(&self, guest: &str, handler: &str, input: Value) -> CallReport {
        let guest = format!("{guest}@{}", self.wasi);
        call(&guest, handler, input, &self.workdir, |_| ()).await
    }

    /// Runs a script.
    async fn script(&self, steps: &[Value]) -> Ran {
        let input = json!({ "script": steps });
        Ran::of(self.call("fs_probe", "run", input).await)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.path().join("work").join(path)
    }

    /// Whether nothing inside of the workdir was made or changed.
    fn is_as_made(&self) -> bool {
        tree(&self.path(""), None) == self.inside
    }

    /// The same where it is as it was made, else another.
    fn or_new(self) -> Self {
        if self.is_as_made() {
            self
        } else {
            Self::new(self.wasi)
        }
    }

    /// Nothing outside of the workdir was made or changed, and nothing of it is in what was said.
    fn assert_untouched(&self, what: &str, said: &Value) {
        let now = tree(self.top.path(), Some(&self.path("")));
        assert_eq!(now, self.outside, "{what}");
        assert!(!said.to_string().contains(SECRET), "{what}: {said}");
    }
}

/// Paths that leave the workdir before their last component, or with it.
const WAYS_OUT: [&str; 38] = [
    "..",
    "../",
    "../.",
    "./..",
    "../..",
    "../../..",
    "../canary",
    "../made",
    "../outside/secret",
    "../outside/empty",
    "../outside/made",
    "./../canary",
    ".//..//canary",
    "dir/../..",
    "dir/../../canary",
    "dir/sub/../../../canary",
    "dir/sub/../../../work/inside",
    "../work/inside",
    "../work",
    "out_abs/secret",
    "out_rel/secret",
    "out_rel/made",
    "out_rel/empty",
    "out_rel/../canary",
    "out_rel/../work/inside",
    "out_slash/secret",
    "chain/secret",
    "chain/made",
    "dir/up/canary",
    "dir/up/work/inside",
    "root/etc/passwd",
    "proc_root/etc/passwd",
    "proc_cwd/x",
    "proc_fd/0",
    "out_and_back/inside",
    "out_rel/.",
    "out_rel/..",
    "out_file/..",
];

/// Absolute paths: to a component they are as much outside as `..`.
const ABSOLUTE: [&str; 9] = [
    "/",
    "//",
    "/.",
    "/..",
    "/../canary",
    "/inside",
    "//inside",
    "/etc/passwd",
    "/proc/self/environ",
];

/// Links that themselves lead out: followed, they are ways out; unfollowed, they are links.
const LINKS_OUT: [&str; 13] = [
    "out_abs",
    "out_rel",
    "out_slash",
    "out_file",
    "out_file_abs",
    "chain",
    "dir/chain3",
    "dir/up",
    "dangling_out",
    "dangling_out_abs",
    "root",
    "proc_root",
    "out_and_back",
];

/// Every op that follows a link at the end of its path.
fn following(path: &str) -> Vec<Value> {
    let open = |how: &[&str], flags: &[&str]| json!({ "op": "open-at", "path": path, "follow": true, "open": how, "flags": flags });
    vec![
        open(&[], &["read"]),
        open(&[], &["write"]),
        open(&["create"], &["read", "write"]),
        open(&["truncate"], &["write"]),
        open(&["create", "truncate"], &["write"]),
        open(&["directory"], &["read"]),
        open(&["directory"], &["read", "mutate-directory"]),
        json!({ "op": "stat-at", "path": path, "follow": true }),
        json!({ "op": "metadata-hash-at", "path": path, "follow": true }),
        json!({ "op": "set-times-at", "path": path, "follow": true, "modified": { "seconds": 1 } }),
    ]
}

/// Every op that takes the end of its path as it is.
fn unfollowing(path: &str) -> Vec<Value> {
    vec![
        json!({ "op": "open-at", "path": path }),
        json!({ "op": "open-at", "path": path, "open": ["create"], "flags": ["write"] }),
        json!({ "op": "open-at", "path": path, "open": ["create", "exclusive"], "flags": ["write"] }),
        json!({ "op": "open-at", "path": path, "follow": true, "open": ["create", "exclusive"], "flags": ["write"] }),
        json!({ "op": "open-at", "path": path, "open": ["directory"] }),
        json!({ "op": "stat-at", "path": path }),
        json!({ "op": "metadata-hash-at", "path": path }),
        json!({ "op": "set-times-at", "path": path, "modified": { "seconds": 1 } }),
        json!({ "op": "readlink-at", "path": path }),
        json!({ "op": "create-directory-at", "path": path }),
        json!({ "op": "symlink-at", "path": path, "target": "inside" }),
        json!({ "op": "link-at", "path": path, "to": "stolen" }),
        json!({ "op": "link-at", "path": "inside", "to": path }),
        json!({ "op": "rename-at", "path": path, "to": "stolen" }),
        json!({ "op": "rename-at", "path": "inside", "to": path }),
        json!({ "op": "rename-at", "path": "dir/sub", "to": path }),
        json!({ "op": "unlink-file-at", "path": path }),
        json!({ "op": "remove-directory-at", "path": path }),
    ]
}

#[tokio::test]
async fn no_op_goes_a_way_out() {
    for wasi in WASI {
        let world = World::new(wasi);
        let own = world.path("inside").to_str().unwrap().to_owned();
        let paths = WAYS_OUT.into_iter().chain(ABSOLUTE).chain([own.as_str()]);
        let mut wrong = Vec::new();
        for path in paths {
            let steps = [following(path), unfollowing(path)].concat();
            let ran = world.script(&steps).await;
            world.assert_untouched(path, output(&ran.report));
            for (step, result) in steps.iter().zip(&ran.results) {
                if code(result) != "not-permitted" {
                    wrong.push(format!("{} {step}", code(result)));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(world.is_as_made(), "nothing inside was changed either");
    }
}

#[tokio::test]
async fn a_link_out_is_a_link_and_no_way() {
    for wasi in WASI {
        let mut world = World::new(wasi);
        for path in LINKS_OUT {
            world = world.or_new();
            let ran = world.script(&following(path)).await;
            world.assert_untouched(path, output(&ran.report));
            assert!(world.is_as_made(), "{path}");
            for (step, code) in following(path).iter().zip(ran.codes()) {
                assert_eq!(code, "not-permitted", "{step}");
            }

            for step in unfollowing(path) {
                world = world.or_new();
                let ran = world.script(std::slice::from_ref(&step)).await;
                world.assert_untouched(&step.to_string(), output(&ran.report));
                let seen = &ran.results[0];
                if seen["type"].is_string() {
                    assert_eq!(seen["type"], "symbolic-link", "{step}");
                }
                // Where on the host a link leads is the host's own affair.
                assert!(
                    !seen["target"].as_str().unwrap_or("").starts_with('/'),
                    "{step}: {seen}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_slash_after_a_link_out_leads_nowhere() {
    for wasi in WASI {
        let world = World::new(wasi);
        for path in LINKS_OUT {
            for slashed in [format!("{path}/"), format!("{path}//"), format!("{path}/.")] {
                let steps = [following(&slashed), unfollowing(&slashed)].concat();
                let ran = world.script(&steps).await;
                world.assert_untouched(&slashed, output(&ran.report));
                assert!(world.is_as_made(), "{slashed}");
                for (step, code) in steps.iter().zip(ran.codes()) {
                    assert_ne!(code, "ok", "{step}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_exists_outside_cannot_be_told_from_what_does_not() {
    for wasi in WASI {
        let world = World::new(wasi);
        let everything = |path: &str| [following(path), unfollowing(path)].concat();
        for (there, not_there, steps) in [
            (
                "../canary",
                "../nothing",
                &everything as &dyn Fn(&str) -> Vec<Value>,
            ),
            ("../outside", "../nothing", &everything),
            ("../outside/secret", "../nothing/secret", &everything),
            ("/etc/passwd", "/nothing/passwd", &everything),
            ("out_rel/secret", "out_rel/nothing", &everything),
            ("out_rel/empty", "out_rel/secret", &everything),
            ("out_abs/secret", "out_abs/nothing", &everything),
            ("out_file", "dangling_out", &following),
            ("out_file_abs", "dangling_out_abs", &following),
        ] {
            let told = async |path: &str| world.script(&steps(path)).await.results;
            assert_eq!(
                told(there).await,
                told(not_there).await,
                "{there} and {not_there}"
            );
        }
    }
}

#[tokio::test]
async fn odd_paths_come_to_an_error_and_to_nothing_else() {
    for wasi in WASI {
        let long = "x".repeat(5_000);
        let long_way = "dir/../".repeat(800);
        let component = "x".repeat(300);
        let deep_component = format!("dir/{component}/x");
        let cases: [(&str, &[&str]); 12] = [
            ("", &["no-entry"]),
            ("loop_a", &["loop", "exist", "invalid"]),
            ("loop_a/x", &["loop"]),
            ("a\0b", &["invalid"]),
            ("\0", &["invalid"]),
            ("../canary\0", &["invalid", "not-permitted"]),
            ("dir\0/../../canary", &["invalid"]),
            (&long, &["name-too-long"]),
            (&long_way, &["name-too-long"]),
            (&component, &["name-too-long"]),
            (&deep_component, &["name-too-long"]),
            ("inside/x", &["not-directory"]),
        ];
        let world = World::new(wasi);
        for (path, expected) in cases {
            let mut steps = following(path);
            // What concerns the looping link itself is allowed.
            if path != "loop_a" {
                steps.extend(unfollowing(path));
            }
            let ran = world.script(&steps).await;
            let shown: String = path.chars().take(40).collect();
            world.assert_untouched(&shown, output(&ran.report));
            assert!(world.is_as_made(), "{shown}");
            for (step, code) in steps.iter().zip(ran.codes()) {
                assert!(expected.contains(&code), "{code}: {shown}: {}", step["op"]);
            }
        }
    }
}

#[tokio::test]
async fn links_of_the_guests_own_making_lead_no_further() {
    for wasi in WASI {
        let world = World::new(wasi);
        let link = |target: &str, path: &str| json!({ "op": "symlink-at", "target": target, "path": path });
        let read = |path: &str| json!({ "op": "open-at", "path": path, "follow": true });
        let make = |path: &str| json!({ "op": "open-at", "path": path, "follow": true, "open": ["create"], "flags": ["write"] });
        let rename = |path: &str, to: &str| json!({ "op": "rename-at", "path": path, "to": to });
        let cases = [
            (link("..", "up"), "ok"),
            (read("up"), "not-permitted"),
            (read("up/canary"), "not-permitted"),
            (make("up/made"), "not-permitted"),
            (link("../canary", "to_canary"), "ok"),
            (read("to_canary"), "not-permitted"),
            (make("to_canary"), "not-permitted"),
            (link("../made", "to_made"), "ok"),
            (make("to_made"), "not-permitted"),
            (link("up/outside", "two_steps"), "ok"),
            (read("two_steps/secret"), "not-permitted"),
            (link("dir/..", "back_home"), "ok"),
            (read("back_home/inside"), "ok"),
            (link("/etc/passwd", "absolute"), "not-permitted"),
            // Inside as long as it lies two folders deep.
            (link("../../inside", "dir/sub/near"), "ok"),
            (read("dir/sub/near"), "ok"),
            (rename("dir/sub/near", "near"), "ok"),
            (read("near"), "not-permitted"),
            (link("../../canary", "dir/sub/far"), "ok"),
            (read("dir/sub/far"), "no-entry"),
            (rename("dir/sub", "sub"), "ok"),
            (read("sub/far"), "not-permitted"),
            (make("sub/far"), "not-permitted"),
        ];
        let steps = cases.clone().map(|(step, _)| step);
        let ran = world.script(&steps).await;
        for ((step, expected), found) in cases.iter().zip(ran.codes()) {
            assert_eq!(found, *expected, "{step}");
        }
        world.assert_untouched("links of its own", output(&ran.report));
    }
}

#[tokio::test]
async fn a_folder_handle_is_no_way_out_either() {
    for wasi in WASI {
        let world = World::new(wasi);
        let mut steps =
            vec![json!({ "op": "open-at", "path": "dir/sub", "open": ["directory"], "as": 1 })];
        for path in [
            "..",
            "../..",
            "../inside",
            "../../inside",
            "../../../canary",
            "/inside",
        ] {
            for mut step in [following(path), unfollowing(path)].concat() {
                step["on"] = json!(1);
                step["toOn"] = json!(1);
                steps.push(step);
            }
        }
        // From a handle beneath, the workdir itself is outside.
        let ran = world.script(&steps).await;
        for (step, code) in steps.iter().zip(ran.codes()).skip(1) {
            let about_a_name_of_its_own = step["path"] == "inside" || step["path"] == "dir/sub";
            let expected: &[&str] = match about_a_name_of_its_own {
                true => &["not-permitted", "no-entry"],
                false => &["not-permitted"],
            };
            assert!(expected.contains(&code), "{code}: {step}");
        }
        world.assert_untouched("a folder's handle", output(&ran.report));
    }
}

/// Every op of the guest that climbs; those of the second list may act on a link itself.
const CLIMBS: [&str; 18] = [
    "read",
    "write",
    "append",
    "truncate",
    "mkdir",
    "rmdir",
    "unlink",
    "rename",
    "rename_from",
    "link",
    "link_to",
    "symlink",
    "symlink_at",
    "readlink",
    "stat",
    "lstat",
    "list",
    "set_times",
];
const OF_LINKS: [&str; 6] = [
    "unlink",
    "rename",
    "rename_from",
    "link",
    "readlink",
    "lstat",
];

#[tokio::test]
async fn ordinary_programs_climb_no_better() {
    for wasi in WASI {
        let climb = async |world: &World, op: &str, paths: &[String]| {
            let input = json!({ "op": op, "paths": paths });
            let report = world.call("climb_out_of_workdir", "run", input).await;
            world.assert_untouched(&format!("{op} {paths:?}"), output(&report));
            output(&report)["results"].as_array().unwrap().clone()
        };
        let spelled = |path: &&str| [(*path).to_owned(), format!("/{path}"), format!("{path}/")];
        let ways: Vec<String> = WAYS_OUT.iter().flat_map(spelled).collect();
        let mut world = World::new(wasi);
        // `symlink` only makes a link of that target, and follows nothing.
        for op in CLIMBS.into_iter().filter(|op| *op != "symlink") {
            for result in climb(&world, op, &ways).await {
                assert_eq!(result["ok"], false, "{op}: {result}");
            }
            assert!(world.is_as_made(), "{op}");
        }
        for op in CLIMBS {
            for link in LINKS_OUT {
                world = world.or_new();
                for result in climb(&world, op, &[format!("{link}/"), format!("/{link}")]).await {
                    let may_succeed = op == "symlink" || OF_LINKS.contains(&op);
                    assert!(may_succeed || result["ok"] == false, "{op}: {result}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_absolute_path_begins_at_the_workdir() {
    for wasi in WASI {
        let world = World::new(wasi);
        let own = world.path("inside").to_str().unwrap().to_owned();
        for (path, expected) in [
            ("/dir/inside", true),
            ("/inside", true),
            ("/etc/passwd", false),
            (&own, false),
        ] {
            for op in ["read", "append", "stat"] {
                let input = json!({ "op": op, "paths": [path] });
                let report = world.call("climb_out_of_workdir", "run", input).await;
                assert_eq!(output(&report)["results"][0]["ok"], expected, "{op} {path}");
                world.assert_untouched(path, output(&report));
            }
        }
        assert_eq!(
            fs::read(world.path("dir/inside")).unwrap(),
            b"insideclimbed"
        );
        let own = Path::new(&own).strip_prefix("/").unwrap();
        assert!(!world.path("etc").exists() && !world.path(own.to_str().unwrap()).exists());
    }
}

#[tokio::test]
async fn the_file_system_tool_stays_inside() {
    for wasi in WASI {
        let world = World::new(wasi);
        for path in [
            "../x",
            "dir/../../x",
            "out_rel/x",
            "chain/x",
            "dangling_out",
            "out_file",
            "../canary",
            "out_rel/secret",
        ] {
            for (handler, input) in [
                ("write", json!({ "path": path, "content": "written" })),
                (
                    "write",
                    json!({ "path": path, "content": "written", "append": true }),
                ),
                ("read", json!({ "path": path })),
                ("mkdir", json!({ "path": path })),
                ("list", json!({ "path": path })),
            ] {
                let report = world.call("file-system", handler, input).await;
                let said = format!("{:?}", report.outcome);
                assert!(
                    matches!(report.outcome, Ok(toolhost_sandbox::Outcome::Failed(_))),
                    "{handler} {path}: {said}"
                );
                world.assert_untouched(path, &json!(said));
            }
        }
        for (path, lands) in [("/dir/x", "dir/x"), ("dir/y", "dir/y"), ("z", "z")] {
            let input = json!({ "path": path, "content": "written" });
            let report = world.call("file-system", "write", input).await;
            output(&report);
            assert_eq!(fs::read(world.path(lands)).unwrap(), b"written");
        }
        let report = world
            .call(
                "file-system",
                "list",
                json!({ "path": ".", "recursive": true }),
            )
            .await;
        world.assert_untouched("list", output(&report));
    }
}

#[tokio::test]
async fn a_hard_link_to_outside_is_a_file_of_the_workdir() {
    // What holds: a file has no one place. A name that the operator put into the workdir gives the
    // file to its tools, wherever its other names are; nothing short of copying could tell.
    let world = World::new(WASI[3]);
    let shared = world.top.path().join("shared");
    fs::write(&shared, "shared").unwrap();
    fs::hard_link(&shared, world.path("name")).unwrap();
    let steps = [
        json!({ "op": "open-at", "path": "name", "flags": ["read", "write"], "as": 1 }),
        json!({ "op": "read", "on": 1, "length": 99 }),
        json!({ "op": "write", "on": 1, "text": "SHARED" }),
        json!({ "op": "unlink-file-at", "path": "name" }),
    ];
    let ran = world.script(&steps).await;
    assert_eq!(ran.codes(), ["ok"; 4]);
    assert_eq!(ran.results[1]["text"], "shared");
    assert_eq!(fs::read(&shared).unwrap(), b"SHARED");
    assert_eq!(fs::metadata(&shared).unwrap().nlink(), 1);
}
