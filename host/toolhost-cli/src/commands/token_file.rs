//! Files of tokens: a line `NAME TOKEN` for each.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use crate::failure::Failure;

/// Shortest token, in bytes.
const TOKEN_BYTES_MIN: usize = 16;

/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the names and the tokens. `what` says in messages what the names are, such as `INSTANCE`.
pub(super) fn read(path: &Path, what: &str) -> Result<Vec<(String, String)>, Failure> {
    let file = path.display();
    let cannot = || format!("the tokens {file} cannot be read");
    let metadata = fs::metadata(path).with_context(cannot)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let error = anyhow!("the tokens {file} can be read or changed by others");
        return Err(Failure::from(error).hint(format!("Run: chmod 600 {file}")));
    }
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(anyhow!("the tokens {file} are not a file of at most 1 MiB").into());
    }
    let text = fs::read_to_string(path).with_context(cannot)?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tokens = lines.map(|line| token(line, what).map_err(|error| error.context(cannot())));
    let tokens: Vec<(String, String)> = tokens.collect::<anyhow::Result<_>>()?;
    let mut texts = HashSet::new();
    if !tokens.iter().all(|(_, token)| texts.insert(token.as_str())) {
        return Err(anyhow!("the tokens {file} have a token twice").into());
    }
    if tokens.is_empty() {
        let error = anyhow!("the tokens {file} are empty");
        return Err(Failure::from(error).hint(format!("Write a line `{what} TOKEN` for each.")));
    }
    Ok(tokens)
}

fn token(line: &str, what: &str) -> anyhow::Result<(String, String)> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(token), None) = (words.next(), words.next(), words.next()) else {
        bail!("each line is `{what} TOKEN`");
    };
    if token.len() < TOKEN_BYTES_MIN {
        bail!(
            "the token of '{name}' has fewer than {TOKEN_BYTES_MIN} characters: `openssl rand -hex 32` makes one"
        );
    }
    Ok((name.to_owned(), token.to_owned()))
}
