//! The redactor as a layer around tool calls.

use toolhost_contract::ToolResult;

use super::contexts::ToolCallContext;
use super::pipeline::{Middleware, Next};
use futures_util::future::BoxFuture;
use toolhost_contract::Redactor;

impl Middleware<ToolCallContext> for Redactor {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { self.result(next.run(context).await) })
    }
}
