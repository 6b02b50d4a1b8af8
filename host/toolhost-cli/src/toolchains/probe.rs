//! Which build programs this machine has. Runs them only for their versions.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use super::{process, python, rust, typescript};
use crate::environment;

/// Longest wait for a version.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Keeps programs from writing files, and rustup from downloading a toolchain.
const VARIABLES: [(&str, &str); 4] = [
    ("RUSTUP_AUTO_INSTALL", "0"),
    ("npm_config_logs_max", "0"),
    ("npm_config_update_notifier", "false"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// A build program, or a part of one.
#[derive(Debug)]
pub(crate) struct Toolchain {
    pub(crate) name: &'static str,
    /// Its version, or what is wrong.
    pub(crate) version: String,
    /// How to install it, if it is missing or too old.
    pub(crate) next: Option<String>,
}

impl Toolchain {
    fn new(name: &'static str, version: Result<String, String>, install: &str) -> Self {
        let next = version.is_err().then(|| install.to_owned());
        Self {
            name,
            version: version.unwrap_or_else(|wrong| wrong),
            next,
        }
    }

    /// Adds what is wrong with a version that was found.
    fn unless(mut self, is_good: impl FnOnce(&str) -> bool, wrong: &str, next: &str) -> Self {
        if self.next.is_none() && !is_good(&self.version) {
            self.version = format!("{}: {wrong}", self.version);
            self.next = Some(next.to_owned());
        }
        self
    }
}

/// Cargo, the compiler that it runs, and the compiler's target.
pub(crate) async fn rust() -> Vec<Toolchain> {
    let rustc = environment::value("RUSTC").unwrap_or_else(|| "rustc".into());
    let rustc = rustc.to_string_lossy();
    let target_words = ["--print", "target-libdir", "--target", rust::TARGET];
    let (cargo, version, target) = tokio::join!(
        printed(Command::new("cargo"), &["--version"]),
        printed(Command::new(&*rustc), &["--version"]),
        printed(Command::new(&*rustc), &target_words),
    );
    let after = |text: Result<String, String>, name: &str| {
        text.map(|text| text.strip_prefix(name).unwrap_or(&text).trim().to_owned())
    };
    let mut toolchains = vec![
        Toolchain::new("cargo", after(cargo, "cargo"), rust::GET_RUST),
        Toolchain::new("rustc", after(version.clone(), "rustc"), rust::GET_RUST),
    ];
    if version.is_ok() {
        let has_target = target.is_ok_and(|dir| Path::new(&dir).is_dir());
        toolchains.push(Toolchain {
            name: rust::TARGET,
            version: if has_target {
                "installed".to_owned()
            } else {
                "rustc has no standard library for this target".to_owned()
            },
            next: (!has_target).then(rust::get_target),
        });
    }
    toolchains
}

/// Node and npm.
pub(crate) async fn typescript() -> Vec<Toolchain> {
    let (node, npm) = tokio::join!(
        printed(process::program("node"), &["--version"]),
        printed(process::program("npm"), &["--version"])
    );
    let wrong = format!("tools are built with Node {} or newer", typescript::NODE);
    vec![
        Toolchain::new("node", node, typescript::GET_NODE).unless(
            typescript::is_supported,
            &wrong,
            typescript::GET_NODE,
        ),
        Toolchain::new("npm", npm, typescript::GET_NODE),
    ]
}

/// Python, with the modules that make a virtual environment.
pub(crate) async fn python() -> Vec<Toolchain> {
    let run =
        async |program: &str| printed(process::program("python3"), &["-I", "-c", program]).await;
    let (version, is_supported, has_venv) = tokio::join!(
        run("import sys; print('%d.%d.%d' % sys.version_info[:3])"),
        run(python::CHECK),
        run("import venv, ensurepip"),
    );
    let toolchain = Toolchain::new("python3", version, python::GET_PYTHON);
    let toolchain = toolchain.unless(
        |_| is_supported.is_ok(),
        "tools are built with Python 3.10 or newer",
        python::GET_PYTHON,
    );
    vec![toolchain.unless(
        |_| has_venv.is_ok(),
        "it cannot make virtual environments",
        python::GET_VENV,
    )]
}

/// Returns what a program prints, without the line break.
///
/// # Errors
/// What is wrong: it is not installed, fails, or does not end in time.
async fn printed(mut command: Command, args: &[&str]) -> Result<String, String> {
    let program = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    command.args(args).envs(VARIABLES);
    let temporary = if needs_rustup_home() {
        tempfile::tempdir().ok()
    } else {
        None
    };
    if let Some(dir) = &temporary {
        command.env("RUSTUP_HOME", dir.path());
    }
    let run = tokio::time::timeout(TIMEOUT, process::run(&mut command, "")).await;
    let seconds = TIMEOUT.as_secs();
    let run = run.map_err(|_| format!("`{program}` does not end within {seconds} s"))?;
    // The only other error is about starting it.
    let output = run.map_err(|_| "not installed, or not in PATH".to_owned())?;
    if output.is_ok {
        return Ok(output.stdout.trim().to_owned());
    }
    let stderr = output.stderr_end();
    let reason = stderr.lines().next().unwrap_or_default();
    Err(format!("`{program} {}` fails: {reason}", args.join(" ")))
}

/// Whether rustup would create its folder in the home directory.
fn needs_rustup_home() -> bool {
    let home = environment::value("HOME").unwrap_or_default();
    environment::value("RUSTUP_HOME").is_none() && !Path::new(&home).join(".rustup").exists()
}
