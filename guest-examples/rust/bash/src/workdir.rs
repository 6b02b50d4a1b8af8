//! Reads of the workdir by the functions of the host, where those of std call it several times.
//!
//! std asks for the number of every entry that it lists and of every file whose status it reads, and the host
//! opens the file for each. Where a function here returns `None`, std tells why.

pub(crate) use system::{list, read, status};

/// The type of an entry, and what else the host tells with it.
pub(crate) struct Found {
    pub(crate) file_type: bashkit::FileType,
    pub(crate) size: u64,
    pub(crate) modified: std::time::SystemTime,
}

#[cfg(target_family = "wasm")]
mod system {
    use std::ffi::c_void;
    use std::mem::MaybeUninit;
    use std::path::Path;
    use std::slice;
    use std::sync::OnceLock;
    use std::time::{Duration, SystemTime};

    use bashkit::FileType;

    use super::Found;

    /// The most that the host reads at once.
    const CHUNK: u64 = 64 << 10;

    const FOLLOW: u8 = 1;
    const DIRECTORY: u8 = 1 << 1;
    const READ: u8 = 1;

    #[repr(C)]
    struct Bytes {
        data: *const u8,
        length: usize,
    }

    #[repr(C)]
    struct Preopen {
        dir: i32,
        path: Bytes,
    }

    #[repr(C)]
    struct Preopens {
        first: *const Preopen,
        count: usize,
    }

    #[repr(C)]
    struct Part {
        bytes: Bytes,
        is_end: bool,
    }

    #[repr(C)]
    struct Entry {
        kind: u8,
        name: Bytes,
    }

    #[repr(C)]
    struct NextEntry {
        is_some: bool,
        entry: Entry,
    }

    #[repr(C)]
    struct Moment {
        is_some: bool,
        seconds: u64,
        nanoseconds: u32,
    }

    #[repr(C)]
    struct Status {
        kind: u8,
        links: u64,
        size: u64,
        accessed: Moment,
        modified: Moment,
        changed: Moment,
    }

    // The bindings of the C library that std uses. A function returns whether it has succeeded.
    unsafe extern "C" {
        fn filesystem_preopens_get_directories(found: *mut Preopens);
        fn filesystem_method_descriptor_open_at(
            dir: i32,
            follow: u8,
            path: *const Bytes,
            how: u8,
            access: u8,
            opened: *mut i32,
            error: *mut u8,
        ) -> bool;
        fn filesystem_method_descriptor_stat_at(
            dir: i32,
            follow: u8,
            path: *const Bytes,
            status: *mut Status,
            error: *mut u8,
        ) -> bool;
        fn filesystem_method_descriptor_read(
            file: i32,
            length: u64,
            offset: u64,
            part: *mut Part,
            error: *mut u8,
        ) -> bool;
        fn filesystem_method_descriptor_read_directory(
            dir: i32,
            stream: *mut i32,
            error: *mut u8,
        ) -> bool;
        fn filesystem_method_directory_entry_stream_read_directory_entry(
            stream: i32,
            next: *mut NextEntry,
            error: *mut u8,
        ) -> bool;
        fn filesystem_descriptor_drop_own(handle: i32);
        fn filesystem_directory_entry_stream_drop_own(handle: i32);
        fn free(data: *mut c_void);
    }

    /// Returns what a function writes if it succeeds.
    fn written<T>(call: impl FnOnce(*mut T, *mut u8) -> bool) -> Option<T> {
        let (mut value, mut error) = (MaybeUninit::<T>::zeroed(), 0);
        // SAFETY: the function has written the value, of numbers and pointers whose zeros are valid as well.
        call(value.as_mut_ptr(), &raw mut error).then(|| unsafe { value.assume_init() })
    }

    /// The handle of the workdir.
    fn root() -> Option<i32> {
        static ROOT: OnceLock<Option<i32>> = OnceLock::new();
        *ROOT.get_or_init(|| {
            let found = written(|found, _| {
                // SAFETY: the pointer is valid for a write.
                unsafe { filesystem_preopens_get_directories(found) };
                true
            })?;
            let found: Preopens = found;
            // SAFETY: the host has written so many elements, unless there are none.
            (found.count > 0).then(|| unsafe { (*found.first).dir })
        })
    }

    /// The path from the workdir, for the host.
    fn beneath(path: &Path) -> Option<Bytes> {
        let path = path.to_str()?.trim_start_matches('/');
        let path = if path.is_empty() { "." } else { path };
        Some(Bytes {
            data: path.as_ptr(),
            length: path.len(),
        })
    }

    /// Has a function use what the host has allocated, and frees it.
    fn with_bytes<T>(bytes: &Bytes, using: impl FnOnce(&[u8]) -> T) -> T {
        if bytes.length == 0 {
            return using(&[]);
        }
        // SAFETY: the host has written so many bytes, into memory of the C library that nothing else refers to.
        let value = using(unsafe { slice::from_raw_parts(bytes.data, bytes.length) });
        // SAFETY: it is freed once, and no borrow of it is left.
        unsafe { free(bytes.data.cast_mut().cast()) };
        value
    }

    /// An open file or folder.
    struct Open(i32);

    impl Drop for Open {
        fn drop(&mut self) {
            // SAFETY: the handle is this value's.
            unsafe { filesystem_descriptor_drop_own(self.0) };
        }
    }

    fn open(path: &Path, follow: u8, how: u8) -> Option<Open> {
        let (root, path) = (root()?, beneath(path)?);
        // SAFETY: the pointers are valid during the call.
        let opened = written(|opened, error| unsafe {
            filesystem_method_descriptor_open_at(
                root,
                follow,
                &raw const path,
                how,
                READ,
                opened,
                error,
            )
        });
        opened.map(Open)
    }

    /// Reads a whole file. A link is followed.
    pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
        let file = open(path, FOLLOW, 0)?;
        let mut bytes = Vec::new();
        loop {
            let at = bytes.len() as u64;
            // SAFETY: as above.
            let part: Part = written(|part, error| unsafe {
                filesystem_method_descriptor_read(file.0, CHUNK, at, part, error)
            })?;
            with_bytes(&part.bytes, |read| bytes.extend_from_slice(read));
            if part.is_end || part.bytes.length == 0 {
                return Some(bytes);
            }
        }
    }

    /// Lists the names in a folder and what each is, in no order. A link is not followed.
    pub(crate) fn list(path: &Path) -> Option<Vec<(String, FileType)>> {
        let dir = open(path, 0, DIRECTORY)?;
        // SAFETY: as above.
        let stream = written(|stream, error| unsafe {
            filesystem_method_descriptor_read_directory(dir.0, stream, error)
        })?;
        let stream = Stream(stream);
        let mut names = Vec::new();
        loop {
            // SAFETY: as above.
            let next: NextEntry = written(|next, error| unsafe {
                filesystem_method_directory_entry_stream_read_directory_entry(stream.0, next, error)
            })?;
            if !next.is_some {
                return Some(names);
            }
            let name = with_bytes(&next.entry.name, |name| {
                String::from_utf8_lossy(name).into_owned()
            });
            names.push((name, file_type(next.entry.kind)));
        }
    }

    /// A listing that was begun.
    struct Stream(i32);

    impl Drop for Stream {
        fn drop(&mut self) {
            // SAFETY: the handle is this value's.
            unsafe { filesystem_directory_entry_stream_drop_own(self.0) };
        }
    }

    /// Tells what is at a path; a link is not followed.
    pub(crate) fn status(path: &Path) -> Option<Found> {
        let (root, path) = (root()?, beneath(path)?);
        // SAFETY: as above.
        let status: Status = written(|status, error| unsafe {
            filesystem_method_descriptor_stat_at(root, 0, &raw const path, status, error)
        })?;
        let since = Duration::new(status.modified.seconds, status.modified.nanoseconds);
        let modified = if status.modified.is_some {
            SystemTime::UNIX_EPOCH.checked_add(since)?
        } else {
            SystemTime::UNIX_EPOCH
        };
        Some(Found {
            file_type: file_type(status.kind),
            size: status.size,
            modified,
        })
    }

    fn file_type(kind: u8) -> FileType {
        match kind {
            3 => FileType::Directory,
            5 => FileType::Symlink,
            _ => FileType::File,
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod system {
    use std::path::Path;

    use bashkit::FileType;

    use super::Found;

    pub(crate) fn read(_: &Path) -> Option<Vec<u8>> {
        None
    }

    pub(crate) fn list(_: &Path) -> Option<Vec<(String, FileType)>> {
        None
    }

    pub(crate) fn status(_: &Path) -> Option<Found> {
        None
    }
}
