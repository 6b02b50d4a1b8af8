//! A member of an archive, without its content.

use crate::commands::dates::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    V7,
    Ustar,
    Gnu,
    /// With records of POSIX.
    Pax,
}

#[derive(Clone)]
pub(super) struct Member {
    pub(super) name: Vec<u8>,
    /// What a link leads to.
    pub(super) link: Vec<u8>,
    /// `0` a file, `1` a hard link, `2` a symbolic one, `5` a folder.
    pub(super) kind: u8,
    pub(super) mode: u32,
    pub(super) user_id: i64,
    pub(super) group_id: i64,
    pub(super) user: Vec<u8>,
    pub(super) group: Vec<u8>,
    pub(super) size: u64,
    pub(super) modified: Moment,
    pub(super) device: (i64, i64),
    pub(super) format: Format,
    pub(super) is_sparse: bool,
}

impl Member {
    /// Whether it has the time of a change more exactly than in seconds.
    pub(super) fn has_nanos(&self) -> bool {
        self.format == Format::Pax
    }
}
