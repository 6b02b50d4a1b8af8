//! Compiled components on disk, mapped instead of compiled again.
//!
//! Mapping compiled code is running it, so nothing is mapped that this user's key did not sign:
//! - the directory and every artefact must be ours, and writable by nobody else
//! - an artefact is opened once, without following a link; what was verified is what is mapped
//! - the signature covers the code, the component's digest, the engine, and the `describe` answer
//! - artefacts are read-only and replaced by rename, never written in place
//!
//! It protects against corruption, other users and restored caches; not against our own user id.

use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::prepared::HandlerSpec;

/// Where compiled components are kept.
#[derive(Debug, Clone)]
pub struct CacheConfig {
    /// Directory of the artefacts; made where it is missing.
    pub dir: PathBuf,
    /// File of the key they are signed with; made where it is missing. Not in `dir`: whoever can
    /// write a cache must not be able to sign for it.
    pub key_file: PathBuf,
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

/// Signature at the end of an artefact, in bytes.
const MAC: usize = blake3::OUT_LEN;

/// Signature and the length of the `describe` answer before it.
const TRAILER: usize = MAC + 8;

/// Most bytes of an artefact that are read.
const ARTEFACT_MAX: u64 = 1 << 30;

/// The cache of one sandbox.
pub(crate) struct Cache {
    dir: PathBuf,
    key: [u8; blake3::KEY_LEN],
    /// Tells the artefacts of one key from those of another in the same directory.
    key_id: String,
}

/// What the cache had.
pub(crate) struct Cached {
    pub(crate) component: Component,
    pub(crate) handlers: Vec<HandlerSpec>,
}

impl Cache {
    pub(crate) fn open(config: &CacheConfig) -> Result<Self, CacheError> {
        private_dir(&config.dir)?;
        if let Some(parent) = config.key_file.parent() {
            private_dir(parent)?;
        }
        let key = key(&config.key_file)?;
        let id = blake3::keyed_hash(&key, b"toolhost cache key").to_hex();
        Ok(Self {
            dir: config.dir.clone(),
            key,
            key_id: id.chars().take(8).collect(),
        })
    }

    /// Maps the artefact of a component. None where there is none, or none that can be trusted.
    pub(crate) fn load(&self, engine: &Engine, sha256: &str) -> Option<Cached> {
        let path = self.path(engine, sha256);
        match self.verified(engine, &path, sha256) {
            Ok(cached) => Some(cached),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiling again: the cached artefact is refused");
                None
            }
        }
    }

    fn verified(&self, engine: &Engine, path: &Path, sha256: &str) -> io::Result<Cached> {
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(custom(OFlags::NOFOLLOW | OFlags::NONBLOCK))
            .open(path)?;
        let metadata = file.metadata()?;
        let ours = metadata.is_file()
            && metadata.uid() == rustix::process::geteuid().as_raw()
            && metadata.mode() & 0o022 == 0;
        if !ours || metadata.len() > ARTEFACT_MAX {
            return Err(io::Error::other("not a private file of ours"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let cut = bytes.len().checked_sub(TRAILER);
        let (signed, mac) = cut
            .and_then(|_| bytes.split_last_chunk::<MAC>())
            .ok_or_else(|| io::Error::other("truncated"))?;
        if self.mac(engine, sha256, signed) != blake3::Hash::from_bytes(*mac) {
            return Err(io::Error::other("its signature does not match"));
        }
        let handlers = handlers_of(signed)?;
        Ok(Cached {
            component: map(engine, &file)?,
            handlers,
        })
    }

    /// Keeps an artefact. A cache that cannot be written is a slower start, not an error.
    pub(crate) fn store(&self, sha256: &str, component: &Component, handlers: &[HandlerSpec]) {
        if let Err(error) = self.try_store(sha256, component, handlers) {
            tracing::warn!(dir = %self.dir.display(), error = format!("{error:#}"), "cannot keep a compiled component");
        }
    }

    fn try_store(
        &self,
        sha256: &str,
        component: &Component,
        handlers: &[HandlerSpec],
    ) -> wasmtime::Result<()> {
        let engine = component.engine();
        let mut bytes = component.serialize()?;
        let answer = serde_json::to_vec(handlers).map_err(wasmtime::Error::new)?;
        bytes.extend_from_slice(&answer);
        bytes.extend_from_slice(&(answer.len() as u64).to_le_bytes());
        let mac = self.mac(engine, sha256, &bytes);
        bytes.extend_from_slice(mac.as_bytes());

        let path = self.path(engine, sha256);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|e| wasmtime::Error::msg(e.to_string()))?;
        let temporary = self
            .dir
            .join(format!(".{:016x}.tmp", u64::from_le_bytes(random)));
        let written = write_new(&temporary, &bytes, 0o400);
        let kept = written.and_then(|()| fs::rename(&temporary, &path));
        if kept.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        Ok(kept?)
    }

    fn path(&self, engine: &Engine, sha256: &str) -> PathBuf {
        let (engine, key) = (compatibility(engine), &self.key_id);
        self.dir.join(format!("{sha256}-{engine:016x}-{key}.cwasm"))
    }

    fn mac(&self, engine: &Engine, sha256: &str, signed: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(sha256.as_bytes());
        hasher.update(&compatibility(engine).to_le_bytes());
        hasher.update(signed);
        hasher.finalize()
    }
}

/// The `describe` answer: the JSON before its length, at the end of the signed bytes.
fn handlers_of(signed: &[u8]) -> io::Result<Vec<HandlerSpec>> {
    let malformed = || io::Error::other("malformed");
    let (rest, length) = signed.split_last_chunk::<8>().ok_or_else(malformed)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| malformed())?;
    let start = rest.len().checked_sub(length).ok_or_else(malformed)?;
    let answer = rest.get(start..).ok_or_else(malformed)?;
    serde_json::from_slice(answer).map_err(|_| malformed())
}

/// Maps the very file that was verified.
#[expect(
    unsafe_code,
    reason = "the bytes behind this descriptor were signed with our key, and the file is ours and read-only"
)]
fn map(engine: &Engine, file: &File) -> io::Result<Component> {
    let same = format!("/proc/self/fd/{}", file.as_raw_fd());
    unsafe { Component::deserialize_file(engine, same) }.map_err(io::Error::other)
}

/// What makes compiled code fit one engine and no other.
fn compatibility(engine: &Engine) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

fn custom(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

fn private_dir(dir: &Path) -> Result<(), CacheError> {
    let io = |source| CacheError::Io {
        path: dir.to_owned(),
        source,
    };
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io)?;
    let metadata = fs::metadata(dir).map_err(io)?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !ours || metadata.permissions().mode() & 0o022 != 0 {
        return Err(CacheError::NotPrivate(dir.to_owned()));
    }
    Ok(())
}

/// Reads the key, or makes one. Two processes that make one at the same time agree on it.
fn key(path: &Path) -> Result<[u8; blake3::KEY_LEN], CacheError> {
    let io = |source| CacheError::Io {
        path: path.to_owned(),
        source,
    };
    if !path.exists() {
        let mut fresh = [0; blake3::KEY_LEN];
        getrandom::fill(&mut fresh).map_err(|e| io(io::Error::other(e.to_string())))?;
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|e| io(io::Error::other(e.to_string())))?;
        let temporary = path.with_extension(format!("{:016x}.tmp", u64::from_le_bytes(name)));
        write_new(&temporary, &fresh, 0o600).map_err(io)?;
        // A link fails where the other process was first; its key is then read below.
        let _ = fs::hard_link(&temporary, path);
        fs::remove_file(&temporary).map_err(io)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(custom(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)
        .map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        return Err(CacheError::NotPrivate(path.to_owned()));
    }
    let mut key = [0; blake3::KEY_LEN];
    let whole = metadata.len() == key.len() as u64;
    if !whole || file.read_exact(&mut key).is_err() {
        return Err(CacheError::BadKey(path.to_owned()));
    }
    Ok(key)
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}
