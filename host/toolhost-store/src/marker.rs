//! The file in a state root whose database is elsewhere.

use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "postgres")]
use std::{fs, io::Write};

use rustix::fs::OFlags;
#[cfg(feature = "postgres")]
use toolhost_files::PrivateDir;
use toolhost_files::PrivateFile;

#[cfg(feature = "postgres")]
use crate::{error::StoreError, random::random_text};

/// Name of the file.
pub(crate) const MARKER: &str = "database";

/// Bytes that are read of it.
const MARKER_BYTES: u64 = 4_000;

/// Returns the address of the database of a state root, if it is not a file in it.
pub(crate) fn elsewhere(state_root: &Path) -> io::Result<Option<String>> {
    let mut file = match PrivateFile::open_own(&state_root.join(MARKER), OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?.take(MARKER_BYTES),
    };
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some(line(&text)))
}

/// Returns the first line of a text.
fn line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().chars();
    line.filter(|c| !c.is_control()).collect()
}

/// Refuses a state root whose database is another one than this. Returns whether it says so already.
#[cfg(feature = "postgres")]
pub(crate) fn check_marker(state_root: &Path, name: &str) -> Result<bool, StoreError> {
    let marker = state_root.join(MARKER);
    match elsewhere(state_root) {
        Ok(None) => Ok(false),
        Ok(Some(database)) if database == line(name) => Ok(true),
        Ok(Some(database)) => Err(StoreError::OtherDatabase {
            marker,
            database,
            named: line(name),
        }),
        Err(source) => Err(StoreError::Make {
            path: marker,
            source,
        }),
    }
}

/// Notes in a state root where its database is.
#[cfg(feature = "postgres")]
pub(crate) fn write_marker(state_root: &Path, name: &str) -> Result<(), StoreError> {
    if check_marker(state_root, name)? {
        return Ok(());
    }
    let made = PrivateDir::make(state_root).and_then(|_| {
        let random = random_text::<16>().map_err(|_| io::ErrorKind::Other)?;
        let fresh = state_root.join(format!("{MARKER}.{random}.new"));
        PrivateFile::make_new(&fresh)?.write_all(line(name).as_bytes())?;
        let linked = fs::hard_link(&fresh, state_root.join(MARKER));
        fs::remove_file(&fresh)?;
        linked
    });
    match made {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_marker(state_root, name).map(drop)
        }
        made => made.map_err(|source| StoreError::Make {
            path: state_root.join(MARKER),
            source,
        }),
    }
}
