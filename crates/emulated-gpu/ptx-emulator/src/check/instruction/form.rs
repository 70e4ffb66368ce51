//! Forms: a notation for the syntax of an instruction, and the parser that checks instructions against it.
//!
//! Modifiers are written as groups, separated by `; `:
//! - `.u32|s32` is a type: one of these, or of a named [list](types::list) such as `.int`;
//! - `lo|hi` is one of these words, and `{sat}` is an optional word;
//! - `lo|hi = a half` gives the group a name for error messages;
//! - `.s32 @sat` is only read if the latest type or one of the words so far is in the list after `@`, and
//!   `.int @!sat|wide` only if none is.
//!
//! Operands are written by name, separated by `, `. A first operand called `d`, `f` or `p` is the destination,
//! and `d|p` is a pair of destinations. All others are sources. `[a]` is an address in the state space that
//! the modifiers name, and `{c}` is optional. An operand has the instruction's type, or the one after a colon:
//! `b:u32`. `c:2` has the instruction's second type, and `d:wide` is twice as wide in an instruction with
//! `.wide`.

use crate::check::context::Result;
use crate::check::modifiers::ROUNDINGS;
use crate::check::operands::{Check, space_named};
use crate::check::types;
use crate::program::{
    Address, Destination, FloatBinary, FloatMode, FloatUnary, IntBinary, IntUnary, Op, Operand,
    Rounding, Space, Type,
};

/// The names that error messages use for groups of modifiers.
const DECISIONS: [(&str, &str); 10] = [
    ("approx", "`.approx`: it is an approximation"),
    ("lo|hi|wide", "to know which part of the product it keeps"),
    ("lo|hi", "to know which part of the product it keeps"),
    ("l|r", "a direction"),
    ("clamp|wrap", "a mode"),
    ("any|all", "a mode"),
    ("m8n8", "a shape"),
    ("rn|rz|rm|rp", "a rounding"),
    ("inc|dec", "an action"),
    ("launch_dependents|wait", "an action"),
];

/// The modifiers of an instruction, and its operands once they have been read.
pub(super) struct Form {
    words: Vec<&'static str>,
    /// The type; `.b32` if the instruction has no type.
    pub(super) ty: Type,
    pub(super) second_type: Type,
    types: usize,
    pub(super) mode: FloatMode,
    pub(super) d: Destination,
    pub(super) p: Destination,
    pub(super) address: Address,
    sources: Vec<Operand>,
    /// The first four sources. A missing source is 0.
    pub(super) a: Operand,
    pub(super) b: Operand,
    pub(super) c: Operand,
    pub(super) e: Operand,
}

/// Prefixes of the names of state spaces.
const SPACES: [&str; 5] = ["global", "shared", "local", "param", "const"];

const NOTHING: Operand = Operand::Immediate(0);

impl Form {
    fn new() -> Self {
        let [a, b, c, e] = [NOTHING; 4];
        let address = Address { base: NOTHING, offset: 0 };
        let (ty, second, words, sources) = (Type::B32, Type::B32, Vec::new(), Vec::new());
        Self {
            words,
            ty,
            second_type: second,
            types: 0,
            mode: FloatMode::NEAREST,
            d: None,
            p: None,
            address,
            sources,
            a,
            b,
            c,
            e,
        }
    }

    /// Whether a word has been taken.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The value of the first of these words that has been taken.
    pub(super) fn choice<T: Copy>(&self, options: &[(&str, T)]) -> Option<T> {
        options.iter().find(|(word, _)| self.has(word)).map(|(_, value)| *value)
    }

    /// The state space. Without a modifier for it, the space is generic.
    pub(super) fn space(&self) -> Space {
        let is_space = |word: &&str| SPACES.iter().any(|space| word.starts_with(space));
        let named = self.words.iter().copied().find(is_space);
        named.map_or(Space::Generic, space_named)
    }

    /// Whether the condition after an `@` holds.
    fn condition_holds(&self, condition: &'static str) -> bool {
        let holds = |list| {
            let last = [None, Some(self.ty), Some(self.second_type)][self.types];
            types::expand_list(list)
                .any(|word| last.map(Type::name) == Some(word) || self.has(word))
        };
        condition.strip_prefix('!').map_or_else(|| holds(condition), |list| !holds(list))
    }

    pub(super) fn unary(&self, op: IntUnary) -> Op {
        Op::IntUnary { op, ty: self.ty, d: self.d, a: self.a }
    }

    pub(super) fn binary(&self, op: IntBinary) -> Op {
        Op::IntBinary { op, ty: self.ty, d: self.d, a: self.a, b: self.b }
    }

    pub(super) fn float_unary(&self, op: FloatUnary) -> Op {
        Op::FloatUnary { op, mode: self.mode, ty: self.ty, d: self.d, a: self.a }
    }

    pub(super) fn float_binary(&self, op: FloatBinary) -> Op {
        Op::FloatBinary { op, mode: self.mode, ty: self.ty, d: self.d, a: self.a, b: self.b }
    }

    /// The part of a product that is kept.
    pub(super) fn product(&self) -> IntBinary {
        let parts = [("lo", IntBinary::MulLow), ("hi", IntBinary::MulHigh)];
        self.choice(&parts).unwrap_or(IntBinary::MulWide)
    }

    /// The part of a 24-bit product that is kept.
    pub(super) fn product24(&self) -> IntBinary {
        if self.has("lo") { IntBinary::Mul24Low } else { IntBinary::Mul24High }
    }

    pub(super) fn mad(&self, product: IntBinary) -> Op {
        let (saturate, ty) = (self.has("sat"), self.ty);
        Op::IntMad { product, saturate, ty, d: self.d, a: self.a, b: self.b, c: self.c }
    }

    /// An addition or subtraction with carry or, with a third source, a `mad` with carry.
    pub(super) fn carry(&self, subtract: bool, carry_in: bool) -> Op {
        let (carry_out, ty) = (self.has("cc"), self.ty);
        let c = self.sources.get(2).copied();
        let product = c.map(|_| self.product());
        let (d, a, b) = (self.d, self.a, self.b);
        Op::Carry { subtract, product, carry_in, carry_out, ty, d, a, b, c }
    }
}

impl Check<'_, '_> {
    /// Takes the modifiers of these groups.
    pub(super) fn take(&mut self, groups: &'static str) -> Result<Form> {
        let mut form = Form::new();
        self.take_more(&mut form, groups)?;
        Ok(form)
    }

    /// Takes the modifiers of further groups.
    pub(super) fn take_more(&mut self, form: &mut Form, groups: &'static str) -> Result<()> {
        for group in groups.split(';').map(str::trim_ascii).filter(|group| !group.is_empty()) {
            let (group, decides) = match group.split_once('=') {
                Some((group, decides)) => {
                    (group.trim_ascii_end(), Some(decides.trim_ascii_start()))
                }
                None => (group, None),
            };
            let optional = group.strip_prefix('{').and_then(|group| group.strip_suffix('}'));
            let group = optional.unwrap_or(group);
            let (words, condition) = group.split_once('@').unwrap_or((group, ""));
            let words = words.trim_ascii_end();
            if !condition.is_empty() && !form.condition_holds(condition) {
                continue;
            }
            if let Some(list) = words.strip_prefix('.') {
                let ty = self.modifiers.ty(list)?;
                *(if form.types == 0 { &mut form.ty } else { &mut form.second_type }) = ty;
                form.types = (form.types + 1).min(2);
                continue;
            }
            let word = self.modifiers.word(words);
            if word.is_none() && optional.is_none() {
                let names = words.split('|').collect();
                return Err(self.modifiers.missing(&group_title(words, decides), names));
            }
            // Below sm_20, all instructions flush subnormal numbers.
            let flushes = words == "ftz" && self.context.module.target < 20;
            form.mode.flush |= word == Some("ftz") || flushes;
            form.mode.saturate |= word == Some("sat");
            form.mode.relu |= word == Some("relu");
            form.words.extend(word);
        }
        form.mode.rounding = form.choice(&ROUNDINGS).unwrap_or(Rounding::NearestEven);
        Ok(())
    }

    /// Checks the number of operands, and reads them.
    pub(super) fn operands(&mut self, form: &mut Form, shape: &'static str) -> Result<()> {
        self.shape(shape)?;
        for (index, operand) in shape.split(',').enumerate().take(self.count()) {
            let operand = operand.trim_ascii_start().trim_matches(['{', '}']);
            let (name, ty) = operand.split_once(':').unwrap_or((operand, ""));
            let ty = match ty {
                "" => form.ty,
                "2" => form.second_type,
                "wide" if !form.has("wide") => form.ty,
                "wide" => form.ty.doubled(),
                name => types::type_named(name).unwrap_or(Type::B32),
            };
            match name {
                _ if name.starts_with('[') => {
                    form.address = self.address(index, form.space())?;
                }
                "d" | "f" | "p" if index == 0 => form.d = self.destination(0, ty)?,
                "d|p" => (form.d, form.p) = self.destination_pair(0, ty)?,
                _ if ty == Type::Pred => form.sources.push(self.predicate(index)?),
                _ => form.sources.push(self.source(index, ty)?),
            }
        }
        let source = |index| form.sources.get(index).copied().unwrap_or(NOTHING);
        (form.a, form.b, form.c, form.e) = (source(0), source(1), source(2), source(3));
        Ok(())
    }

    /// Takes the modifiers and the operands of an instruction.
    pub(super) fn form(&mut self, groups: &'static str, shape: &'static str) -> Result<Form> {
        let mut form = self.take(groups)?;
        self.operands(&mut form, shape)?;
        Ok(form)
    }
}

/// The name that an error message uses for a group of modifiers.
fn group_title(words: &'static str, given: Option<&'static str>) -> String {
    let known = || DECISIONS.iter().find(|(list, _)| *list == words).map(|(_, decides)| *decides);
    given.or_else(known).map_or_else(|| format!("`.{words}`"), str::to_owned)
}
