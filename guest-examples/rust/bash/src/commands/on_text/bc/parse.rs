//! The language of `bc`.

use std::rc::Rc;

mod tokens;

use tokens::{Token, tokens};

#[derive(Clone, Debug)]
pub(super) enum Place {
    Name(String),
    Element(String, Rc<Expression>),
}

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number(String),
    Value(Place),
    Assign(Place, &'static str, Rc<Expression>),
    /// Sign, and whether the value is the one before.
    Step(Place, &'static str, bool),
    Unary(&'static str, Rc<Expression>),
    Binary(&'static str, Rc<Expression>, Rc<Expression>),
    Call(String, Vec<Expression>),
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Expression(Expression),
    Text(String),
    Print(Vec<Printed>),
    If(Expression, Vec<Statement>, Vec<Statement>),
    While(Expression, Vec<Statement>),
    For(
        Option<Expression>,
        Option<Expression>,
        Option<Expression>,
        Vec<Statement>,
    ),
    Block(Vec<Statement>),
    Break,
    Continue,
    Quit,
    Return(Option<Expression>),
    Define(Rc<Function>),
}

#[derive(Clone, Debug)]
pub(super) enum Printed {
    Text(String),
    Value(Expression),
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) locals: Vec<String>,
    pub(super) body: Vec<Statement>,
}

pub(super) struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    pub(super) line: usize,
    error: Option<String>,
    /// Whether the word `quit` was read, which ends the program at once.
    pub(super) quits: bool,
}

type Read<T> = Result<T, String>;

impl Parser {
    pub(super) fn new(text: &str) -> Self {
        let (tokens, error) = tokens(text);
        Self {
            tokens,
            at: 0,
            line: 1,
            error,
            quits: false,
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(next)) if *next == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        self.at += usize::from(is);
        is
    }

    fn takes_new_lines(&mut self) {
        while self.peek() == Some(&Token::NewLine) {
            self.at += 1;
        }
    }

    fn expect(&mut self, sign: &str) -> Read<()> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err("syntax error".to_owned())
        }
    }

    /// The statements of the next line, or `None` at the end. After an error, the rest of its line is skipped.
    pub(super) fn next_line(&mut self) -> Read<Option<Vec<Statement>>> {
        loop {
            let Some((token, line)) = self.tokens.get(self.at) else {
                return Ok(None);
            };
            self.line = *line;
            if *token != Token::NewLine {
                break;
            }
            self.at += 1;
        }
        if let Some(error) = self.error.take() {
            self.at = self.tokens.len();
            return Err(error);
        }
        let statements = self.statements();
        if statements.is_err() {
            if self.peek() == Some(&Token::NewLine) {
                self.line += 1;
            }
            while !matches!(self.peek(), None | Some(Token::NewLine)) {
                self.at += 1;
            }
        }
        statements.map(Some)
    }

    fn statements(&mut self) -> Read<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(statements),
                Some(Token::NewLine) => {
                    self.at += 1;
                    return Ok(statements);
                }
                Some(Token::Sign(";")) => self.at += 1,
                Some(_) => {
                    statements.push(self.statement()?);
                    let ends =
                        matches!(self.peek(), None | Some(Token::NewLine | Token::Sign(";")));
                    if !ends {
                        return Err("syntax error".to_owned());
                    }
                }
            }
        }
    }

    fn block(&mut self) -> Read<Vec<Statement>> {
        self.expect("{")?;
        let mut statements = Vec::new();
        loop {
            while self.takes(";")
                || self.peek() == Some(&Token::NewLine) && {
                    self.at += 1;
                    true
                }
            {}
            if self.takes("}") {
                return Ok(statements);
            }
            if self.peek().is_none() {
                return Err("syntax error".to_owned());
            }
            statements.push(self.statement()?);
        }
    }

    fn inner(&mut self) -> Read<Vec<Statement>> {
        self.takes_new_lines();
        Ok(vec![self.statement()?])
    }

    fn statement(&mut self) -> Read<Statement> {
        if self.is("{") {
            return self.block().map(Statement::Block);
        }
        if let Some(Token::Text(text)) = self.peek() {
            let text = text.clone();
            self.at += 1;
            return Ok(Statement::Text(text));
        }
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return self.expression().map(Statement::Expression);
        };
        self.at += 1;
        match &*word {
            "quit" => {
                self.quits = true;
                Err(String::new())
            }
            "halt" => Ok(Statement::Quit),
            "break" => Ok(Statement::Break),
            "continue" => Ok(Statement::Continue),
            "print" => self.print(),
            "if" => {
                self.expect("(")?;
                let condition = self.expression()?;
                self.expect(")")?;
                let then = self.inner()?;
                let before = self.at;
                let _ = self.takes(";");
                self.takes_new_lines();
                let otherwise = if self.takes_word("else") {
                    self.inner()?
                } else {
                    self.at = before;
                    Vec::new()
                };
                Ok(Statement::If(condition, then, otherwise))
            }
            "while" => {
                self.expect("(")?;
                let condition = self.expression()?;
                self.expect(")")?;
                Ok(Statement::While(condition, self.inner()?))
            }
            "for" => {
                self.expect("(")?;
                let begin = self.optional(";")?;
                let condition = self.optional(";")?;
                let step = self.optional(")")?;
                Ok(Statement::For(begin, condition, step, self.inner()?))
            }
            "return" => {
                let ends = matches!(
                    self.peek(),
                    None | Some(Token::NewLine | Token::Sign(";" | "}"))
                );
                Ok(Statement::Return(if ends {
                    None
                } else {
                    Some(self.expression()?)
                }))
            }
            "define" => self.define(),
            _ => {
                self.at -= 1;
                self.expression().map(Statement::Expression)
            }
        }
    }

    fn optional(&mut self, end: &str) -> Read<Option<Expression>> {
        if self.takes(end) {
            return Ok(None);
        }
        let expression = self.expression()?;
        self.expect(end)?;
        Ok(Some(expression))
    }

    fn print(&mut self) -> Read<Statement> {
        let mut printed = Vec::new();
        loop {
            if let Some(Token::Text(text)) = self.peek().cloned() {
                self.at += 1;
                printed.push(Printed::Text(text));
            } else {
                printed.push(Printed::Value(self.expression()?));
            }
            if !self.takes(",") {
                return Ok(Statement::Print(printed));
            }
        }
    }

    fn define(&mut self) -> Read<Statement> {
        let _ = self.takes_word("void");
        let Some(Token::Word(name)) = self.peek().cloned() else {
            return Err("syntax error".to_owned());
        };
        self.at += 1;
        self.expect("(")?;
        let parameters = self.names(")")?;
        self.takes_new_lines();
        self.expect("{")?;
        self.takes_new_lines();
        let mut locals = Vec::new();
        if self.takes_word("auto") {
            locals = self.names("")?;
        }
        // The block begins with the brace that was read.
        self.at -= 1;
        if let Some(token) = self.tokens.get_mut(self.at) {
            token.0 = Token::Sign("{");
        }
        let body = self.block()?;
        Ok(Statement::Define(Rc::new(Function {
            name,
            parameters,
            locals,
            body,
        })))
    }

    /// Reads names up to a sign, or to the end of a statement.
    fn names(&mut self, end: &str) -> Read<Vec<String>> {
        let mut names = Vec::new();
        loop {
            match self.peek().cloned() {
                Some(Token::Word(name)) => {
                    self.at += 1;
                    let is_array = self.takes("[") && self.takes("]");
                    names.push(if is_array { format!("{name}[]") } else { name });
                }
                Some(Token::Sign(",")) => self.at += 1,
                Some(Token::Sign(sign)) if sign == end => {
                    self.at += 1;
                    return Ok(names);
                }
                Some(Token::Sign(";") | Token::NewLine) if end.is_empty() => {
                    self.at += 1;
                    return Ok(names);
                }
                _ => return Err("syntax error".to_owned()),
            }
        }
    }

    fn expression(&mut self) -> Read<Expression> {
        self.binary(0)
    }

    /// From the loosest to the tightest; assignments bind tighter than comparisons.
    fn binary(&mut self, level: usize) -> Read<Expression> {
        const LEVELS: [&[&str]; 6] = [
            &["||"],
            &["&&"],
            &["!"],
            &["==", "<=", ">=", "!=", "<", ">"],
            &["+", "-"],
            &["*", "/", "%"],
        ];
        let Some(signs) = LEVELS.get(level) else {
            return self.power();
        };
        if level == 2 {
            if self.takes("!") {
                return Ok(Expression::Unary("!", Rc::new(self.binary(level)?)));
            }
            return self.binary(level + 1);
        }
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.is(sign)) {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = Expression::Binary(sign, Rc::new(left), Rc::new(right));
        }
        Ok(left)
    }

    fn power(&mut self) -> Read<Expression> {
        let base = self.unary()?;
        if self.takes("^") {
            let exponent = self.power()?;
            return Ok(Expression::Binary("^", Rc::new(base), Rc::new(exponent)));
        }
        Ok(base)
    }

    fn unary(&mut self) -> Read<Expression> {
        if self.takes("-") {
            // The sign binds tighter than `^`.
            return Ok(Expression::Unary("-", Rc::new(self.unary()?)));
        }
        for sign in ["++", "--"] {
            if self.takes(sign) {
                let Expression::Value(place) = self.primary()? else {
                    return Err("syntax error".to_owned());
                };
                return Ok(Expression::Step(place, sign, false));
            }
        }
        let value = self.primary()?;
        let Expression::Value(place) = value else {
            return Ok(value);
        };
        for sign in ["++", "--"] {
            if self.takes(sign) {
                return Ok(Expression::Step(place, sign, true));
            }
        }
        for sign in ["=", "+=", "-=", "*=", "/=", "%=", "^="] {
            if self.takes(sign) {
                let value = self.binary(4)?;
                return Ok(Expression::Assign(place, sign, Rc::new(value)));
            }
        }
        Ok(Expression::Value(place))
    }

    fn primary(&mut self) -> Read<Expression> {
        if self.takes("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            // An assignment in parentheses is a value like others.
            return Ok(Expression::Unary("(", Rc::new(inner)));
        }
        match self.peek().cloned() {
            Some(Token::Number(digits)) => {
                self.at += 1;
                Ok(Expression::Number(digits))
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                if self.takes("(") {
                    let mut args = Vec::new();
                    while !self.takes(")") {
                        args.push(self.expression()?);
                        if !self.takes(",") && !self.is(")") {
                            return Err("syntax error".to_owned());
                        }
                    }
                    return Ok(Expression::Call(name, args));
                }
                if self.takes("[") {
                    if self.takes("]") {
                        return Err("arrays as arguments are not implemented here".to_owned());
                    }
                    let index = self.expression()?;
                    self.expect("]")?;
                    return Ok(Expression::Value(Place::Element(name, Rc::new(index))));
                }
                Ok(Expression::Value(Place::Name(name)))
            }
            _ => Err("syntax error".to_owned()),
        }
    }
}
