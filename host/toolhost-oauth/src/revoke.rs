//! Revokes grants.

use std::sync::Arc;

use crate::error::OAuthError;
use crate::protocol::Failure;
use crate::resolved_app::ResolvedApp;
use crate::shared::OAuthContext;
use crate::store::{GrantKey, Unreadable};
use crate::token::Revoked;

/// Asks the server to revoke a grant, and removes it whatever the server answers.
pub(crate) async fn revoke(
    shared: Arc<OAuthContext>,
    app: ResolvedApp,
    key: GrantKey,
) -> Result<Revoked, OAuthError> {
    let _one_at_a_time = shared.lock(&key).await;
    let only_here = |reason: &str| Revoked::OnlyHere {
        reason: reason.to_owned(),
    };
    let revoked = match (shared.tables.grant(&key).await?, &app.endpoints.revocation) {
        (Ok(None), _) => Revoked::NoGrant,
        (Err(Unreadable), _) => only_here("the grant does not open with this key"),
        (Ok(Some(_)), None) => only_here("the app has no `revocationUrl`"),
        (Ok(Some(grant)), Some(endpoint)) => {
            let protocol = app.protocol(&shared.egress);
            let refresh = grant.refresh.as_ref();
            match protocol.revoke(endpoint, &grant.access, refresh).await {
                Ok(()) => Revoked::AtServer,
                Err(Failure::Unavailable { reason, .. }) => Revoked::OnlyHere { reason },
                Err(Failure::Refused { code }) => Revoked::OnlyHere {
                    reason: format!("the server refused with '{code}'"),
                },
                Err(Failure::Rejected) => only_here("the server refused the token"),
            }
        }
    };
    let tables = &shared.tables;
    tables
        .remove(&key.app, &key.subject, Some(&key.client))
        .await?;
    Ok(revoked)
}
