//! Ids of events and correlations.

use toolhost_store::random_text;

use super::Undelivered;

/// Letters of an id: 130 random bits.
const ID_LETTERS: usize = 26;

/// Makes an id that cannot be guessed.
pub(super) fn new_id() -> Result<String, Undelivered> {
    random_text::<ID_LETTERS>().map_err(|error| Undelivered::NotStored(error.into()))
}
