//! Parses regular expressions.

use std::rc::Rc;

use super::Flags;
use super::class::{Class, Item, Named};

#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Char(char, bool),
    /// Any character; whether also the end of a line.
    Any(bool),
    Class(Class),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Group(usize, Box<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        most: Option<usize>,
        kind: Kind,
    },
    Assert(Assertion),
    Look {
        node: Box<Node>,
        behind: bool,
        negated: bool,
    },
    Atomic(Box<Node>),
    /// The groups of a name, or one; whether case counts not.
    Back(Vec<usize>, bool),
    /// The match begins here.
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    /// The end, or before the last end of line.
    LastLineEnd,
    LineStart,
    LineEnd,
    WordEdge,
    NoWordEdge,
    SearchStart,
}

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

    /// Parses what follows a backslash outside of brackets.
    fn escape(&mut self) -> Result<Node, String> {
        let Some(char) = self.next() else {
            return Err("end pattern at escape".to_owned());
        };
        let ignore_case = self.modes.ignore_case;
        Ok(match char {
            'A' => Node::Assert(Assertion::TextStart),
            'Z' => Node::Assert(Assertion::LastLineEnd),
            'z' => Node::Assert(Assertion::TextEnd),
            'b' => Node::Assert(Assertion::WordEdge),
            'B' => Node::Assert(Assertion::NoWordEdge),
            'G' => Node::Assert(Assertion::SearchStart),
            'K' => Node::Keep,
            'O' => Node::Any(true),
            'N' => Node::Any(false),
            'R' => Node::Atomic(Box::new(Node::Alternatives(vec![
                Node::Sequence(vec![Node::Char('\r', false), Node::Char('\n', false)]),
                Node::Class(Class {
                    items: vec![
                        Item::Range('\n', '\r'),
                        Item::Range('\u{85}', '\u{85}'),
                        Item::Range('\u{2028}', '\u{2029}'),
                    ],
                    ..Class::default()
                }),
            ]))),
            'X' => return Err("grapheme clusters (\\X) are not supported".to_owned()),
            'Q' => {
                let mut chars = Vec::new();
                while self.peek().is_some() && !self.take("\\E") {
                    chars.extend(self.next().map(|char| Node::Char(char, ignore_case)));
                }
                Node::Sequence(chars)
            }
            'k' if matches!(self.peek(), Some('<' | '\'')) => {
                let end = if self.next() == Some('<') { '>' } else { '\'' };
                let name = self.name(end)?;
                let with_name = |(at, known): (usize, &Option<Rc<str>>)| {
                    (known.as_deref() == Some(&*name)).then_some(at + 1)
                };
                let groups: Vec<usize> = self
                    .names
                    .iter()
                    .enumerate()
                    .filter_map(with_name)
                    .collect();
                if groups.is_empty() {
                    return Err(format!("undefined name <{name}> reference"));
                }
                Node::Back(groups, ignore_case)
            }
            'g' if matches!(self.peek(), Some('<' | '\'')) => {
                return Err("calls of groups (\\g) are not supported".to_owned());
            }
            '1'..='9' => {
                self.at -= 1;
                let number = self.number().unwrap_or(0);
                if number > self.names.len() && number > 9 {
                    return Err("invalid backref number/name".to_owned());
                }
                Node::Back(vec![number], ignore_case)
            }
            char => match self.class_escape(char)? {
                Some(class) => Node::Class(class),
                None => Node::Char(self.char_escape(char)?, ignore_case),
            },
        })
    }

    /// Sets of characters that begin with a backslash.
    fn class_escape(&mut self, char: char) -> Result<Option<Class>, String> {
        let named = match char.to_ascii_lowercase() {
            'w' => Named::Word,
            'd' => Named::Digit,
            's' => Named::Space,
            'p' if self.take("{") => {
                let mut negated = char == 'P';
                negated ^= self.take("^");
                let mut name = String::new();
                while let Some(char) = self.next().filter(|char| *char != '}') {
                    name.push(char);
                }
                let Some(named) = Named::property(&name) else {
                    return Err(format!("invalid character property name {{{name}}}"));
                };
                return Ok(Some(Class::named(named, negated)));
            }
            _ => return Ok(None),
        };
        Ok(Some(Class::named(named, char.is_ascii_uppercase())))
    }

    /// The character of an escape.
    fn char_escape(&mut self, char: char) -> Result<char, String> {
        Ok(match char {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            'e' => '\u{1b}',
            '0' => self.digits(8, 2),
            'x' if self.take("{") => {
                let char = self.digits(16, 8);
                if !self.take("}") {
                    return Err("invalid code point value".to_owned());
                }
                char
            }
            'x' => self.digits(16, 2),
            'c' => {
                let control = self.next().ok_or("end pattern at control")?;
                char::from_u32(u32::from(control) & 0x1f).unwrap_or(control)
            }
            char => char,
        })
    }

    fn digits(&mut self, radix: u32, most: usize) -> char {
        let mut code = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|char| char.to_digit(radix)) else {
                break;
            };
            code = code.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Parses what follows `[`.
    fn brackets(&mut self) -> Result<Class, String> {
        let early = || "premature end of char-class".to_owned();
        let mut class = Class {
            negated: self.take("^"),
            ignore_case: self.modes.ignore_case,
            ..Class::default()
        };
        let mut first = true;
        loop {
            let char = self.next().ok_or_else(early)?;
            let from = match char {
                ']' if !first => return Ok(class),
                '[' if self.peek() == Some(':') => {
                    class.items.push(self.posix()?);
                    first = false;
                    continue;
                }
                '\\' => {
                    let escaped = self.next().ok_or("end pattern at escape")?;
                    if let Some(inner) = self.class_escape(escaped)? {
                        class.items.push(Item::Class(inner));
                        first = false;
                        continue;
                    }
                    if escaped == 'b' {
                        '\u{8}'
                    } else {
                        self.char_escape(escaped)?
                    }
                }
                char => char,
            };
            first = false;
            let is_range = self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|char| *char != ']');
            if !is_range {
                class.items.push(Item::Range(from, from));
                continue;
            }
            self.at += 1;
            let to = match self.next().ok_or_else(early)? {
                '\\' => {
                    let escaped = self.next().ok_or("end pattern at escape")?;
                    if let Some(inner) = self.class_escape(escaped)? {
                        // The hyphen is a character.
                        class.items.extend([
                            Item::Range(from, from),
                            Item::Range('-', '-'),
                            Item::Class(inner),
                        ]);
                        continue;
                    }
                    self.char_escape(escaped)?
                }
                char => char,
            };
            if to < from {
                return Err("empty range in char class".to_owned());
            }
            class.items.push(Item::Range(from, to));
        }
    }

    /// Parses `[:name:]` after its first bracket.
    fn posix(&mut self) -> Result<Item, String> {
        self.at += 1;
        let negated = self.take("^");
        let mut name = String::new();
        while let Some(char) = self.peek().filter(char::is_ascii_alphabetic) {
            name.push(char);
            self.at += 1;
        }
        match (Named::posix(&name), self.take(":]")) {
            (Some(named), true) => Ok(Item::Named(named, negated)),
            _ => Err("invalid POSIX bracket type".to_owned()),
        }
    }
}
