//! What a model sees of a catalog.

use toolhost_contract::ToolCatalogItem;

use super::ToolCatalog;
use super::script_language::ScriptLanguage;
use super::tool_names::{CALL, SEARCH, is_catalog_tool, search_description};

/// What a model sees of a catalog. It may call all of it in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolExposure {
    /// All tools.
    #[default]
    Direct,
    /// The tools that search the catalog and call what they find: see [`catalog_tools`](crate::catalog_tools).
    Search,
    /// The tools that run programs, which call the others, and the one that searches the catalog.
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
    /// Returns the tools of the catalog that a model sees.
    ///
    /// ```no_run
    /// # fn example(agent: &toolhost::Agent, step: &toolhost::Step) -> Result<(), Box<dyn std::error::Error>> {
    /// use toolhost::search::ToolExposure;
    ///
    /// agent.extend("tools", toolhost::catalog_tools)?; // once
    /// let tools = step.catalog().exposed(ToolExposure::Search).to_openai();
    /// # drop(tools);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn exposed(&self, exposure: ToolExposure) -> Self {
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
                    let mut languages = PROGRAMS.iter().filter(|(tool, _)| *tool == name);
                    languages
                        .next()
                        .map(|(_, language)| self.with_declarations(item, *language))
                }
                _ => None,
            });
        items.collect()
    }

    /// Whether it has a tool that runs programs.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        PROGRAMS.iter().any(|(tool, _)| self.get(tool).is_some())
    }

    /// Returns a tool for programs, whose description declares the tools that programs may call, if they are few.
    fn with_declarations(
        &self,
        item: &ToolCatalogItem,
        language: ScriptLanguage,
    ) -> ToolCatalogItem {
        let is_program = |other: &ToolCatalogItem| {
            let tools = PROGRAMS.map(|(_, language)| language.tool());
            tools.contains(&other.name.resource().as_str())
        };
        let others = self.items().iter();
        let others = others.filter(|other| !is_catalog_tool(other) && !is_program(other));
        let others: Self = others.cloned().collect();
        let declared = (others.items().len() <= DECLARED_TOOLS).then(|| match language {
            ScriptLanguage::JavaScript => others.to_typescript(),
            ScriptLanguage::Python => others.to_python(),
        });
        let declared = declared.filter(|text| text.len() <= DECLARATIONS_BYTES);
        let tools = declared.unwrap_or_else(|| {
            format!("Find the tools with {SEARCH}, or `tools.search` in a program.")
        });
        let description = item.description.clone().unwrap_or_default();
        ToolCatalogItem {
            description: Some(format!("{description}\n\n{tools}")),
            ..item.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog(names: &[&str]) -> ToolCatalog {
        let item = |name: &&str| {
            let item = json!({"name": name, "description": format!("Does {name}.")});
            serde_json::from_value::<ToolCatalogItem>(item).unwrap()
        };
        names.iter().map(item).collect()
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
        assert_eq!(names(&full.exposed(ToolExposure::Direct)), all);
        assert_eq!(names(&full.exposed(ToolExposure::Search)), [SEARCH, CALL]);
        let script = full.exposed(ToolExposure::Script);
        assert_eq!(
            names(&script),
            ["javascript__script", "python__script", SEARCH]
        );
        assert_eq!(full.exposed(ToolExposure::Both).items().len(), 4);
        for item in &script.items()[..2] {
            let description = item.description.as_deref().unwrap();
            assert!(description.contains("Does text__upper."), "{description}");
            assert!(!description.contains("javascript__run"), "{description}");
        }
        assert!(full.runs_programs() && !catalog(&["text__upper"]).runs_programs());
    }

    #[test]
    fn a_large_catalog_costs_a_model_no_more_than_a_small_one() {
        let tools: Vec<String> = (0..10_000)
            .map(|number| format!("tool-{number}__run"))
            .collect();
        let mut all: Vec<&str> = tools.iter().map(String::as_str).collect();
        all.extend(["javascript__script", "python__script", SEARCH, CALL]);
        let both = catalog(&all).exposed(ToolExposure::Both);
        let json = both.to_openai().to_string();
        // Some four bytes are a token.
        assert!(json.len() / 4 < 2_000, "{json}");
        assert!(json.contains("tools.search"), "{json}");
    }
}
