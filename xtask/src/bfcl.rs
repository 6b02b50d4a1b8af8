//! The public function-calling set BFCL, on which the search of tools is measured: data of PyPI `bfcl-eval`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::whole_folder;
use crate::workspace::Workspace;

/// Pins the version.
const PINNED: &str = "benches/bfcl-requirements.txt";

/// Where it is unpacked, beneath the workspace.
const INSTALLED: &str = "target/bfcl-data";

/// Fetches a wheel, and unpacks what is in it.
const UNPACK: &str = "
import glob, sys, zipfile
zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0]).extractall(sys.argv[1])
";

/// Returns the folder of its files. Fetches them first, unless they are there.
pub(crate) fn installed(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root().join(INSTALLED);
    let data = folder.join("bfcl_eval/data");
    let is_there = || data.is_dir().then(|| data.clone());
    whole_folder::fill(&folder, is_there, |unfinished| {
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--dest",
        ]);
        child::run(
            pip.arg(unfinished)
                .arg("-r")
                .arg(workspace.root().join(PINNED)),
        )?;
        child::run(Command::new("python3").args(["-c", UNPACK]).arg(unfinished))?;
        Ok(data.clone())
    })
}
