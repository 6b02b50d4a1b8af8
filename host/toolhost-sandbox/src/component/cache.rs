//! Compiled components on disk, which are mapped instead of compiled again.
//!
//! Whoever writes compiled code that is mapped can run code as this user. An artifact is mapped only if this
//! user's key signed it:
//! - the directory and every artifact must belong to this user, and be writable by nobody else
//! - an artifact is opened once, without following a link; what was verified is what is mapped
//! - the signature covers the code, the component's digest, the engine, and the [`ComponentRecord`]
//! - artifacts are read-only and replaced by rename, never written in place
//!
//! This protects against corruption, other users and restored caches, but not against this user.
//!
//! Processes read and write a cache without a lock: rename makes a complete file appear, and a mapped file stays
//! valid after it was removed. Who compiles holds a [lock](compile_lock), so that others wait and map the result.

mod artifact;
mod compile_lock;
mod eviction;
mod record;

use std::cmp::Reverse;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolhost_contract::ExportName;
use toolhost_files::{PrivateDir, PrivateFile, read_or_make_key};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::CacheError;
use crate::component::code::load;
use crate::component::digest::ComponentDigest;
use crate::engine::memory::image::Image;
use artifact::{Key, Name, Refused};
pub(crate) use compile_lock::{CompileLock, CompileQueue, CompileTurn, FileStamp};
use eviction::Item;
pub(crate) use record::ComponentRecord;

/// Where compiled components are kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CacheConfig {
    /// Directory of the artifacts; made where it is missing.
    pub dir: PathBuf,
    /// File of the key that signs them; made where it is missing. Not in `dir`: who can write the cache
    /// must not be able to sign artifacts.
    pub key_file: PathBuf,
    /// Bytes that all artifacts may take, whichever key signed them. Default 2 GiB. When an artifact is
    /// stored, the least recently used others are removed until the rest fits. With 0 one artifact stays.
    pub bytes: u64,
}

impl CacheConfig {
    /// A cache of at most 2 GiB.
    pub fn new(dir: impl Into<PathBuf>, key_file: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            key_file: key_file.into(),
            bytes: 2 << 30,
        }
    }
}

/// The cache of one sandbox, for people to look at: see [`Sandbox::cache`](crate::Sandbox::cache).
///
/// Its methods neither map nor run anything.
#[derive(Debug)]
pub struct ComponentCache {
    config: CacheConfig,
    key: Key,
    /// Hash of the engine that the compiled code fits.
    engine: u64,
}

/// One compiled component on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheEntry {
    /// Its name in the directory.
    pub file_name: String,
    /// SHA-256 of its component in hexadecimal; none unless its signature holds.
    pub sha256: Option<String>,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was last mapped, or else stored.
    pub last_used: SystemTime,
    /// Whether it would be mapped, and if not, why.
    pub verdict: CacheVerdict,
    /// The handlers it serves; none unless its verdict is [`CacheVerdict::Valid`].
    pub handlers: Vec<ExportName>,
}

/// Whether an artifact would be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheVerdict {
    /// Signed with our key, for this engine.
    Valid,
    /// Signed with our key for another version or configuration of the engine, which maps it.
    OtherEngine,
    /// Its name is of another key, so it was not verified.
    OtherKey,
    /// Its end is missing.
    Truncated,
    /// Its contents differ from what was signed.
    Tampered,
    /// It belongs to another user, others can read or write it, or it is not a regular file.
    NotPrivate,
    /// It cannot be read.
    Unreadable,
}

impl CacheVerdict {
    /// Its name, such as `other-engine`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::OtherEngine => "other-engine",
            Self::OtherKey => "other-key",
            Self::Truncated => "truncated",
            Self::Tampered => "tampered",
            Self::NotPrivate => "not-private",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether its signature was checked and holds.
    #[must_use]
    pub fn verifies(self) -> bool {
        match self {
            Self::Valid | Self::OtherEngine => true,
            Self::OtherKey
            | Self::Truncated
            | Self::Tampered
            | Self::NotPrivate
            | Self::Unreadable => false,
        }
    }
}

/// What clearing a cache removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCleared {
    /// Files: artifacts, what was left of half-written ones, and locks.
    pub files: u64,
    /// Bytes they had.
    pub bytes: u64,
}

/// An artifact that was mapped.
pub(crate) struct Cached {
    pub(crate) component: Component,
    pub(crate) image: Option<Image>,
    pub(crate) record: ComponentRecord,
}

impl ComponentCache {
    pub(crate) fn open(config: &CacheConfig, engine: &Engine) -> Result<Self, CacheError> {
        let dirs = [Some(config.dir.as_path()), config.key_file.parent()];
        for dir in dirs.into_iter().flatten() {
            PrivateDir::make(dir).map_err(|error| CacheError::of(dir, error))?;
        }
        let key = read_or_make_key(&config.key_file);
        let key = key.map_err(|error| CacheError::of(&config.key_file, error))?;
        Ok(Self {
            key: Key::new(*key),
            engine: artifact::compatibility(engine),
            config: config.clone(),
        })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.config.dir
    }

    /// Bytes that all artifacts may take.
    pub fn limit_bytes(&self) -> u64 {
        self.config.bytes
    }

    /// Reads and verifies every artifact; the most recently used comes first. Takes about a second
    /// per GiB.
    ///
    /// # Errors
    /// [`CacheError`] where the directory cannot be read. An artifact that cannot is an entry.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let mut entries = Vec::new();
        for item in self.list()? {
            let Some(name) = item.artifact else { continue };
            // None where it was removed meanwhile.
            if let Some((verdict, record)) = self.verdict(&item.path, &name) {
                let served = record.iter().filter(|_| verdict == CacheVerdict::Valid);
                let served = served.flat_map(|record| &record.handlers);
                entries.push(CacheEntry {
                    file_name: name.to_string(),
                    bytes: item.bytes,
                    last_used: item.last_used,
                    verdict,
                    handlers: served.map(|handler| handler.name.clone()).collect(),
                    sha256: record.map(|record| record.facts.sha256),
                });
            }
        }
        entries.sort_by(|a, b| {
            let newest_first = b.last_used.cmp(&a.last_used);
            newest_first.then_with(|| a.file_name.cmp(&b.file_name))
        });
        Ok(entries)
    }

    /// Verifies an artifact. Returns what it records if its signature holds; none where it is absent.
    fn verdict(&self, path: &Path, name: &Name) -> Option<(CacheVerdict, Option<ComponentRecord>)> {
        if name.key_id != self.key.id() {
            return Some((CacheVerdict::OtherKey, None));
        }
        let verdict = match artifact::verify(path, &self.key, name) {
            Ok(verified) => {
                let verdict = if name.engine == self.engine {
                    CacheVerdict::Valid
                } else {
                    CacheVerdict::OtherEngine
                };
                return Some((verdict, Some(verified.record)));
            }
            Err(Refused::Absent) => return None,
            Err(Refused::Truncated) => CacheVerdict::Truncated,
            Err(Refused::Tampered) => CacheVerdict::Tampered,
            Err(Refused::NotPrivate(_)) => CacheVerdict::NotPrivate,
            Err(Refused::TooLarge | Refused::Io(_)) => CacheVerdict::Unreadable,
        };
        Some((verdict, None))
    }

    /// Removes every artifact, whichever key signed it, half-written ones, and locks. Code that is mapped stays
    /// valid; the next start compiles again. Other files stay.
    ///
    /// # Errors
    /// [`CacheError`] where the directory cannot be read, or a file cannot be removed.
    pub fn clear(&self) -> Result<CacheCleared, CacheError> {
        let mut cleared = CacheCleared::default();
        for item in self.list()? {
            match fs::remove_file(&item.path) {
                Ok(()) => {
                    cleared.files += 1;
                    cleared.bytes += item.bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = item.path;
                    return Err(CacheError::Io { path, source });
                }
            }
        }
        Ok(cleared)
    }

    fn list(&self) -> Result<Vec<Item>, CacheError> {
        let dir = &self.config.dir;
        eviction::list(dir).map_err(|source| CacheError::Io {
            path: dir.clone(),
            source,
        })
    }

    /// Maps the artifact of a component. None where there is none, or its signature does not hold.
    pub(crate) fn load(&self, engine: &Engine, component: ComponentDigest) -> Option<Cached> {
        let name = self.name(component);
        let path = self.config.dir.join(name.to_string());
        let mapped = artifact::verify(&path, &self.key, &name).and_then(|verified| {
            let component = artifact::map(engine, &verified)?;
            let image = artifact::map_image(&verified)?;
            compile_lock::touch(&verified.file);
            Ok(Cached {
                component,
                image,
                record: verified.record,
            })
        });
        match mapped {
            Ok(cached) => Some(cached),
            Err(Refused::Absent) => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiling again: the cached artifact is refused");
                None
            }
        }
    }

    /// Loads the compiled code of another component that differs from this one only in its initial data: `code` is the
    /// digest of both without it. None where there is none.
    ///
    /// Reads the record of each artifact, which takes some milliseconds: for components that would be compiled.
    pub(crate) fn load_code(&self, engine: &Engine, code: &str) -> Option<Component> {
        let mut items = eviction::list(&self.config.dir).ok()?;
        // The same tool before a change, most probably.
        items.sort_by_key(|item| Reverse(item.last_used));
        items.into_iter().find_map(|item| {
            let name = item.artifact?;
            let is_ours = name.engine == self.engine && name.key_id == self.key.id();
            let has_code = |record: &ComponentRecord| record.code.as_deref() == Some(code);
            let record = is_ours.then(|| artifact::unverified_record(&item.path))?;
            record.ok().filter(has_code)?;
            // Another file may be there by now.
            let verified = artifact::verify(&item.path, &self.key, &name).ok()?;
            let verified = Some(verified).filter(|verified| has_code(&verified.record))?;
            let code = artifact::code(&verified).ok()?;
            compile_lock::touch(&verified.file);
            load(engine, &code).ok()
        })
    }

    /// Returns the file that an artifact is, without reading it. None where there is none.
    pub(crate) fn stamp(&self, component: ComponentDigest) -> Option<FileStamp> {
        FileStamp::of(&self.config.dir.join(self.name(component).to_string()))
    }

    /// Returns the queue of processes in which a component is compiled. Each holder of a lock is waited for as long as
    /// `patience`.
    pub(crate) fn queue(
        &self,
        component: ComponentDigest,
        slots: usize,
        patience: Duration,
    ) -> CompileQueue {
        CompileQueue::new(&self.config.dir, &self.name(component), slots, patience)
    }

    /// Stores an artifact. A failure is logged: it only makes the next start slower.
    pub(crate) fn store(
        &self,
        digest: ComponentDigest,
        code: &Component,
        image: Option<&Image>,
        record: &ComponentRecord,
    ) {
        if let Err(error) = self.try_store(digest, code, image, record) {
            tracing::warn!(dir = %self.config.dir.display(), error = format!("{error:#}"), "cannot keep a compiled component");
        }
    }

    fn try_store(
        &self,
        digest: ComponentDigest,
        code: &Component,
        image: Option<&Image>,
        record: &ComponentRecord,
    ) -> wasmtime::Result<()> {
        let name = self.name(digest);
        let mut bytes = code.serialize()?;
        artifact::sign(&mut bytes, image, record, &self.key, &name)?;

        let dir = &self.config.dir;
        let path = dir.join(name.to_string());
        let written = eviction::write_with_room(dir, || PrivateFile::temporary(dir, &bytes))?;
        let read_only = Permissions::from_mode(0o400);
        written.as_file().set_permissions(read_only)?;
        written.persist(&path)?;
        Ok(eviction::sweep(dir, &path, self.config.bytes)?)
    }

    fn name(&self, component: ComponentDigest) -> Name {
        Name {
            component: component.to_hex(),
            engine: self.engine,
            key_id: self.key.id().to_owned(),
        }
    }
}
