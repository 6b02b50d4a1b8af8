//! The languages of programs that call tools.

/// The language of a program that calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptLanguage {
    /// JavaScript, which the base tool `javascript` runs.
    JavaScript,
    /// Python, which the base tool `python` runs.
    Python,
}

impl ScriptLanguage {
    /// The Tool that runs programs in the language.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Self::JavaScript => "javascript",
            Self::Python => "python",
        }
    }
}
