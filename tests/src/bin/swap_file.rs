//! Swap in a file until the standard input ends: `swap_file FILE`.
//!
//! Prints `on`, or the reason why there is no swap. Turned off again when whoever started it ends,
//! however that is.
#![expect(
    clippy::print_stdout,
    reason = "a program of the tests, which read what it prints"
)]

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Bytes of the file.
const SIZE: usize = 512 << 20;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        println!("usage: swap_file FILE");
        return ExitCode::FAILURE;
    };
    let path = Path::new(&path);
    let done = with_swap(path);
    let _gone = std::fs::remove_file(path);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn with_swap(path: &Path) -> io::Result<()> {
    fill(path)?;
    run("mkswap", path)?;
    run("swapon", path)?;
    println!("on");
    io::stdout().flush()?;
    let read = io::stdin().read_to_end(&mut Vec::new());
    run("swapoff", path)?;
    read.map(drop)
}

/// Writes the file whole: the kernel takes no holes.
fn fill(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..SIZE / zeros.len() {
        file.write_all(&zeros)?;
    }
    file.sync_all()
}

fn run(program: &str, path: &Path) -> io::Result<()> {
    // Not every PATH names the folders of root's programs.
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
