//! Runs the suite for a revision, and compares its results.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use toolhost_tests::root;

use super::Result;
use super::expected;

/// Longest run of one revision.
const TIMEOUT: Duration = Duration::from_secs(100);

/// What begins the results in what the suite prints.
const SUMMARY: &str = "SUMMARY ===";

/// What is tested.
pub(crate) enum Side<'a> {
    Server(SocketAddr),
    /// The command of a client, which the suite starts for each scenario.
    Client(&'a str),
}

pub(crate) struct Suite<'a> {
    pub(crate) node: &'a Path,
    pub(crate) index: &'a Path,
    pub(crate) out: &'a Path,
}

impl Suite<'_> {
    /// Runs the scenarios of a revision, and prints their results. Returns whether all are the expected ones.
    pub(crate) fn run(&self, revision: &str, side: &Side<'_>) -> Result<bool> {
        let expected = root("tests/fixtures/conformance").join(format!("{revision}.yaml"));
        let mut suite = Command::new(self.node);
        suite.arg(self.index);
        let name = match side {
            Side::Server(address) => {
                suite.args(["server", "--url", &format!("http://{address}/mcp")]);
                "server"
            }
            Side::Client(command) => {
                suite.args(["client", "--command", command]);
                "client"
            }
        };
        let results = self.out.join(format!("{name}-{revision}"));
        let log = self.out.join(format!("{name}-{revision}.log"));
        let output = File::create(&log)?;
        suite
            .args(["--requirements", revision, "--expected-failures"])
            .arg(&expected)
            .arg("-o")
            .arg(&results)
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        let started = Instant::now();
        let ended = KilledOnDrop(suite.spawn()?).wait(TIMEOUT)?;
        let seconds = started.elapsed().as_secs_f64();
        let printed = fs::read_to_string(&log)?;
        let Some((_, summary)) = printed.split_once(SUMMARY) else {
            return Err(format!("the suite has not ended: see {}", log.display()).into());
        };
        println!(
            "\n{name}, MCP {revision}, {seconds:.0} s:{}",
            plain(summary)
        );
        // Those of clients are extensions that this client does not have.
        if let Side::Client(_) = side {
            return Ok(ended.success());
        }
        let list = fs::read_to_string(&expected)?;
        let surprises = expected::surprises(&list, &self.requirements(revision)?, &results)?;
        for surprise in &surprises {
            println!("not scored: {surprise}");
        }
        Ok(ended.success() && surprises.is_empty())
    }
}

impl Suite<'_> {
    /// Reads the requirements of a revision, which are beside the suite's program.
    fn requirements(&self, revision: &str) -> Result<String> {
        let package = self.index.parent().and_then(Path::parent);
        let package = package.ok_or("the suite is in no package")?;
        let path = package.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&path);
        text.map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

/// Removes the sequences that colour a text.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    first.chars().chain(rest.flat_map(str::chars)).collect()
}

struct KilledOnDrop(Child);

impl KilledOnDrop {
    fn wait(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < timeout {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(Duration::from_millis(50));
        }
        Err(format!("the suite takes longer than {} s", timeout.as_secs()).into())
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It has ended, or it is killed.
        let _is_killed = self.0.kill().is_ok();
        let _is_ended = self.0.wait().is_ok();
    }
}
