//! What a search finds, and the search of a catalog.

use toolhost_contract::ToolCatalogItem;

use super::fields::start;
use super::index::SearchIndex;
use super::parts::SearchPart;
use crate::catalog::ToolCatalog;

/// Bytes read of a query.
const QUERY_BYTES: usize = 1 << 10;

/// Most tools that a search returns.
pub(crate) const HITS_MAX: usize = 50;

/// A tool that fits a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolHit<'c> {
    /// The tool.
    pub item: &'c ToolCatalogItem,
    /// How well it fits: more is better. Comparable within the hits of one query alone; above 1,000 for a tool that the
    /// query names.
    pub score: f32,
}

/// Returns the part of a query that is read.
pub(crate) fn bounded_query(query: &str) -> &str {
    start(query, QUERY_BYTES)
}

impl ToolCatalog {
    /// Returns the tools that fit a query, the best first: at most `limit`, and at most 50. None fits where the query
    /// has no answer.
    ///
    /// The query is read to 1 KiB: a few words, a request as a person writes it, or the name of a tool, which is then
    /// the first hit. It is compared with names, descriptions, and the names and descriptions of parameters, offline:
    /// the same catalog gives the same hits on every machine. `docs/search.md` says how.
    ///
    /// The first search of a catalog reads all of it, which takes some 30 µs for each tool; clones share what it has
    /// read. A catalog that nobody searches costs nothing.
    ///
    /// ```no_run
    /// # fn example(step: &toolhost::Step) {
    /// for hit in step.catalog().search("turn a csv table into json", 5) {
    ///     println!("{} ({:.1})", hit.item.name, hit.score);
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<ToolHit<'_>> {
        self.search_among(query, limit, |_| true)
    }

    /// Searches the tools that are admitted, as [`Self::search`] does all.
    #[doc(hidden)]
    #[must_use]
    pub fn search_among(
        &self,
        query: &str,
        limit: usize,
        admits: impl Fn(&ToolCatalogItem) -> bool,
    ) -> Vec<ToolHit<'_>> {
        let (query, limit) = (bounded_query(query), limit.min(HITS_MAX));
        let admits = |at| self.items().get(at).is_some_and(&admits);
        let ranked = self.search_index().search(query, limit, admits);
        let hit = |(at, score)| {
            let item = self.items().get(at)?;
            Some(ToolHit { item, score })
        };
        ranked.into_iter().filter_map(hit).collect()
    }

    /// Returns a catalog whose searches leave out a part of the ranker: for measuring what it is worth.
    #[doc(hidden)]
    #[must_use]
    pub fn without_search_part(&self, part: SearchPart) -> Self {
        let parts = self.search_index().parts_without(part);
        Self::with_index(self.items().to_vec(), SearchIndex::new(self.items(), parts))
    }
}
