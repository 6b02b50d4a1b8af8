//! The files that a recorded call read, by its host calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolhost::recording::{Answer, CallRecording, HostCall};
use toolhost_contract::text;

use crate::work_tree::Content;

/// Most bytes of a file in a case. Case files are read as a whole.
const FILE_MAX: usize = 1 << 20;

/// Most bytes of all files of a case, read or not: the case files of a bundle may have 16 MiB together.
const FILES_BYTES_MAX: usize = 8 << 20;

/// Most files and directories of a case.
const ENTRIES_MAX: usize = 2_000;

/// Longest path, in bytes: that of Linux.
const PATH_MAX: usize = 4_096;

/// Most bytes of paths and of contents that are looked at, each time they are: a recording may name one path or one
/// list of bytes in each of its host calls.
const LOOKED_AT_MAX: usize = 64 << 20;

/// Most notes about files.
const NOTES_MAX: usize = 50;

/// Longest path in a note, in characters.
const PATH_SHOWN: usize = 200;

/// A path in the workdir, without `.` and `..`. Empty for the workdir itself.
type Path = String;

/// What the call found in the workdir.
#[derive(Default)]
pub(super) struct Fixtures {
    entries: BTreeMap<Path, RecordedEntry>,
    /// What the call itself created or changed.
    changed: BTreeSet<Path>,
    /// The path of each descriptor, by its handle.
    descriptors: BTreeMap<u64, Path>,
    /// The file and the place of each stream, by its handle.
    streams: BTreeMap<u64, (Path, usize)>,
    /// The directory of each listing, by its handle.
    listings: BTreeMap<u64, Path>,
    /// Bytes of [`LOOKED_AT_MAX`] that were looked at.
    looked_at: usize,
    /// What cannot be told from the recording.
    pub(super) notes: Vec<String>,
}

/// An entry of the workdir.
enum RecordedEntry {
    Directory,
    File {
        /// What was read from the beginning on.
        bytes: Vec<u8>,
        /// Whether a part of it was skipped.
        has_gap: bool,
        /// Its size, if the call asked for it.
        size: Option<u64>,
    },
}

impl RecordedEntry {
    fn file() -> Self {
        Self::File {
            bytes: Vec::new(),
            has_gap: false,
            size: None,
        }
    }

    /// Bytes of a file, whether or not the call read them.
    fn size(&self) -> usize {
        let Self::File { bytes, size, .. } = self else {
            return 0;
        };
        let size = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        size.unwrap_or_default().max(bytes.len())
    }

    /// Whether the call did not read all of a file.
    fn has_gap(&self) -> bool {
        match self {
            Self::Directory => false,
            Self::File { bytes, has_gap, .. } => *has_gap || self.size() > bytes.len(),
        }
    }
}

impl Fixtures {
    pub(super) fn of(recording: &CallRecording) -> Self {
        let mut fixtures = Self::default();
        for call in &recording.recording.calls {
            fixtures.add(recording, call);
            if fixtures.looked_at > LOOKED_AT_MAX {
                let note = format!(
                    "what the call found from host call {} on is left out: a case has at most {LOOKED_AT_MAX} bytes \
                     of paths and contents",
                    call.index + 1
                );
                fixtures.notes.push(note);
                break;
            }
        }
        fixtures.leave_out();
        fixtures
    }

    /// The files and directories, by path.
    pub(super) fn files(self) -> Vec<(String, Content)> {
        let parents: BTreeSet<String> = self
            .entries
            .keys()
            .filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()))
            .collect();
        let mut files = Vec::new();
        for (path, entry) in self.entries {
            let size = entry.size();
            match entry {
                // A directory that holds something is made with it.
                RecordedEntry::Directory if parents.contains(&path) || path.is_empty() => {}
                RecordedEntry::Directory => files.push((path, Content::Directory)),
                RecordedEntry::File { mut bytes, .. } => {
                    // A tool may return the size of a file that it did not read.
                    bytes.resize(size, b' ');
                    files.push((path, Content::File(bytes)));
                }
            }
        }
        files
    }

    /// Removes what is beyond the limits of a case, and notes what is not as the call found it.
    fn leave_out(&mut self) {
        let (mut count, mut total) = (0, 0_usize);
        let notes = &mut self.notes;
        let mut others = 0_usize;
        self.entries.retain(|path, entry| {
            let size = entry.size();
            if size > FILE_MAX {
                let path = text::shorten(path, PATH_SHOWN);
                notes.push(format!(
                    "{path} is left out: it has more than {FILE_MAX} bytes"
                ));
                return false;
            }
            if count == ENTRIES_MAX || total + size > FILES_BYTES_MAX {
                others += 1;
                return false;
            }
            (count, total) = (count + 1, total + size);
            if entry.has_gap() {
                let path = text::shorten(path, PATH_SHOWN);
                notes.push(format!(
                    "{path} has spaces where the call did not read it: write its content there"
                ));
            }
            true
        });
        if others > 0 {
            notes.push(format!(
                "{others} more are left out: a case has at most {ENTRIES_MAX} files and directories, with \
                 {FILES_BYTES_MAX} bytes"
            ));
        }
        if notes.len() > NOTES_MAX {
            let more = notes.len() - NOTES_MAX;
            notes.truncate(NOTES_MAX);
            notes.push(format!("{more} more files are left out, or have spaces"));
        }
    }

    fn add(&mut self, recording: &CallRecording, call: &HostCall) {
        let Answer::Returned(answer) = &call.answer else {
            return;
        };
        let Some((interface, function)) = call.function.split_once('#') else {
            return;
        };
        let argument = |at: usize| call.arguments.get(at).unwrap_or(&Value::Null);
        let this = argument(0);
        if interface.starts_with("wasi:filesystem/preopens") {
            self.add_roots(answer);
            return;
        }
        let Some(ok) = answer.get("ok") else { return };
        let name = function.trim_start_matches("[method]");
        if interface.starts_with("wasi:io/streams") {
            if matches!(name, "input-stream.read" | "input-stream.blocking-read") {
                let read = self.bytes_of(recording, ok);
                self.read_stream(this, read);
            } else if name.starts_with("input-stream.") {
                self.skip_stream(this);
            }
            return;
        }
        if !interface.starts_with("wasi:filesystem/types") {
            return;
        }
        match name {
            "descriptor.open-at" => self.open(this, call, ok),
            "descriptor.read" => {
                let offset = argument(2).as_u64().and_then(|at| usize::try_from(at).ok());
                let read = ok.get(0).and_then(|bytes| self.bytes_of(recording, bytes));
                let path = self.path_of(this);
                if let (Some(path), Some(offset), Some(read)) = (path, offset, read) {
                    self.read(&path, offset, &read);
                }
            }
            "descriptor.read-via-stream" => {
                let offset = argument(1).as_u64().and_then(|at| usize::try_from(at).ok());
                let path = self.path_of(this);
                if let (Some(stream), Some(path), Some(offset)) = (handle(ok), path, offset) {
                    self.streams.insert(stream, (path, offset));
                }
            }
            "descriptor.read-directory" => {
                if let (Some(listing), Some(path)) = (handle(ok), self.path_of(this)) {
                    self.listings.insert(listing, path);
                }
            }
            "directory-entry-stream.read-directory-entry" => self.list(this, ok),
            "descriptor.stat" => {
                if let Some(path) = self.path_of(this) {
                    self.stat(path, ok);
                }
            }
            "descriptor.stat-at" => {
                if let Some(path) = self.beneath(this, argument(2)) {
                    self.stat(path, ok);
                }
            }
            _ => {
                let changed = match name {
                    "descriptor.write"
                    | "descriptor.write-via-stream"
                    | "descriptor.append-via-stream"
                    | "descriptor.set-size" => self.path_of(this),
                    "descriptor.create-directory-at" => self.beneath(this, argument(1)),
                    "descriptor.rename-at" => self.beneath(argument(2), argument(3)),
                    "descriptor.link-at" => self.beneath(argument(3), argument(4)),
                    "descriptor.symlink-at" => self.beneath(this, argument(2)),
                    _ => None,
                };
                self.changed.extend(changed);
            }
        }
    }

    fn add_roots(&mut self, answer: &Value) {
        for root in answer.as_array().into_iter().flatten() {
            if let Some(descriptor) = root.get(0).and_then(handle) {
                self.descriptors.insert(descriptor, String::new());
            }
        }
    }

    fn open(&mut self, this: &Value, call: &HostCall, ok: &Value) {
        let path = call.arguments.get(2);
        let path = path.and_then(|path| self.beneath(this, path));
        let (Some(path), Some(descriptor)) = (path, handle(ok)) else {
            return;
        };
        self.descriptors.insert(descriptor, path.clone());
        let flags = call.arguments.get(3).and_then(Value::as_array);
        let has = |name: &str| flags.is_some_and(|flags| flags.iter().any(|flag| flag == name));
        if has("truncate") {
            self.changed.insert(path);
        } else if has("directory") {
            self.find(&path, || RecordedEntry::Directory);
        } else if !has("create") {
            // The kind of what is opened is not known yet: `stat` and `read` tell.
            self.find(&path, RecordedEntry::file);
        }
    }

    /// Adds an entry that was there before the call.
    fn find(&mut self, path: &str, entry: impl FnOnce() -> RecordedEntry) {
        if path.is_empty() || self.is_changed(path) {
            return;
        }
        self.entries.entry(path.to_owned()).or_insert_with(entry);
    }

    /// Whether the call itself created or changed a path, or a directory above it.
    fn is_changed(&self, path: &str) -> bool {
        let mut ancestor = Some(path);
        while let Some(path) = ancestor {
            if self.changed.contains(path) {
                return true;
            }
            ancestor = path.rsplit_once('/').map(|(ancestor, _)| ancestor);
        }
        false
    }

    fn stat(&mut self, path: Path, stat: &Value) {
        match stat.get("type").and_then(Value::as_str) {
            Some("directory") if !self.is_changed(&path) && !path.is_empty() => {
                self.entries.insert(path, RecordedEntry::Directory);
            }
            Some("regular-file") => {
                self.find(&path, RecordedEntry::file);
                if let Some(RecordedEntry::File { size, .. }) = self.entries.get_mut(&path) {
                    *size = stat.get("size").and_then(Value::as_u64);
                }
            }
            Some(_) | None => {}
        }
    }

    fn list(&mut self, this: &Value, ok: &Value) {
        let directory = handle(this).and_then(|listing| self.listings.get(&listing));
        let entry = ok.get("some");
        let (Some(directory), Some(entry)) = (directory.cloned(), entry) else {
            return;
        };
        self.find(&directory, || RecordedEntry::Directory);
        if let Some(RecordedEntry::File { .. }) = self.entries.get(&directory) {
            self.entries
                .insert(directory.clone(), RecordedEntry::Directory);
        }
        let name = entry.get("name").and_then(Value::as_str);
        let kind = entry.get("type").and_then(Value::as_str);
        let path = name.and_then(|name| self.joined(&directory, name));
        match (path, kind) {
            (Some(path), Some("directory")) => self.find(&path, || RecordedEntry::Directory),
            (Some(path), Some("regular-file")) => self.find(&path, RecordedEntry::file),
            (_, _) => {}
        }
    }

    fn read_stream(&mut self, this: &Value, read: Option<Vec<u8>>) {
        let stream = handle(this).and_then(|stream| self.streams.get_mut(&stream));
        if let (Some((path, at)), Some(read)) = (stream, read) {
            let (path, offset) = (path.clone(), *at);
            *at += read.len();
            self.read(&path, offset, &read);
        }
    }

    /// What was skipped is not known.
    fn skip_stream(&mut self, this: &Value) {
        let stream = handle(this).and_then(|stream| self.streams.remove(&stream));
        if let Some((path, _)) = stream
            && let Some(RecordedEntry::File { has_gap, .. }) = self.entries.get_mut(&path)
        {
            *has_gap = true;
        }
    }

    fn read(&mut self, path: &str, offset: usize, read: &[u8]) {
        self.find(path, RecordedEntry::file);
        if self.is_changed(path) {
            return;
        }
        let Some(RecordedEntry::File { bytes, has_gap, .. }) = self.entries.get_mut(path) else {
            return;
        };
        match bytes.len().checked_sub(offset) {
            // A larger file is left out.
            Some(start) if bytes.len() <= FILE_MAX => {
                bytes.extend(read.get(start..).unwrap_or_default());
            }
            Some(_) => {}
            None => *has_gap = true,
        }
    }

    fn bytes_of(&mut self, recording: &CallRecording, value: &Value) -> Option<Vec<u8>> {
        let bytes = recording.bytes_of(value)?;
        self.looked_at += bytes.len();
        Some(bytes)
    }

    fn path_of(&mut self, this: &Value) -> Option<Path> {
        let path = self.descriptors.get(&handle(this)?)?;
        self.looked_at += path.len();
        Some(path.clone())
    }

    fn beneath(&mut self, this: &Value, path: &Value) -> Option<Path> {
        let directory = self.path_of(this)?;
        self.joined(&directory, path.as_str()?)
    }

    fn joined(&mut self, directory: &str, path: &str) -> Option<Path> {
        self.looked_at += directory.len() + path.len();
        joined(directory, path).filter(|path| path.len() <= PATH_MAX)
    }
}

/// The number of a handle.
fn handle(value: &Value) -> Option<u64> {
    value.get("handle")?.as_u64()
}

/// Resolves a path without links. None if it leaves the workdir.
fn joined(directory: &str, path: &str) -> Option<Path> {
    let mut names: Vec<&str> = directory
        .split('/')
        .filter(|name| !name.is_empty())
        .collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
