//! Parses a program.

use crate::ast::{Ast, AstPart, Definition, Operator, Param, Pattern};
use crate::lex::{Fault, Lexer, Part, Placed, Token};
use crate::value::Val;

/// Words that are no names of filters.
const KEYWORDS: &[&str] = &[
    "as", "import", "include", "module", "def", "if", "then", "else", "elif", "and", "or", "end",
    "reduce", "foreach", "try", "catch", "label", "break", "__loc__",
];

/// The deepest nesting of a program: parsing takes stack for each level.
const MAX_DEPTH: usize = 200;

type Parsed<T> = Result<T, Fault>;

/// Parses a program: definitions and a filter, which is `.` where there is none.
pub(crate) fn program(text: &str) -> Parsed<Ast> {
    let tokens = Lexer::new(text).tokens()?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        end: text.len(),
        program: text,
        depth: 0,
        halved: None,
    };
    parser.refuse_modules()?;
    let body = parser.body()?;
    parser.expect_end()?;
    Ok(body)
}

/// Parses one definition.
pub(crate) fn definition(text: &str) -> Parsed<Definition> {
    let tokens = Lexer::new(text).tokens()?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        end: text.len(),
        program: text,
        depth: 0,
        halved: None,
    };
    parser.next();
    parser.definition()
}

struct Parser<'t> {
    tokens: &'t [Placed],
    at: usize,
    /// The byte after the last token.
    end: usize,
    program: &'t str,
    depth: usize,
    /// The place of a `?//` after a term, which is `?` and `//` there.
    halved: Option<usize>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    fn next(&mut self) -> Option<&'t Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn place(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.end, |placed| placed.at)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(next)) if *next == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(next)) if next == word)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            self.unexpected(&format!("`{sign}`"))
        }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            self.unexpected(&format!("`{word}`"))
        }
    }

    fn expect_end(&self) -> Parsed<()> {
        if self.peek().is_none() {
            Ok(())
        } else {
            self.unexpected("the end or an operator")
        }
    }

    fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        Err(Fault {
            reason: format!("expected {expected}"),
            at: self.place(),
        })
    }

    fn refuse_modules(&self) -> Parsed<()> {
        if ["import", "include", "module"]
            .iter()
            .any(|word| self.is_word(word))
        {
            let reason =
                "modules (`import`, `include`) are not supported; define the filters with `def`";
            return Err(Fault {
                reason: reason.to_owned(),
                at: self.place(),
            });
        }
        Ok(())
    }

    /// Parses a program or the inside of an interpolation.
    fn body(&mut self) -> Parsed<Ast> {
        if self.peek().is_none() {
            return Ok(Ast::Identity);
        }
        if self.is_word("def") {
            self.at += 1;
            let definition = self.definition()?;
            let rest = self.body()?;
            return Ok(Ast::Define(Box::new(definition), Box::new(rest)));
        }
        self.pipe()
    }

    /// Parses a definition after `def`.
    fn definition(&mut self) -> Parsed<Definition> {
        let name = match self.next() {
            Some(Token::Word(name)) if !KEYWORDS.contains(&name.as_str()) => name.clone(),
            _ => {
                self.at -= 1;
                return self.unexpected("the name of a filter");
            }
        };
        let mut params = Vec::new();
        if self.take_sign("(") {
            loop {
                params.push(match self.next() {
                    Some(Token::Word(name)) => Param {
                        name: name.clone(),
                        is_value: false,
                    },
                    Some(Token::Variable(name)) => Param {
                        name: name.clone(),
                        is_value: true,
                    },
                    _ => {
                        self.at -= 1;
                        return self.unexpected("the name of a parameter");
                    }
                });
                if !self.take_sign(";") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.expect(":")?;
        let body = self.pipe()?;
        self.expect(";")?;
        Ok(Definition { name, params, body })
    }

    fn pipe(&mut self) -> Parsed<Ast> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let reason = format!("the program is nested more than {MAX_DEPTH} deep");
            return Err(Fault {
                reason,
                at: self.place(),
            });
        }
        let parsed = self.pipe_at_depth();
        self.depth -= 1;
        parsed
    }

    fn pipe_at_depth(&mut self) -> Parsed<Ast> {
        let mut stages = Vec::new();
        loop {
            if self.take_word("def") {
                let definition = self.definition()?;
                let rest = self.pipe()?;
                stages.push(Ast::Define(Box::new(definition), Box::new(rest)));
                break;
            }
            stages.push(self.comma()?);
            if !self.take_sign("|") {
                break;
            }
        }
        Ok(piped(stages))
    }

    fn comma(&mut self) -> Parsed<Ast> {
        let mut left = self.binary(0)?;
        while self.take_sign(",") {
            let right = self.binary(0)?;
            left = Ast::Comma(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// The strength of the next operator, and whether it groups to the left, to the right or not at all.
    fn operator(&self) -> Option<(&'t str, u8, Grouping)> {
        let (text, is_word) = match self.peek()? {
            Token::Sign(sign) => (*sign, false),
            Token::Word(word) => (word.as_str(), true),
            _ => return None,
        };
        let text = if text == "?//" && self.halved == Some(self.at) {
            "//"
        } else {
            text
        };
        let (strength, grouping) = match (text, is_word) {
            ("//", false) => (0, Grouping::Right),
            ("=" | "|=" | "+=" | "-=" | "*=" | "/=" | "%=" | "//=", false) => (1, Grouping::None),
            ("or", true) => (2, Grouping::Left),
            ("and", true) => (3, Grouping::Left),
            ("==" | "!=" | "<" | "<=" | ">" | ">=", false) => (4, Grouping::None),
            ("+" | "-", false) => (5, Grouping::Left),
            ("*" | "/" | "%", false) => (6, Grouping::Left),
            _ => return None,
        };
        Some((text, strength, grouping))
    }

    fn binary(&mut self, least: u8) -> Parsed<Ast> {
        let mut left = self.postfix()?;
        while let Some((operator, strength, grouping)) = self.operator() {
            if strength < least {
                break;
            }
            self.at += 1;
            let right = self.binary(if grouping == Grouping::Right {
                strength
            } else {
                strength + 1
            })?;
            left = combined(operator, left, right);
            if grouping == Grouping::None
                && self.operator().is_some_and(|(_, next, _)| next == strength)
            {
                return self
                    .unexpected("parentheses: this operator cannot follow another of its kind");
            }
        }
        Ok(left)
    }

    /// Parses a term with what follows it, and the forms that begin with a keyword.
    fn postfix(&mut self) -> Parsed<Ast> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let reason = format!("the program is nested more than {MAX_DEPTH} deep");
            return Err(Fault {
                reason,
                at: self.place(),
            });
        }
        let parsed = self.postfix_at_depth();
        self.depth -= 1;
        parsed
    }

    fn postfix_at_depth(&mut self) -> Parsed<Ast> {
        if self.take_sign("-") {
            let operand = self.binary(6)?;
            return Ok(Ast::Negate(Box::new(operand)));
        }
        if self.take_word("label") {
            let Some(Token::Variable(name)) = self.next() else {
                self.at -= 1;
                return self.unexpected("the label, as `$name`");
            };
            self.expect("|")?;
            return Ok(Ast::Label(name.clone(), Box::new(self.pipe()?)));
        }
        if self.take_word("def") {
            let definition = self.definition()?;
            let rest = self.pipe()?;
            return Ok(Ast::Define(Box::new(definition), Box::new(rest)));
        }
        if self.take_word("try") {
            let body = self.attempt()?;
            let handler = if self.take_word("catch") {
                Some(Box::new(self.attempt()?))
            } else {
                None
            };
            let attempt = Ast::Try(Box::new(body), handler);
            return Ok(self.optional(attempt));
        }
        let term = self.term()?;
        if !self.take_word("as") {
            return Ok(term);
        }
        let patterns = self.patterns()?;
        self.expect("|")?;
        let body = self.pipe()?;
        Ok(Ast::As(Box::new(term), patterns, Box::new(body)))
    }

    /// The operand of `try` and `catch`.
    fn attempt(&mut self) -> Parsed<Ast> {
        self.postfix()
    }

    fn optional(&mut self, mut ast: Ast) -> Ast {
        while self.take_sign("?") {
            ast = Ast::Try(Box::new(ast), None);
        }
        ast
    }

    fn term(&mut self) -> Parsed<Ast> {
        let start = self.primary()?;
        self.suffixes(start)
    }

    fn suffixes(&mut self, mut term: Ast) -> Parsed<Ast> {
        loop {
            match self.peek() {
                Some(Token::Field(name)) => {
                    self.at += 1;
                    term = index(term, Ast::Const(name.as_str().into()));
                }
                Some(Token::Sign("?")) => {
                    self.at += 1;
                    term = Ast::Try(Box::new(term), None);
                }
                Some(Token::Sign("?//")) if self.halved != Some(self.at) => {
                    self.halved = Some(self.at);
                    return Ok(Ast::Try(Box::new(term), None));
                }
                Some(Token::Sign("[")) => {
                    self.at += 1;
                    term = self.bracket(term)?;
                }
                Some(Token::Sign(".")) => {
                    match self.tokens.get(self.at + 1).map(|placed| &placed.token) {
                        Some(Token::Text(_)) => {
                            self.at += 1;
                            let key = self.text(None)?;
                            term = index(term, key);
                        }
                        Some(Token::Sign("[")) => {
                            self.at += 2;
                            term = self.bracket(term)?;
                        }
                        _ => return Ok(term),
                    }
                }
                _ => return Ok(term),
            }
        }
    }

    /// Parses what follows `[` after a term.
    fn bracket(&mut self, term: Ast) -> Parsed<Ast> {
        if self.take_sign("]") {
            return Ok(Ast::Each(Box::new(term)));
        }
        let term = Box::new(term);
        if self.take_sign(":") {
            let to = self.pipe()?;
            self.expect("]")?;
            return Ok(Ast::Slice(term, None, Some(Box::new(to))));
        }
        let key = Box::new(self.pipe()?);
        if self.take_sign(":") {
            let to = if self.is_sign("]") {
                None
            } else {
                Some(Box::new(self.pipe()?))
            };
            self.expect("]")?;
            return Ok(Ast::Slice(term, Some(key), to));
        }
        self.expect("]")?;
        Ok(Ast::Index(term, key))
    }

    fn primary(&mut self) -> Parsed<Ast> {
        let place = self.place();
        let Some(token) = self.peek() else {
            return self.unexpected("a filter");
        };
        match token {
            Token::Number(value) => {
                self.at += 1;
                Ok(Ast::Const(value.clone()))
            }
            Token::Text(_) => self.text(None),
            Token::Format(name) => {
                self.at += 1;
                if matches!(self.peek(), Some(Token::Text(_))) {
                    return self.text(Some(name.clone()));
                }
                Ok(Ast::Format(name.clone()))
            }
            Token::Field(name) => {
                self.at += 1;
                Ok(index(Ast::Identity, Ast::Const(name.as_str().into())))
            }
            Token::Variable(name) => {
                self.at += 1;
                if name == "__loc__" {
                    return Ok(self.location(place));
                }
                Ok(Ast::Variable(name.clone(), place))
            }
            Token::Sign(sign) => self.bracketed(sign),
            Token::Word(word) => self.word(word, place),
        }
    }

    fn location(&self, place: usize) -> Ast {
        let before = self.program.get(..place).unwrap_or_default();
        Ast::Location(before.matches('\n').count() + 1)
    }

    fn bracketed(&mut self, sign: &str) -> Parsed<Ast> {
        self.at += 1;
        match sign {
            "." => {
                if matches!(self.peek(), Some(Token::Text(_))) {
                    let key = self.text(None)?;
                    return Ok(index(Ast::Identity, key));
                }
                Ok(Ast::Identity)
            }
            ".." => Ok(Ast::Recurse),
            "(" => {
                let inner = self.pipe()?;
                self.expect(")")?;
                Ok(inner)
            }
            "[" => {
                if self.take_sign("]") {
                    return Ok(Ast::Array(None));
                }
                let inner = self.pipe()?;
                self.expect("]")?;
                Ok(Ast::Array(Some(Box::new(inner))))
            }
            "{" => self.object(),
            _ => {
                self.at -= 1;
                self.unexpected("a filter")
            }
        }
    }

    fn word(&mut self, word: &str, place: usize) -> Parsed<Ast> {
        self.at += 1;
        match word {
            "if" => self.conditional(),
            "reduce" => {
                let (source, patterns) = self.source()?;
                let init = self.pipe()?;
                self.expect(";")?;
                let update = self.pipe()?;
                self.expect(")")?;
                Ok(Ast::Reduce(
                    Box::new(source),
                    patterns,
                    Box::new(init),
                    Box::new(update),
                ))
            }
            "foreach" => {
                let (source, patterns) = self.source()?;
                let init = self.pipe()?;
                self.expect(";")?;
                let update = self.pipe()?;
                let extract = if self.take_sign(";") {
                    Some(Box::new(self.pipe()?))
                } else {
                    None
                };
                self.expect(")")?;
                Ok(Ast::Foreach(
                    Box::new(source),
                    patterns,
                    Box::new(init),
                    Box::new(update),
                    extract,
                ))
            }
            "break" => match self.next() {
                Some(Token::Variable(name)) => Ok(Ast::Break(name.clone(), place)),
                _ => {
                    self.at -= 1;
                    self.unexpected("the label to break to, as `$name`")
                }
            },
            "true" => Ok(Ast::Const(Val::Bool(true))),
            "false" => Ok(Ast::Const(Val::Bool(false))),
            "null" => Ok(Ast::Const(Val::Null)),
            _ if KEYWORDS.contains(&word) => {
                self.at -= 1;
                self.unexpected("a filter")
            }
            name => {
                let mut args = Vec::new();
                if self.take_sign("(") {
                    loop {
                        args.push(self.pipe()?);
                        if !self.take_sign(";") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                Ok(Ast::Call(name.to_owned(), args, place))
            }
        }
    }

    /// `TERM as PATTERN (`, after `reduce` and `foreach`.
    fn source(&mut self) -> Parsed<(Ast, Vec<Pattern>)> {
        let source = self.term()?;
        self.expect_word("as")?;
        let patterns = self.patterns()?;
        self.expect("(")?;
        Ok((source, patterns))
    }

    /// Parses what follows `if` or `elif`.
    fn conditional(&mut self) -> Parsed<Ast> {
        let condition = Box::new(self.pipe()?);
        self.expect_word("then")?;
        let then = Box::new(self.pipe()?);
        let otherwise = if self.take_word("elif") {
            Some(Box::new(self.conditional()?))
        } else if self.take_word("else") {
            let otherwise = self.pipe()?;
            self.expect_word("end")?;
            Some(Box::new(otherwise))
        } else {
            self.expect_word("end")?;
            None
        };
        Ok(Ast::If(condition, then, otherwise))
    }

    fn text(&mut self, format: Option<String>) -> Parsed<Ast> {
        let Some(Token::Text(parts)) = self.next() else {
            self.at -= 1;
            return self.unexpected("a text");
        };
        let mut result = Vec::with_capacity(parts.len());
        for part in parts {
            result.push(match part {
                Part::Text(text) => AstPart::Text(text.clone()),
                Part::Tokens(tokens) => {
                    let mut inner = Parser {
                        tokens,
                        at: 0,
                        end: self.place(),
                        program: self.program,
                        depth: self.depth,
                        halved: None,
                    };
                    if tokens.is_empty() {
                        return inner.unexpected("a filter");
                    }
                    let filter = inner.pipe()?;
                    inner.expect_end()?;
                    AstPart::Filter(filter)
                }
            });
        }
        Ok(match result.as_slice() {
            [] => Ast::Const("".into()),
            [AstPart::Text(text)] => Ast::Const(text.as_str().into()),
            _ => Ast::Text(format, result),
        })
    }

    fn object(&mut self) -> Parsed<Ast> {
        let mut members = Vec::new();
        while !self.take_sign("}") {
            members.push(self.member()?);
            if !self.take_sign(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Ast::Object(members))
    }

    fn member(&mut self) -> Parsed<(Ast, Ast)> {
        let place = self.place();
        let (key, value) = match self.peek() {
            Some(Token::Variable(name)) => {
                self.at += 1;
                let (key, value) = if name == "__loc__" {
                    (Ast::Const("__loc__".into()), self.location(place))
                } else {
                    (
                        Ast::Const(name.as_str().into()),
                        Ast::Variable(name.clone(), place),
                    )
                };
                if self.is_sign(":") {
                    (value, None)
                } else {
                    (key, Some(value))
                }
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                let key = Ast::Const(name.as_str().into());
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Number(value)) => {
                self.at += 1;
                (Ast::Const(value.clone()), None)
            }
            Some(Token::Text(_)) => {
                let key = self.text(None)?;
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Format(name)) => {
                self.at += 1;
                let key = self.text(Some(name.clone()))?;
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let key = self.pipe()?;
                self.expect(")")?;
                (key, None)
            }
            _ => return self.unexpected("a key"),
        };
        if self.take_sign(":") {
            return Ok((key, self.member_value()?));
        }
        match value {
            Some(value) => Ok((key, value)),
            None => self.unexpected("`:`"),
        }
    }

    /// A value of an object: no comma outside of brackets.
    fn member_value(&mut self) -> Parsed<Ast> {
        let mut stages = vec![self.binary(0)?];
        while self.take_sign("|") {
            stages.push(self.binary(0)?);
        }
        Ok(piped(stages))
    }

    fn patterns(&mut self) -> Parsed<Vec<Pattern>> {
        let mut patterns = vec![self.pattern()?];
        while self.take_sign("?//") {
            patterns.push(self.pattern()?);
        }
        Ok(patterns)
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        match self.next() {
            Some(Token::Variable(name)) => Ok(Pattern::Variable(name.clone())),
            Some(Token::Sign("[")) => {
                let mut items = vec![self.pattern()?];
                while self.take_sign(",") {
                    items.push(self.pattern()?);
                }
                self.expect("]")?;
                Ok(Pattern::Array(items))
            }
            Some(Token::Sign("{")) => {
                let mut members = vec![self.pattern_member()?];
                while self.take_sign(",") {
                    members.push(self.pattern_member()?);
                }
                self.expect("}")?;
                Ok(Pattern::Object(members))
            }
            _ => {
                self.at -= 1;
                self.unexpected("a variable, `[` or `{`")
            }
        }
    }

    fn pattern_member(&mut self) -> Parsed<(Ast, Option<String>, Option<Pattern>)> {
        let (key, variable) = match self.peek() {
            Some(Token::Variable(name)) => {
                self.at += 1;
                (Ast::Const(name.as_str().into()), Some(name.clone()))
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                (Ast::Const(name.as_str().into()), None)
            }
            Some(Token::Text(_)) => (self.text(None)?, None),
            Some(Token::Sign("(")) => {
                self.at += 1;
                let key = self.pipe()?;
                self.expect(")")?;
                (key, None)
            }
            _ => return self.unexpected("a key or a variable"),
        };
        if variable.is_some() && !self.is_sign(":") {
            return Ok((key, variable, None));
        }
        self.expect(":")?;
        let pattern = self.pattern()?;
        Ok((key, variable, Some(pattern)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Left,
    Right,
    None,
}

fn index(term: Ast, key: Ast) -> Ast {
    Ast::Index(Box::new(term), Box::new(key))
}

/// Groups to the right.
fn piped(mut stages: Vec<Ast>) -> Ast {
    let mut last = stages.pop().unwrap_or(Ast::Identity);
    while let Some(stage) = stages.pop() {
        last = Ast::Pipe(Box::new(stage), Box::new(last));
    }
    last
}

fn combined(operator: &str, left: Ast, right: Ast) -> Ast {
    let (left, right) = (Box::new(left), Box::new(right));
    let binary = match operator {
        "//" => return Ast::Alternative(left, right),
        "=" => return Ast::Assign(left, right),
        "|=" => return Ast::Modify(left, right),
        "//=" => return Ast::UpdateAlternative(left, right),
        "or" => return Ast::Or(left, right),
        "and" => return Ast::And(left, right),
        "+=" => return Ast::Update(Operator::Add, left, right),
        "-=" => return Ast::Update(Operator::Subtract, left, right),
        "*=" => return Ast::Update(Operator::Multiply, left, right),
        "/=" => return Ast::Update(Operator::Divide, left, right),
        "%=" => return Ast::Update(Operator::Remainder, left, right),
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        _ => Operator::Remainder,
    };
    Ast::Binary(binary, left, right)
}
