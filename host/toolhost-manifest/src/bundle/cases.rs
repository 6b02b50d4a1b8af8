//! Finds the case files of a bundle, to protect them against changes by guests: `toolhost test` reads them, and
//! believes what they expect.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use toolhost_contract::{CASES_FOLDER, Protected};
use toolhost_files::resolve::{Folder, name_beneath, resolve, take_step};
use toolhost_files::{Links, ReadError};

/// Adds the case files of the manifests in a folder of a bundle, and where others would be read. If they cannot
/// be looked up, no name can be created, moved or removed in their folder.
///
/// # Errors
/// [`ReadError::TooFar`] if no more steps are left.
pub(super) fn protect(
    dir: &Dir,
    bundle: &Path,
    protected: &mut Protected,
    steps: &mut usize,
) -> Result<(), ReadError> {
    let mut find = |path: &Path, protected: &mut Protected| match resolve(
        dir,
        path,
        Links::Follow,
        protected,
        steps,
    ) {
        Err(error @ ReadError::TooFar) => Err(error),
        // A folder that cannot be resolved, such as a link out of the bundle, is not read either.
        folder => Ok(folder.ok()),
    };
    let Some(bundle) = find(bundle, protected)? else {
        return Ok(());
    };
    protected.add_bundle_dir(bundle.id);
    let path = bundle.path.join(CASES_FOLDER);
    if dir.symlink_metadata(&path).is_err() {
        return Ok(());
    }
    let Some(top) = find(&path, protected)? else {
        return Ok(());
    };
    protected.add_cases(top.id);
    let looked = folders(dir, &top, steps).and_then(|folders| {
        for path in folders {
            let Ok(folder) = resolve(dir, &path, Links::Follow, protected, steps) else {
                continue;
            };
            protected.add_cases_beneath(folder.id);
            files(dir, &folder, protected, steps)?;
        }
        files(dir, &top, protected, steps)
    });
    if let Err(error) = looked {
        tracing::warn!(path = %path.display(), %error, "case files could not be looked up: no tool can change their folder");
        protected.close(top.id);
    }
    Ok(())
}

/// Returns the paths of the folders and links in a folder.
fn folders(dir: &Dir, top: &Folder, steps: &mut usize) -> Result<Vec<PathBuf>, ReadError> {
    let mut folders = Vec::new();
    for entry in dir.read_dir(&top.path)? {
        take_step(steps)?;
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            folders.push(top.path.join(entry.file_name()));
        }
    }
    Ok(folders)
}

/// Adds the YAML files of a folder.
fn files(
    dir: &Dir,
    folder: &Folder,
    protected: &mut Protected,
    steps: &mut usize,
) -> Result<(), ReadError> {
    let Ok(entries) = dir.read_dir(&folder.path) else {
        return Ok(());
    };
    for entry in entries {
        take_step(steps)?;
        let name = entry?.file_name();
        let extension = Path::new(&name).extension().and_then(|it| it.to_str());
        let extension = extension.map(str::to_lowercase);
        if matches!(extension.as_deref(), Some("yaml" | "yml")) {
            // It may be removed meanwhile.
            let _ = name_beneath(dir, folder, &name, protected, steps);
        }
    }
    Ok(())
}
