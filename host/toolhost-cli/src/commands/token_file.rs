//! Files of tokens: a line `NAME TOKEN` for each.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
    let mode = metadata.permissions().mode();
    if !is_private(metadata.uid(), metadata.gid(), mode) {
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

/// Checks that no token of an agent is that of an approver, too.
pub(super) fn check_apart(agents: &Path, approvers: &Path) -> Result<(), Failure> {
    let of_approvers = read(approvers, "NAME")?;
    for (_, token) in read(agents, "INSTANCE")? {
        if let Some((name, _)) = of_approvers.iter().find(|(_, own)| *own == token) {
            let (agents, approvers) = (agents.display(), approvers.display());
            let error = anyhow!(
                "{agents} has the token of '{name}' in {approvers}: its agent could approve its own calls"
            );
            return Err(
                Failure::from(error).hint("Give each a token of its own: `openssl rand -hex 32`.")
            );
        }
    }
    Ok(())
}

/// Whether only the owner can read a file. The group of root may read a file of root: a credential of systemd is one, which
/// an access control list lets the service read.
fn is_private(owner: u32, group: u32, mode: u32) -> bool {
    let of_others = match (owner, group) {
        (0, 0) => 0o037,
        _ => 0o077,
    };
    mode & of_others == 0
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

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_file_that_others_can_read_is_refused_and_a_credential_of_systemd_is_not() {
        for mode in [0o400, 0o600] {
            assert!(is_private(1000, 1000, mode) && is_private(0, 0, mode));
        }
        assert!(is_private(0, 0, 0o440));
        for (owner, group) in [(1000, 1000), (0, 1000), (1000, 0)] {
            assert!(!is_private(owner, group, 0o440), "{owner} {group}");
        }
        for mode in [0o444, 0o404, 0o460, 0o420, 0o450] {
            assert!(!is_private(0, 0, mode), "{mode:o}");
        }
    }
}
