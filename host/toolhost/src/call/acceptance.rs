//! Ends the run of a handler, whose answer may be a handle for a later result.

use toolhost_contract::AssistantMessage;

use super::component::{self, EndedRun};
use super::run::{Answer, RunEnd};
use super::scope::CallScope;
use crate::middleware::CallIdentity;

/// Ends the run of a handler. If it answered `pending`, stores its handle first, and returns the host's handle
/// for it: a call whose handle cannot be stored has failed, and its changes are not committed. If the call
/// fails after it answered, the component's work is cancelled: the model would make the call again.
///
/// Spec: tool-spec-v2 §10.2.
pub(super) async fn finish(
    scope: &CallScope,
    identity: &CallIdentity,
    message: &AssistantMessage,
    mut ended: EndedRun<'_>,
) -> RunEnd {
    ended.refuse_unpollable();
    let guest_handle = match &ended.end.answer {
        Ok(Answer::Pending(handle)) => handle.clone(),
        Ok(Answer::Output(_) | Answer::Held(..)) | Err(_) => return ended.finish(None).await,
    };
    let turn = &scope.turn;
    let (pending, owner) = (turn.pending(), turn.instance.owner());
    let call = turn.pending_call(identity, message);
    let background = scope.handle();
    let accepted = pending.accept_guest(
        owner.clone(),
        call.clone(),
        guest_handle.clone(),
        background,
    );
    let accepted = match accepted.await {
        Ok(handle) => Some(handle),
        Err(error) => {
            ended.end.answer = Err(error);
            None
        }
    };
    let mut end = ended.finish(accepted.clone()).await;
    // If the host is killed before, it is not known what became of the changes: the call is interrupted.
    if let (Ok(Answer::Pending(_)), Some(handle)) = (&end.answer, background) {
        let waits = pending.wait_for_guest(handle, guest_handle.clone()).await;
        end.answer = waits.and(end.answer);
    }
    match (&end.answer, accepted) {
        // It is the same handle.
        (Ok(Answer::Held(..)), _) => {}
        (Ok(_), Some(handle)) => {
            end.answer = Ok(Answer::Pending(handle.as_str().to_owned()));
        }
        (Ok(_) | Err(_), accepted) => {
            // The record of a call in the background ends with its result.
            if let (Some(handle), None) = (accepted, background) {
                pending.withdraw(&handle, &owner).await;
            }
            // Boxed: it is rare, and the future of a run is large.
            Box::pin(component::cancel(turn, &call, guest_handle)).await;
        }
    }
    end
}
