//! Selects the cases of a run, and the agent that each is called for.

use std::collections::HashSet;

use toolhost::{
    Agent, LoadedBundle, ToolCatalogItem, ToolErrorCode,
    manifest::{Diagnostic, Severity},
    tool::SourceType,
};

use super::session::Runner;
use crate::case::Case;
use crate::case_files::CaseFiles;
use crate::generate::generate;
use crate::planned_case::{PlannedCase, TestCase};
use crate::selection::{PlanError, Selection};

impl Runner {
    /// Returns the selected cases: those of the case files, then those generated from schemas.
    ///
    /// # Errors
    /// [`PlanError`] if a case names a tool or an agent that the bundle lacks, or a filter matches no case.
    pub fn plan(
        &self,
        files: &CaseFiles,
        selection: &Selection,
    ) -> Result<Vec<PlannedCase>, PlanError> {
        let (mut planned, mut findings) = (Vec::new(), Vec::new());
        for (file, (_, cases)) in files.all().iter().enumerate() {
            for (index, case) in cases.cases().iter().enumerate() {
                findings.extend(unknown_names(case, &self.bundle));
                let agent = caller(case, self);
                let case = TestCase::Written {
                    file,
                    index,
                    case: Box::new(case.clone()),
                };
                match agent {
                    Ok(agent) => planned.push(PlannedCase { case, agent }),
                    Err(finding) => findings.push(*finding),
                }
            }
        }
        if findings.iter().any(Diagnostic::is_error) {
            return Err(PlanError::Invalid(findings));
        }
        if let Some(seed) = selection.generated {
            planned.extend(generate_all(&self.bundle, seed));
        }
        selection.select(planned).map_err(PlanError::NoMatch)
    }
}

/// Returns an error for each name in the case's policy that the bundle lacks: the case would test
/// nothing.
fn unknown_names(case: &Case, bundle: &LoadedBundle) -> Vec<Diagnostic> {
    let policy = case.policy.iter();
    let mut found: Vec<_> = policy
        .flat_map(|policy| policy.unknown_names(bundle.bundle()))
        .collect();
    for finding in &mut found {
        finding.severity = Severity::Error;
    }
    found
}

/// Returns the agent that a case is called for: the one it names, else the first that has the tool.
fn caller(case: &Case, runner: &Runner) -> Result<Agent, Box<Diagnostic>> {
    let missing = |place, message: String, help: String| {
        let error = Diagnostic::error(ToolErrorCode::ConfigRefNotFound, place, message);
        Box::new(error.with_help(help))
    };
    let bundle = &runner.bundle;
    if let (Some(name), Some(place)) = (&case.context.agent_name, &case.context.agent_place) {
        let agent = bundle.agent(name).map_err(|error| {
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
    let mut agents = bundle.agents().iter();
    let found = agents.find(|agent| agent.catalog().get(&case.tool).is_some());
    found.cloned().ok_or_else(|| {
        let mut agents = bundle.agents().iter();
        let closest = agents.find_map(|agent| {
            let name = agent.catalog().closest(&case.tool)?.to_string();
            Some(format!("Did you mean '{name}'?"))
        });
        let path = runner.path.display();
        let list = format!("`toolhost list {path}` lists the tools of the bundle.");
        let message = format!("no agent of the bundle has the tool '{}'", case.tool);
        missing(case.tool_place.clone(), message, closest.unwrap_or(list))
    })
}

/// Returns whether a tool is that of an MCP server: what it does with generated arguments stays.
fn is_of_mcp_server(tool: &ToolCatalogItem) -> bool {
    let source = tool.source.as_ref();
    source.is_some_and(|source| source.source_type == SourceType::Mcp)
}

/// Generates the cases of each tool once, for the first agent that has it.
fn generate_all(bundle: &LoadedBundle, seed: u64) -> Vec<PlannedCase> {
    let mut planned: Vec<PlannedCase> = Vec::new();
    let (mut known, mut left_out) = (HashSet::new(), Vec::new());
    for agent in bundle.agents() {
        let mut new = agent.catalog().items().to_vec();
        new.retain(|tool| !is_of_mcp_server(tool) && known.insert(tool.name.clone()));
        let generated = generate(&new, seed);
        planned.extend(generated.cases.into_iter().map(|case| PlannedCase {
            case: TestCase::Generated(Box::new(case)),
            agent: agent.clone(),
        }));
        left_out.extend(generated.left_out);
    }
    if !left_out.is_empty() {
        let tools = left_out.iter();
        let tools = tools.map(|(name, count)| format!("{name} ({count} left out)"));
        let tools = tools.collect::<Vec<_>>().join(", ");
        tracing::warn!(
            tools,
            "the schemas of some tools describe more arguments than the generated cases cover: write cases for the rest"
        );
    }
    planned
}
