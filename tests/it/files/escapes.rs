//! Paths that lead out of the workdir: nothing outside is read, created or changed.

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

/// The WASI releases against which the guests are built.
const WASI: [&str; 4] = ["0.2.0", "0.2.6", "0.2.9", "0.2.12"];

/// A workdir with links that lead out of it, beside files that no guest may reach.
struct Fixture {
    /// The WASI release against which its guests are built.
    wasi: &'static str,
    top: tempfile::TempDir,
    workdir: Workdir,
    outside: Tree,
    inside: Tree,
}

impl Fixture {
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

    /// Whether nothing in the workdir was created or changed.
    fn inside_is_unchanged(&self) -> bool {
        tree(&self.path(""), None) == self.inside
    }

    /// Returns itself if it is unchanged, else a new one.
    fn unchanged_or_new(self) -> Self {
        if self.inside_is_unchanged() {
            self
        } else {
            Self::new(self.wasi)
        }
    }

    /// Asserts that nothing outside of the workdir was created or changed, and that the output holds no
    /// part of it.
    fn assert_outside_unchanged(&self, what: &str, output: &Value) {
        let now = tree(self.top.path(), Some(&self.path("")));
        assert_eq!(now, self.outside, "{what}");
        assert!(!output.to_string().contains(SECRET), "{what}: {output}");
    }
}

/// Paths that leave the workdir before their last component, or with it.
const PATHS_OUT: [&str; 38] = [
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

/// Absolute paths, which a component may use no more than `..`.
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

/// Links that lead out of the workdir: they can be read and not followed.
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

/// Every operation that follows a link at the end of its path.
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
        json!({ "op": "get-mode", "path": path, "follow": true }),
        json!({ "op": "set-mode", "path": path, "mode": 0o700 }),
    ]
}

/// Every operation that does not follow a link at the end of its path.
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
        json!({ "op": "get-mode", "path": path }),
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
async fn no_operation_leaves_the_workdir() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
        let own = fixture.path("inside").to_str().unwrap().to_owned();
        let paths = PATHS_OUT.into_iter().chain(ABSOLUTE).chain([own.as_str()]);
        let mut wrong = Vec::new();
        for path in paths {
            let steps = [following(path), unfollowing(path)].concat();
            let ran = fixture.script(&steps).await;
            fixture.assert_outside_unchanged(path, output(&ran.report));
            for (step, result) in steps.iter().zip(&ran.results) {
                if code(result) != "not-permitted" {
                    wrong.push(format!("{} {step}", code(result)));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(
            fixture.inside_is_unchanged(),
            "nothing in the workdir was changed"
        );
    }
}

#[tokio::test]
async fn a_link_that_leads_out_can_be_read_and_not_followed() {
    for wasi in WASI {
        let mut fixture = Fixture::new(wasi);
        for path in LINKS_OUT {
            fixture = fixture.unchanged_or_new();
            let ran = fixture.script(&following(path)).await;
            fixture.assert_outside_unchanged(path, output(&ran.report));
            assert!(fixture.inside_is_unchanged(), "{path}");
            for (step, code) in following(path).iter().zip(ran.codes()) {
                assert_eq!(code, "not-permitted", "{step}");
            }

            for step in unfollowing(path) {
                fixture = fixture.unchanged_or_new();
                let ran = fixture.script(std::slice::from_ref(&step)).await;
                fixture.assert_outside_unchanged(&step.to_string(), output(&ran.report));
                let seen = &ran.results[0];
                if seen["type"].is_string() {
                    assert_eq!(seen["type"], "symbolic-link", "{step}");
                }
                // The absolute target of a link is a path of the host, which guests do not see.
                assert!(
                    !seen["target"].as_str().unwrap_or("").starts_with('/'),
                    "{step}: {seen}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_slash_after_a_link_that_leads_out_is_refused() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
        for path in LINKS_OUT {
            for slashed in [format!("{path}/"), format!("{path}//"), format!("{path}/.")] {
                let steps = [following(&slashed), unfollowing(&slashed)].concat();
                let ran = fixture.script(&steps).await;
                fixture.assert_outside_unchanged(&slashed, output(&ran.report));
                assert!(fixture.inside_is_unchanged(), "{slashed}");
                for (step, code) in steps.iter().zip(ran.codes()) {
                    assert_ne!(code, "ok", "{step}");
                }
            }
        }
    }
}

#[tokio::test]
async fn existing_and_missing_paths_outside_give_the_same_error() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
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
            let results = async |path: &str| fixture.script(&steps(path)).await.results;
            assert_eq!(
                results(there).await,
                results(not_there).await,
                "{there} and {not_there}"
            );
        }
    }
}

#[tokio::test]
async fn malformed_paths_return_an_error_and_change_nothing() {
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
        let fixture = Fixture::new(wasi);
        for (path, expected) in cases {
            let mut steps = following(path);
            // Operations on the looping link itself succeed.
            if path != "loop_a" {
                steps.extend(unfollowing(path));
            }
            let ran = fixture.script(&steps).await;
            let display: String = path.chars().take(40).collect();
            fixture.assert_outside_unchanged(&display, output(&ran.report));
            assert!(fixture.inside_is_unchanged(), "{display}");
            for (step, code) in steps.iter().zip(ran.codes()) {
                assert!(
                    expected.contains(&code),
                    "{code}: {display}: {}",
                    step["op"]
                );
            }
        }
    }
}

#[tokio::test]
async fn links_that_a_guest_creates_do_not_leave_the_workdir() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
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
            // This link stays inside only while it lies two folders deep.
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
        let ran = fixture.script(&steps).await;
        for ((step, expected), found) in cases.iter().zip(ran.codes()) {
            assert_eq!(found, *expected, "{step}");
        }
        fixture.assert_outside_unchanged("links that the guest created", output(&ran.report));
    }
}

#[tokio::test]
async fn a_folder_handle_does_not_lead_above_its_folder() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
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
        // From the handle of a folder in it, the workdir is outside.
        let ran = fixture.script(&steps).await;
        for (step, code) in steps.iter().zip(ran.codes()).skip(1) {
            let about_a_name_of_its_own = step["path"] == "inside" || step["path"] == "dir/sub";
            let expected: &[&str] = if about_a_name_of_its_own {
                &["not-permitted", "no-entry"]
            } else {
                &["not-permitted"]
            };
            assert!(expected.contains(&code), "{code}: {step}");
        }
        fixture.assert_outside_unchanged("a folder's handle", output(&ran.report));
    }
}

/// Every operation of the guest `climb_out_of_workdir`; those of the second list act on a link itself.
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
async fn programs_that_use_std_cannot_leave_the_workdir() {
    for wasi in WASI {
        let climb = async |fixture: &Fixture, op: &str, paths: &[String]| {
            let input = json!({ "op": op, "paths": paths });
            let report = fixture.call("climb_out_of_workdir", "run", input).await;
            fixture.assert_outside_unchanged(&format!("{op} {paths:?}"), output(&report));
            output(&report)["results"].as_array().unwrap().clone()
        };
        let spelled = |path: &&str| [(*path).to_owned(), format!("/{path}"), format!("{path}/")];
        let ways: Vec<String> = PATHS_OUT.iter().flat_map(spelled).collect();
        let mut fixture = Fixture::new(wasi);
        // `symlink` creates a link with that target and follows nothing.
        for op in CLIMBS.into_iter().filter(|op| *op != "symlink") {
            for result in climb(&fixture, op, &ways).await {
                assert_eq!(result["ok"], false, "{op}: {result}");
            }
            assert!(fixture.inside_is_unchanged(), "{op}");
        }
        for op in CLIMBS {
            for link in LINKS_OUT {
                fixture = fixture.unchanged_or_new();
                for result in climb(&fixture, op, &[format!("{link}/"), format!("/{link}")]).await {
                    let may_succeed = op == "symlink" || OF_LINKS.contains(&op);
                    assert!(may_succeed || result["ok"] == false, "{op}: {result}");
                }
            }
        }
    }
}

#[tokio::test]
async fn std_resolves_absolute_paths_beneath_the_workdir() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
        let own = fixture.path("inside").to_str().unwrap().to_owned();
        for (path, expected) in [
            ("/dir/inside", true),
            ("/inside", true),
            ("/etc/passwd", false),
            (&own, false),
        ] {
            for op in ["read", "append", "stat"] {
                let input = json!({ "op": op, "paths": [path] });
                let report = fixture.call("climb_out_of_workdir", "run", input).await;
                assert_eq!(output(&report)["results"][0]["ok"], expected, "{op} {path}");
                fixture.assert_outside_unchanged(path, output(&report));
            }
        }
        assert_eq!(
            fs::read(fixture.path("dir/inside")).unwrap(),
            b"insideclimbed"
        );
        let own = Path::new(&own).strip_prefix("/").unwrap();
        assert!(!fixture.path("etc").exists() && !fixture.path(own.to_str().unwrap()).exists());
    }
}

#[tokio::test]
async fn the_file_system_tool_stays_in_the_workdir() {
    for wasi in WASI {
        let fixture = Fixture::new(wasi);
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
                let report = fixture.call("file-system", handler, input).await;
                let output = format!("{:?}", report.outcome);
                assert!(
                    matches!(report.outcome, Ok(toolhost_sandbox::Outcome::Failed(_))),
                    "{handler} {path}: {output}"
                );
                fixture.assert_outside_unchanged(path, &json!(output));
            }
        }
        for (path, lands) in [("/dir/x", "dir/x"), ("dir/y", "dir/y"), ("z", "z")] {
            let input = json!({ "path": path, "content": "written" });
            let report = fixture.call("file-system", "write", input).await;
            output(&report);
            assert_eq!(fs::read(fixture.path(lands)).unwrap(), b"written");
        }
        let report = fixture
            .call(
                "file-system",
                "list",
                json!({ "path": ".", "recursive": true }),
            )
            .await;
        fixture.assert_outside_unchanged("list", output(&report));
    }
}

#[tokio::test]
async fn a_hard_link_in_the_workdir_is_a_file_of_the_workdir() {
    // A file can have several names. A hard link that the operator put into the workdir gives the
    // file to the tools, wherever its other names are; it cannot be distinguished from a copy.
    let fixture = Fixture::new(WASI[3]);
    let shared = fixture.top.path().join("shared");
    fs::write(&shared, "shared").unwrap();
    fs::hard_link(&shared, fixture.path("name")).unwrap();
    let steps = [
        json!({ "op": "open-at", "path": "name", "flags": ["read", "write"], "as": 1 }),
        json!({ "op": "read", "on": 1, "length": 99 }),
        json!({ "op": "write", "on": 1, "text": "SHARED" }),
        json!({ "op": "unlink-file-at", "path": "name" }),
    ];
    let ran = fixture.script(&steps).await;
    assert_eq!(ran.codes(), ["ok"; 4]);
    assert_eq!(ran.results[1]["text"], "shared");
    assert_eq!(fs::read(&shared).unwrap(), b"SHARED");
    assert_eq!(fs::metadata(&shared).unwrap().nlink(), 1);
}
