//! `--update`: writes what came into the case files.

use std::path::Path;

use anyhow::{Context, Result};
use toolhost::cases::Change;

use super::item::What;
use super::{Done, Files};
use crate::files::replace;
use crate::terminal::text;

/// Accepts what came, file by file, and marks the cases that expect it now. Gives what was done, in
/// words.
pub(crate) async fn accept(files: &Files, done: &mut [Done]) -> Result<Vec<String>> {
    let mut told = Vec::new();
    for (index, (path, file)) in files.all().iter().enumerate() {
        let mut changes: Vec<Change> = Vec::new();
        let mut cases = 0;
        let mut text = None;
        for one in done.iter_mut().filter(|one| one.failed > 0) {
            let What::Written {
                file: of,
                number,
                case,
            } = &one.what
            else {
                continue;
            };
            if *of != index {
                continue;
            }
            let Some(own) = changes_of(one, *number) else {
                told.push(format!(
                    "{}: '{}' is not updated: only you can change what it says of {}",
                    one.what.place(),
                    case.name,
                    fixed(one)
                ));
                continue;
            };
            let with: Vec<Change> = changes.iter().cloned().chain(own).collect();
            match file.edited(&with) {
                Ok(edited) => {
                    text = Some(edited.text);
                    changes = with;
                    cases += 1;
                    one.updated = true;
                }
                Err(error) => told.push(format!("{}: {error}", one.what.place())),
            }
        }
        if let Some(text) = text {
            write(path, &text).await?;
            let cases = text::counted(cases, "case");
            told.push(format!("{}: {cases} updated", path.display()));
        }
    }
    Ok(told)
}

/// What of a case no value that came can be written for.
fn fixed(done: &Done) -> String {
    let fixed = done.mismatches.iter().filter(|one| one.change.is_none());
    let fixed: Vec<&str> = fixed.map(|one| one.what.as_str()).collect();
    text::line(&fixed.join(", "))
}

/// What to write for a case; none where it says something that no value fulfils.
fn changes_of(done: &Done, number: usize) -> Option<Vec<Change>> {
    let own = |change: &Change| Change {
        case: number,
        ..change.clone()
    };
    let changes = done
        .mismatches
        .iter()
        .map(|one| one.change.as_ref().map(own));
    changes.collect()
}

async fn write(path: &Path, text: &str) -> Result<()> {
    let (path, text) = (path.to_owned(), text.to_owned());
    let written = tokio::task::spawn_blocking(move || {
        replace(&path, text.as_bytes())
            .with_context(|| format!("the case file {} cannot be written", path.display()))
    });
    written.await.context("a thread of the host failed")?
}
