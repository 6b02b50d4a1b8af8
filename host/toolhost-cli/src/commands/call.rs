//! `toolhost call`: calls a tool and prints its ToolResult.

use toolhost::{ErrorCode, ToolCall, ToolErrorCode, ToolResult, ToolStatus};

use super::caller::{self, Handles};
use crate::args::CallArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// Id of the call.
const CALL_ID: &str = "call_1";

/// Calls a tool.
pub(crate) async fn call(args: &CallArgs, settings: &Settings) -> Result<Exit, Failure> {
    let target = args.target()?;
    let input = args.args.read().await?;
    let instance = caller::open(target.bundle, &args.caller, Handles::Returned, settings).await?;
    let turn = instance.open_turn("turn").await.map_err(Failure::of)?;
    let step = turn.open_step().await.map_err(Failure::of)?;
    let call = ToolCall::new(CALL_ID, target.tool.as_ref(), input);
    let result = step.execute_without_message(call).await;
    caller::print(&result, &args.caller)?;
    let bundle = target.bundle.display();
    if is_not_in_catalog(&result) {
        let meant = step.catalog().closest(target.tool.as_ref());
        let meant = meant.map_or_else(String::new, |name| format!("did you mean '{name}'? "));
        settings.note(&format!("{meant}`toolhost list {bundle}` lists the tools"));
    }
    if result.status() == ToolStatus::Pending {
        let handle = result.handle().unwrap_or_default();
        settings.note(&if settings.dirs.state_root.is_some() {
            format!("`toolhost poll {bundle} {handle}` polls for the result; pass the same --agent, --instance and --workdir")
        } else {
            "the handle is lost: pass --state-root DIR to keep it".to_owned()
        });
    }
    step.close(()).await.map_err(Failure::of)?;
    turn.close(()).await.map_err(Failure::of)?;
    Ok(caller::exit(&result))
}

fn is_not_in_catalog(result: &ToolResult) -> bool {
    let code = result.tool_error().map(|error| &error.code);
    matches!(code, Some(ErrorCode::Host(ToolErrorCode::NotInCatalog)))
}
