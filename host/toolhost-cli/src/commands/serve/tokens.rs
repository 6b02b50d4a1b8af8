//! The file of tokens, which is read again when it changes.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use toolhost::{BundleWatch, Host};
use toolhost_mcp::{BearerToken, ValidTokens};

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{stderr, text};

/// Shortest token, in bytes.
const TOKEN_BYTES_MIN: usize = 16;

/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The key of a token that is valid for every instance.
const EVERY_INSTANCE: &str = "*";

/// Replaces the tokens of a server when their file changes.
pub(super) struct Watch {
    path: PathBuf,
    /// The only instance that is served, if there is only one.
    only: Option<String>,
    file: BundleWatch,
}

impl Watch {
    /// Looks at the file, if there is one. Do this before it is read, so that no change is missed.
    pub(super) fn of(args: &ServeArgs) -> Option<Self> {
        let path = args.tokens.clone()?;
        Some(Self {
            file: BundleWatch::of_files([path.clone()]),
            only: args.workdir.as_ref().map(|_| args.instance.clone()),
            path,
        })
    }

    /// Reads the file whenever it has changed. If it cannot be used, the tokens from before stay valid, and the reason is
    /// printed. Never returns.
    pub(super) async fn follow(mut self, valid: &ValidTokens, host: &Host, settings: &Settings) {
        loop {
            self.file.changed(host.sandbox()).await;
            let (path, only) = (self.path.clone(), self.only.clone());
            let read = tokio::task::spawn_blocking(move || read(&path, only.as_deref()));
            let file = self.path.display();
            match read.await {
                Ok(Ok(tokens)) => {
                    let count = text::counted(tokens.len() as u64, "token");
                    valid.replace(tokens);
                    settings.note(&format!("reloaded {file}: {count}"));
                }
                Ok(Err(failure)) => {
                    let reason = failure.message();
                    stderr::write(&format!(
                        "{}; the tokens from before stay valid",
                        text::line(&reason)
                    ));
                }
                Err(_panicked) => {}
            }
        }
    }
}

/// Reads the lines `INSTANCE TOKEN`; of one instance alone, if there is only one.
pub(super) fn read(path: &Path, only: Option<&str>) -> Result<Vec<BearerToken>, Failure> {
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
    let tokens = lines.map(|line| token(line).map_err(|error| error.context(cannot())));
    let tokens: Vec<BearerToken> = tokens.collect::<anyhow::Result<_>>()?;
    let mut texts = HashSet::new();
    if !tokens.iter().all(|token| texts.insert(token.as_str())) {
        return Err(anyhow!("the tokens {file} have a token twice").into());
    }
    if tokens.is_empty() {
        let error = anyhow!("the tokens {file} are empty");
        return Err(Failure::from(error).hint("Write a line `INSTANCE TOKEN` for each instance."));
    }
    if let Some(instance) = only {
        check_only_instance(&tokens, instance, path)?;
    }
    Ok(tokens)
}

/// Refuses tokens of other instances than the only one that is served.
fn check_only_instance(tokens: &[BearerToken], instance: &str, path: &Path) -> Result<(), Failure> {
    let mut keys = tokens.iter().filter_map(BearerToken::instance);
    let Some(other) = keys.find(|key| *key != instance) else {
        return Ok(());
    };
    let file = path.display();
    let error = anyhow!(
        "the tokens {file} name the instance '{other}', but with --workdir only '{instance}' is served"
    );
    let hint = "Write `*` or that instance in its place, or drop --workdir: each instance then has its own workspace.";
    Err(Failure::from(error).hint(hint))
}

fn token(line: &str) -> anyhow::Result<BearerToken> {
    let mut words = line.split_whitespace();
    let (Some(instance), Some(token), None) = (words.next(), words.next(), words.next()) else {
        bail!("each line is `INSTANCE TOKEN`, or `* TOKEN` for every instance");
    };
    if token.len() < TOKEN_BYTES_MIN {
        bail!(
            "the token of '{instance}' has fewer than {TOKEN_BYTES_MIN} characters: `openssl rand -hex 32` makes one"
        );
    }
    let token = BearerToken::new(token);
    Ok(match instance {
        EVERY_INSTANCE => token,
        _ => token.for_instance(instance),
    })
}
