//! The folders of this workspace.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::child;

/// The workspace of this xtask.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the workspace: the folder above xtask's own manifest.
    pub(crate) fn find() -> Self {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .parent()
            .unwrap_or(Path::new("/"))
            .to_path_buf();
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the target directory of the host.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), PathBuf::from)
    }

    /// Returns the folder of the compiler from Debian's packages.
    pub(crate) fn wasip2_prefix(&self) -> PathBuf {
        self.root.join("target/wasip2")
    }

    /// Returns the folder of the built guests.
    pub(crate) fn guests(&self) -> PathBuf {
        self.root.join("target/guests")
    }

    /// Returns the folder of the fuzz targets.
    pub(crate) fn fuzz(&self) -> PathBuf {
        self.root.join("fuzz")
    }

    /// Returns the folder of a language's kit.
    pub(crate) fn sdk(&self, language: &str) -> PathBuf {
        self.root.join("guest-sdk").join(language)
    }

    /// Returns the folder of the example tools and their bundle.
    pub(crate) fn examples(&self) -> PathBuf {
        self.root.join("guest-examples")
    }

    /// Builds a program of the host and returns where it is.
    ///
    /// A package alone shares the build of its dependencies with the whole workspace:
    /// `host/toolhost-features` makes their features the same.
    pub(crate) fn built(&self, package: &str, program: &str) -> Result<PathBuf> {
        child::run(child::cargo(&self.root).args([
            "build",
            "--package",
            package,
            "--bin",
            program,
        ]))?;
        let program = self.target().join("debug").join(program);
        if !program.is_file() {
            bail!("cargo built no {}", program.display());
        }
        Ok(program)
    }
}
