//! A server of rmcp, of either release: a text, data with an output schema, and an error.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{CallToolResult, InitializeResult, IntoContents as _, ServerCapabilities};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

struct Server;

#[derive(Deserialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    result: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[tool_router]
impl Server {
    #[tool(description = "Returns the text")]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Adds two integers")]
    fn add(&self, Parameters(Terms { a, b }): Parameters<Terms>) -> Json<Sum> {
        Json(Sum { result: a + b })
    }

    #[tool(description = "Fails with the text")]
    fn fail(
        &self,
        Parameters(Text { text }): Parameters<Text>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::error(text.into_contents()))
    }
}

#[tool_handler(router = Self::tool_router())]
impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let mut info = InitializeResult::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let served = Server.serve(rmcp::transport::stdio()).await?;
        served.waiting().await?;
        Ok(())
    })
}
