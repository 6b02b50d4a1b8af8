//! Errors for commands that do not exist here.

use std::sync::Arc;

use bashkit::{Builtin, BuiltinContext, CommandResolver, ExecResult, async_trait};

/// Commands of bashkit that only print how to configure it.
const OF_THE_NETWORK: &[&str] = &["git", "scp", "sftp", "ssh"];

/// Commands that describe processes and users, of which there are none: bashkit makes them up.
const OF_A_MACHINE: &[&str] = &["free", "hostid", "ps", "top", "uptime", "users", "who"];

/// Commands that only bashkit has. A script that asks for them wants a program of the machine.
const OF_BASHKIT: &[&str] = &[
    "assert", "csv", "dotenv", "glob", "http", "json", "log", "retry", "semver", "template",
    "tomlq", "verify",
];

/// Commands that show something page by page, or let a person write. Nobody is there.
const OF_A_TERMINAL: &[&str] = &["man", "nano", "vi", "watch"];

const NETWORK: &str = "there are no sockets here; `curl` sends HTTP where the policy allows it";
const PYTHON: &str =
    "no programs can be started here; the tool `python__run` of the base tools runs Python";
const JAVASCRIPT: &str =
    "no programs can be started here; the tool `javascript__run` of the base tools runs JavaScript";
const PROCESSES: &str =
    "no programs can be started here, only bash and what is built into it; `compgen -c` lists that";
const MACHINE: &str = "there are no other processes and users here";
const ROOT: &str = "there is nothing to administer here, and nothing can be installed";

/// Whether a command of bashkit is none here.
pub(crate) fn is_hidden(name: &str) -> bool {
    let lists = [OF_THE_NETWORK, OF_A_MACHINE, OF_BASHKIT, OF_A_TERMINAL];
    lists.iter().any(|names| names.contains(&name))
}

/// Commands that models often try and that cannot exist here.
pub(crate) struct Missing;

impl CommandResolver for Missing {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        let why = match name {
            "http" | "nc" | "ncat" | "netcat" | "telnet" | "ssh" | "scp" | "sftp" | "rsync"
            | "ftp" | "ping" | "dig" | "nslookup" | "host" | "traceroute" | "socat" | "openssl" => {
                NETWORK
            }
            "python" | "python2" | "python3" => PYTHON,
            "node" | "nodejs" | "deno" | "bun" | "npx" | "tsc" => JAVASCRIPT,
            "ruby" | "perl" | "php" | "lua" | "java" | "javac" | "gcc" | "g++" | "cc" | "c++"
            | "clang" | "cmake" | "rustc" | "cargo" | "go" | "dotnet" | "swift" | "uv"
            | "pytest" | "git" | "gh" | "svn" | "hg" | "sqlite3" | "psql" | "mysql" | "ffmpeg"
            | "convert" | "strace" | "gdb" | "screen" | "tmux" | "vim" | "emacs" => PROCESSES,
            "apt" | "apt-get" | "dpkg" | "yum" | "dnf" | "pacman" | "apk" | "brew" | "pip"
            | "pip3" | "npm" | "yarn" | "pnpm" | "gem" | "docker" | "podman" | "kubectl"
            | "systemctl" | "service" | "mount" | "umount" | "su" | "chroot" | "iptables" => ROOT,
            name if OF_A_MACHINE.contains(&name) => MACHINE,
            name if is_hidden(name) => PROCESSES,
            _ => return None,
        };
        Some(Arc::new(Absent(name.to_owned(), why)))
    }
}

/// The result of a missing command: exit code 127, as in bash.
pub(crate) struct Absent(String, &'static str);

#[async_trait]
impl Builtin for Absent {
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let Self(name, why) = self;
        Ok(ExecResult::err(
            format!("bash: {name}: command not found: {why}\n"),
            127,
        ))
    }
}
