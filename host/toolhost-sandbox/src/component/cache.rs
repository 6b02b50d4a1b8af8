//! Compiled components on disk, mapped instead of compiled again.
//!
//! Mapping compiled code is running it, so nothing is mapped that this user's key did not sign:
//! - the directory and every artefact must be ours, and writable by nobody else
//! - an artefact is opened once, without following a link; what was verified is what is mapped
//! - the signature covers the code, the component's digest, the engine, and the `describe` answer
//! - artefacts are read-only and replaced by rename, never written in place
//!
//! It protects against corruption, other users and restored caches; not against our own user id.
//!
//! Processes share a cache without a lock: a file appears whole by rename and goes by unlink, and
//! one that is mapped stays valid after it has gone.

mod artifact;
mod eviction;
mod private_file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use toolhost_contract::ExportName;
use toolhost_contract::HandlerSpec;
use wasmtime::Engine;
use wasmtime::component::Component;

use artifact::{Key, Name, Refused};
use eviction::Item;
use private_file::{private_dir, random_hex, read_or_make_key, write_new};

/// Where compiled components are kept.
#[derive(Debug, Clone)]
pub struct CacheConfig {
    /// Directory of the artefacts; made where it is missing.
    pub dir: PathBuf,
    /// File of the key they are signed with; made where it is missing. Not in `dir`: whoever can
    /// write a cache must not be able to sign for it.
    pub key_file: PathBuf,
    /// Bytes that all artefacts may take, whoever's key signed them. Default 2 GiB. Beyond it those
    /// unused for longest are removed when another is stored; the one just stored always stays, so
    /// with 0 one is kept.
    pub bytes: u64,
}

impl CacheConfig {
    /// A cache of at most 2 GiB.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, key_file: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            key_file: key_file.into(),
            bytes: 2 << 30,
        }
    }
}

/// Why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// A file or directory cannot be made or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else could write it.
    #[error("{} belongs to another user or is writable by others", .0.display())]
    NotPrivate(PathBuf),
    /// The key is not one.
    #[error("{} is not a key of 32 bytes; delete it to make a new one", .0.display())]
    BadKey(PathBuf),
}

/// The cache of one sandbox, for people to look at: see [`Sandbox::cache`](crate::Sandbox::cache).
///
/// Nothing is mapped or run by looking.
#[derive(Debug)]
pub struct ComponentCache {
    config: CacheConfig,
    key: Key,
    /// What makes compiled code fit this engine and no other.
    engine: u64,
}

/// One compiled component on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// Its name in the directory.
    pub file_name: String,
    /// SHA-256 of the component it says it is of, in hexadecimal.
    pub sha256: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was last mapped, or else stored.
    pub last_used: SystemTime,
    /// Whether it would be mapped, and if not, why.
    pub verdict: CacheVerdict,
    /// The handlers it serves; none unless its verdict is [`CacheVerdict::Valid`].
    pub handlers: Vec<ExportName>,
}

/// Whether an artefact would be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheVerdict {
    /// It would: it is signed with our key, for this engine.
    Valid,
    /// Signed with our key for another version or configuration of the engine, which maps it.
    OtherEngine,
    /// It says it is signed with another key, so nothing can be said of it.
    OtherKey,
    /// Its end is missing.
    Truncated,
    /// It is not what was signed.
    Tampered,
    /// It belongs to another user, is writable by others, or is no file.
    NotPrivate,
    /// It cannot be read.
    Unreadable,
}

impl CacheVerdict {
    /// The word for it, as in `other-engine`.
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
pub struct CacheCleared {
    /// Files: artefacts, and what was left of half-written ones.
    pub files: u64,
    /// Bytes they had.
    pub bytes: u64,
}

/// What the cache had.
pub(crate) struct Cached {
    pub(crate) component: Component,
    pub(crate) handlers: Vec<HandlerSpec>,
}

impl ComponentCache {
    pub(crate) fn open(config: &CacheConfig, engine: &Engine) -> Result<Self, CacheError> {
        private_dir(&config.dir)?;
        if let Some(parent) = config.key_file.parent() {
            private_dir(parent)?;
        }
        Ok(Self {
            key: Key::new(read_or_make_key(&config.key_file)?),
            engine: artifact::compatibility(engine),
            config: config.clone(),
        })
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.config.dir
    }

    /// Bytes that all artefacts may take.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.config.bytes
    }

    /// Reads and verifies every artefact; the most recently used comes first. Takes about a second
    /// per GiB.
    ///
    /// # Errors
    /// [`CacheError`] where the directory cannot be read. An artefact that cannot is an entry.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let items = eviction::list(&self.config.dir).map_err(|e| self.unlisted(e))?;
        let artefacts = items.into_iter().filter_map(|item| {
            let name = item.artefact.clone()?;
            self.entry(item, &name)
        });
        let mut entries: Vec<_> = artefacts.collect();
        entries.sort_by(|a, b| {
            let newest_first = b.last_used.cmp(&a.last_used);
            newest_first.then_with(|| a.file_name.cmp(&b.file_name))
        });
        Ok(entries)
    }

    /// None where it has gone meanwhile.
    fn entry(&self, item: Item, name: &Name) -> Option<CacheEntry> {
        let (verdict, handlers) = self.judged(&item.path, name)?;
        Some(CacheEntry {
            file_name: name.to_string(),
            sha256: name.sha256.clone(),
            bytes: item.bytes,
            last_used: item.last_used,
            verdict,
            handlers,
        })
    }

    fn judged(&self, path: &Path, name: &Name) -> Option<(CacheVerdict, Vec<ExportName>)> {
        if name.key_id != self.key.id() {
            return Some((CacheVerdict::OtherKey, Vec::new()));
        }
        let verdict = match artifact::verify(path, &self.key, name) {
            Ok(verified) if name.engine == self.engine => {
                let names = verified.handlers.into_iter().map(|handler| handler.name);
                return Some((CacheVerdict::Valid, names.collect()));
            }
            Ok(_) => CacheVerdict::OtherEngine,
            Err(Refused::Absent) => return None,
            Err(Refused::Truncated) => CacheVerdict::Truncated,
            Err(Refused::Tampered) => CacheVerdict::Tampered,
            Err(Refused::NotPrivate) => CacheVerdict::NotPrivate,
            Err(Refused::Io(_)) => CacheVerdict::Unreadable,
        };
        Some((verdict, Vec::new()))
    }

    /// Removes every artefact, whoever's key signed it, and what is left of half-written ones. Calls
    /// that run keep what they have mapped; the next start compiles again. Other files stay.
    ///
    /// # Errors
    /// [`CacheError`] where the directory cannot be read, or a file cannot be removed.
    pub fn clear(&self) -> Result<CacheCleared, CacheError> {
        let items = eviction::list(&self.config.dir).map_err(|e| self.unlisted(e))?;
        let mut cleared = CacheCleared::default();
        for item in items {
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

    fn unlisted(&self, source: io::Error) -> CacheError {
        CacheError::Io {
            path: self.config.dir.clone(),
            source,
        }
    }

    /// Maps the artefact of a component. None where there is none, or none that can be trusted.
    pub(crate) fn load(&self, engine: &Engine, sha256: &str) -> Option<Cached> {
        let name = self.name(sha256);
        let path = self.config.dir.join(name.to_string());
        let mapped = artifact::verify(&path, &self.key, &name).and_then(|verified| {
            let component = artifact::map(engine, &verified.file)?;
            eviction::touch(&verified.file);
            Ok(Cached {
                component,
                handlers: verified.handlers,
            })
        });
        match mapped {
            Ok(cached) => Some(cached),
            Err(Refused::Absent) => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiling again: the cached artefact is refused");
                None
            }
        }
    }

    /// Keeps an artefact. A cache that cannot be written is a slower start, not an error.
    pub(crate) fn store(&self, sha256: &str, component: &Component, handlers: &[HandlerSpec]) {
        if let Err(error) = self.try_store(sha256, component, handlers) {
            tracing::warn!(dir = %self.config.dir.display(), error = format!("{error:#}"), "cannot keep a compiled component");
        }
    }

    fn try_store(
        &self,
        sha256: &str,
        component: &Component,
        handlers: &[HandlerSpec],
    ) -> wasmtime::Result<()> {
        let name = self.name(sha256);
        let mut bytes = component.serialize()?;
        let answer = serde_json::to_vec(handlers).map_err(wasmtime::Error::new)?;
        artifact::sign(&mut bytes, &answer, &self.key, &name);

        let dir = &self.config.dir;
        let path = dir.join(name.to_string());
        let temporary = dir.join(eviction::temporary(&random_hex()?));
        let written = write_new(&temporary, &bytes, 0o400);
        let kept = written.and_then(|()| fs::rename(&temporary, &path));
        if kept.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        kept?;
        Ok(eviction::sweep(dir, &path, self.config.bytes)?)
    }

    fn name(&self, sha256: &str) -> Name {
        Name {
            sha256: sha256.to_owned(),
            engine: self.engine,
            key_id: self.key.id().to_owned(),
        }
    }
}
