//! Searches a catalog by what its tools do: offline, in the process, with the same answer every time.
//!
//! ```text
//! text ── words ▶ words ── vocabulary ▶ terms        fields: the texts of an item, by weight
//! items ── index ▶ SearchIndex ── rank (Query) ▶ the items that fit, the best first
//! ```

mod fields;
pub(crate) mod hits;
pub(crate) mod index;
pub(crate) mod parts;
mod query;
mod rank;
pub(crate) mod ranker;
mod vocabulary;
mod words;

#[cfg(test)]
mod tests;
