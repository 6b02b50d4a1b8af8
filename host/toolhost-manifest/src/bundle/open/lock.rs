//! Reads the lock beside the manifest.

use std::path::Path;

use toolhost_contract::ToolErrorCode;

use super::OpenBundle;
use crate::bundle::manifests::shown;
use crate::diagnostic::{Diagnostic, Place};
use crate::lock::{LOCK, LOCK_BYTES_MAX, Lock, LockError};

impl OpenBundle {
    /// Reads `toolhost.lock` beside the manifest. Returns `None` only where nothing has its name.
    ///
    /// # Errors
    /// A finding, if the lock cannot be read.
    pub fn read_lock(&self) -> Result<Option<Lock>, Box<Diagnostic>> {
        let unusable = |reason: String| {
            let path = shown(&self.dir_path.join(LOCK));
            let message = format!("the lock {path} cannot be used: {reason}");
            let finding = Diagnostic::error(ToolErrorCode::ConfigLock, Place::file(&path), message);
            Box::new(finding.with_help(LockError::HELP))
        };
        let read = self.folder.read_optional(Path::new(LOCK), LOCK_BYTES_MAX);
        let Some(bytes) = read.map_err(|error| unusable(error.to_string()))? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|error| unusable(error.to_string()))?;
        let lock = Lock::parse(&text).map_err(|error| unusable(error.to_string()))?;
        Ok(Some(lock))
    }
}
