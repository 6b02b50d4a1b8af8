//! Runs statements of `bc`.

use std::collections::HashMap;
use std::rc::Rc;

use num_bigint::BigInt;

use super::number::{Number, functions};
use super::parse::{Expression, Function, Place, Printed, Statement};

/// The most calls within one another.
const DEPTH: usize = 200;

pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Quit,
    Return(Number),
}

pub(super) struct Machine {
    values: HashMap<String, Number>,
    elements: HashMap<(String, i64), Number>,
    functions: HashMap<String, Rc<Function>>,
    has_library: bool,
    scale: usize,
    ibase: u32,
    obase: u32,
    column: usize,
    line_length: usize,
    depth: usize,
}

type Ran<T> = Result<T, String>;

impl Machine {
    pub(super) fn new(has_library: bool, line_length: usize) -> Self {
        Self {
            values: HashMap::new(),
            elements: HashMap::new(),
            functions: HashMap::new(),
            has_library,
            scale: if has_library { 20 } else { 0 },
            ibase: 10,
            obase: 10,
            column: 0,
            line_length,
            depth: 0,
        }
    }

    pub(super) fn run(&mut self, statements: &[Statement], out: &mut Vec<u8>) -> Ran<Flow> {
        for statement in statements {
            match self.statement(statement, out)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement, out: &mut Vec<u8>) -> Ran<Flow> {
        match statement {
            Statement::Expression(expression) => {
                let value = self.value(expression, out)?;
                if !matches!(expression, Expression::Assign(..)) {
                    self.print_value(&value, out);
                    self.put("\n", out);
                    self.values.insert("last".to_owned(), value);
                }
            }
            Statement::Text(text) => self.put(text, out),
            Statement::Print(parts) => {
                for part in parts {
                    match part {
                        Printed::Text(text) => {
                            let text = unescaped(text);
                            self.put(&text, out);
                        }
                        Printed::Value(expression) => {
                            let value = self.value(expression, out)?;
                            self.print_value(&value, out);
                            self.values.insert("last".to_owned(), value);
                        }
                    }
                }
            }
            Statement::If(condition, then, otherwise) => {
                let holds = !self.value(condition, out)?.is_zero();
                return self.run(if holds { then } else { otherwise }, out);
            }
            Statement::While(condition, body) => {
                while !self.value(condition, out)?.is_zero() {
                    match self.run(body, out)? {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        flow => return Ok(flow),
                    }
                }
            }
            Statement::For(begin, condition, step, body) => {
                if let Some(begin) = begin {
                    self.value(begin, out)?;
                }
                loop {
                    if let Some(condition) = condition
                        && self.value(condition, out)?.is_zero()
                    {
                        break;
                    }
                    match self.run(body, out)? {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        flow => return Ok(flow),
                    }
                    if let Some(step) = step {
                        self.value(step, out)?;
                    }
                }
            }
            Statement::Block(body) => return self.run(body, out),
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
            Statement::Quit => return Ok(Flow::Quit),
            Statement::Return(value) => {
                let value = value
                    .as_ref()
                    .map(|value| self.value(value, out))
                    .transpose()?;
                return Ok(Flow::Return(value.unwrap_or(Number::of(0))));
            }
            Statement::Define(function) => {
                self.functions
                    .insert(function.name.clone(), Rc::clone(function));
            }
        }
        Ok(Flow::Next)
    }

    fn put(&mut self, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(text.as_bytes());
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.len(),
            None => self.column + text.len(),
        };
    }

    fn print_value(&mut self, value: &Number, out: &mut Vec<u8>) {
        for char in value.shown(self.obase).bytes() {
            if self.column >= self.line_length - 2 {
                out.extend_from_slice(b"\\\n");
                self.column = 0;
            }
            out.push(char);
            self.column += 1;
        }
    }

    fn get(&mut self, place: &Place, out: &mut Vec<u8>) -> Ran<Number> {
        match place {
            Place::Name(name) => Ok(match &**name {
                "scale" => Number::of(i64::try_from(self.scale).unwrap_or(0)),
                "ibase" => Number::of(self.ibase.into()),
                "obase" => Number::of(self.obase.into()),
                name => self.values.get(name).cloned().unwrap_or(Number::of(0)),
            }),
            Place::Element(name, index) => {
                let index = self.index(index, out)?;
                let element = self.elements.get(&(name.clone(), index));
                Ok(element.cloned().unwrap_or(Number::of(0)))
            }
        }
    }

    fn index(&mut self, index: &Expression, out: &mut Vec<u8>) -> Ran<i64> {
        let index = self.value(index, out)?.to_i64();
        index
            .filter(|index| *index >= 0)
            .ok_or_else(|| "Array index out of bounds".to_owned())
    }

    fn set(&mut self, place: &Place, value: Number, out: &mut Vec<u8>) -> Ran<()> {
        match place {
            Place::Name(name) => {
                let small = || value.to_i64().filter(|value| *value >= 0);
                match &**name {
                    "scale" => {
                        let scale = small().and_then(|scale| usize::try_from(scale).ok());
                        self.scale = scale.ok_or("negative scale, set to 0")?;
                    }
                    "ibase" => {
                        let base = small()
                            .and_then(|base| u32::try_from(base).ok())
                            .unwrap_or(0);
                        self.ibase = base.clamp(2, 16);
                    }
                    "obase" => {
                        let base = small()
                            .and_then(|base| u32::try_from(base).ok())
                            .unwrap_or(0);
                        self.obase = base.max(2);
                    }
                    name => {
                        self.values.insert(name.to_owned(), value);
                    }
                }
            }
            Place::Element(name, index) => {
                let index = self.index(index, out)?;
                self.elements.insert((name.clone(), index), value);
            }
        }
        Ok(())
    }

    fn value(&mut self, expression: &Expression, out: &mut Vec<u8>) -> Ran<Number> {
        match expression {
            Expression::Number(digits) => Ok(Number::read(digits, self.ibase)),
            Expression::Value(place) => self.get(place, out),
            Expression::Assign(place, sign, value) => {
                let mut value = self.value(value, out)?;
                if let Some(sign) = sign.strip_suffix('=').filter(|sign| !sign.is_empty()) {
                    let old = self.get(place, out)?;
                    value = self.binary(sign, &old, &value)?;
                }
                self.set(place, value, out)?;
                self.get(place, out)
            }
            Expression::Step(place, sign, before) => {
                let old = self.get(place, out)?;
                let one = Number::of(if *sign == "++" { 1 } else { -1 });
                let new = old.add(&one);
                self.set(place, new.clone(), out)?;
                Ok(if *before { old } else { new })
            }
            Expression::Unary(sign, value) => {
                let value = self.value(value, out)?;
                Ok(match *sign {
                    "-" => value.negated(),
                    "!" => Number::of(value.is_zero().into()),
                    _ => value,
                })
            }
            Expression::Binary(sign, left, right) => {
                let left = self.value(left, out)?;
                let right = self.value(right, out)?;
                self.binary(sign, &left, &right)
            }
            Expression::Call(name, args) => self.call(name, args, out),
        }
    }

    fn binary(&self, sign: &str, left: &Number, right: &Number) -> Ran<Number> {
        let zero = || "Divide by zero".to_owned();
        let of = |holds: bool| Ok(Number::of(holds.into()));
        match sign {
            "+" => Ok(left.add(right)),
            "-" => Ok(left.add(&right.negated())),
            "*" => Ok(left.multiply(right, self.scale)),
            "/" => left.divide(right, self.scale).ok_or_else(zero),
            "%" => left
                .remainder(right, self.scale)
                .ok_or_else(|| "Modulo by zero".to_owned()),
            "^" => {
                let exponent = right.to_i64().ok_or("exponent too large in raise")?;
                if left.is_zero() && exponent < 0 {
                    return Err(zero());
                }
                left.power(exponent, self.scale)
                    .ok_or_else(|| "exponent too large in raise".to_owned())
            }
            "==" => of(left.compare(right).is_eq()),
            "!=" => of(left.compare(right).is_ne()),
            "<" => of(left.compare(right).is_lt()),
            "<=" => of(left.compare(right).is_le()),
            ">" => of(left.compare(right).is_gt()),
            ">=" => of(left.compare(right).is_ge()),
            "&&" => of(!left.is_zero() && !right.is_zero()),
            _ => of(!left.is_zero() || !right.is_zero()),
        }
    }

    fn call(&mut self, name: &str, args: &[Expression], out: &mut Vec<u8>) -> Ran<Number> {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.value(arg, out)?);
        }
        if let Some(function) = self.functions.get(name).cloned() {
            return self.call_function(&function, values, out);
        }
        let [value] = &*values else {
            return Err(format!("Function {name} not defined."));
        };
        let scale = self.scale;
        let whole = |number: usize| Number {
            units: BigInt::from(number),
            scale: 0,
        };
        match name {
            "length" => Ok(whole(value.length())),
            "scale" => Ok(whole(value.scale)),
            "sqrt" => value
                .root(scale)
                .ok_or_else(|| "Square root of a negative number".to_owned()),
            "e" if self.has_library => Ok(functions::exponential(value, scale)),
            "l" if self.has_library => Ok(functions::logarithm(value, scale)),
            "s" if self.has_library => Ok(functions::sine(value, scale)),
            "c" if self.has_library => Ok(functions::cosine(value, scale)),
            "a" if self.has_library => Ok(functions::arctangent(value, scale)),
            _ => Err(format!("Function {name} not defined.")),
        }
    }

    fn call_function(
        &mut self,
        function: &Function,
        values: Vec<Number>,
        out: &mut Vec<u8>,
    ) -> Ran<Number> {
        if values.len() != function.parameters.len() {
            return Err("Parameter number mismatch".to_owned());
        }
        if self.depth >= DEPTH {
            return Err("calls are too deep here".to_owned());
        }
        let names = function.parameters.iter().chain(&function.locals);
        let saved: Vec<_> = names
            .map(|name| (name.clone(), self.values.remove(name)))
            .collect();
        for (name, value) in function.parameters.iter().zip(values) {
            self.values.insert(name.clone(), value);
        }
        self.depth += 1;
        let flow = self.run(&function.body, out);
        self.depth -= 1;
        for (name, value) in saved {
            match value {
                Some(value) => self.values.insert(name, value),
                None => self.values.remove(&name),
            };
        }
        match flow? {
            Flow::Return(value) => Ok(value),
            _ => Ok(Number::of(0)),
        }
    }
}

fn unescaped(text: &str) -> String {
    let (mut result, mut chars) = (String::new(), text.chars());
    while let Some(char) = chars.next() {
        if char != '\\' {
            result.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => result.push('\n'),
            Some('t') => result.push('\t'),
            Some('r') => result.push('\r'),
            Some('a') => result.push('\x07'),
            Some('b') => result.push('\x08'),
            Some('f') => result.push('\x0c'),
            Some('q') => result.push('"'),
            Some('\\') => result.push('\\'),
            Some(other) => result.extend(['\\', other]),
            None => result.push('\\'),
        }
    }
    result
}
