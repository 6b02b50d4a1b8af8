//! The redactor as a layer around calls.

use toolhost_contract::ToolResult;

use super::pipeline::{BoxFuture, Middleware, Next};
use super::{Redactor, ToolCallContext};

impl Middleware<ToolCallContext> for Redactor {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { self.result(next.run(context).await) })
    }
}
