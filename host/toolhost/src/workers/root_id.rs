//! The id of a state root, by which hosts and workers know that they share it.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use toolhost_contract::text;
use toolhost_files::read_or_make_key;

/// Name of the file of random bytes that an id is made of.
const NAME: &str = "root.id";

/// Bytes of the digest that are in an id.
const BYTES: usize = 16;

/// Returns the id of a state root.
///
/// # Errors
/// Where its file cannot be read or made.
pub(crate) fn root_id(state_root: &Path) -> io::Result<String> {
    let random = read_or_make_key(&state_root.join(NAME))?;
    let digest = Sha256::digest(&random[..]);
    Ok(text::hex(digest.get(..BYTES).unwrap_or_default()))
}
