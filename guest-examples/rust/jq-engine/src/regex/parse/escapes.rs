//! What follows a backslash, and classes in brackets.

use std::rc::Rc;

use super::Parser;
use crate::regex::class::{Class, Item, Named};
use crate::regex::node::{Assertion, Node};

impl Parser {
    /// Parses what follows a backslash outside of brackets.
    pub(super) fn escape(&mut self) -> Result<Node, String> {
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
    pub(super) fn brackets(&mut self) -> Result<Class, String> {
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
