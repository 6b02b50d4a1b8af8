//! Regular expressions as of Oniguruma, with the syntax that jq chooses: Perl's, and named groups.
//!
//! A backtracking matcher: look-around, back references and atomic groups need one. What it does not know is an
//! error, and a search that takes too many steps is one too.

mod class;
mod node;
mod parse;
mod program;
mod run;

use std::rc::Rc;

use crate::object::Object;
use crate::value::Val;
use program::Program;

/// jq's flags.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    /// White space and comments in the expression mean nothing.
    pub(crate) extended: bool,
    pub(crate) dot_matches_newline: bool,
    pub(crate) longest: bool,
    pub(crate) not_empty: bool,
}

pub(crate) struct Regex {
    program: Program,
    /// The names of the groups.
    names: Vec<Option<Rc<str>>>,
    flags: Flags,
}

/// A match, in bytes.
pub(crate) struct Match {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) groups: Vec<Group>,
    texts: Vec<(Rc<str>, Val)>,
}

pub(crate) struct Group {
    pub(crate) span: Option<(usize, usize)>,
    pub(crate) name: Option<Rc<str>>,
}

impl Match {
    /// The object of the named groups.
    pub(crate) fn named(&self) -> Val {
        self.texts.iter().cloned().collect::<Object>().into()
    }
}

impl Regex {
    /// # Errors
    /// The expression is not valid, or has what this matcher does not know.
    pub(crate) fn new(pattern: &str, flags: Flags) -> Result<Self, String> {
        let (node, names) = parse::parse(pattern, flags)?;
        let program = Program::new(&node)?;
        Ok(Self {
            program,
            names,
            flags,
        })
    }

    /// Finds the first match from a byte on.
    ///
    /// # Errors
    /// The search takes too many steps.
    pub(crate) fn find(&self, text: &str, from: usize) -> Result<Option<Match>, String> {
        let Some(spans) = run::search(&self.program, self.names.len(), self.flags, text, from)?
        else {
            return Ok(None);
        };
        let (start, end) = spans.first().copied().flatten().unwrap_or((from, from));
        let spans = spans.into_iter().skip(1);
        let groups: Vec<_> = spans
            .zip(&self.names)
            .map(|(span, name)| Group {
                span,
                name: name.clone(),
            })
            .collect();
        let named = groups.iter().filter_map(|group| {
            // Within an empty match, every capture is an empty one.
            let span = if start == end {
                Some((start, start))
            } else {
                group.span
            };
            let text = span.map_or(Val::Null, |(from, to)| {
                text.get(from..to).unwrap_or_default().into()
            });
            Some((group.name.clone()?, text))
        });
        let texts = named.collect();
        Ok(Some(Match {
            start,
            end,
            groups,
            texts,
        }))
    }
}
