//! `toolhost poll` and `toolhost cancel`: polls or cancels a pending call.

use toolhost::{ErrorCode, ToolErrorCode};

use super::caller::{self, Handles};
use crate::args::PendingArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// Polls a pending call, and prints its ToolResult.
pub(crate) async fn poll(args: &PendingArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, handle) = args.target();
    let instance = caller::open(bundle, &args.caller, Handles::Needed, settings).await?;
    let result = instance.poll(&handle).await;
    caller::print(&result, &args.caller)?;
    Ok(caller::exit(&result))
}

/// Cancels a pending call, and prints its ToolResult.
pub(crate) async fn cancel(args: &PendingArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, handle) = args.target();
    let instance = caller::open(bundle, &args.caller, Handles::Needed, settings).await?;
    let result = instance.cancel(&handle).await;
    caller::print(&result, &args.caller)?;
    let code = result.tool_error().map(|error| &error.code);
    Ok(match code {
        Some(ErrorCode::Host(ToolErrorCode::UnknownHandle | ToolErrorCode::Host)) => Exit::Refused,
        _ => Exit::Done,
    })
}
