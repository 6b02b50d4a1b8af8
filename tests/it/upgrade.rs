//! A state root that an earlier release left: its pending calls, its undo records, and the way back.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use serde_json::json;
use toolhost::{Host, Instance, Policy};
use toolhost_tests::test_host::{code, open_step, tool_call, write_bundle, yaml};
use toolhost_tests::{Work, root, sandbox};

const WAITING: &str = "pending_hnduqmsn5sqcp2fpcsyambhevjhpsv5s";
const RUNNING: &str = "pending_abcdefghijklmnopqrstuvwxyz234567";

/// What the earlier release left, and a bundle.
struct Earlier {
    state: tempfile::TempDir,
    bundle: tempfile::TempDir,
    work: Work,
}

fn fixture(name: &str) -> String {
    fs::read_to_string(root("tests/fixtures/state-root").join(name)).unwrap()
}

fn make_folder(path: &Path) {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).unwrap();
}

impl Earlier {
    fn new() -> Self {
        let (state, bundle) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let work = Work::new();
        let manifest = yaml(&[
            ("pending", "pending", &["run"]),
            ("file-system", "file-system", &["write"]),
        ]);
        write_bundle(bundle.path(), &manifest, &["pending", "file-system"]);
        let earlier = Self {
            state,
            bundle,
            work,
        };
        earlier.write_database();
        earlier.write_undo_record();
        earlier
    }

    fn workdir(&self) -> String {
        let path = self.work.dir.path().canonicalize().unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn write_database(&self) {
        let day = Duration::from_secs(86_400);
        let expires = (SystemTime::now() + day)
            .duration_since(UNIX_EPOCH)
            .unwrap();
        let inode = fs::metadata(self.workdir()).unwrap().ino();
        let sql = fixture("toolhost.sql")
            .replace("{workdir}", &self.workdir())
            .replace("{inode}", &inode.to_string())
            .replace("{expires}", &expires.as_millis().to_string());
        self.database().execute_batch(&sql).unwrap();
    }

    fn database(&self) -> Connection {
        Connection::open(self.state.path().join("toolhost.db")).unwrap()
    }

    /// Writes what a commit left that exchanged the text of a file.
    fn write_undo_record(&self) {
        let workdir = fs::metadata(self.workdir()).unwrap();
        let folder = format!("{:016x}-b8446c20f7704d59", workdir.ino());
        let staged = self.state.path().join("staging").join(folder);
        make_folder(&staged);
        make_folder(&self.state.path().join("staging/locks"));
        fs::write(staged.join("f0"), "first").unwrap();
        fs::write(self.work.path("note.txt"), "second").unwrap();
        let replaced = fs::metadata(staged.join("f0")).unwrap();
        let file = fs::metadata(self.work.path("note.txt")).unwrap();
        let born = workdir.created().ok();
        let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born = born.map(|since| json!([since.as_secs(), since.subsec_nanos()]));
        let values = [
            ("{workdir}", self.workdir()),
            ("{inode}", workdir.ino().to_string()),
            ("{born}", json!(born).to_string()),
            ("{file}", file.ino().to_string()),
            ("{replaced}", replaced.ino().to_string()),
            (
                "{modified}",
                json!([file.mtime(), file.mtime_nsec()]).to_string(),
            ),
            ("{mode}", file.mode().to_string()),
            ("{uid}", file.uid().to_string()),
            ("{gid}", file.gid().to_string()),
        ];
        let mut journal = fixture("journal.jsonl");
        for (name, value) in &values {
            journal = journal.replace(name, value);
        }
        fs::write(staged.join("journal"), journal).unwrap();
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(staged.join("journal"), private).unwrap();
    }

    async fn open(&self, budgets: &str) -> Instance {
        let policy = format!(
            "workspace: shop\ntools: {{file-system: {{workdir: transactional}}}}\n{budgets}"
        );
        let policy = Policy::parse(&policy, "p.yaml").unwrap();
        let host = Host::builder().sandbox(sandbox()).policy(policy);
        let host = host.state_root(self.state.path()).build().unwrap();
        let bundle = host.load(self.bundle.path()).await.unwrap();
        let workdir = host.workdir(self.work.dir.path()).unwrap();
        bundle.only_agent().unwrap().instance("ann", workdir)
    }

    fn versions(&self) -> Vec<(String, i64)> {
        let database = self.database();
        let select = "SELECT owner, version FROM schema_versions ORDER BY owner";
        let mut select = database.prepare(select).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }
}

#[tokio::test]
async fn calls_of_an_earlier_release_are_polled_and_undone() {
    let earlier = Earlier::new();
    let instance = earlier.open("budgets: {perDay: {calls: 1}}").await;
    let waiting = instance.poll(WAITING).await;
    assert_eq!(waiting.output(), Some(&json!({"n": 7})), "{waiting:?}");
    assert_eq!(code(&instance.poll(RUNNING).await), "E_TOOL_INTERRUPTED");
    let undone = instance.undo(None).await.unwrap();
    assert_eq!(undone.files, ["note.txt"], "{undone:?}");
    assert_eq!(fs::read(earlier.work.path("note.txt")).unwrap(), b"first");

    // A new call, which needs a table that the earlier release does not know.
    let step = open_step(instance.agent(), "ann", instance.workdir()).await;
    let call = || {
        let args = json!({"path": "new.txt", "content": "x"});
        step.execute_without_message(tool_call("file-system__write", args))
    };
    assert_eq!(call().await.tool_error(), None);
    assert_eq!(code(&call().await), "E_TOOL_BUDGET");
    // That release refuses these tables, which it does not know: its way back is the backup from before.
    let version = |owner: &str, version| (owner.to_owned(), version);
    let expected = [version("", 0), version("budgets", 1), version("pending", 6)];
    assert_eq!(earlier.versions(), expected);
    let format = "SELECT user_version FROM pragma_user_version";
    let format: i64 = earlier
        .database()
        .query_row(format, [], |row| row.get(0))
        .unwrap();
    assert_eq!(format, 4);
}

#[tokio::test]
async fn tables_of_a_later_release_are_refused_and_left_as_they_are() {
    let earlier = Earlier::new();
    let later = "INSERT OR REPLACE INTO schema_versions VALUES ('pending', 7), ('budgets', 2)";
    earlier.database().execute_batch(later).unwrap();
    let before = earlier.versions();
    let instance = earlier.open("budgets: {perDay: {calls: 1}}").await;
    assert_eq!(code(&instance.poll(WAITING).await), "E_HOST");
    let step = open_step(instance.agent(), "ann", instance.workdir()).await;
    let args = json!({"path": "new.txt", "content": "x"});
    let refused = step.execute_without_message(tool_call("file-system__write", args));
    assert_eq!(code(&refused.await), "E_HOST");
    assert!(!earlier.work.path("new.txt").exists());
    let error = instance.budgets().await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        cause.contains("has version 2, and this toolhost knows versions up to 1"),
        "{cause}"
    );
    assert_eq!(earlier.versions(), before);
}
