//! Scripts that try to escape, to use the network or processes, or to exhaust resources. None reads or
//! changes anything outside of the workdir, and the next call works.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use toolhost::{Step, ToolResult};
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call};

use super::{base, command, output};
use crate::files::snapshot::{Tree, tree};

/// Text that no output may contain.
const SECRET: &str = "canary-8d1f";

/// A workdir with canary files fixture it.
struct Fixture {
    /// Keeps the bundle and the host alive.
    _test_host: TestHost,
    top: tempfile::TempDir,
    step: Step,
    before: Tree,
}

/// Creates the files and links of an ordinary project in the workdir.
fn create_project(work: &Path, top: &Path) {
    for (name, target) in [
        ("up", Path::new("../secret")),
        ("top", top),
        ("passwd", Path::new("/etc/passwd")),
    ] {
        let link = work.join(name);
        if fs::symlink_metadata(&link).is_err() {
            symlink(target, link).unwrap();
        }
    }
    fs::write(work.join("own"), "own\n").unwrap();
}

impl Fixture {
    async fn new(policy: &str) -> Self {
        let test_host = base(policy).await;
        let top = tempfile::tempdir().unwrap();
        let work = top.path().join("a/b/work");
        fs::create_dir_all(&work).unwrap();
        for name in ["secret", "a/secret", "a/b/secret"] {
            fs::write(top.path().join(name), format!("{SECRET}\n")).unwrap();
        }
        create_project(&work, top.path());
        let workdir = test_host.host.workdir(&work).unwrap();
        let step = open_step(&test_host.agent, "instance", &workdir).await;
        let before = tree(top.path(), Some(&work));
        Self {
            _test_host: test_host,
            top,
            step,
            before,
        }
    }

    async fn call(&self, args: serde_json::Value) -> ToolResult {
        self.step
            .execute_without_message(tool_call("bash__exec", args))
            .await
    }

    /// Asserts that the output contains nothing of the host, that nothing of the host changed, and that the
    /// tool still works.
    async fn assert_host_unchanged(&self, script: &str, result: &ToolResult) {
        let text = serde_json::to_string(result).unwrap();
        let host_name = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        for never in [SECRET, "root:x:0:0", host_name.trim(), "E_HOST"] {
            assert!(!text.contains(never), "{script}: {never:?}: {text}");
        }
        let work = self.top.path().join("a/b/work");
        assert_eq!(tree(self.top.path(), Some(&work)), self.before, "{script}");
        let next = self.call(command("cat own && echo next")).await;
        assert_eq!(output(&next)["stdout"], "own\nnext\n", "after {script}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_workdir() {
    let fixture = Fixture::new("").await;
    for script in [
        "cat /etc/passwd",
        "cat ../secret ../../secret ../../../secret",
        "cat up top/secret passwd; cat top/a/secret",
        "echo $(<../../secret) $(<up) $(<passwd)",
        "cd ../../..; ls -a; cat secret; pwd",
        "cd top; ls; cat secret",
        "ln -s / x; cat x/etc/passwd; ls x/etc",
        "ln -s ../secret y; cat y; ln -s ../../.. z; cat z/secret; ls z/; echo lost > z/new",
        "echo lost > ../new; echo lost >> ../secret; echo lost > up; echo lost > top/secret; > passwd",
        "rm -rf / ../* /* ../../*; mkdir -p ../made; touch ../touched; echo own > own",
        "mv own ../own; cp own ../own; cp ../secret got; cat got; ls got; mv ../secret .; cat secret",
        "find / -name secret -exec cat {} +; find .. -type f | xargs cat; grep -r canary / ..",
        "tar cf t.tar ../secret; tar xOf t.tar; cat ./../secret; cat .//..//secret",
        "while read -r l; do echo $l; done < ../secret; mapfile -t a < up; echo ${a[@]}",
        "source ../secret; . up; bash ../secret; exec < ../secret; cat",
        "ln own hard; ln ../secret hard2; cat hard2; sed -n p ../secret; awk 1 ../secret up",
        "cat /proc/self/environ /proc/1/cmdline /proc/version /proc/self/mounts /sys/kernel/*",
        "ls /proc/self/fd; cat /dev/fd/9 /dev/mem; ls /dev; cat < /dev/tty; ls ~root; echo ~",
        "cat /proc/self/root/etc/passwd; cat /proc/self/cwd/../secret; cd /proc/self/cwd",
    ] {
        create_project(&fixture.top.path().join("a/b/work"), fixture.top.path());
        let result = fixture.call(command(script)).await;
        assert!(result.output().is_some(), "{script}: {result:?}");
        fixture.assert_host_unchanged(script, &result).await;
    }
}

#[tokio::test]
async fn a_script_has_no_network_no_processes_and_no_host_environment() {
    let fixture = Fixture::new("").await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for script in [
        format!("echo hi > /dev/tcp/127.0.0.1/{port}"),
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo hi >&3; cat <&3"),
        format!(
            "echo hi > /dev/udp/127.0.0.1/{port}; curl http://127.0.0.1:{port}; wget 127.0.0.1:{port}"
        ),
        format!("nc 127.0.0.1 {port} < own; ssh 127.0.0.1; ping -c1 127.0.0.1"),
        "kill -9 1; kill -9 -1; kill 0; pkill -9 toolhost; killall5".to_owned(),
        "kill -STOP $PPID; exec /bin/sh; exec bash -c 'id'; exec true".to_owned(),
        "sudo id; su -; chroot . /bin/sh; mount -t tmpfs x y; nohup sleep 100 & disown".to_owned(),
        "env; printenv; export -p; set | grep -i secret; hostname; uname -a; whoami; id".to_owned(),
        "ulimit -n 1000000; ulimit -c unlimited; nice -n -20 true; trap '' TERM KILL; kill -9 $$"
            .to_owned(),
    ] {
        let result = fixture
            .call(json!({"command": script, "timeoutMs": 3_000}))
            .await;
        fixture.assert_host_unchanged(&script, &result).await;
    }
    let none = listener.accept().unwrap_err();
    assert_eq!(
        none.kind(),
        std::io::ErrorKind::WouldBlock,
        "a connection arrived"
    );
}

#[tokio::test]
async fn fork_bombs_and_endless_loops_reach_the_limits_of_the_shell() {
    let fixture = Fixture::new("").await;
    for script in [
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb; wait",
        "f() { f; }; f",
        "f() { echo $(f); }; f",
        "eval_bomb='eval \"$eval_bomb\"'; eval \"$eval_bomb\"",
        "echo 'source ./self.sh' > self.sh; source ./self.sh",
        "echo './own.sh; ./own.sh' > own.sh; chmod +x own.sh; ./own.sh",
        "x=a; while :; do x=$x$x; done",
        "a=(1); while :; do a+=(\"${a[@]}\"); done",
        "printf '%2000000000s' x | wc -c",
        "echo {1..100000000} | wc -c",
        "echo $((1<<62)); for i in {1..1000000000}; do :; done",
        "yes $(yes x | head -c 100000) | head -c 1000000000 | wc -c",
        "trap 'kill -TERM $$' TERM; kill -TERM $$; echo end",
        "$(printf '(%.0s' {1..5000})",
        "eval \"$(printf '$(%.0s' {1..500})\"",
        "s=$(printf '((((%.0s' {1..2000}); echo $((${s}1))",
        "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! =~ ^(a|a|aa)+$ ]]; echo $?",
        "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep -E '^(a+)+b$'; echo aaaaaaaaaaaaaaaaaaaaa | sed -E 's/(a*)*c/x/'",
        "while :; do sleep 100 & done",
        "exec 3< own; while :; do exec {fd}< own; done",
    ] {
        let result = fixture
            .call(json!({"command": script, "timeoutMs": 2_000}))
            .await;
        match result.output() {
            Some(text) => assert!(text["exitCode"].is_i64(), "{script}: {text}"),
            // The deadline of the host, with its own error code.
            None => assert!(
                matches!(
                    code(&result).as_str(),
                    "E_TOOL_OUT_OF_MEMORY" | "E_TOOL_TRAP"
                ),
                "{script}: {result:?}"
            ),
        }
        fixture.assert_host_unchanged(script, &result).await;
    }
}

#[tokio::test]
async fn the_deadline_of_the_host_stops_a_script() {
    let fixture = Fixture::new("tools: {bash: {limits: {deadlineMs: 700}}}").await;
    for script in [
        "while :; do :; done",
        "sleep 1000",
        "awk 'BEGIN { while (1) x++ }'",
        "while :; do date > clock; done",
    ] {
        let result = fixture
            .call(json!({"command": script, "timeoutMs": 600_000}))
            .await;
        assert_eq!(code(&result), "E_TOOL_TIMEOUT", "{script}");
        // On a busy machine the first calls may exceed the deadline of this test.
        let text = serde_json::to_string(&result).unwrap();
        assert!(!text.contains(SECRET), "{script}");
    }
}

#[tokio::test]
async fn written_bytes_stay_below_the_disk_limit() {
    let fixture = Fixture::new("tools: {bash: {limits: {diskBytes: 200000, files: 50}}}").await;
    let work = fixture.top.path().join("a/b/work");
    for script in [
        "for ((i=0;i<1000;i++)); do printf '%01000d' $i >> flood; done; echo $?",
        "yes 0123456789 | head -c 900000 > flood2; echo $?; head -c 800000 /dev/zero > flood3",
        "for ((i=0;i<500;i++)); do : > many$i || break; done",
        "cat <<< \"$(head -c 500000 /dev/zero | tr '\\0' x)\" > flood4; dd if=/dev/zero of=flood5 bs=1000 count=1000",
    ] {
        let result = fixture.call(command(script)).await;
        let text = serde_json::to_string(&result).unwrap();
        assert!(
            code(&result) == "E_TOOL_DISK_LIMIT"
                || !output(&result)["stderr"].as_str().unwrap().is_empty(),
            "{script}: {text}"
        );
        fixture.assert_host_unchanged(script, &result).await;
        let bytes: u64 = fs::read_dir(&work)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("flood")
            })
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert!(bytes <= 4 * 200_000, "{script}: {bytes}");
    }
    let many = fs::read_dir(&work).unwrap().count();
    assert!(many < 100, "{many}");
}

#[tokio::test]
async fn a_huge_command_runs_or_is_refused() {
    let fixture = Fixture::new("").await;
    let document = "x".repeat(900_000);
    let script = format!("cat <<EOF | wc -c\n{document}\nEOF\n");
    let result = fixture.call(command(&script)).await;
    assert_eq!(output(&result)["stdout"], "900001\n");
    let lines = "echo line > /dev/null\n".repeat(40_000);
    let result = fixture
        .call(json!({"command": lines, "timeoutMs": 5_000}))
        .await;
    assert!(output(&result)["exitCode"].is_i64());
    fixture.assert_host_unchanged("many lines", &result).await;
    let quotes = "'\"".repeat(200_000);
    let result = fixture.call(command(&quotes)).await;
    assert_eq!(output(&result)["exitCode"], 2);
}
