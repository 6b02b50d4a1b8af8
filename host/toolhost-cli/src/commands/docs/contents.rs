//! What a page says, before it is HTML.

use std::path::Path;

use indexmap::IndexMap;
use toolhost::sandbox::{ComponentFacts, Limits};
use toolhost::text::{escape_lines, shell_word};
use toolhost::tool::SourceType;
use toolhost::{Agent, LoadedBundle, Policy, ToolCatalogItem};

use super::example::{self, CaseArgs, Origin};
use super::parameters::{self, Parameter};
use crate::terminal::progress::size;

/// A page.
pub(super) struct Contents {
    pub(super) title: String,
    /// The tools, by the resource that has them.
    pub(super) sources: Vec<Source>,
    /// The limits of a call, if the policy changes none: name, value, what it counts.
    pub(super) default_limits: Vec<Limit>,
}

/// A resource with tools.
pub(super) struct Source {
    pub(super) name: String,
    /// `Tool`, `MCP server` or `Extension`.
    pub(super) kind: &'static str,
    /// What is known of it: name and value.
    pub(super) facts: Vec<(&'static str, Vec<String>)>,
    pub(super) tools: Vec<Tool>,
}

/// A tool.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Parameter>,
    /// The schema of its arguments.
    pub(super) schema: Option<String>,
    pub(super) output_schema: Option<String>,
    /// The command of an example call, and where its arguments come from.
    pub(super) example: Option<(String, Origin)>,
    /// What it can reach, for agents with the same access.
    pub(super) access: Vec<Access>,
    /// The limits that the policy changes.
    pub(super) limits: Vec<Limit>,
}

/// What a tool can reach.
pub(super) struct Access {
    /// The agents. Empty if the page has one agent.
    pub(super) agents: Vec<String>,
    pub(super) sentences: Vec<String>,
}

/// A limit of a call.
pub(super) struct Limit {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) what: &'static str,
    /// The agents that it holds for. Empty if the page has one agent.
    pub(super) agents: Vec<String>,
}

impl Contents {
    pub(super) fn new(
        path: &Path,
        bundle: &LoadedBundle,
        agents: &[Agent],
        policy: &Policy,
        cases: &CaseArgs,
    ) -> Self {
        let collector = Collector {
            title: title(path, bundle),
            bundle,
            agents,
            policy,
            cases,
        };
        let mut sources: IndexMap<String, Source> = IndexMap::new();
        for (item, with) in collector.items() {
            let resource = item.name.resource().to_string();
            let source = sources.entry(resource);
            let source = source.or_insert_with(|| collector.source(&item));
            source.tools.push(collector.tool(&item, &with));
        }
        Self {
            title: collector.title,
            sources: sources.into_values().collect(),
            default_limits: limits(&Limits::default()).collect(),
        }
    }

    pub(super) fn tool_count(&self) -> usize {
        self.sources.iter().map(|source| source.tools.len()).sum()
    }
}

/// The name of the bundle's directory, or of its file if that is not `goondan.yaml`.
fn title(path: &Path, bundle: &LoadedBundle) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let stem = match whole.file_name() {
        Some(name) if name == "goondan.yaml" => whole.parent().and_then(Path::file_name),
        Some(name) => Some(name),
        None => None,
    };
    match stem {
        Some(name) => escape_lines(&name.to_string_lossy()),
        None => bundle.key().into_owned(),
    }
}

fn limits(limits: &Limits) -> impl Iterator<Item = Limit> {
    Policy::limits().iter().map(|info| Limit {
        name: info.name,
        value: info.value_of(limits),
        what: info.what,
        agents: Vec::new(),
    })
}

/// What the page is made of.
struct Collector<'a> {
    /// The name of the bundle, for commands.
    title: String,
    bundle: &'a LoadedBundle,
    agents: &'a [Agent],
    policy: &'a Policy,
    cases: &'a CaseArgs,
}

impl Collector<'_> {
    /// Returns the tools of all agents, each once, with the agents that have it.
    fn items(&self) -> Vec<(ToolCatalogItem, Vec<&Agent>)> {
        let mut items: IndexMap<String, (ToolCatalogItem, Vec<&Agent>)> = IndexMap::new();
        for agent in self.agents {
            for item in agent.catalog().items() {
                let entry = items.entry(item.name.to_string());
                let entry = entry.or_insert_with(|| (item.clone(), Vec::new()));
                entry.1.push(agent);
            }
        }
        items.into_values().collect()
    }

    fn source(&self, item: &ToolCatalogItem) -> Source {
        let name = item.name.resource().to_string();
        let source_type = item.source.as_ref().map(|source| source.source_type);
        let mut components = self.bundle.components().iter();
        let component = components.find(|(component, _)| *component == name);
        let (kind, facts) = match (component, source_type) {
            (Some((_, facts)), _) => ("Tool", self.component_facts(&name, facts)),
            (None, Some(SourceType::Mcp)) => ("MCP server", Vec::new()),
            (None, _) => ("Extension", Vec::new()),
        };
        Source {
            name,
            kind,
            facts,
            tools: Vec::new(),
        }
    }

    fn component_facts(
        &self,
        name: &str,
        facts: &ComponentFacts,
    ) -> Vec<(&'static str, Vec<String>)> {
        let mut tools = self.bundle.bundle().tools().iter();
        let tool = tools.find(|tool| tool.metadata.name.as_str() == name);
        let entry = tool.map(|tool| escape_lines(&tool.spec.entry));
        let list = |names: &[String]| names.iter().map(|name| escape_lines(name)).collect();
        let locked = self.bundle.lock().tools.get(name);
        let signer = locked.and_then(|locked| locked.signer.as_deref());
        let mut rows = vec![
            ("Component", entry.into_iter().collect()),
            ("SHA-256", vec![facts.sha256.clone()]),
            ("Size", vec![size(facts.bytes)]),
            ("Imports", list(&facts.imports)),
            ("Exports", list(&facts.exports)),
        ];
        if let Some(signer) = signer {
            rows.insert(1, ("Signed by", vec![escape_lines(signer)]));
        }
        rows
    }

    fn tool(&self, item: &ToolCatalogItem, agents: &[&Agent]) -> Tool {
        let example = example::of(item, self.cases);
        let parameters = item.parameters.as_ref();
        let pretty = |schema: &toolhost::tool::JsonSchemaObject| {
            serde_json::to_string_pretty(&schema.to_value())
                .map(|json| escape_lines(&json))
                .unwrap_or_default()
        };
        Tool {
            name: item.name.to_string(),
            description: escape_lines(item.description.as_deref().unwrap_or_default()),
            parameters: parameters.map(parameters::of).unwrap_or_default(),
            schema: parameters.map(pretty),
            output_schema: item.output_schema.as_ref().map(|schema| {
                let json = serde_json::to_string_pretty(schema).unwrap_or_default();
                escape_lines(&json)
            }),
            example: example.map(|example| {
                let command = format!(
                    "toolhost call {} {} --args {}",
                    shell_word(&self.title),
                    item.name,
                    shell_word(&example.args)
                );
                (escape_lines(&command), example.origin)
            }),
            access: self.access(item, agents),
            limits: self.changed_limits(item, agents),
        }
    }

    /// The agents to name: none, if the page has one alone.
    fn named(&self, agent: &Agent) -> Option<String> {
        (self.agents.len() > 1).then(|| agent.name().to_owned())
    }

    fn access(&self, item: &ToolCatalogItem, agents: &[&Agent]) -> Vec<Access> {
        let mut by_access: IndexMap<Vec<String>, Vec<String>> = IndexMap::new();
        for agent in agents {
            let sentences = agent.access_in_words(item);
            let of = by_access.entry(sentences).or_default();
            of.extend(self.named(agent));
        }
        let by_access = by_access.into_iter();
        by_access
            .map(|(sentences, agents)| Access { agents, sentences })
            .collect()
    }

    fn changed_limits(&self, item: &ToolCatalogItem, agents: &[&Agent]) -> Vec<Limit> {
        let mut changed: IndexMap<(&str, String), Limit> = IndexMap::new();
        let defaults = Limits::default();
        for agent in agents {
            let (_, of_call) = self.policy.resolve(agent.name(), item.name.resource());
            let both = limits(&of_call).zip(limits(&defaults));
            for (limit, default) in both {
                if limit.value != default.value {
                    let key = (limit.name, limit.value.clone());
                    let entry = changed.entry(key).or_insert(limit);
                    entry.agents.extend(self.named(agent));
                }
            }
        }
        changed.into_values().collect()
    }
}
