//! BLAKE3 of large inputs on two threads. The result is that of [`blake3::Hasher`].
//!
//! BLAKE3 is a tree, so that parts of the input are hashed apart and merged in the end. The crate's own
//! `update_rayon` needs the whole input in memory, and an artifact is hashed while it is read.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{io, thread};

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use blake3::{Hash, Hasher, KEY_LEN};

/// Bytes of an input from which a second thread hashes: to start one takes about as long as to hash a
/// quarter of this.
const LARGE: u64 = 1 << 20;

/// Bytes that are hashed at once: a power of two, so that parts are subtrees.
const PART: u64 = 256 << 10;

/// Bytes of a file that are read at once.
const READ: usize = 64 << 10;

/// What is hashed.
pub(super) trait Input: Sync {
    fn size(&self) -> u64;

    /// Adds a range of it to a hasher.
    ///
    /// # Errors
    /// It cannot be read.
    fn add_to(&self, hasher: &mut Hasher, range: Range<u64>) -> io::Result<()>;
}

impl Input for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn add_to(&self, hasher: &mut Hasher, range: Range<u64>) -> io::Result<()> {
        let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = self.get(index(range.start)..index(range.end));
        hasher.update(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// The first `len` bytes of a file, and bytes that follow them.
pub(super) struct FileAnd<'a> {
    pub(super) file: &'a File,
    pub(super) len: u64,
    pub(super) end: &'a [u8],
}

impl Input for FileAnd<'_> {
    fn size(&self) -> u64 {
        self.len + self.end.len() as u64
    }

    fn add_to(&self, hasher: &mut Hasher, range: Range<u64>) -> io::Result<()> {
        let mut buffer = [0; READ];
        let mut at = range.start;
        while at < range.end.min(self.len) {
            let left = range.end.min(self.len) - at;
            let (bytes, _) = buffer.split_at_mut(usize::try_from(left).unwrap_or(READ).min(READ));
            self.file.read_exact_at(bytes, at)?;
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        let within = |at: u64| at.saturating_sub(self.len);
        self.end
            .add_to(hasher, within(range.start)..within(range.end))
    }
}

/// Hashes an input with a key, or without one.
///
/// # Errors
/// It cannot be read.
pub(super) fn hash(input: &(impl Input + ?Sized), key: Option<&[u8; KEY_LEN]>) -> io::Result<Hash> {
    let hasher = || key.map_or_else(Hasher::new, Hasher::new_keyed);
    let len = input.size();
    if len < LARGE {
        let mut hasher = hasher();
        input.add_to(&mut hasher, 0..len)?;
        return Ok(hasher.finalize());
    }
    let part = |number: u64| {
        let start = number * PART;
        let mut hasher = hasher();
        hasher.set_input_offset(start);
        input.add_to(&mut hasher, start..len.min(start + PART))?;
        Ok(hasher.finalize_non_root())
    };
    let values = on_two_threads(len.div_ceil(PART), part)?;
    let mode = key.map_or(Mode::Hash, Mode::KeyedHash);
    let (left, right) = halves(&values);
    Ok(merge_subtrees_root(
        &merged(left, mode),
        &merged(right, mode),
        mode,
    ))
}

/// Returns the values of all parts, in order. Each of the two threads takes the next part, so that neither
/// waits long for the other.
fn on_two_threads(
    parts: u64,
    part: impl Fn(u64) -> io::Result<ChainingValue> + Sync,
) -> io::Result<Vec<ChainingValue>> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut values = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= parts {
                return Ok(values);
            }
            values.push((number, part(number)?));
        }
    };
    let mut values = thread::scope(|scope| {
        // Where no thread can be started, this one takes all parts.
        let other = thread::Builder::new().spawn_scoped(scope, work).ok();
        let mut values: Vec<(u64, ChainingValue)> = work()?;
        if let Some(other) = other {
            let others: io::Result<_> = other
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            values.extend(others?);
        }
        io::Result::Ok(values)
    })?;
    values.sort_unstable_by_key(|(number, _)| *number);
    Ok(values.into_iter().map(|(_, value)| value).collect())
}

/// Splits at least two subtrees where BLAKE3's tree does.
fn halves(values: &[ChainingValue]) -> (&[ChainingValue], &[ChainingValue]) {
    values.split_at(values.len().div_ceil(2).next_power_of_two())
}

fn merged(values: &[ChainingValue], mode: Mode<'_>) -> ChainingValue {
    if let [value] = values {
        return *value;
    }
    let (left, right) = halves(values);
    merge_subtrees_non_root(&merged(left, mode), &merged(right, mode), mode)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{FileAnd, LARGE, PART, hash};

    /// Lengths around the limits of parts and of the tree.
    fn lengths() -> Vec<usize> {
        let (large, part) = (LARGE as usize, PART as usize);
        let around = |at: usize| [at - 1, at, at + 1];
        let parts = [4, 5, 6, 7, 8, 9, 13].map(|parts| around(parts * part));
        let mut lengths: Vec<usize> = parts.into_iter().flatten().collect();
        lengths.extend([0, 1, 1_024, large - 1, 3 * large + 777]);
        lengths
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 31 / 7 % 251) as u8).collect()
    }

    #[test]
    fn the_hash_of_bytes_is_that_of_blake3() {
        for len in lengths() {
            let bytes = bytes(len);
            let expected = blake3::hash(&bytes);
            assert_eq!(hash(bytes.as_slice(), None).unwrap(), expected, "{len}");
        }
    }

    #[test]
    fn the_hash_of_a_file_is_that_of_blake3_with_the_key() {
        let key = [7; blake3::KEY_LEN];
        for len in lengths() {
            for end in [0, 72] {
                let bytes = bytes(len + end);
                let (content, end) = bytes.split_at(len);
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(content).unwrap();
                // Not part of the input.
                file.write_all(b"more").unwrap();
                let input = FileAnd {
                    file: &file,
                    len: len as u64,
                    end,
                };
                let expected = blake3::keyed_hash(&key, &bytes);
                assert_eq!(hash(&input, Some(&key)).unwrap(), expected, "{len}");
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_short_cannot_be_hashed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes(2 << 20)).unwrap();
        let input = FileAnd {
            file: &file,
            len: 3 << 20,
            end: b"",
        };
        let error = hash(&input, None).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
}
