//! What a model sees of a catalog.

use toolhost_contract::{ResourceName, ToolCatalogItem};

use super::ToolCatalog;
use super::callable::CallableTools;
use super::script_language::ScriptLanguage;
use super::tool_names::{CALL, SEARCH, search_description};

/// What a model sees of the tools of a step. It may call all of them in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolExposure {
    /// All tools.
    #[default]
    Direct,
    /// The tools that search the catalog and call what they find: see [`catalog_tools`](crate::catalog_tools).
    Search,
    /// The tools that run programs, which call the others, and the one that searches what programs may call.
    Script,
    /// Those of [`Search`](Self::Search) and of [`Script`](Self::Script).
    Both,
}

/// Names of the tools that run programs.
const PROGRAMS: [(&str, ScriptLanguage); 2] = [
    ("javascript__script", ScriptLanguage::JavaScript),
    ("python__script", ScriptLanguage::Python),
];

/// Most tools that are declared: more do not fit.
const DECLARED_TOOLS: usize = 60;

/// Most bytes of declarations that the description of a tool for programs has.
const DECLARATIONS_BYTES: usize = 4 << 10;

impl ToolCatalog {
    /// Returns the tools that a model sees. `callable` returns what a tool may call; none if it may call no tool.
    pub(crate) fn exposed(
        &self,
        exposure: ToolExposure,
        callable: impl Fn(&ResourceName) -> Option<CallableTools>,
    ) -> Self {
        let (searches, calls, runs_programs) = match exposure {
            ToolExposure::Direct => return self.clone(),
            ToolExposure::Search => (true, true, false),
            ToolExposure::Script => (true, false, true),
            ToolExposure::Both => (true, true, true),
        };
        let items = self
            .items()
            .iter()
            .filter_map(|item| match item.name.as_str() {
                SEARCH => searches.then(|| {
                    let mut item = item.clone();
                    if !calls {
                        item.description = Some(search_description(false));
                    }
                    item
                }),
                CALL => calls.then(|| item.clone()),
                name if runs_programs => {
                    let language = language_of(name)?;
                    let callable = callable(item.name.resource());
                    let find = if calls {
                        "Its programs find tools with `tools.search`.".to_owned()
                    } else {
                        format!("Find the tools with {SEARCH}, or `tools.search` in a program.")
                    };
                    Some(self.with_declarations(item, language, callable.as_ref(), find))
                }
                _ => None,
            });
        items.collect()
    }

    /// Whether it has a tool that runs programs.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        self.programs().next().is_some()
    }

    /// The tools that run programs.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        PROGRAMS.iter().filter_map(|(name, _)| self.get(name))
    }

    /// Returns a tool for programs, whose description declares the tools that its programs may call, if they are
    /// few; otherwise it says how to `find` them.
    fn with_declarations(
        &self,
        item: &ToolCatalogItem,
        language: ScriptLanguage,
        callable: Option<&CallableTools>,
        find: String,
    ) -> ToolCatalogItem {
        let callable = callable.into_iter().flat_map(|tools| tools.of(self));
        let few: Self = callable.take(DECLARED_TOOLS + 1).cloned().collect();
        let tools = match few.items().len() {
            0 => "Its programs may call no tool.".to_owned(),
            count => {
                let declared = (count <= DECLARED_TOOLS).then(|| match language {
                    ScriptLanguage::JavaScript => few.to_typescript(),
                    ScriptLanguage::Python => few.to_python(),
                });
                let declared = declared.filter(|text| text.len() <= DECLARATIONS_BYTES);
                declared.unwrap_or(find)
            }
        };
        let description = item.description.clone().unwrap_or_default();
        ToolCatalogItem {
            description: Some(format!("{description}\n\n{tools}")),
            ..item.clone()
        }
    }
}

fn language_of(name: &str) -> Option<ScriptLanguage> {
    let mut programs = PROGRAMS.iter();
    let (_, language) = programs.find(|(tool, _)| *tool == name)?;
    Some(*language)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_contract::ToolPattern;

    use super::*;

    fn catalog(names: &[&str]) -> ToolCatalog {
        let item = |name: &&str| {
            let item = json!({"name": name, "description": format!("Does {name}.")});
            serde_json::from_value::<ToolCatalogItem>(item).unwrap()
        };
        names.iter().map(item).collect()
    }

    /// What programs may call by a grant of these tools.
    fn granted(tools: &[&str]) -> impl Fn(&ResourceName) -> Option<CallableTools> {
        let patterns = tools.iter().map(|tool| ToolPattern::parse(tool).unwrap());
        let grant: std::sync::Arc<[_]> = patterns.collect();
        move |tool| Some(CallableTools::new(grant.clone(), [tool.clone()].into()))
    }

    fn exposed(full: &ToolCatalog, exposure: ToolExposure, tools: &[&str]) -> ToolCatalog {
        full.exposed(exposure, granted(tools))
    }

    fn names(catalog: &ToolCatalog) -> Vec<&str> {
        let items = catalog.items().iter();
        items.map(|item| item.name.as_str()).collect()
    }

    #[test]
    fn a_model_sees_what_the_exposure_names_and_the_declarations_of_a_few_tools() {
        let all = [
            "text__upper",
            "javascript__run",
            "javascript__script",
            "python__script",
            SEARCH,
            CALL,
        ];
        let full = catalog(&all);
        assert_eq!(names(&exposed(&full, ToolExposure::Direct, &["*"])), all);
        assert_eq!(
            names(&exposed(&full, ToolExposure::Search, &["*"])),
            [SEARCH, CALL]
        );
        let script = exposed(&full, ToolExposure::Script, &["text__*"]);
        assert_eq!(
            names(&script),
            ["javascript__script", "python__script", SEARCH]
        );
        assert_eq!(exposed(&full, ToolExposure::Both, &["*"]).items().len(), 4);
        for item in &script.items()[..2] {
            let description = item.description.as_deref().unwrap();
            assert!(description.contains("Does text__upper."), "{description}");
            assert!(!description.contains("javascript__run"), "{description}");
        }
        let ungranted = full.exposed(ToolExposure::Script, |_| None);
        let description = ungranted.items()[0].description.as_deref().unwrap();
        assert!(description.ends_with("may call no tool."), "{description}");
        // Another language's programs are tools like any other.
        let all = exposed(&full, ToolExposure::Script, &["*"]);
        let description = all.items()[0].description.as_deref().unwrap();
        assert!(
            description.contains("Does python__script."),
            "{description}"
        );
        assert!(!description.contains("\"javascript__"), "{description}");
        assert!(full.runs_programs() && !catalog(&["text__upper"]).runs_programs());
    }

    #[test]
    fn a_large_catalog_costs_a_model_no_more_than_a_small_one() {
        let tools: Vec<String> = (0..10_000)
            .map(|number| format!("tool-{number}__run"))
            .collect();
        let mut all: Vec<&str> = tools.iter().map(String::as_str).collect();
        all.extend(["javascript__script", "python__script", SEARCH, CALL]);
        let both = exposed(&catalog(&all), ToolExposure::Both, &["*"]);
        let json = both.to_openai().to_string();
        // Some four bytes are a token.
        assert!(json.len() / 4 < 2_000, "{json}");
        assert!(json.contains("tools.search"), "{json}");
    }
}
