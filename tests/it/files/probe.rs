//! Scripts of raw `wasi:filesystem` calls, run by the guest `fs_probe`.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_sandbox::{CallReport, Invocation, Workdir};
pub(crate) use toolhost_tests::output;
use toolhost_tests::{Work, invocation, prepared};

/// The results of a script.
pub(crate) struct Ran {
    /// One result for each step.
    pub(crate) results: Vec<Value>,
    pub(crate) report: CallReport,
}

impl Ran {
    /// Reads the output of `fs_probe`.
    pub(crate) fn of(report: CallReport) -> Self {
        let results = output(&report)["results"].as_array().unwrap().clone();
        Self { results, report }
    }

    /// Returns the code of each step: `ok`, or the name of the error.
    pub(crate) fn codes(&self) -> Vec<&str> {
        self.results.iter().map(code).collect()
    }
}

/// Returns `ok`, or the name of the error.
pub(crate) fn code(result: &Value) -> &str {
    result["error"].as_str().unwrap_or("ok")
}

/// Runs one handler of a guest in a workdir; `change` modifies the invocation.
pub(crate) async fn call(
    guest: &str,
    handler: &str,
    input: Value,
    workdir: &Workdir,
    change: impl FnOnce(&mut Invocation),
) -> CallReport {
    let mut request = invocation(handler, &input, None);
    request.workdir = Some(workdir.clone());
    change(&mut request);
    prepared(guest).await.call(request).await
}

/// Runs a script; `change` modifies the invocation.
pub(crate) async fn script(
    workdir: &Workdir,
    steps: &[Value],
    change: impl FnOnce(&mut Invocation),
) -> Ran {
    let input = json!({ "script": steps });
    Ran::of(call("fs_probe", "run", input, workdir, change).await)
}

/// Runs a script and compares each step with its expected result: an error's name, or an object whose
/// members must be in the result. Returns the results.
pub(crate) async fn check(work: &Work, cases: &[(Value, Value)]) -> Vec<Value> {
    let steps: Vec<Value> = cases.iter().map(|(step, _)| step.clone()).collect();
    let ran = script(&work.workdir, &steps, |_| ()).await;
    for ((step, expected), result) in cases.iter().zip(&ran.results) {
        if let Value::String(name) = expected {
            assert_eq!(code(result), name, "{step}");
            continue;
        }
        assert_eq!(code(result), "ok", "{step}");
        for (name, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(&result[name], value, "{name} of {step}");
        }
    }
    ran.results
}

/// Asserts the code of each step; lists every step with a different code.
pub(crate) fn assert_codes(steps: &[Value], ran: &Ran, expected: &[&str]) {
    assert_eq!(steps.len(), expected.len());
    let differ = |((step, expected), found): ((&Value, &&str), &str)| {
        (*expected != found).then(|| format!("{found}, not {expected}: {step}"))
    };
    let pairs = steps.iter().zip(expected).zip(ran.codes());
    let wrong: Vec<String> = pairs.filter_map(differ).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a workdir with a file, a folder and links.
pub(crate) fn furnished() -> Work {
    let work = Work::new();
    fs::write(work.path("file"), "hello").unwrap();
    fs::hard_link(work.path("file"), work.path("hard")).unwrap();
    fs::create_dir_all(work.path("dir/sub")).unwrap();
    fs::write(work.path("dir/inner"), "inner").unwrap();
    symlink("file", work.path("link")).unwrap();
    symlink("dir", work.path("dirlink")).unwrap();
    symlink("nothing", work.path("dangling")).unwrap();
    set_modified(&work, "file", 1_000_000_000, 123_456_789);
    work
}

/// Sets a modification time, seconds and nanoseconds after 1970.
pub(crate) fn set_modified(work: &Work, path: &str, seconds: u64, nanoseconds: u32) {
    let file = fs::File::open(work.path(path)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::new(seconds, nanoseconds))
        .unwrap();
}

/// Returns a step that opens `path` into slot 1.
pub(crate) fn open(path: &str, open: &[&str], flags: &[&str]) -> Value {
    json!({ "op": "open-at", "path": path, "open": open, "flags": flags, "as": 1 })
}
