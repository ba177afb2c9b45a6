//! `when`: a CEL expression that narrows a policy. In doubt the policy applies.
//!
//! What an expression may cost is known before it is worked out: it has few nodes, loops only over what a task holds,
//! and calls only what is listed here.

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value as CelValue};
use serde_json::Value;

use crate::text::BadText;

/// The longest expression.
pub const SOURCE_BYTES_MAX: usize = 1024;
const NODES_MAX: u64 = 100;
const DEPTH_MAX: usize = 16;
/// How many values a task may hold for conditions to be asked about it.
const VALUES_MAX: usize = 4096;

/// What an expression may ask about.
pub const VARIABLES: [&str; 4] = ["author", "config", "resources", "risk"];

const OPERATORS: [&str; 19] = [
    operators::ADD,
    operators::CONDITIONAL,
    operators::DIVIDE,
    operators::EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::IN,
    operators::INDEX,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::LOGICAL_AND,
    operators::LOGICAL_NOT,
    operators::LOGICAL_OR,
    operators::MODULO,
    operators::MULTIPLY,
    operators::NEGATE,
    operators::NOT_EQUALS,
    operators::NOT_STRICTLY_FALSE,
    operators::SUBSTRACT,
];
const FUNCTIONS: [&str; 7] = ["contains", "double", "endsWith", "int", "size", "startsWith", "string"];

/// An expression that keeps to the limits.
#[derive(Debug)]
pub struct Condition {
    program: Program,
    cost: Cost,
}

/// What an expression says about a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The policy applies.
    Yes,
    /// It does not.
    No,
    /// Nobody knows, for this reason; so it applies.
    Doubt(&'static str),
}

/// How much work an expression is.
#[derive(Clone, Copy, Default, Debug)]
struct Cost {
    /// Nodes outside and inside of loops.
    nodes: u64,
    /// Nodes that a loop comes by each time.
    looped: u64,
    /// Lists written down to loop over, counted by their parts.
    written: u64,
    /// Whether a loop collects a list, which is copied each time.
    collects: bool,
    /// Sums; each may join two texts or lists.
    sums: u64,
}

impl Condition {
    /// Reads an expression.
    ///
    /// # Errors
    /// It is not CEL, or does not keep to the limits.
    pub fn new(source: &str) -> Result<Self, BadText> {
        if source.trim().is_empty() || source.len() > SOURCE_BYTES_MAX {
            return Err(BadText(format!("must have 1 to {SOURCE_BYTES_MAX} bytes")));
        }
        if source.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\t')) {
            return Err(BadText("must hold no control characters".into()));
        }
        let program = Program::compile(source).map_err(|errors| BadText(first_error(&errors)))?;
        let cost = Reader::default().cost_of(program.expression())?;
        Ok(Self { program, cost })
    }

    /// At most how many nodes it comes by, each counted with the size of what it may look at.
    #[must_use]
    pub fn price(&self, facts: &Facts<'_>) -> u64 {
        let Cost { nodes, looped, written, collects, sums } = self.cost;
        let rounds = facts.longest * (1 + sums) + written;
        let per_round = if collects { looped * rounds } else { looped };
        let visits = if looped == 0 { nodes } else { nodes + rounds * per_round };
        visits.saturating_mul(1 + (facts.bytes / 1024) * (1 + sums))
    }

    /// What it says about a task.
    #[must_use]
    pub fn ask(&self, facts: &Facts<'_>) -> Answer {
        match self.program.execute(&facts.context) {
            Ok(CelValue::Bool(true)) => Answer::Yes,
            Ok(CelValue::Bool(false)) => Answer::No,
            Ok(_) => Answer::Doubt("its condition answers with something else than yes or no"),
            Err(ExecutionError::NoSuchKey(_)) => {
                Answer::Doubt("its condition asks about a field that is missing")
            }
            Err(_) => Answer::Doubt("its condition could not be worked out"),
        }
    }
}

fn first_error(errors: &cel::ParseErrors) -> String {
    match errors.errors.first() {
        Some(error) if error.pos.0 > 0 => {
            format!("is not a CEL expression: see line {}, character {}", error.pos.0, error.pos.1)
        }
        _ => "is not a CEL expression".to_owned(),
    }
}

/// Walks an expression and holds it against the limits.
#[derive(Default)]
struct Reader<'a> {
    cost: Cost,
    /// Whether a list or map is written down somewhere; a loop may go over it.
    writes_lists: bool,
    in_loop: bool,
    loop_variables: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn cost_of(mut self, whole: &'a IdedExpr) -> Result<Cost, BadText> {
        self.read(whole, 1)?;
        Ok(self.cost)
    }

    fn read(&mut self, node: &'a IdedExpr, depth: usize) -> Result<(), BadText> {
        if depth > DEPTH_MAX {
            return Err(BadText(format!("must not be nested more than {DEPTH_MAX} deep")));
        }
        self.cost.nodes += 1;
        self.cost.looped += u64::from(!self.loop_variables.is_empty());
        if self.cost.nodes > NODES_MAX {
            return Err(BadText(format!("must have at most {NODES_MAX} parts")));
        }
        match &node.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.read_name(name),
            Expr::Select(select) => self.read(&select.operand, depth + 1),
            Expr::List(list) => {
                self.writes_lists = true;
                self.read_all(&list.elements, depth)
            }
            Expr::Call(call) => self.read_call(call, depth),
            Expr::Comprehension(comprehension) => self.read_loop(comprehension, depth),
            Expr::Map(map) => {
                self.writes_lists = true;
                map.entries.iter().try_for_each(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        self.read(&entry.key, depth + 1)?;
                        self.read(&entry.value, depth + 1)
                    }
                    EntryExpr::StructField(_) => Err(no_messages()),
                })
            }
            Expr::Struct(_) | Expr::Unspecified => Err(no_messages()),
        }
    }

    fn read_all(&mut self, nodes: &'a [IdedExpr], depth: usize) -> Result<(), BadText> {
        nodes.iter().try_for_each(|node| self.read(node, depth + 1))
    }

    fn read_name(&self, name: &str) -> Result<(), BadText> {
        if VARIABLES.contains(&name) || self.loop_variables.contains(&name) {
            return Ok(());
        }
        Err(BadText(format!("asks about something unknown; there is {}", VARIABLES.join(", "))))
    }

    fn read_call(&mut self, call: &'a CallExpr, depth: usize) -> Result<(), BadText> {
        let name = call.func_name.as_str();
        if !OPERATORS.contains(&name) && !FUNCTIONS.contains(&name) {
            return Err(BadText(format!("calls something unknown; there is {}", FUNCTIONS.join(", "))));
        }
        self.cost.sums += u64::from(name == operators::ADD);
        if let Some(target) = &call.target {
            self.read(target, depth + 1)?;
        }
        self.read_all(&call.args, depth)
    }

    fn read_loop(&mut self, comprehension: &'a ComprehensionExpr, depth: usize) -> Result<(), BadText> {
        if self.in_loop {
            return Err(BadText("must not loop inside of a loop".into()));
        }
        self.in_loop = true;
        let before = self.cost.nodes;
        self.read(&comprehension.iter_range, depth + 1)?;
        if self.writes_lists {
            self.cost.written += self.cost.nodes - before;
        }
        self.cost.collects |= matches!(comprehension.accu_init.expr, Expr::List(_));
        self.loop_variables = [&comprehension.iter_var, &comprehension.accu_var].map(String::as_str).to_vec();
        self.loop_variables.extend(comprehension.iter_var2.as_deref());
        let parts = [
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ];
        parts.into_iter().try_for_each(|part| self.read(part, depth + 1))?;
        self.loop_variables.clear();
        self.in_loop = false;
        Ok(())
    }
}

fn no_messages() -> BadText {
    BadText("must not make messages".into())
}

/// What expressions are asked about, put together once for all policies.
pub struct Facts<'a> {
    context: Context<'a>,
    /// The most members of one list or object.
    longest: u64,
    /// About how much text there is.
    bytes: u64,
}

impl Facts<'_> {
    /// Gets what expressions may ask about ready; none: it is too much.
    #[must_use]
    pub fn new(variables: &[(&'static str, &Value)]) -> Option<Self> {
        let mut left = VALUES_MAX;
        if !variables.iter().all(|(_, value)| is_within(value, &mut left)) {
            return None;
        }
        let mut facts = Self { context: Context::default(), longest: 1, bytes: 0 };
        for (name, value) in variables {
            let value = facts.take(value);
            facts.context.add_variable_from_value(*name, value);
        }
        Some(facts)
    }

    fn take(&mut self, value: &Value) -> CelValue {
        const VALUE_BYTES: u64 = 16;
        self.bytes += VALUE_BYTES;
        match value {
            Value::Null => CelValue::Null,
            Value::Bool(yes) => CelValue::Bool(*yes),
            // Integers are within what a double keeps (DECISIONS.md 24).
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| CelValue::Float(number.as_f64().unwrap_or(f64::NAN)), CelValue::Int),
            Value::String(text) => CelValue::String(self.text(text)),
            Value::Array(items) => {
                self.longest = self.longest.max(items.len() as u64);
                CelValue::List(Arc::new(items.iter().map(|item| self.take(item)).collect()))
            }
            Value::Object(members) => {
                self.longest = self.longest.max(members.len() as u64);
                let read =
                    members.iter().map(|(name, value)| (Key::String(self.text(name)), self.take(value)));
                let map: HashMap<Key, CelValue> = read.collect();
                CelValue::Map(Map { map: Arc::new(map) })
            }
        }
    }

    fn text(&mut self, text: &str) -> Arc<String> {
        self.bytes += text.len() as u64;
        Arc::new(text.to_owned())
    }
}

/// Whether there are no more values than are left; stops at the first too many.
fn is_within(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, left)),
        Value::Object(members) => members.values().all(|member| is_within(member, left)),
        _ => true,
    }
}
