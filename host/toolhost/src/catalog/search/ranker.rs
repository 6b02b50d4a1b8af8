//! The seam for embedders that rank tools otherwise, such as with vectors.

use futures_util::future::BoxFuture;

use super::hits::ToolHit;
use crate::catalog::ToolCatalog;

/// Ranks the tools of a catalog for a query, in the place of [`ToolCatalog::search`]: see
/// [`HostBuilder::tool_ranker`](crate::HostBuilder::tool_ranker).
///
/// The host asks it for each search of a step or a program, and passes on the hits whose tools are in the catalog and may be
/// called there. So `limit` is as many as are wanted, and as many more as may not be called. Returning none says that nothing fits. The future is dropped at the deadline of the call that searches.
///
/// ```
/// use toolhost::{BoxFuture, ToolCatalog, search::{ToolHit, ToolRanker}};
///
/// /// Ranks by words, and leaves out what scores low.
/// struct Strict;
///
/// impl ToolRanker for Strict {
///     fn rank<'a>(
///         &'a self,
///         catalog: &'a ToolCatalog,
///         query: &'a str,
///         limit: usize,
///     ) -> BoxFuture<'a, Vec<ToolHit<'a>>> {
///         Box::pin(async move {
///             let mut hits = catalog.search(query, limit);
///             hits.retain(|hit| hit.score > 5.0);
///             hits
///         })
///     }
/// }
/// ```
pub trait ToolRanker: Send + Sync + 'static {
    /// Returns the tools of `catalog` that fit `query`, the best first. `query` has at most 1 KiB.
    fn rank<'a>(
        &'a self,
        catalog: &'a ToolCatalog,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Vec<ToolHit<'a>>>;
}
