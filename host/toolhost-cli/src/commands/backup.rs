//! `toolhost backup`: copies the state root.

use anyhow::{Context as _, anyhow};
use serde_json::json;
use toolhost::backup;
use toolhost::state::Database;

use crate::args::BackupArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::{stdout, text};

pub(crate) async fn backup(args: &BackupArgs, settings: &Settings) -> Result<Exit, Failure> {
    let Some(root) = settings.dirs.state_root.clone() else {
        let error = anyhow!("the state root is not known");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    let to = args.to.clone();
    let elsewhere = Database::elsewhere(&root).context("the state root cannot be read")?;
    let made = files::spawn_blocking(move || Ok(backup::make(&root, &to)?)).await?;
    for path in &made.skipped {
        settings.note(&format!("not copied: {}", text::path(path)));
    }
    if let Some(database) = &elsewhere {
        settings.note(&format!(
            "pending calls, approvals, budgets and grants are in {}: copy them with pg_dump, or as that database is copied",
            text::line(database)
        ));
    }
    if args.json {
        stdout::json(&json!({
            "stateIn": elsewhere,
            "files": made.files,
            "bytes": made.bytes,
            "databases": made.databases,
            "skipped": made.skipped,
        }))?;
    } else {
        let (to, bytes) = (text::path(&args.to), size(made.bytes));
        let (files, databases) = (made.files, made.databases);
        let many = if databases == 1 { "" } else { "s" };
        let line = format!("{to}: {files} files, {bytes}, and {databases} database{many}");
        stdout::write(&line)?;
    }
    Ok(Exit::Done)
}
