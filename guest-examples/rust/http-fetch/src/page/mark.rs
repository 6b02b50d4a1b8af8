//! Marks of inline elements.

/// An inline element.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Strong,
    Emphasis,
    Strike,
    Code,
    /// To this URL.
    Link(String),
}

impl Mark {
    pub(super) fn is_same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns a text with this mark around it; spaces stay outside.
    pub(super) fn around(&self, text: &str) -> String {
        let inner = text.trim();
        if inner.is_empty() {
            return text.to_owned();
        }
        let marked = match self {
            Self::Strong => format!("**{inner}**"),
            Self::Emphasis => format!("*{inner}*"),
            Self::Strike => format!("~~{inner}~~"),
            Self::Code if inner.contains('`') => format!("`` {inner} ``"),
            Self::Code => format!("`{inner}`"),
            Self::Link(url) => format!("[{inner}]({url})"),
        };
        let before = text.len() - text.trim_start().len();
        let after = text.trim_end().len();
        let space = |range: Option<&str>| range.unwrap_or_default().to_owned();
        space(text.get(..before)) + &marked + &space(text.get(after..))
    }
}
