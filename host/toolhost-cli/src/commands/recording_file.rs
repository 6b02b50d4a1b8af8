//! Reads and writes `.call` files.

use std::fs::DirBuilder;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use toolhost::Workdir;
use toolhost::recording::{CallRecorder, CallRecording, FILE_BYTES_MAX};
use toolhost_files::PrivateFile;

use crate::failure::{Failure, Hint};
use crate::files;
use crate::settings::Settings;

/// A file that a recording will be written to.
pub(super) struct RecordingFile {
    path: PathBuf,
}

impl RecordingFile {
    /// Checks, before the call, that the folder of the file exists, and that the tool cannot reach it.
    pub(super) fn new(path: &Path, workdir: &Workdir) -> Result<Self, Failure> {
        let folder = files::folder_of(path);
        let real_folder = folder
            .canonicalize()
            .with_context(|| cannot_write(path))
            .hint("Name a file in a folder that exists.")?;
        let inside = workdir
            .real_path()
            .is_some_and(|workdir| lies_in(&real_folder, &workdir));
        if inside {
            let error = anyhow!("{} lies in the workdir of the tool", path.display());
            let hint = "Name a file outside the workdir: the tool could read and change it there.";
            return Err(Failure::from(error).hint(hint));
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Writes the recording.
    pub(super) fn write(&self, recording: &CallRecording) -> Result<(), Failure> {
        let result = files::write_private(&self.path, &recording.to_bytes());
        Ok(result.with_context(|| cannot_write(&self.path))?)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A folder that recordings of calls will be written to, a file each.
pub(super) struct RecordingFolder {
    path: PathBuf,
    written: Arc<Mutex<Written>>,
}

/// What was written into a folder.
#[derive(Default)]
struct Written {
    count: u64,
    /// Why the first recording that is missing could not be written.
    error: Option<anyhow::Error>,
}

impl RecordingFolder {
    /// Creates the folder if it is missing. It must not lie in `state`, which holds the workspaces.
    pub(super) fn open(path: &Path, state: &Path) -> Result<Self, Failure> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
        let folder = created.and_then(|()| path.canonicalize());
        let folder = folder.with_context(|| cannot_write(path))?;
        if lies_in(&folder, state) {
            let error = anyhow!("{} lies in the folder of the workspaces", path.display());
            let hint =
                "Name a folder outside that of --keep: the tools could read and change it there.";
            return Err(Failure::from(error).hint(hint));
        }
        Ok(Self {
            path: path.to_owned(),
            written: Arc::default(),
        })
    }

    /// Returns what receives the recordings: the first one that is free of `0001-TOOL.call`, and so on.
    pub(super) fn recorder(&self) -> CallRecorder {
        let (path, progress) = (self.path.clone(), Arc::clone(&self.written));
        CallRecorder::new(move |recording| {
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            match write_new(&path, progress.count + 1, &recording) {
                Ok(number) => progress.count = number,
                Err(error) => drop(progress.error.get_or_insert(error)),
            }
        })
    }

    /// Notes how many recordings were written.
    ///
    /// # Errors
    /// If one could not be written.
    pub(super) fn finish(self, settings: &Settings) -> Result<(), Failure> {
        let mut progress = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = progress.error.take() {
            return Err(Failure::from(error));
        }
        let path = self.path.display();
        settings.note(&format!("the calls are recorded in {path}"));
        Ok(())
    }
}

/// Writes a recording into a new file. Returns its number.
fn write_new(folder: &Path, from: u64, recording: &CallRecording) -> anyhow::Result<u64> {
    for number in from.. {
        let path = folder.join(format!("{number:04}-{}.call", recording.tool));
        match PrivateFile::make_new(&path) {
            Ok(mut file) => {
                let result = file.write_all(&recording.to_bytes());
                result.with_context(|| cannot_write(&path))?;
                return Ok(number);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| cannot_write(&path)),
        }
    }
    Ok(u64::MAX)
}

fn cannot_write(path: &Path) -> String {
    format!("the recording {} cannot be written", path.display())
}

/// Whether a folder is `top` or lies beneath it, by the identities of the folders above it.
fn lies_in(folder: &Path, top: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let top = identity(top);
    top.is_some() && folder.ancestors().any(|ancestor| identity(ancestor) == top)
}

/// Reads a recording.
pub(super) async fn read(path: &Path) -> Result<CallRecording, Failure> {
    let bytes = files::read_async("the recording", path, FILE_BYTES_MAX).await?;
    CallRecording::parse(&bytes, &path.display().to_string()).map_err(|error| {
        let help = error.help();
        Failure::from(error).hint(help)
    })
}
