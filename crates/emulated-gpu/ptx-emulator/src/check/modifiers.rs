//! The modifiers of one instruction. ptxas accepts them in any order, so each instruction takes the modifiers that it
//! has, and a modifier that is left at the end is an error.

use crate::diagnostic::{Problem, closest};
use crate::program::{Rounding, Type};
use crate::source::Span;
use crate::syntax::{Instruction, Name};

use super::types;

type Result<T> = std::result::Result<T, Problem>;

/// The modifiers that have not been taken yet.
pub(super) struct Modifiers<'a> {
    opcode: Name<'a>,
    remaining: Vec<Name<'a>>,
    /// The modifiers that the rules looked for, for the help text of errors. Each entry has one modifier, or
    /// several, as in `a|b|c`.
    looked_for: Vec<&'static str>,
    /// The modifiers that have been taken, so that errors can name the instruction.
    taken: Vec<Name<'a>>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(instruction: &Instruction<'a>) -> Self {
        Self {
            opcode: instruction.opcode,
            remaining: instruction.modifiers.clone(),
            looked_for: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// The span of the instruction's name, including modifiers.
    pub(super) fn span(&self) -> Span {
        let words = self.remaining.iter().chain(&self.taken);
        let end = words.map(|word| word.span.end).max().unwrap_or(self.opcode.span.end);
        Span { start: self.opcode.span.start, end: end.max(self.opcode.span.end) }
    }

    /// Whether a modifier is present. This doesn't take it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.remaining.iter().any(|word| word.text == name)
    }

    /// Takes an optional modifier, and returns whether it was present.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        self.take_one_of(&[(name, ())]).is_some()
    }

    /// Takes the first modifier that is one of `options`.
    pub(super) fn take_one_of<T: Copy>(&mut self, options: &[(&'static str, T)]) -> Option<T> {
        self.looked_for.extend(options.iter().map(|(name, _)| *name));
        let find = |word: &str| options.iter().find(|(name, _)| *name == word);
        self.take(|word| find(word).map(|(_, value)| *value))
    }

    /// Takes the first modifier that is one of `a|b|c`.
    pub(super) fn word(&mut self, words: &'static str) -> Option<&'static str> {
        self.looked_for.push(words);
        self.take(|word| words.split('|').find(|name| *name == word))
    }

    /// Takes the first modifier for which `find` returns a value.
    fn take<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut words = self.remaining.iter().enumerate();
        let (at, found) = words.find_map(|(at, word)| Some((at, find(word.text)?)))?;
        self.taken.push(self.remaining.remove(at));
        Some(found)
    }

    /// Takes one of `options`, which is mandatory.
    pub(super) fn require_one_of<T: Copy>(
        &mut self,
        what: &str,
        options: &[(&'static str, T)],
    ) -> Result<T> {
        let names = || options.iter().map(|(name, _)| *name).collect();
        self.take_one_of(options).ok_or_else(|| self.missing(what, names()))
    }

    /// Takes one of `a|b|c`, which is mandatory.
    pub(super) fn require_word(&mut self, what: &str, words: &'static str) -> Result<&'static str> {
        self.word(words).ok_or_else(|| self.missing(what, words.split('|').collect()))
    }

    /// The error for a missing modifier: one of `names` is misspelt, or absent.
    pub(super) fn missing(&self, what: &str, names: Vec<&'static str>) -> Problem {
        let opcode = self.opcode.text;
        if let Some((word, name)) = self.misspelt(&names) {
            let message = format!("`{opcode}` has no modifier `.{}`", word.text);
            return Problem::new(word.span, message).help(format!("did you mean `.{name}`?"));
        }
        let problem = Problem::new(self.span(), format!("`{opcode}` needs {what}"));
        problem.help(format!("add one of {}", dotted(&names)))
    }

    fn misspelt(&self, names: &[&'static str]) -> Option<(Name<'a>, &'static str)> {
        self.remaining
            .iter()
            .filter(|word| types::type_named(word.text).is_none())
            .find_map(|word| Some((*word, closest(word.text, names.iter().copied())?)))
    }

    /// The first type that has not been taken. This doesn't take it.
    pub(super) fn peek_type(&self) -> Option<Type> {
        self.remaining.iter().find_map(|word| types::type_named(word.text))
    }

    /// Takes the type, which has to be one of a [list](types::list).
    pub(super) fn ty(&mut self, allowed: &'static str) -> Result<Type> {
        let choice =
            self.remaining.iter().find_map(|word| Some((*word, types::type_named(word.text)?)));
        let names = || types::expand_list(allowed);
        let opcode = self.opcode.text;
        let Some((word, ty)) = choice else {
            let meant =
                |word: &Name<'a>| Some((word.span, word.text, closest(word.text, names())?));
            if let Some((span, text, meant)) = self.remaining.iter().find_map(meant) {
                return Err(Problem::new(span, format!("`.{text}` is not a type"))
                    .help(format!("did you mean `.{meant}`?")));
            }
            return Err(Problem::new(self.span(), format!("`{opcode}` needs a type"))
                .help(format!("add one of {}", dotted(&names().collect::<Vec<_>>()))));
        };
        self.remaining.retain(|other| other.span != word.span);
        self.taken.push(word);
        if names().any(|name| name == word.text) {
            return Ok(ty);
        }
        let untyped = format!("b{}", ty.bits());
        let help = if names().any(|name| name == untyped) {
            format!("write `.{untyped}`: `{opcode}` treats its operands as bits")
        } else {
            format!("its types are {}", dotted(&names().collect::<Vec<_>>()))
        };
        Err(Problem::new(word.span, format!("`{opcode}` has no type `.{}`", word.text)).help(help))
    }

    /// Takes a rounding mode: `.rn`, `.rz`, `.rm` or `.rp`.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.take_one_of(&ROUNDINGS)
    }

    /// Returns an error if a modifier has not been taken.
    pub(super) fn finish(&self) -> Result<()> {
        let Some(word) = self.remaining.first() else { return Ok(()) };
        let mut name = self.opcode.text.to_owned();
        for taken in self.taken.iter().filter(|taken| types::type_named(taken.text).is_some()) {
            name = format!("{name}.{}", taken.text);
        }
        let text = word.text;
        if self.taken.iter().any(|taken| taken.text == text) {
            return Err(
                Problem::new(word.span, format!("`.{text}` is given twice")).help("remove one")
            );
        }
        let known = || self.looked_for.iter().flat_map(|words| words.split('|'));
        let help = match closest(text, known()) {
            _ if known().any(|word| word == text) => {
                format!("`.{text}` can't be combined with the other modifiers: remove one of them")
            }
            Some(close) => format!("did you mean `.{close}`?"),
            None => format!("remove `.{text}`"),
        };
        Err(Problem::new(word.span, format!("`{name}` has no modifier `.{text}`")).help(help))
    }
}

/// The rounding modes of arithmetic instructions.
pub(super) const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::NearestEven),
    ("rz", Rounding::TowardsZero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// Formats names as `.a, .b, .c`.
pub(super) fn dotted(names: &[&str]) -> String {
    names.iter().map(|name| format!(".{name}")).collect::<Vec<_>>().join(", ")
}
