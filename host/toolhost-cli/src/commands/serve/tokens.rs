//! The file of tokens, which is read again when it changes.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use toolhost::{BundleWatch, Host};
use toolhost_mcp::{BearerToken, ValidTokens};

use crate::args::ServeArgs;
use crate::commands::token_file;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{stderr, text};

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
    let tokens = token_file::read(path, "INSTANCE")?.into_iter();
    // `*` is valid for every instance.
    let tokens = tokens.map(|(instance, token)| match instance.as_str() {
        EVERY_INSTANCE => BearerToken::new(token),
        key => BearerToken::new(token).for_instance(key),
    });
    let tokens: Vec<BearerToken> = tokens.collect();
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
