//! Builds the examples in languages without a kit and runs their cases, and builds the components of
//! `tests/mistakes`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::sources::in_own_cache;
use crate::workspace::Workspace;
use crate::{child, packages};

/// An example and the compiler of its build script.
struct Example {
    /// Folder in `guest-examples/any-language`, and in `tests/mistakes`.
    folder: &'static str,
    /// The variable in which the build script finds its compiler.
    variable: &'static str,
    /// The program of the installed compiler.
    program: &'static str,
    compiler: Compiler,
}

/// What the compiler is installed with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compiler {
    /// zig and Go, from PyPI.
    Wheels,
    /// componentize-js, as the kit for TypeScript pins it.
    Npm,
    /// componentize-py, as the kit for Python pins it.
    PythonKit,
}

const EXAMPLES: [Example; 4] = [
    Example {
        folder: "c",
        variable: "ZIG",
        program: "python-zig",
        compiler: Compiler::Wheels,
    },
    Example {
        folder: "go",
        variable: "GO",
        program: "go",
        compiler: Compiler::Wheels,
    },
    Example {
        folder: "javascript",
        variable: "COMPONENTIZE_JS",
        program: "componentize-js",
        compiler: Compiler::Npm,
    },
    Example {
        folder: "python",
        variable: "COMPONENTIZE_PY",
        program: "componentize-py",
        compiler: Compiler::PythonKit,
    },
];

/// Builds each example with its build script and runs its cases; builds the mistakes with the same script.
/// Prints which are not built because something is not installed.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let toolhost = workspace.built("toolhost-cli", "toolhost")?;
    for example in &EXAMPLES {
        let folder = example.folder;
        if let Some(missing) = example.compiler.missing() {
            println!("test: the example any-language/{folder} is NOT built: install {missing}");
            continue;
        }
        let started = Instant::now();
        let tested = example.test(workspace, &toolhost);
        tested.with_context(|| format!("the example any-language/{folder}"))?;
        let seconds = started.elapsed().as_secs_f64();
        println!("test: any-language/{folder}: built and tested in {seconds:.1} s");
    }
    Ok(())
}

impl Example {
    fn test(&self, workspace: &Workspace, toolhost: &Path) -> Result<()> {
        let example = workspace.examples().join("any-language").join(self.folder);
        self.build(workspace, toolhost, &example)?;
        let mut test = in_own_cache(Command::new(toolhost), workspace);
        child::run(test.arg("test").arg(&example))?;

        let mistakes = mistakes(workspace).join(self.folder);
        copy(&example, &mistakes)?;
        let source = workspace.root().join("tests/mistakes").join(self.folder);
        copy(&source, &mistakes)?;
        self.build(workspace, toolhost, &mistakes)
    }

    fn build(&self, workspace: &Workspace, toolhost: &Path, folder: &Path) -> Result<()> {
        let bin = self.compiler.install(workspace)?;
        let mut build = in_own_cache(Command::new(folder.join("build.sh")), workspace);
        for (variable, value) in environment(workspace) {
            build.env(variable, value);
        }
        build
            .env("TOOLHOST", toolhost)
            .env(self.variable, bin.join(self.program));
        child::run(&mut build)
    }
}

/// Returns the folder in which the mistakes are built.
fn mistakes(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/mistakes")
}

/// Copies the files of a folder and of its folders. Leaves out what builds wrote.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if !path.is_dir() {
            fs::copy(&path, to.join(name))?;
        } else if name != ".toolhost" && name != "__pycache__" {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Keeps the caches of the compilers in `target`, and Go from downloading another Go.
fn environment(workspace: &Workspace) -> [(&'static str, OsString); 4] {
    let cache = |name: &str| installed(workspace).join(name).into_os_string();
    [
        ("ZIG_GLOBAL_CACHE_DIR", cache("zig-cache")),
        ("ZIG_LOCAL_CACHE_DIR", cache("zig-cache")),
        ("GOCACHE", cache("go-cache")),
        ("GOTOOLCHAIN", "local".into()),
    ]
}

/// Returns the folder of the compilers.
fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/any-language")
}

impl Compiler {
    /// Returns what has to be installed on this machine, if it is missing.
    fn missing(self) -> Option<&'static str> {
        match self {
            Self::Npm => packages::missing_npm(),
            // The wheels whose digests are pinned are those for this platform.
            Self::Wheels if !cfg!(all(target_os = "linux", target_arch = "x86_64")) => {
                Some("zig and Go, and run its build.sh: they are pinned for Linux on x86-64 only")
            }
            Self::Wheels | Self::PythonKit => packages::missing_python(),
        }
    }

    /// Installs the compiler, unless it is installed, and returns the folder of its programs.
    fn install(self, workspace: &Workspace) -> Result<PathBuf> {
        let installed = installed(workspace);
        match self {
            Self::Wheels => {
                let pinned = workspace.examples().join("any-language/requirements.txt");
                let venv = installed.join("wheels");
                packages::install_venv(&pinned, &venv)?;
                Ok(venv.join("bin"))
            }
            Self::Npm => {
                let pinned = workspace.sdk("typescript").join("build/starlingmonkey");
                let copy = installed.join("npm");
                packages::install_npm_copy(&pinned, &copy)?;
                Ok(copy.join("node_modules/.bin"))
            }
            Self::PythonKit => {
                let pinned = workspace.sdk("python").join("requirements.txt");
                let venv = workspace.root().join("target/guests-build/python");
                packages::install_venv(&pinned, &venv)?;
                Ok(venv.join("bin"))
            }
        }
    }
}
