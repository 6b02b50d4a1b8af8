//! Parses regular expressions.

mod escapes;

use std::rc::Rc;

use super::Flags;
use super::node::{Assertion, Kind, Node};

/// The most repetitions that may be written.
const MAX_REPEAT: usize = 100_000;

const MAX_DEPTH: usize = 100;

type Names = Vec<Option<Rc<str>>>;

pub(super) fn parse(pattern: &str, flags: Flags) -> Result<(Node, Names), String> {
    let mut parser = Parser {
        chars: pattern.chars().collect(),
        at: 0,
        names: Vec::new(),
        modes: Modes {
            ignore_case: flags.ignore_case,
            extended: flags.extended,
            dot_all: flags.dot_matches_newline,
            lines: false,
        },
        depth: 0,
    };
    let node = parser.alternatives()?;
    if parser.peek().is_some() {
        return Err("unmatched close parenthesis".to_owned());
    }
    Ok((node, parser.names))
}

/// What `(?imsx)` sets.
#[derive(Clone, Copy)]
struct Modes {
    ignore_case: bool,
    extended: bool,
    dot_all: bool,
    /// `^` and `$` are also at the ends of lines.
    lines: bool,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    names: Names,
    modes: Modes,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek();
        self.at += 1;
        char
    }

    fn take(&mut self, text: &str) -> bool {
        let len = text.chars().count();
        let found = self
            .chars
            .get(self.at..self.at + len)
            .is_some_and(|part| part.iter().copied().eq(text.chars()));
        if found {
            self.at += len;
        }
        found
    }

    fn alternatives(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("too deep nesting".to_owned());
        }
        let modes = self.modes;
        let mut all = vec![self.sequence()?];
        while self.take("|") {
            all.push(self.sequence()?);
        }
        self.modes = modes;
        self.depth -= 1;
        Ok(if all.len() == 1 {
            all.remove(0)
        } else {
            Node::Alternatives(all)
        })
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut nodes = Vec::new();
        loop {
            self.skip_extended();
            let Some(char) = self.peek() else {
                break;
            };
            if char == '|' || char == ')' {
                break;
            }
            let Some(node) = self.atom(char)? else {
                continue;
            };
            let node = self.repeated(node)?;
            nodes.push(node);
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Sequence(nodes),
        })
    }

    fn skip_extended(&mut self) {
        while self.modes.extended {
            match self.peek() {
                Some(char) if char.is_whitespace() => self.at += 1,
                Some('#') => while self.next().is_some_and(|char| char != '\n') {},
                _ => return,
            }
        }
    }

    /// Parses the quantifiers of an atom.
    fn repeated(&mut self, mut node: Node) -> Result<Node, String> {
        loop {
            self.skip_extended();
            let Some((least, most)) = self.quantifier()? else {
                return Ok(node);
            };
            let kind = if self.take("?") {
                Kind::Lazy
            } else if self.take("+") {
                Kind::Possessive
            } else {
                Kind::Greedy
            };
            node = Node::Repeat {
                node: Box::new(node),
                least,
                most,
                kind,
            };
        }
    }

    fn quantifier(&mut self) -> Result<Option<(usize, Option<usize>)>, String> {
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.braces(),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// Parses `{n}`, `{n,}` and `{n,m}`; other braces are characters.
    fn braces(&mut self) -> Result<Option<(usize, Option<usize>)>, String> {
        let start = self.at;
        self.at += 1;
        let least = self.number();
        let most = if self.take(",") { self.number() } else { least };
        let (Some(least), true) = (least, self.take("}")) else {
            self.at = start;
            return Ok(None);
        };
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT) {
            return Err("too big number is specified".to_owned());
        }
        if most.is_some_and(|most| most < least) {
            return Err("upper is smaller than lower in repeat range".to_owned());
        }
        Ok(Some((least, most)))
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        let mut number = 0_usize;
        while let Some(digit) = self.peek().and_then(|char| char.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            self.at += 1;
        }
        (self.at > start).then_some(number)
    }

    /// Parses one atom; comments and modes are none.
    fn atom(&mut self, char: char) -> Result<Option<Node>, String> {
        let modes = self.modes;
        self.at += 1;
        Ok(Some(match char {
            '.' => Node::Any(modes.dot_all),
            '^' if modes.lines => Node::Assert(Assertion::LineStart),
            '^' => Node::Assert(Assertion::TextStart),
            '$' if modes.lines => Node::Assert(Assertion::LineEnd),
            '$' => Node::Assert(Assertion::LastLineEnd),
            '[' => Node::Class(self.brackets()?),
            '(' => return self.group(),
            '*' | '+' | '?' => return Err("target of repeat operator is not specified".to_owned()),
            '\\' => self.escape()?,
            char => Node::Char(char, modes.ignore_case),
        }))
    }

    /// Parses what follows `(`.
    fn group(&mut self) -> Result<Option<Node>, String> {
        if !self.take("?") {
            return self.capture(None).map(Some);
        }
        let look = |behind, negated| Some((behind, negated));
        let kind = if self.take("#") {
            while let Some(char) = self.next() {
                if char == ')' {
                    return Ok(None);
                }
            }
            return Err("end pattern in group".to_owned());
        } else if self.take(":") {
            return self.closed().map(Some);
        } else if self.take(">") {
            return Ok(Some(Node::Atomic(Box::new(self.closed()?))));
        } else if self.take("<=") {
            look(true, false)
        } else if self.take("<!") {
            look(true, true)
        } else if self.take("=") {
            look(false, false)
        } else if self.take("!") {
            look(false, true)
        } else {
            None
        };
        if let Some((behind, negated)) = kind {
            return Ok(Some(Node::Look {
                node: Box::new(self.closed()?),
                behind,
                negated,
            }));
        }
        match self.peek() {
            Some('<') => {
                self.at += 1;
                let name = self.name('>')?;
                self.capture(Some(name)).map(Some)
            }
            Some('\'') => {
                self.at += 1;
                let name = self.name('\'')?;
                self.capture(Some(name)).map(Some)
            }
            Some('(') => Err("conditions in groups are not supported".to_owned()),
            _ => self.modes_of_group(),
        }
    }

    fn modes_of_group(&mut self) -> Result<Option<Node>, String> {
        let outer = self.modes;
        let mut on = true;
        loop {
            match self.next() {
                Some('-') => on = false,
                Some('i') => self.modes.ignore_case = on,
                Some('x') => self.modes.extended = on,
                Some('s') => self.modes.dot_all = on,
                Some('m') => self.modes.lines = on,
                Some(':') => {
                    let inner = self.closed();
                    self.modes = outer;
                    return inner.map(Some);
                }
                // Up to the end of the group around this.
                Some(')') => return Ok(None),
                Some(_) => return Err("undefined group option".to_owned()),
                None => return Err("end pattern in group".to_owned()),
            }
        }
    }

    fn closed(&mut self) -> Result<Node, String> {
        let node = self.alternatives()?;
        if self.take(")") {
            Ok(node)
        } else {
            Err("end pattern with unmatched parenthesis".to_owned())
        }
    }

    fn capture(&mut self, name: Option<Rc<str>>) -> Result<Node, String> {
        self.names.push(name);
        let number = self.names.len();
        Ok(Node::Group(number, Box::new(self.closed()?)))
    }

    fn name(&mut self, end: char) -> Result<Rc<str>, String> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some(char) if char == end => break,
                Some(char) => name.push(char),
                None => return Err("group name is empty".to_owned()),
            }
        }
        let is_start = |char: char| char.is_alphabetic() || char == '_';
        if name.is_empty() {
            return Err("group name is empty".to_owned());
        }
        if !name.starts_with(is_start)
            || !name.chars().all(|char| is_start(char) || char.is_numeric())
        {
            return Err(format!("invalid group name <{name}>"));
        }
        Ok(name.into())
    }
}
