//! Builds the host for other machines: tests it on an emulated aarch64, checks it for macOS, and tests the
//! portable way of what only Linux has.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::apt::Apt;
use crate::wasip2::{self, Compiler};
use crate::workspace::Workspace;
use crate::{child, packages};

const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// The system for which the host is checked, and not run, as Rust and as zig name it.
const MACOS: &str = "aarch64-apple-darwin";
const MACOS_OF_ZIG: &str = "aarch64-macos";

/// Options of the C compiler that zig does not know, as a pattern of the shell.
const DROPPED: &str = "--target=*|-arch|arm64|-mmacosx-version-min=*";

/// Where everything is, beneath `target`.
const INSTALLED: &str = "cross";

/// Suites of Debian whose standard libraries may be of the compiler's version.
const SUITES: [&str; 3] = ["forky", "sid", "trixie"];

/// The tests that run on the emulated machine: how calls run, and what they do with files.
const EMULATED: [&str; 2] = ["execute::", "files::"];

/// Tests that start this program again or another one, which the machine itself cannot run, and one whose deadline the
/// emulator does not meet.
const OF_THE_MACHINE: [&str; 4] = [
    "a_call_stopped_at_its_deadline_leaves_complete_writes_and_correct_usage",
    "killed",
    "than_is_counted",
    "the_embedder_can_open_files_while_tools_open_all_they_can",
];

/// Installs the compilers and the emulator in `target`, and runs everything. The guests must be built.
///
/// # Errors
/// The host does not compile for a machine, or a test fails.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let cross = Cross::install(workspace)?;
    println!("cross: {AARCH64}: building the tests");
    let tests = cross.build_tests()?;
    for (name, filters) in [
        ("toolhost_files", &[][..]),
        ("toolhost_sandbox", &[]),
        ("it", &EMULATED),
    ] {
        println!("cross: {AARCH64}: {name}, emulated");
        cross.emulate(&tests, name, filters)?;
    }
    println!("cross: {MACOS}: checking the command line and all crates beneath it");
    cross.check_macos()?;
    println!("cross: the portable way of files and memories, on this machine");
    cross.test_portable()
}

struct Cross<'a> {
    workspace: &'a Workspace,
    /// The folder of what is installed.
    folder: PathBuf,
    compiler: Compiler,
    python: PathBuf,
}

impl<'a> Cross<'a> {
    fn install(workspace: &'a Workspace) -> Result<Self> {
        if let Some(missing) = packages::missing_python() {
            bail!("zig, which links for other machines, comes from PyPI: install {missing}");
        }
        let folder = workspace.target().join(INSTALLED);
        fs::create_dir_all(&folder)?;
        let pinned = workspace.root().join("xtask/dist/requirements.txt");
        let python = packages::install_venv(&pinned, &folder.join("python"))?;
        let compiler = wasip2::setup(workspace)?;
        match &compiler {
            Compiler::Ordinary => child::run(
                Command::new("rustup")
                    .args(["target", "add", AARCH64, MACOS])
                    .current_dir(workspace.root()),
            )?,
            Compiler::Prefix(prefix) => unpack_libraries(prefix, &folder)?,
        }
        unpack_emulator(&folder)?;
        Ok(Self {
            workspace,
            folder,
            compiler,
            python,
        })
    }

    fn cargo(&self, program: &Path, target: &str) -> Command {
        let mut cargo = Command::new(program);
        cargo
            .current_dir(self.workspace.root())
            .env("CARGO_TARGET_DIR", self.folder.join(target))
            .env("CARGO_ZIGBUILD_PYTHON_PATH", &self.python);
        self.compiler.choose_for(&mut cargo);
        cargo
    }

    /// Builds the tests for aarch64. Returns their folder.
    fn build_tests(&self) -> Result<PathBuf> {
        let zigbuild = self.python.with_file_name("cargo-zigbuild");
        let mut cargo = self.cargo(&zigbuild, "aarch64");
        cargo
            .args(["zigbuild", "--locked", "--tests", "--target", AARCH64])
            .args([
                "-p",
                "toolhost-features",
                "-p",
                "toolhost-files",
                "-p",
                "toolhost-sandbox",
                "-p",
                "toolhost-tests",
            ]);
        child::run(&mut cargo).context("the tests for aarch64")?;
        Ok(self.folder.join("aarch64").join(AARCH64).join("debug/deps"))
    }

    /// Runs the newest program of this name.
    fn emulate(&self, tests: &Path, name: &str, filters: &[&str]) -> Result<()> {
        let mut newest = None;
        for entry in fs::read_dir(tests)? {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let hash = file
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'));
            if hash.is_some_and(|hash| !hash.contains('.')) {
                newest = newest.max(Some((entry.metadata()?.modified()?, entry.path())));
            }
        }
        let (_, program) = newest.with_context(|| format!("no test {name}"))?;
        let root = self.folder.join("root/usr");
        let libraries = root.join("lib/aarch64-linux-gnu");
        let mut emulator = Command::new(root.join("bin/qemu-aarch64"));
        // The loader by its path: with another root, the emulator would also redirect the paths of tests.
        emulator
            .arg(root.join("lib/ld-linux-aarch64.so.1"))
            .arg("--library-path")
            .arg(libraries)
            .arg(program)
            .args(["--test-threads", "2", "--quiet"])
            .args(filters)
            .current_dir(self.workspace.root())
            .env("TOOLHOST_GUESTS", self.workspace.guests())
            .env("TOOLHOST_EXAMPLES", self.workspace.examples());
        for test in OF_THE_MACHINE {
            emulator.args(["--skip", test]);
        }
        child::run(&mut emulator)
    }

    /// Checks that the command line and all crates compile for macOS.
    fn check_macos(&self) -> Result<()> {
        let mut cargo = self.cargo(Path::new("cargo"), "macos");
        cargo.args(["check", "--locked", "--target", MACOS]);
        if let Compiler::Prefix(_) = &self.compiler {
            // Debian has the source of the standard library, and no library for this system.
            cargo
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC_BOOTSTRAP", "1");
        }
        let python = self.python.display();
        let compiler = self.write_program(
            "cc-macos",
            &format!(
                "for word in \"$@\"; do\n\
                 \tshift\n\
                 \tcase $word in {DROPPED}) ;; *) set -- \"$@\" \"$word\" ;; esac\n\
                 done\n\
                 exec {python} -m ziglang cc -target {MACOS_OF_ZIG} \"$@\"\n"
            ),
        )?;
        cargo
            .args([
                "-p",
                "toolhost-cli",
                "-p",
                "toolhost-changesets",
                "-p",
                "toolhost-otel",
            ])
            .env(format!("CC_{}", MACOS.replace('-', "_")), compiler);
        child::run(&mut cargo).context("macos")
    }

    /// Writes a program of the shell. Returns its path.
    fn write_program(&self, name: &str, commands: &str) -> Result<PathBuf> {
        let program = self.folder.join(name);
        fs::write(&program, format!("#!/bin/sh\n{commands}"))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(program)
    }

    fn test_portable(&self) -> Result<()> {
        let mut cargo = child::cargo(self.workspace.root());
        cargo
            .args(["test", "--quiet", "--features", "toolhost-sandbox/portable"])
            .args([
                "-p",
                "toolhost-features",
                "-p",
                "toolhost-files",
                "-p",
                "toolhost-sandbox",
                "-p",
                "toolhost-tests",
            ])
            .args(["--lib", "--test", "it", "--", "--quiet"])
            .args(["files::", "filesystem::", "workdir::", "call::", "engine::"])
            // It counts descriptors, of which a path takes more where it is opened one name at a time.
            .args([
                "--skip",
                "the_embedder_can_open_files_while_tools_open_all_they_can",
            ])
            .env("TOOLHOST_GUESTS", self.workspace.guests())
            .env("TOOLHOST_EXAMPLES", self.workspace.examples());
        child::run(&mut cargo).context("the portable way")
    }
}

/// Unpacks the standard library for aarch64 and the source of that for macOS beside Debian's compiler.
fn unpack_libraries(prefix: &Path, folder: &Path) -> Result<()> {
    let libraries = prefix.join("usr/lib/rustlib");
    if libraries.join(AARCH64).exists() && libraries.join("src/rust/library").exists() {
        return Ok(());
    }
    let version = child::read(Command::new(prefix.join("bin/rustc")).arg("-V"))?;
    let version = version.split_whitespace().nth(1).unwrap_or_default();
    for suite in SUITES {
        let apt = Apt::open_with(folder.join("apt").join(suite), suite, Some("arm64"))?;
        let found = apt.version("rust-src")?.unwrap_or_default();
        if found.starts_with(version) {
            println!("cross: unpacking Debian's standard libraries of Rust {version} from {suite}");
            let named = ["libstd-rust-dev:arm64", "rust-src"].map(str::to_owned);
            return apt.unpack(&named, prefix);
        }
    }
    bail!("no suite of Debian has the standard libraries of Rust {version}")
}

/// Unpacks the emulator, which is linked statically, and a C library for aarch64.
fn unpack_emulator(folder: &Path) -> Result<()> {
    let root = folder.join("root");
    let emulator = root.join("usr/bin/qemu-aarch64");
    if child::works(Command::new(&emulator).arg("--version")) {
        return Ok(());
    }
    println!("cross: unpacking Debian's qemu-user");
    let [suite, ..] = SUITES;
    let apt = Apt::open_with(folder.join("apt").join(suite), suite, Some("arm64"))?;
    let named = ["qemu-user", "libc6:arm64", "libgcc-s1:arm64"].map(str::to_owned);
    apt.unpack(&named, &root)?;
    ensure!(
        child::works(Command::new(&emulator).arg("--version")),
        "{} does not run",
        emulator.display()
    );
    Ok(())
}
