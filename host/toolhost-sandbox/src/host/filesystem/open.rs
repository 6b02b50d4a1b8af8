//! Opens a path for a guest: finds the file and checks it, before it is opened or changed.

use std::fs::File;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_contract::NameChange;

use super::beneath::open_beneath;
use super::budget::OpenSlot;
use super::context::Filesystem;
use super::descriptor::Descriptor;
use super::error::{FsError, FsResult};
use super::file::{FileAccess, OpenFile};
use super::found::Found;
use crate::host::bindings::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use crate::workdir::{WorkdirFile, file_id};
use toolhost_files::platform::{has_proc, open_again};

/// Maximum attempts while other processes create and remove the file.
const ATTEMPTS_MAX: usize = 8;

/// Flags of each open. `O_NONBLOCK`: opening must not wait, should the file have been replaced by a FIFO.
const OPEN_FLAGS: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Maximum dangling symlinks followed to create a file: the kernel's own limit.
const LINKS_MAX: usize = 40;

/// Returns `O_NOFOLLOW` unless a path's last symlink is followed.
pub(super) fn follow(flags: PathFlags) -> OFlags {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    }
}

/// What a guest asks to open.
struct OpenRequest<'a> {
    path: &'a str,
    follow: OFlags,
    how: OpenFlags,
    access: FileAccess,
}

impl OpenRequest<'_> {
    /// Whether the file must not exist yet.
    fn is_exclusive(&self) -> bool {
        self.how.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE)
    }

    /// The system's flags for a regular file, without O_TRUNC: the file is checked before it changes.
    fn system_flags(&self) -> OFlags {
        let access = match (self.access.read, self.access.write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        access | OPEN_FLAGS
    }
}

impl Filesystem {
    /// Opens a file or directory, and creates the file if the guest asks for that.
    pub(super) fn open(
        &self,
        dir: &Dir,
        path_flags: PathFlags,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Descriptor> {
        // With O_SYNC each write would wait for the disk, with the file's size locked. A guest can
        // sync after writing.
        let sync = DescriptorFlags::FILE_INTEGRITY_SYNC | DescriptorFlags::DATA_INTEGRITY_SYNC;
        if flags.intersects(sync) {
            return Err(Errno::NOTSUP.into());
        }
        let request = OpenRequest {
            path,
            follow: follow(path_flags),
            how,
            access: FileAccess {
                read: flags.contains(DescriptorFlags::READ),
                write: flags.contains(DescriptorFlags::WRITE),
                read_sync: flags.contains(DescriptorFlags::REQUESTED_WRITE_SYNC),
            },
        };
        let creates = how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let truncates = how.contains(OpenFlags::TRUNCATE);
        let writes = request.access.write;
        if (how.contains(OpenFlags::DIRECTORY) && (creates || truncates)) || (truncates && !writes)
        {
            return Err(Errno::INVAL.into());
        }
        if writes || creates {
            self.check_writable()?;
        }
        let slot = self.budget.open_slot()?;
        for _ in 0..ATTEMPTS_MAX {
            let found = if request.is_exclusive() {
                None
            } else {
                self.find_existing(dir, &request)?
            };
            if let Some(found) = found {
                return self.open_found(dir, &request, found, slot);
            }
            if let Some(file) = self.create(dir, &request)? {
                let metadata = Metadata::from_file(&file)?;
                let file = WorkdirFile::Own(file);
                let file = self.open_file(file, &metadata, request.access, slot)?;
                return Ok(Descriptor::File(Arc::new(file)));
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Opens the file or directory that was found.
    fn open_found(
        &self,
        dir: &Dir,
        request: &OpenRequest<'_>,
        found: Found,
        slot: OpenSlot,
    ) -> FsResult<Descriptor> {
        let metadata = &found.metadata;
        if metadata.is_dir() {
            if request.access.write {
                return Err(Errno::ISDIR.into());
            }
            return Ok(Descriptor::Dir {
                dir: Arc::new(Dir::from_std_file(found.handle)),
                _slot: Some(slot),
            });
        }
        if metadata.is_symlink() {
            return Err(Errno::LOOP.into());
        }
        // A FIFO is not opened even for a moment: that would wake up a process at its other end.
        if !metadata.is_file() {
            return Err(Errno::PERM.into());
        }
        if request.access.write {
            self.check_path_unprotected(request.path, &found)?;
        }
        let file = self.reopen(dir, request, &found)?;
        if request.access.write {
            self.record_opened(&found.handle);
        }
        let file = self.open_file(file, metadata, request.access, slot)?;
        if request.how.contains(OpenFlags::TRUNCATE) && metadata.len() > 0 {
            file.set_size(0)?;
        }
        Ok(Descriptor::File(Arc::new(file)))
    }

    /// Creates a file, also at the target of a dangling symlink. None if it exists by now.
    fn create(&self, dir: &Dir, request: &OpenRequest<'_>) -> FsResult<Option<File>> {
        let mut path = request.path.to_owned();
        for _ in 0..LINKS_MAX {
            let entry = self.entry_to_change(dir, &path)?;
            self.check_name(&entry, NameChange::File)?;
            let created = self
                .budget
                .create(|| entry.create_file(request.system_flags()));
            match created {
                Err(Errno::EXIST) if !request.is_exclusive() => {
                    let target = entry.read_link().ok();
                    let target = target.and_then(|target| String::from_utf8(target).ok());
                    match target {
                        Some(target) if request.follow.is_empty() => {
                            path = entry.target_path(target);
                        }
                        _ => return Ok(None),
                    }
                }
                created => {
                    let created = created?;
                    self.record_created(&entry);
                    return Ok(Some(created));
                }
            }
        }
        Err(Errno::LOOP.into())
    }

    fn open_file(
        &self,
        file: WorkdirFile,
        metadata: &Metadata,
        access: FileAccess,
        slot: OpenSlot,
    ) -> FsResult<OpenFile> {
        let id = self.identity(metadata)?;
        Ok(OpenFile::new(file, id, access, self.budget.clone(), slot)?)
    }

    /// Finds an existing file. None if it does not exist and is to be created.
    fn find_existing(&self, dir: &Dir, request: &OpenRequest<'_>) -> FsResult<Option<Found>> {
        let mut flags = request.follow;
        if request.how.contains(OpenFlags::DIRECTORY) {
            flags |= OFlags::DIRECTORY;
        }
        let found = if request.access.write {
            self.find_to_change(dir, request.path, flags)
        } else {
            self.find(dir, request.path, flags)
        };
        match found {
            Err(FsError::Errno(Errno::NOENT)) if request.how.contains(OpenFlags::CREATE) => {
                Ok(None)
            }
            found => Ok(Some(found?)),
        }
    }

    /// Opens the very file that was found. A transaction opens a file of the workdir for reading only.
    fn reopen(&self, dir: &Dir, request: &OpenRequest<'_>, found: &Found) -> FsResult<WorkdirFile> {
        let opened = reopen(dir, request, found, request.system_flags())?;
        let Some(overlay) = self.overlay() else {
            return Ok(WorkdirFile::Own(opened));
        };
        let place = found.merged.as_ref();
        let is_staged = place.is_some_and(|place| place.is_staged);
        let writes = request.access.write;
        let opened = if writes && !is_staged {
            reopen(dir, request, found, OFlags::RDONLY | OPEN_FLAGS)?
        } else {
            opened
        };
        let home = place
            .filter(|_| writes)
            .and_then(|place| place.home.clone());
        let is_kernels = place.is_none() && overlay.is_root(dir);
        let given = is_kernels.then_some(request.path);
        let metadata = &found.metadata;
        Ok(overlay.opened(opened, metadata, is_staged, home, writes, given)?)
    }
}

/// Opens the very file that was found.
fn reopen(dir: &Dir, request: &OpenRequest<'_>, found: &Found, flags: OFlags) -> FsResult<File> {
    // Of a transaction, the path may lead to what the transaction has changed.
    if has_proc() || found.merged.is_some() {
        return Ok(open_again(&found.handle, flags)?.into());
    }
    // The path is resolved again, and may lead to another file by now.
    let file = open_beneath(dir, request.path, flags | request.follow)?;
    if file_id(&Metadata::from_file(&file)?) != file_id(&found.metadata) {
        return Err(Errno::AGAIN.into());
    }
    Ok(file)
}
