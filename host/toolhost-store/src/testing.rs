//! A server of PostgreSQL for tests. Debian's, of the system or unpacked beneath `target`; it ends with the test.
#![expect(clippy::unwrap_used, clippy::panic, reason = "of tests")]
#![expect(
    clippy::disallowed_methods,
    reason = "tells the tests that run again where the server is"
)]

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::Pid;
use tempfile::TempDir;

use crate::database::Database;
use crate::postgres::{Postgres, PostgresConfig};
use crate::random::random_text;
use crate::schema::Schema;
use crate::store::Store;

/// The password of the role `toolhost`.
pub const PASSWORD: &str = "p w/@:?";

/// PostgreSQL refuses to run as root: then it runs as Debian's `nobody`.
const NOBODY: u32 = 65_534;

/// Where the programs are: on the system, and in the folder that `cargo xtask test` fills.
const FOLDERS: [&str; 2] = [
    "/usr/lib/postgresql/15/bin",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/postgres/debian/usr/lib/postgresql/15/bin"
    ),
];

/// The libraries of the second folder, from its programs.
const LIBRARIES: &str = "../../../x86_64-linux-gnu";

/// The name of a server's directory in `/tmp` begins with it.
const PREFIX: &str = "toolhost-pg-";

/// How old a directory is without a server before it is removed: one that was just made has none yet.
const STALE: Duration = Duration::from_secs(600);

/// Runs a server until its input ends, as it does with the process that started it. Then the server ends, which takes its
/// shared memory with it, and the directory is removed.
const WATCHED: &str = r#"
dir=$1; shift
"$@" </dev/null & server=$!
read -r _
kill -INT $server 2>/dev/null; wait $server
rm -rf "$dir"
"#;

/// Names the process of a server in its directory.
const PID_FILE: &str = "data/postmaster.pid";

/// A server. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Server {
    dir: TempDir,
    bin: PathBuf,
    port: u16,
    process: Child,
}

/// Returns the server of this test process; `None`, after a line that says so, where there is no PostgreSQL.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(&[])).as_ref()
}

/// Returns a new schema on the server of this test process.
pub fn database() -> Option<Database> {
    let schema = format!("t{}", random_text::<12>().unwrap());
    server().map(|server| server.database(&schema))
}

/// Has the port of the server while the tests of a binary are run again.
const PORT: &str = "TOOLHOST_TEST_POSTGRES";

/// Runs the tests of this test binary again whose names contain a text: those that ask [`replaced`] and [`memory`] for their
/// databases are then tested with PostgreSQL.
pub fn rerun(tests: &str, skipped: &[&str]) {
    let Some(server) = server() else {
        return;
    };
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([tests, "--test-threads=4", "--skip", "postgres"]);
    again.args(skipped.iter().flat_map(|it| ["--skip", it]));
    let run = again.env(PORT, server.port.to_string()).output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{out}\n{err}");
    assert!(!out.contains("running 0 tests"), "{tests}: {out}");
}

/// Returns the database that a state root has in a test that is [run again](rerun): each time as another process would.
pub fn replaced(state_root: &Path) -> Option<Database> {
    let port = std::env::var(PORT).ok()?.parse().unwrap();
    let name = state_root
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .rev()
        .take(24);
    let name: String = name.map(|byte| format!("{byte:02x}")).collect();
    Some(database_at(port, &format!("t{name}")))
}

/// Returns a new database in the place of one in memory, in a test that is [run again](rerun).
pub fn memory() -> Option<Database> {
    let port = std::env::var(PORT).ok()?.parse().unwrap();
    Some(database_at(
        port,
        &format!("t{}", random_text::<12>().unwrap()),
    ))
}

/// Waits until a run has ended.
pub fn wait_for_end(database: &Database, run_id: &str) {
    const NOTHING: Schema = Schema {
        owner: "nothing",
        steps: &[],
        postgres: &[],
        legacy_versions: &[],
    };
    // Who declares others dead has been alive for a while.
    let _alive = Store::open(database, &NOTHING).unwrap();
    for _ in 0..1000 {
        let run_id = run_id.to_owned();
        let alive = Store::read_from(database, &NOTHING, move |tx| tx.is_alive(&run_id));
        if alive.unwrap() == Some(false) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the run {run_id} does not end");
}

fn config_at(port: u16, schema: &str) -> PostgresConfig {
    let url = format!("postgres://toolhost@127.0.0.1:{port}/postgres?sslmode=disable");
    let config = PostgresConfig::parse(&url).unwrap().with_password(PASSWORD);
    config.with_schema(schema).unwrap()
}

fn database_at(port: u16, schema: &str) -> Database {
    Database::Postgres(Postgres::new(config_at(port, schema)))
}

impl Server {
    /// Starts a server of its own with these settings; `None` where there is no PostgreSQL.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let bin = FOLDERS
            .iter()
            .map(PathBuf::from)
            .find(|bin| bin.join("postgres").exists());
        let Some(bin) = bin else {
            write(
                "test: state is NOT tested with PostgreSQL: there is no /usr/lib/postgresql/15/bin",
            );
            return None;
        };
        let mut runs = as_other(Command::new(bin.join("initdb")));
        let runs = runs.arg("--version").stdout(Stdio::null()).status();
        if !runs.is_ok_and(|status| status.success()) {
            write("test: state is NOT tested with PostgreSQL: initdb does not run as another user");
            return None;
        }
        remove_stale();
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in("/tmp")
            .unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir(&data).unwrap();
        for (path, mode) in [(dir.path(), 0o755), (&*data, 0o700)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
            if rustix::process::geteuid().is_root() {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let password = dir.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        let made = as_other(Command::new(bin.join("initdb")))
            .args([
                "-N",
                "-U",
                "toolhost",
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--locale=C",
                "-D",
            ])
            .arg(&data)
            .arg(format!("--pwfile={}", password.display()))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success());
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = run(&bin, dir.path(), port, settings);
        let server = Self {
            dir,
            bin,
            port,
            process,
        };
        server.wait();
        Some(server)
    }

    /// Kills the server as a crash does, and starts it again.
    pub fn crash(&mut self, settings: &[&str]) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let server = server_of(self.dir.path()).unwrap();
        rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
        // The others of its processes find out, and release its memory.
        std::thread::sleep(Duration::from_millis(300));
        std::fs::remove_file(self.dir.path().join(PID_FILE)).unwrap();
        self.process = run(&self.bin, self.dir.path(), self.port, settings);
        self.wait();
    }

    fn wait(&self) {
        for _ in 0..1000 {
            let mut ready = as_other(Command::new(self.bin.join("pg_isready")));
            let ready = ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
            if ready.status().unwrap().success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("PostgreSQL does not start");
    }

    /// Returns the port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns how the server is reached at a port.
    pub fn config(&self, port: u16, schema: &str) -> PostgresConfig {
        config_at(port, schema)
    }

    /// Names a schema, as a process of its own does.
    pub fn database(&self, schema: &str) -> Database {
        database_at(self.port, schema)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Returns the process of a directory's server, if it runs.
fn server_of(dir: &Path) -> Option<Pid> {
    let file = std::fs::read_to_string(dir.join(PID_FILE)).ok()?;
    let pid: i32 = file.lines().next()?.trim().parse().ok()?;
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).into_owned();
    command
        .contains(dir.to_str()?)
        .then(|| Pid::from_raw(pid))?
}

/// Removes directories of servers that were killed.
fn remove_stale() {
    let user = if rustix::process::geteuid().is_root() {
        NOBODY
    } else {
        rustix::process::geteuid().as_raw()
    };
    for entry in std::fs::read_dir("/tmp").unwrap().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let Some(found) = entry.metadata().ok().filter(|_| is_named) else {
            continue;
        };
        let is_old = found
            .modified()
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE));
        if is_old && found.is_dir() && found.uid() == user && server_of(&entry.path()).is_none() {
            // Another test may remove it as well.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn run(bin: &Path, dir: &Path, port: u16, settings: &[&str]) -> Child {
    let mut server = as_other(Command::new("/bin/sh"));
    server
        .args(["-c", WATCHED, "sh"])
        .arg(dir)
        .arg(bin.join("postgres"))
        .arg("-D")
        .arg(dir.join("data"))
        .args(["-p", &port.to_string()])
        .env("LD_LIBRARY_PATH", bin.join(LIBRARIES));
    let fixed = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        // Files in the directory, which a server that is killed does not leave elsewhere.
        "dynamic_shared_memory_type=mmap",
        "fsync=off",
        "max_connections=500",
    ];
    for setting in fixed.iter().chain(settings) {
        server.args(["-c", setting]);
    }
    server.stdin(Stdio::piped());
    server.stdout(Stdio::null()).stderr(Stdio::null());
    server.spawn().unwrap()
}

/// Runs a program as another user, if this one is root.
fn as_other(program: Command) -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let mut watched = Command::new(if is_root { "setpriv" } else { "env" });
    if is_root {
        let id = NOBODY.to_string();
        watched.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    if let Some(bin) = Path::new(program.get_program()).parent() {
        watched.env("LD_LIBRARY_PATH", bin.join(LIBRARIES));
    }
    watched.arg(program.get_program()).process_group(0);
    watched.current_dir("/");
    watched
}

fn write(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}
