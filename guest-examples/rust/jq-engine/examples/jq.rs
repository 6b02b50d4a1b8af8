//! jq as a program: `cargo run --example jq -- -c .a file.json`.

use std::io::{self, Read as _, Write as _};

use jq_engine::cli;

struct Process;

impl cli::Caller for Process {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn environment(&self) -> Vec<(String, String)> {
        std::env::vars().collect()
    }

    fn now(&self) -> f64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0.0, |since| since.as_secs_f64())
    }

    fn max_output(&self) -> usize {
        usize::MAX
    }
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut stdin = Vec::new();
    let reads = !args
        .iter()
        .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('n'));
    if reads {
        io::stdin().read_to_end(&mut stdin)?;
    }
    let ran = cli::run(&args, &stdin, &Process);
    io::stdout().write_all(&ran.stdout)?;
    io::stderr().write_all(&ran.stderr)?;
    std::process::exit(ran.code)
}
