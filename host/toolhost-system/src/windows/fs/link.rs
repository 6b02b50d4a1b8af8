//! Targets of symbolic links.

use std::ffi::CString;
use std::path::{Component, Path};

use crate::windows::io::{Errno, Result};

/// Returns a relative target with `/` between its names.
pub(super) fn target_of(target: &Path) -> Result<CString> {
    let is_relative =
        |part: Component<'_>| !matches!(part, Component::Prefix(_) | Component::RootDir);
    if !target.components().all(is_relative) {
        return Err(Errno::PERM);
    }
    let target = target.to_str().ok_or(Errno::ILSEQ)?.replace('\\', "/");
    CString::new(target).map_err(|_| Errno::INVAL)
}
