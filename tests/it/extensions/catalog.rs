//! Registry ⊇ catalog ⊇ executed calls, for any sequence of changes by extensions and middleware.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::json;
use toolhost::{
    ToolStatus,
    middleware::{Next, StepContext},
};
use toolhost_tests::test_host::{TestHost, code, tool_call};

use super::{echo, item};

/// A change of an agent between two calls.
#[derive(Debug, Clone)]
enum Event {
    /// An extension tries to register a tool.
    Register { extension: usize, tool: usize },
    /// An extension tries to remove a tool.
    Unregister { extension: usize, tool: usize },
    /// An extension is removed and added again.
    Renew { extension: usize },
    /// Step middleware hides a tool in the following steps, or shows it again.
    Toggle { tool: usize },
    /// A new step is opened.
    OpenStep,
    /// A tool is called in the current step.
    Call { tool: usize },
}

const EXTENSIONS: [&str; 2] = ["ext-a", "ext-b"];
const TOOLS: [&str; 5] = ["echo__say", "echo__context", "dyn__x", "dyn__y", "none__z"];

fn events() -> impl Strategy<Value = Vec<Event>> {
    let (extension, tool) = (0..EXTENSIONS.len(), 0..TOOLS.len());
    let event = prop_oneof![
        3 => (extension.clone(), 0..4_usize)
            .prop_map(|(extension, tool)| Event::Register { extension, tool }),
        1 => (extension.clone(), 0..4_usize)
            .prop_map(|(extension, tool)| Event::Unregister { extension, tool }),
        1 => extension.prop_map(|extension| Event::Renew { extension }),
        1 => tool.clone().prop_map(|tool| Event::Toggle { tool }),
        2 => Just(Event::OpenStep),
        4 => tool.prop_map(|tool| Event::Call { tool }),
    ];
    prop::collection::vec(event, 1..40)
}

/// A model of the expected state.
#[derive(Default)]
struct Model {
    /// Dynamic tools and their extensions.
    dynamic: std::collections::BTreeMap<usize, usize>,
    hidden: BTreeSet<usize>,
    visible: BTreeSet<usize>,
}

impl Model {
    fn register(&mut self, extension: usize, tool: usize) -> bool {
        if tool < 2
            || self
                .dynamic
                .get(&tool)
                .is_some_and(|owner| *owner != extension)
        {
            return false;
        }
        self.dynamic.insert(tool, extension);
        true
    }

    fn open_step(&mut self) {
        let all = [0, 1].into_iter().chain(self.dynamic.keys().copied());
        self.visible = all.filter(|tool| !self.hidden.contains(tool)).collect();
    }
}

async fn follow(events: Vec<Event>) {
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say", "context"])], "").await;
    let agent = &test_host.agent;
    let hidden: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let hides = Arc::clone(&hidden);
    agent
        .extend("hide", |api| {
            api.pipeline()
                .step(0, move |mut context: StepContext, next: Next<_>| {
                    let hidden = hides.lock().unwrap().clone();
                    let is_hidden = move |name: &str| hidden.iter().any(|at| TOOLS[*at] == name);
                    context
                        .tool_catalog
                        .retain(|item| !is_hidden(item.name.as_str()));
                    next.run(context)
                })
        })
        .unwrap();
    let mut apis = Vec::new();
    for extension in EXTENSIONS {
        agent
            .extend(extension, |api| {
                apis.push(api.clone());
                Ok(())
            })
            .unwrap();
    }
    let mut model = Model::default();
    let mut step = test_host.another_step().await;
    model.open_step();
    for event in events {
        match event {
            Event::Register { extension, tool } => {
                let done = apis[extension].tools().register(item(TOOLS[tool]), echo);
                assert_eq!(done.is_ok(), model.register(extension, tool), "{event:?}");
            }
            Event::Unregister { extension, tool } => {
                let is_own = model.dynamic.get(&tool) == Some(&extension);
                let done = apis[extension].tools().unregister(TOOLS[tool]).unwrap();
                assert_eq!(done, is_own, "{event:?}");
                if is_own {
                    model.dynamic.remove(&tool);
                }
            }
            Event::Renew { extension } => {
                assert!(agent.remove_extension(EXTENSIONS[extension]));
                let renewed = agent.extend(EXTENSIONS[extension], |api| {
                    apis[extension] = api.clone();
                    Ok(())
                });
                renewed.unwrap();
                model.dynamic.retain(|_, owner| *owner != extension);
            }
            Event::Toggle { tool } => {
                if !model.hidden.remove(&tool) {
                    model.hidden.insert(tool);
                }
                *hidden.lock().unwrap() = model.hidden.clone();
            }
            Event::OpenStep => {
                step = test_host.another_step().await;
                model.open_step();
            }
            Event::Call { tool } => {
                let visible = model.visible.contains(&tool);
                assert_eq!(
                    step.catalog().get(TOOLS[tool]).is_some(),
                    visible,
                    "{event:?}"
                );
                let result = step
                    .execute_without_message(tool_call(TOOLS[tool], json!({})))
                    .await;
                if visible {
                    assert_eq!(result.status(), ToolStatus::Ok, "{event:?}: {result:?}");
                } else {
                    assert_eq!(code(&result), "E_TOOL_NOT_IN_CATALOG", "{event:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // tool-spec-v2 §2.1, §2.3, §3, §9.1, §12.3
    #[test]
    fn only_tools_in_the_catalog_of_the_step_run(events in events()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(follow(events));
    }
}
