//! Selects the cases of a run, and the agent that each is called for.

use std::collections::{HashMap, HashSet};

use toolhost::{
    Agent, LoadedBundle, ToolCatalogItem, ToolErrorCode, ToolName,
    manifest::{Diagnostic, Severity},
    tool::SourceType,
};

use toolhost_contract::suggest::did_you_mean;

use super::session::Runner;
use crate::case::{Case, NOTHING};
use crate::case_files::CaseFiles;
use crate::generate::{Generated, LeftOut, generate};
use crate::planned_case::{PlannedCase, TestCase};
use crate::selection::{PlanError, Selection};

/// The cases to run.
#[derive(Debug, Default)]
pub struct Plan {
    /// The selected cases: those of the case files, then those generated from schemas.
    pub cases: Vec<PlannedCase>,
    /// The tools of these cases whose schemas describe more arguments than the generated cases cover.
    pub left_out: Vec<LeftOut>,
}

impl Runner {
    /// Returns the selected cases: those of the case files, then those generated from schemas.
    ///
    /// # Errors
    /// [`PlanError`] if a case names a tool or an agent that the bundle lacks, or a filter matches no case.
    pub fn plan(&self, files: &CaseFiles, selection: &Selection) -> Result<Plan, PlanError> {
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
        let mut left_out = Vec::new();
        if let Some(seed) = selection.generated {
            let generated = generate_all(&self.bundle, seed);
            planned.extend(generated.cases);
            left_out = generated.left_out;
        }
        let generated = generated_for(&planned);
        let cases = selection.select(planned).map_err(PlanError::NoMatch)?;
        // Also the tools that have no generated case at all.
        let selected = generated_for(&cases);
        left_out.retain(|it| selected.contains(&it.tool) || !generated.contains(&it.tool));
        Ok(Plan { cases, left_out })
    }
}

/// Returns an error for each name in the case's policy that the bundle lacks: the case would test
/// nothing.
fn unknown_names(case: &Case, bundle: &LoadedBundle) -> Vec<Diagnostic> {
    let policy = case.policy.iter();
    let mut findings: Vec<_> = policy
        .flat_map(|policy| policy.unknown_names(bundle.bundle()))
        .collect();
    for finding in &mut findings {
        finding.severity = Severity::Error;
    }
    findings
}

/// Returns the agent that a case is called for: the one it names, else the first that has the tool.
fn caller(case: &Case, runner: &Runner) -> Result<Agent, Box<Diagnostic>> {
    let missing = |place, message: String, help: String| {
        let error = Diagnostic::error(ToolErrorCode::ConfigRefNotFound, place, message);
        Box::new(error.with_help(help))
    };
    let bundle = &runner.bundle;
    let finds_nothing = case.search.is_some() && case.tool == NOTHING;
    if let (Some(name), Some(place)) = (&case.context.agent_name, &case.context.agent_place) {
        let agent = bundle.agent(name).map_err(|error| {
            let help = "Name an agent of the bundle, or leave it out.".to_owned();
            missing(place.clone(), error.to_string(), help)
        })?;
        if finds_nothing || agent.catalog().get(&case.tool).is_some() {
            return Ok(agent);
        }
        return Err(missing(
            case.tool_place.clone(),
            format!("agent '{name}' has no tool '{}'", case.tool),
            similar(&agent, &case.tool).unwrap_or_else(|| {
                "Add it to spec.tools of the agent, or name another agent.".to_owned()
            }),
        ));
    }
    let mut agents = bundle.agents().iter();
    let owner = agents.find(|agent| finds_nothing || agent.catalog().get(&case.tool).is_some());
    owner.cloned().ok_or_else(|| {
        if let Some((message, help)) = absent_export(bundle, &case.tool) {
            return missing(case.tool_place.clone(), message, help);
        }
        let mut agents = bundle.agents().iter();
        let closest = agents.find_map(|agent| similar(agent, &case.tool));
        let path = runner.path.display();
        let list = format!("`toolhost list {path}` lists the tools of the bundle.");
        let message = format!("no agent of the bundle has the tool '{}'", case.tool);
        missing(case.tool_place.clone(), message, closest.unwrap_or(list))
    })
}

/// Returns what is wrong with the name of a tool whose resource is there and has no such export.
fn absent_export(bundle: &LoadedBundle, name: &str) -> Option<(String, String)> {
    let (resource, export) = name.split_once("__")?;
    let mut tools = bundle.bundle().tools().iter();
    let tool = tools.find(|tool| tool.metadata.name.as_str() == resource)?;
    let exports = tool.spec.exports.iter();
    let exports: Vec<&str> = exports.map(|export| export.name.as_str()).collect();
    if exports.contains(&export) {
        return None;
    }
    let entry = &tool.spec.entry;
    let (list, similar) = (exports.join(", "), did_you_mean(export, &exports));
    let message = format!("tool {resource} has no '{export}': {entry} has {list}");
    let help = "Name one of these, or remove the case.".to_owned();
    Some((message, similar.unwrap_or(help)))
}

/// Returns a help text with the tool of an agent that was probably meant.
fn similar(agent: &Agent, tool: &str) -> Option<String> {
    let name = agent.catalog().closest(tool)?.to_owned();
    Some(format!("Did you mean '{name}'?"))
}

/// Returns whether a tool is that of an MCP server: what it does with generated arguments stays.
fn is_of_mcp_server(tool: &ToolCatalogItem) -> bool {
    let source = tool.source.as_ref();
    source.is_some_and(|source| source.source_type == SourceType::Mcp)
}

/// Returns the tools of the generated cases.
fn generated_for(planned: &[PlannedCase]) -> HashSet<ToolName> {
    let tool = |planned: &PlannedCase| match &planned.case {
        TestCase::Generated(case) => Some(case.tool.clone()),
        TestCase::Written { .. } => None,
    };
    planned.iter().filter_map(tool).collect()
}

/// Generates the cases of each tool once, for the first agent that has it.
fn generate_all(bundle: &LoadedBundle, seed: u64) -> Plan {
    let mut agents = HashMap::new();
    let mut tools: Vec<ToolCatalogItem> = Vec::new();
    for agent in bundle.agents() {
        for tool in agent.catalog().items() {
            if !is_of_mcp_server(tool) && !agents.contains_key(&tool.name) {
                agents.insert(tool.name.clone(), agent);
                tools.push(tool.clone());
            }
        }
    }
    let Generated { cases, left_out } = generate(&tools, seed);
    let planned = cases.into_iter().filter_map(|case| {
        let agent = agents.get(&case.tool).copied()?.clone();
        let case = TestCase::Generated(Box::new(case));
        Some(PlannedCase { case, agent })
    });
    let cases = planned.collect();
    Plan { cases, left_out }
}
