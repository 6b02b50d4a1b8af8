//! Turns on swap in a file: `helper swap-file FILE`.
//!
//! Prints `on`, or the error. Disables swap when its standard input closes, so also when the parent
//! process is killed.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Bytes of the file.
const SIZE: usize = 256 << 20;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let path = arguments
        .first()
        .ok_or_else(|| io::Error::other("usage: helper swap-file FILE"));
    match path.and_then(|path| with_swap(Path::new(path))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn with_swap(path: &Path) -> io::Result<()> {
    let file = File::write(path)?;
    administer("mkswap", &file.0)?;
    administer("swapon", &file.0)?;
    print("on");
    // An error means that the parent process has gone, as the end of the input does.
    let _ended = io::stdin().read_to_end(&mut Vec::new());
    administer("swapoff", &file.0)
}

/// Prints a line; ignores the error if the parent process has gone.
fn print(line: &str) {
    let mut out = io::stdout();
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A file that is removed when dropped.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

impl File {
    /// Writes every byte of the file: the kernel refuses a swap file with holes.
    fn write(path: &Path) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let made = Self(path.to_owned());
        file.set_permissions(Permissions::from_mode(0o600))?;
        let zeros = vec![0; 1 << 20];
        for _ in 0..SIZE / zeros.len() {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        Ok(made)
    }
}

fn administer(program: &str, path: &Path) -> io::Result<()> {
    // Not every PATH has the directories of the administrator's programs.
    let done = Command::new(program)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .arg(path)
        .output()?;
    if !done.status.success() {
        let reason = String::from_utf8_lossy(&done.stderr);
        return Err(io::Error::other(reason.trim().to_owned()));
    }
    Ok(())
}
