//! The one pass over the text.

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{DEPTH_MAX, INTEGER_MAX, JsonError, JsonErrorKind, pointer_push};

/// Where doubles begin to have an exponent in RFC 8785.
const EXPONENT_FROM: f64 = 1e21;

pub(super) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let fault = Fault::malformed(error.valid_up_to(), "the text is not UTF-8");
        fault.placed_in(bytes)
    })?;
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.document().map_err(|fault| fault.placed_in(bytes))
}

/// An error on its way out. The pointer grows on the unwind, so a good text never pays for it.
struct Fault {
    kind: JsonErrorKind,
    at: usize,
    pointer: String,
    detail: &'static str,
}

type Parsed<T> = Result<T, Box<Fault>>;

impl Fault {
    fn new(kind: JsonErrorKind, at: usize, detail: &'static str) -> Box<Self> {
        Box::new(Self { kind, at, pointer: String::new(), detail })
    }

    fn malformed(at: usize, detail: &'static str) -> Box<Self> {
        Self::new(JsonErrorKind::Malformed, at, detail)
    }

    fn unacceptable(at: usize, detail: &'static str) -> Box<Self> {
        Self::new(JsonErrorKind::Unacceptable, at, detail)
    }

    fn inside(mut self: Box<Self>, segment: &str) -> Box<Self> {
        let mut pointer = String::new();
        pointer_push(&mut pointer, segment);
        pointer.push_str(&self.pointer);
        self.pointer = pointer;
        self
    }

    fn placed_in(self, bytes: &[u8]) -> JsonError {
        let before = bytes.get(..self.at).unwrap_or(bytes);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        JsonError { kind: self.kind, pointer: self.pointer, line, column, detail: self.detail }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Value> {
        let value = self.value()?;
        self.space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.malformed("there is more text after the value")),
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        self.space();
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.malformed("a value is expected here")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Value>) -> Parsed<Value> {
        if self.depth == DEPTH_MAX {
            return Err(self.malformed("arrays and objects are nested more than 64 deep"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Parsed<Value> {
        let mut members = Map::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            self.member(&mut members)?;
            self.space();
            if self.eat(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.malformed("a comma or the end of the object is expected here"));
            }
        }
    }

    fn member(&mut self, members: &mut Map<String, Value>) -> Parsed<()> {
        let from = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.malformed("a member name in double quotes is expected here"));
        }
        let name = self.string()?;
        match members.entry(name) {
            Entry::Occupied(twin) => {
                let fault = Fault::new(JsonErrorKind::DuplicateKey, from, "this member name occurs twice");
                Err(fault.inside(twin.key()))
            }
            Entry::Vacant(place) => {
                self.space();
                if !self.eat(b':') {
                    return Err(self.malformed("a colon is expected here"));
                }
                let value = self.value().map_err(|fault| fault.inside(place.key()))?;
                place.insert(value);
                Ok(())
            }
        }
    }

    fn array(&mut self) -> Parsed<Value> {
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value().map_err(|fault| fault.inside(&items.len().to_string()))?;
            items.push(item);
            self.space();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.malformed("a comma or the end of the array is expected here"));
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut content = String::new();
        loop {
            let from = self.at;
            self.skip_while(|byte| byte != b'"' && byte != b'\\' && byte >= b' ');
            content.push_str(&self.text[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(content);
                }
                Some(b'\\') => content.push(self.escape()?),
                Some(_) => return Err(self.malformed("control characters in strings must be escaped")),
                None => return Err(self.malformed("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let from = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'u') => return self.unicode_escape(from),
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(Fault::malformed(from, "this escape does not exist")),
        };
        self.at += 1;
        Ok(escaped)
    }

    fn unicode_escape(&mut self, from: usize) -> Parsed<char> {
        let first = self.code_unit()?;
        let opens_pair = (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u");
        let second = if opens_pair {
            self.at += 1;
            Some(self.code_unit()?)
        } else {
            None
        };
        let mut decoded = char::decode_utf16([Some(first), second].into_iter().flatten());
        match (decoded.next(), decoded.next()) {
            (Some(Ok('\0')), _) => Err(Fault::unacceptable(from, "U+0000 cannot be stored")),
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(Fault::unacceptable(from, "half of a surrogate pair is not a character")),
        }
    }

    /// The four hexadecimal digits behind the `u` under the cursor.
    fn code_unit(&mut self) -> Parsed<u16> {
        let from = self.at + 1;
        let digits = self.text.get(from..from + 4).filter(|d| d.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| Fault::malformed(from, "\\u needs four hexadecimal digits"))?;
        self.at = from + 4;
        Ok(unit)
    }

    fn number(&mut self) -> Parsed<Value> {
        let from = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let mut integer = true;
        if self.eat(b'.') {
            integer = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            integer = false;
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let literal = &self.text[from..self.at];
        let number = if integer { whole(literal) } else { double(literal) };
        number.map(Value::Number).map_err(|detail| Fault::unacceptable(from, detail))
    }

    fn digits(&mut self) -> Parsed<()> {
        let from = self.at;
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.at == from { Err(self.malformed("a digit is expected here")) } else { Ok(()) }
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.malformed("a value is expected here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn space(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len());
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn malformed(&self, detail: &'static str) -> Box<Fault> {
        Fault::malformed(self.at, detail)
    }
}

const BEYOND_INTEGERS: &str = "integers must lie between -9007199254740991 and 9007199254740991";

fn whole(literal: &str) -> Result<Number, &'static str> {
    match literal.parse::<i64>() {
        Ok(number) if number.abs() <= INTEGER_MAX => Ok(Number::from(number)),
        _ => Err(BEYOND_INTEGERS),
    }
}

fn double(literal: &str) -> Result<Number, &'static str> {
    const BEYOND_DOUBLES: &str = "a double cannot hold this number";
    let number: f64 = literal.parse().map_err(|_| BEYOND_DOUBLES)?;
    let mantissa = literal.split(['e', 'E']).next().unwrap_or(literal);
    let vanished = number == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if vanished {
        return Err(BEYOND_DOUBLES);
    }
    // RFC 8785 writes these as integers again, and those we would refuse to read back.
    if number.abs() > INTEGER_MAX as f64 && number.abs() < EXPONENT_FROM {
        return Err(BEYOND_INTEGERS);
    }
    Number::from_f64(number).ok_or(BEYOND_DOUBLES)
}
