//! Recordings of the calls that are looked at.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost::recording::{CallRecording, FILE_BYTES_MAX};
use toolhost_runtime::lock;

use crate::failure::Failure;
use crate::root::{blocking, shown};

/// The recording that was read last: whoever steps through it asks for it again and again.
#[derive(Default)]
pub(crate) struct Recordings(Mutex<Option<Recorded>>);

/// A recording, and the bytes of its file.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Bytes,
    pub(crate) recording: Arc<CallRecording>,
}

impl Recordings {
    /// Reads the recording of a call: a file beneath the state root.
    pub(crate) async fn read(&self, root: Option<&Path>, path: &Path) -> Result<Recorded, Failure> {
        let last = lock(&self.0).clone().filter(|last| last.path == path);
        if let Some(recorded) = last {
            return Ok(recorded);
        }
        let outside = || Failure::not_found("the recording is not in the state root");
        let root = root.ok_or_else(outside)?.to_owned();
        let path = path.to_owned();
        let recorded = blocking(move || read(&root, &path)).await??;
        *lock(&self.0) = Some(recorded.clone());
        Ok(recorded)
    }
}

fn read(root: &Path, path: &Path) -> Result<Recorded, Failure> {
    let outside = || Failure::not_found("the recording is not in the state root");
    // Hosts keep where it is without links.
    let root = root
        .canonicalize()
        .map_err(|error| Failure::internal(&error))?;
    let beneath = path.strip_prefix(&root).map_err(|_| outside())?;
    let directory = Dir::open_ambient_dir(&root, ambient_authority());
    let directory = directory.map_err(|error| Failure::internal(&error))?;
    let mut bytes = Vec::new();
    let file = directory.open(beneath).and_then(|file| {
        let is_file = file.metadata()?.is_file();
        is_file
            .then_some(file)
            .ok_or_else(|| ErrorKind::InvalidInput.into())
    });
    let read = file.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        let message = if error.kind() == ErrorKind::NotFound {
            "the recording was removed since: newer ones took its place".to_owned()
        } else {
            format!("the recording {} cannot be read: {error}", shown(path))
        };
        return Err(Failure::not_found(message));
    }
    let recording = CallRecording::parse(&bytes, &shown(path))
        .map_err(|error| Failure::not_found(error.to_string()))?;
    Ok(Recorded {
        path: path.to_owned(),
        bytes: bytes.into(),
        recording: Arc::new(recording),
    })
}
