use super::record::PendingCall;
use crate::turn::TurnInner;
use std::sync::Arc;
use toolhost_contract::ToolResult;
pub(super) enum Again {
    Ended(ToolResult),
    Pending(String),
    Unanswered(ToolResult),
}
pub(super) async fn ask(_: &Arc<TurnInner>, _: &PendingCall, guest_handle: String) -> Again {
    Again::Pending(guest_handle)
}
pub(super) async fn cancel(_: &Arc<TurnInner>, _: &PendingCall, _: String) {}
