//! `toolhost test --from`: makes a test case of a recorded call.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toolhost::text::shell_word;
use toolhost_testing::{CaseFiles, RecordedCase};

use super::super::recording_file;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::settings::Settings;
use crate::terminal::stdout;

/// Most case files of one stem.
const FILES_MAX: usize = 1_000;

/// Writes a case of a recording into a new file of the bundle's cases; prints it if `is_listed`.
pub(super) async fn write_case(
    recording: &Path,
    bundle: &Path,
    case_files: &CaseFiles,
    is_listed: bool,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let recorded = recording_file::read(recording).await?;
    let name = recording.file_name().unwrap_or_default().to_string_lossy();
    let case = RecordedCase::of(&recorded, &name)
        .hint("Record a call with `toolhost call --record FILE`.")?;
    if is_listed {
        stdout::write(case.text.trim_end())?;
    } else {
        let (folder, text) = (case_files.folder().to_owned(), case.text);
        let writing = files::spawn_blocking(move || write_new(&folder, &case.stem, &text));
        let path = writing.await?;
        let word = |path: &Path| shell_word(&path.to_string_lossy()).into_owned();
        settings.note(&format!(
            "the case is in {}; `toolhost test {} {}` runs it",
            path.display(),
            word(bundle),
            word(&path)
        ));
    }
    for note in &case.notes {
        settings.note(note);
    }
    Ok(Exit::Done)
}

/// Writes a new file: `STEM.yaml`, or else `STEM-2.yaml` and so on.
fn write_new(folder: &Path, stem: &str, text: &str) -> anyhow::Result<PathBuf> {
    let cannot = |path: &Path| format!("the case file {} cannot be written", path.display());
    fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    for number in 1..=FILES_MAX {
        let name = match number {
            1 => format!("{stem}.yaml"),
            number => format!("{stem}-{number}.yaml"),
        };
        let path = folder.join(name);
        // Refuses links, too.
        match File::create_new(&path) {
            Ok(mut file) => {
                let written = file.write_all(text.as_bytes());
                return written.with_context(|| cannot(&path)).map(|()| path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| cannot(&path)),
        }
    }
    let folder = folder.display();
    bail!(
        "{folder} has {FILES_MAX} cases {stem}.yaml: remove some of them, or give them other names"
    )
}
