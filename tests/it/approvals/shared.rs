//! Hosts on several machines that share their state in PostgreSQL.

use tokio::task::JoinSet;
use toolhost_store::testing;

use super::*;

/// Two machines with the same bundle, each with a state root of its own.
struct Fleet {
    site: Site,
    schema: &'static str,
}

impl Fleet {
    async fn host(&self, state_root: &str, policy: &str) -> Running {
        let database = testing::server().unwrap().database(self.schema);
        let host = self
            .site
            .builder(policy)
            .state_root(self.site.path(state_root));
        self.site.start_with(host.database(database)).await
    }
}

fn fleet(schema: &'static str) -> Option<Fleet> {
    testing::server()?;
    Some(Fleet {
        site: Site::new(),
        schema,
    })
}

#[tokio::test]
async fn a_background_call_of_one_host_is_polled_through_another() {
    let Some(fleet) = fleet("background") else {
        return;
    };
    let (one, other) = (
        fleet.host("one", "strict: false").await,
        fleet.host("other", "strict: false").await,
    );
    let call = tool_call_of("c1", "files__write", write("a.txt"));
    let message = toolhost::AssistantMessage::for_call(&call);
    let accepted = one.step.submit(call, &message).await;
    let result = ended(&other.instance, accepted.handle().unwrap()).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert_eq!(fleet.site.work("a.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn of_twenty_decisions_on_two_hosts_one_counts_and_the_host_with_the_changes_commits_them() {
    let Some(fleet) = fleet("decided") else {
        return;
    };
    let policy = "tools: {files: {ask: effects}}";
    let (one, other) = (
        fleet.host("one", policy).await,
        fleet.host("other", policy).await,
    );
    let handle = one.held("files__write", write("a.txt"), "workdir").await;
    let id = other.waiting().await.id;
    let mut decisions = JoinSet::new();
    for n in 0..20 {
        let doors = if n % 2 == 0 {
            one.approvals()
        } else {
            other.approvals()
        };
        let id = id.clone();
        decisions.spawn(async move {
            let decided = doors.approve(&id, &format!("person {n}"), None).await;
            match decided {
                Ok(_) => true,
                Err(ApprovalError::Decided { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        });
    }
    let counted = decisions
        .join_all()
        .await
        .into_iter()
        .filter(|counts| *counts);
    assert_eq!(counted.count(), 1);
    // The other machine has no staged changes to commit.
    let polled = other.instance.poll(&handle).await;
    assert!(
        matches!(polled.status(), ToolStatus::Pending | ToolStatus::Ok),
        "{polled:?}"
    );
    assert_eq!(ended(&one.instance, &handle).await.tool_error(), None);
    assert_eq!(fleet.site.work("a.txt").as_deref(), Some("new\n"));
    assert_eq!(
        ended(&other.instance, &handle).await.status(),
        ToolStatus::Ok
    );
}

#[tokio::test]
async fn a_state_root_whose_state_is_elsewhere_is_not_read_without_the_policy() {
    let Some(fleet) = fleet("elsewhere") else {
        return;
    };
    let running = fleet.host("one", "tools: {files: {ask: always}}").await;
    running.held("files__write", write("a.txt"), "call").await;
    let root = fleet.site.path("one");
    let error = Approvals::open(&root).unwrap_err();
    let error = with_causes(&error);
    assert!(
        error.contains("is in postgres://toolhost@127.0.0.1:"),
        "{error}"
    );
    assert!(
        error.contains("state.postgres") && !error.contains(testing::PASSWORD),
        "{error}"
    );
    assert!(!root.join("toolhost.db").exists());
}

#[tokio::test]
async fn changes_that_wait_in_the_file_of_before_are_kept() {
    let Some(fleet) = fleet("before") else {
        return;
    };
    let policy = "tools: {files: {ask: effects}}";
    let before = fleet.site.start(policy).await;
    before.held("files__write", write("a.txt"), "workdir").await;
    drop(before);
    let held = fleet.site.held_ids();
    assert_eq!(held.len(), 1);
    let after = fleet.host("state", policy).await;
    let _completions = after.host.completions().await.unwrap();
    // Later changes are committed, and those of the file stay.
    let handle = after.held("files__write", write("b.txt"), "workdir").await;
    after.approve().await;
    assert_eq!(ended(&after.instance, &handle).await.tool_error(), None);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(fleet.site.held_ids(), held);
}

/// Joins an error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
