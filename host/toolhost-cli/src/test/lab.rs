//! Where cases run: the bundle, loaded under the policy of each, and a temporary directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;
use toolhost::cases::{Case, generated};
use toolhost::{Agent, Diagnostic, Host, LoadedBundle, Policy, Severity, ToolErrorCode};

use super::canned::Canned;
use super::files::{Files, unusable};
use super::item::{Item, What};
use crate::args::TestArgs;
use crate::failure::Failure;
use crate::host_context::{self, HostContext};
use crate::settings::Settings;
use crate::state_dirs::StateDirs;

/// Where one case runs.
pub(super) struct Stage {
    /// The host, under the policy of the case.
    pub(super) host: Host,
    /// The agent that calls.
    pub(super) agent: Agent,
    /// What answers its HTTP requests.
    pub(super) canned: Option<Canned>,
}

/// A context for cases. What it keeps is gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Lab {
    context: HostContext,
    bundle: LoadedBundle,
    path: PathBuf,
    top: TempDir,
    home: Option<PathBuf>,
    /// Answers nothing to those generated.
    _nobody: Canned,
}

impl Lab {
    /// Loads the bundle under the policy of the run.
    pub(crate) async fn open(
        bundle: &Path,
        policy: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let top = tempfile::Builder::new().prefix("toolhost-test-").tempdir();
        let top = top.context("a temporary directory cannot be made")?;
        let nobody = Canned::serve(Vec::new()).await;
        let nobody = nobody.context("no server can be started on loopback")?;
        let context =
            HostContext::for_tests(&with_cache(settings, top.path()), policy, nobody.address())
                .await?;
        let loaded = context.load(bundle).await?;
        context.warn_of_policy(&loaded, settings);
        Ok(Self {
            bundle: loaded,
            path: bundle.to_owned(),
            home: settings.dirs.home.clone(),
            context,
            top,
            _nobody: nobody,
        })
    }

    /// Whether a call must say for which agent it is.
    pub(crate) fn has_several_agents(&self) -> bool {
        self.bundle.agents().len() > 1
    }

    /// The directory that cases are run in.
    pub(crate) fn top(&self) -> &Path {
        self.top.path()
    }

    /// The cases to be run: those written, then those that follow from the schemas.
    pub(crate) fn items(&self, files: &Files, args: &TestArgs) -> Result<Vec<Item>, Failure> {
        let wanted = |what: &What| args.filter.as_ref().is_none_or(|text| what.has(text));
        let (mut items, mut findings) = (Vec::new(), Vec::new());
        for (index, (_, file)) in files.all().iter().enumerate() {
            for (number, case) in file.cases().iter().enumerate() {
                findings.extend(self.misnamed(case));
                let what = What::Written {
                    file: index,
                    number,
                    case: Box::new(case.clone()),
                };
                match self.caller(case) {
                    Ok(agent) if wanted(&what) => items.push(Item { what, agent }),
                    Ok(_) => (),
                    Err(finding) => findings.push(*finding),
                }
            }
        }
        if findings.iter().any(Diagnostic::is_error) {
            return Err(unusable(findings, files.sources()));
        }
        if !args.no_generated {
            items.extend(
                self.generated(args.seed)
                    .into_iter()
                    .filter(|item| wanted(&item.what)),
            );
        }
        Ok(items)
    }

    /// What the policy of a case says of tools and agents that are not there: it would test nothing.
    fn misnamed(&self, case: &Case) -> Vec<Diagnostic> {
        let policy = case.policy.iter();
        let found = policy.flat_map(|policy| policy.unknown_names(self.bundle.bundle()));
        let as_error = |finding| Diagnostic {
            severity: Severity::Error,
            ..finding
        };
        found.map(as_error).collect()
    }

    /// The agent that a case is run for.
    fn caller(&self, case: &Case) -> Result<Agent, Box<Diagnostic>> {
        let missing = |place, message: String, help: String| {
            let error = Diagnostic::error(ToolErrorCode::ConfigRefNotFound, place, message);
            Box::new(error.with_help(help))
        };
        if let (Some(name), Some(place)) = (&case.context.agent_name, &case.context.agent_place) {
            let agent = self.bundle.agent(name).map_err(|error| {
                let help = "Name an agent of the bundle, or leave it out.".to_owned();
                missing(place.clone(), error.to_string(), help)
            })?;
            return match agent.catalog().get(&case.tool) {
                Some(_) => Ok(agent),
                None => Err(missing(
                    case.tool_place.clone(),
                    format!("agent '{name}' has no tool '{}'", case.tool),
                    "Add it to spec.tools of the agent, or name another agent.".to_owned(),
                )),
            };
        }
        let mut agents = self.bundle.agents().iter();
        let found = agents.find(|agent| agent.catalog().get(&case.tool).is_some());
        found.cloned().ok_or_else(|| {
            let mut agents = self.bundle.agents().iter();
            let meant = agents.find_map(|agent| {
                agent
                    .catalog()
                    .closest(&case.tool)
                    .map(|name| format!("Did you mean '{name}'?"))
            });
            let help = format!(
                "`toolhost list {}` lists the tools there are.",
                self.path.display()
            );
            let message = format!("no agent of the bundle has the tool '{}'", case.tool);
            missing(case.tool_place.clone(), message, meant.unwrap_or(help))
        })
    }

    /// Where a case runs. One that a policy may let out has a server of its own, which alone answers its
    /// requests.
    pub(super) async fn stage(&self, item: &Item) -> Result<Stage> {
        let own = match &item.what {
            What::Written { case, .. } => {
                // A case comes with the tools: it may lower their limits, and raise none.
                let own = case.policy.clone();
                let own = own.map(|policy| policy.within(&self.context.rules));
                let run = self.context.policy.is_some();
                let policy = own.or_else(|| run.then(|| self.context.rules.clone()));
                policy.map(|policy| (policy, &case.http))
            }
            What::Generated(_) => None,
        };
        let Some((policy, answers)) = own else {
            return Ok(Stage {
                host: self.context.host.clone(),
                agent: item.agent.clone(),
                canned: None,
            });
        };
        let canned = Canned::serve(answers.clone()).await;
        let canned = canned.context("its HTTP requests cannot be answered")?;
        let host = self.host_under(policy.answered_by(canned.address()))?;
        let agent = host.load(&self.path).await?.agent(item.agent.name())?;
        Ok(Stage {
            host,
            agent,
            canned: Some(canned),
        })
    }

    /// A host with a policy of its own, on the same sandbox.
    fn host_under(&self, policy: Policy) -> Result<Host> {
        let mut builder = Host::builder()
            .sandbox(self.context.host.sandbox().clone())
            .policy(policy);
        if let Some(home) = &self.home {
            builder = builder.keep_out_of("the home directory", home);
        }
        Ok(builder.build()?)
    }

    /// What follows from the schemas: of each tool once, for the first agent that has it.
    fn generated(&self, seed: u64) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let mut known: Vec<String> = Vec::new();
        for agent in self.bundle.agents() {
            let catalog = agent.catalog();
            let new = catalog
                .items()
                .iter()
                .filter(|tool| !known.iter().any(|name| name == tool.name.as_str()));
            let new: Vec<_> = new.cloned().collect();
            for case in generated(&new, seed) {
                items.push(Item {
                    what: What::Generated(Box::new(case)),
                    agent: agent.clone(),
                });
            }
            known.extend(new.iter().map(|tool| tool.name.to_string()));
        }
        items
    }
}

/// The user's cache, or one for this run: the bundle is loaded for each policy of its own.
fn with_cache(settings: &Settings, top: &Path) -> Settings {
    let dirs = &settings.dirs;
    let (state_root, cache) = match host_context::cache(settings) {
        Some(_) => (dirs.state_root.clone(), dirs.cache.clone()),
        None => (Some(top.join("state")), Some(top.join("cache"))),
    };
    Settings {
        dirs: StateDirs {
            state_root,
            cache,
            home: dirs.home.clone(),
        },
        verbosity: settings.verbosity,
        style: settings.style,
        target_dir: settings.target_dir,
    }
}
