//! Asks questions on a terminal.

use std::io::{BufRead, IsTerminal, Read};

use anyhow::{Context, Result, anyhow};

use crate::files;
use crate::terminal::stderr;

/// Longest answer, in bytes.
const ANSWER_MAX: u64 = 1_000;

/// Whether somebody can read a question and answer it.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && stderr::is_terminal()
}

/// Asks on stderr, and reads one line from stdin. `question` is followed by the default in brackets. An
/// empty answer is the default.
pub(crate) async fn ask(question: &str, default: &str) -> Result<String> {
    stderr::ask(&format!("{question} [{default}]: "));
    let answer = files::spawn_blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin()
            .lock()
            .take(ANSWER_MAX)
            .read_line(&mut line);
        read.context("the answer cannot be read")?;
        Ok(line)
    });
    let answer = answer.await?;
    if !answer.ends_with('\n') {
        return Err(anyhow!("the question was not answered"));
    }
    stderr::answered();
    Ok(match answer.trim() {
        "" => default.to_owned(),
        answer => answer.to_owned(),
    })
}
