//! Declarations of variables, registers and parameters (PTX ISA, "Variables").

use super::{Parser, Result};
use crate::diagnostic::{Problem, closest};
use crate::lexer::TokenKind;
use crate::program::{Linkage, Space, Type};
use crate::source::Span;
use crate::syntax::{Declaration, Declarator, Initializer, Name, Opacity};
use crate::texture::Opaque;

/// The types of declarations (PTX ISA, "Fundamental Types"), without the dot: neither packed integers nor alternate
/// floating-point formats.
fn types() -> impl Iterator<Item = (&'static str, Type)> {
    use Type::{Bf16, Bf16x2, E4m3x2, E5m2x2, S16x2, Tf32, U16x2};
    let only_packed =
        |ty: Type| matches!(ty, Bf16 | Bf16x2 | Tf32 | E4m3x2 | E5m2x2 | U16x2 | S16x2);
    let all = Type::NAMED.iter().map(|&(name, ty, _)| (name, ty));
    all.filter(move |(_, ty)| !only_packed(*ty))
}

impl<'a> Parser<'a, '_> {
    /// The state space, if a declaration begins here.
    pub(super) fn space(&self) -> Option<Space> {
        if self.kind() != TokenKind::Dotted {
            return None;
        }
        let word = match self.word() {
            ".shared::cta" => ".shared",
            ".param::func" | ".param::entry" => ".param",
            // No longer a separate space (PTX ISA, "Texture State Space").
            ".tex" => ".global",
            word => word,
        };
        Space::NAMED.iter().find(|(name, _)| *name == word).map(|(_, space)| *space)
    }

    /// Parses `.global .align 4 .f32 a[4] = {…}, b;` after its linkage.
    pub(super) fn declaration(&mut self, linkage: Linkage) -> Result<Declaration<'a>> {
        let mut declaration = self.declared_type(linkage)?;
        loop {
            let declarator = self.declarator(declaration.space)?;
            declaration.names.push(declarator);
            if !self.take(",") {
                break;
            }
        }
        self.semicolon()?;
        Ok(declaration)
    }

    /// Parses `.param .u64 a`, without a `;`.
    pub(super) fn parameter(&mut self) -> Result<Declaration<'a>> {
        let mut declaration = self.declared_type(Linkage::Internal)?;
        let declarator = self.declarator(declaration.space)?;
        declaration.names.push(declarator);
        Ok(declaration)
    }

    /// Parses the part of a declaration before the names.
    fn declared_type(&mut self, linkage: Linkage) -> Result<Declaration<'a>> {
        let Some(space) = self.space() else {
            return Err(self.expected("a state space").help(
                "a declaration begins with .reg, .global, .shared, .const, .local or .param",
            ));
        };
        let mut opaque = (self.word() == ".tex").then_some(Opacity::Space);
        self.advance();
        let (mut align, mut lanes, mut ty) = (None, 1, None);
        while self.kind() == TokenKind::Dotted {
            let span = self.span();
            match self.word() {
                ".align" if ty.is_none() => {
                    self.advance();
                    align = Some((u64::from(self.number("an alignment")?), self.since(span)));
                }
                ".attribute" if space == Space::Global && ty.is_none() => self.attributes()?,
                // `.ptr .global .align 16` describes the memory to which a parameter points. The alignment refers to
                // this memory, not to the parameter.
                ".ptr" if space == Space::Param && ty.is_some() => self.pointer()?,
                ".v2" | ".v4" | ".v8" if lanes == 1 && ty.is_none() => {
                    lanes = u32::from(self.word().as_bytes()[2] - b'0');
                    self.advance();
                }
                ".texref" | ".surfref" if ty.is_none() && opaque.is_none() => {
                    let texture = self.word() == ".texref";
                    let kind = if texture { Opaque::Texture } else { Opaque::Surface };
                    opaque = Some(Opacity::Type(kind));
                    ty = Some((Type::B64, span));
                    self.advance();
                }
                word => {
                    let Some(found) =
                        types().find(|(name, _)| word.strip_prefix('.') == Some(name))
                    else {
                        return Err(self.unknown_type());
                    };
                    if ty.is_some() {
                        return Err(Problem::new(span, "a second type")
                            .help("a declaration has one type: remove this or the other"));
                    }
                    ty = Some((found.1, span));
                    self.advance();
                }
            }
        }
        let Some((ty, ty_span)) = ty else {
            return Err(self
                .expected("a type")
                .help("name one of .b32, .u32, .s32, .f32, ….".trim_end_matches('.')));
        };
        Ok(Declaration { linkage, space, align, lanes, ty, ty_span, opaque, names: Vec::new() })
    }

    /// Parses `.attribute(.managed, .unified(1, 2))`.
    pub(super) fn attributes(&mut self) -> Result<()> {
        self.advance();
        self.expect("(")?;
        if self.is(")") {
            return Err(self.expected("`.managed` or `.unified(…)`"));
        }
        self.list(")", Self::attribute).map(drop)
    }

    fn attribute(&mut self) -> Result<()> {
        match (self.kind(), self.word()) {
            (TokenKind::Dotted, ".managed") => {
                self.advance();
                Ok(())
            }
            (TokenKind::Dotted, ".unified") => {
                self.advance();
                self.expect("(")?;
                self.expression()?;
                self.expect(",")?;
                self.expression()?;
                self.expect(")")
            }
            _ => Err(self.expected("`.managed` or `.unified(…)`")),
        }
    }

    fn pointer(&mut self) -> Result<()> {
        self.advance();
        if matches!(self.word(), ".texref" | ".surfref" | ".samplerref") {
            self.note_versioned_word(".ptr .texref");
            self.advance();
        } else if matches!(self.word(), ".const" | ".global" | ".local" | ".shared") {
            self.advance();
        }
        let span = self.span();
        if self.take_word(".align") {
            let align = self.number("an alignment")?;
            if !align.is_power_of_two() {
                return Err(Problem::new(self.since(span), format!("{align} is not an alignment"))
                    .help("an alignment is a power of two, in bytes"));
            }
        }
        Ok(())
    }

    fn unknown_type(&self) -> Problem {
        let word = self.word();
        let problem = Problem::new(self.span(), format!("`{word}` is not a type of variables"));
        match word {
            ".bf16" => problem.help("declare it .b16: the instructions say that it holds a bf16"),
            ".bf16x2" | ".tf32" => {
                problem.help("declare it .b32: the instructions say what it holds")
            }
            ".samplerref" => problem.help(
                "separate samplers belong to .target texmode_independent, which is not emulated: a \
                 .texref has its own sampler",
            ),
            ".attribute" => Problem::new(self.span(), "`.attribute` is not allowed here")
                .help("it describes a .global variable, in front of the type"),
            _ => {
                if [".align", ".v2", ".v4", ".v8"].contains(&word) {
                    return Problem::new(self.span(), format!("`{word}` is not allowed here"))
                        .help("alignment comes first, then a vector, once, then the type");
                }
                let names: Vec<String> = types().map(|(name, _)| format!(".{name}")).collect();
                let names = names.iter().map(String::as_str).chain([".align", ".v2", ".v4"]);
                let help = closest(word, names).map(|name| format!("did you mean `{name}`?"));
                problem.help("types are .pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .f32 and .f64").maybe_help(help)
            }
        }
    }

    fn declarator(&mut self, space: Space) -> Result<Declarator<'a>> {
        let name = self.name("a name")?;
        let mut declarator = Declarator { name, range: None, lengths: Vec::new(), initial: None };
        if space == Space::Register && self.take("<") {
            declarator.range = Some(u64::from(self.number("the number of registers")?));
            self.expect(">")?;
        }
        while self.is("[") {
            declarator.lengths.push(self.length()?);
        }
        if self.take("=") {
            declarator.initial = Some(self.initializer()?);
        }
        Ok(declarator)
    }

    fn initializer(&mut self) -> Result<Initializer<'a>> {
        let start = self.span();
        if !self.take("{") {
            return Ok(Initializer::Value(self.expression()?));
        }
        if self.kind() == TokenKind::Word && matches!(self.kind_ahead(1), TokenKind::Mark("=")) {
            let fields = self.list("}", |parser| {
                let field = parser.name("the name of a field")?;
                parser.expect("=")?;
                Ok((field, parser.expression()?))
            })?;
            return Ok(Initializer::Fields(fields, self.since(start)));
        }
        let list = self.nested(|parser| {
            let mut list = Vec::new();
            while !parser.take("}") {
                if !list.is_empty() {
                    parser.expect(",")?;
                }
                list.push(parser.initializer()?);
            }
            Ok(list)
        })?;
        Ok(Initializer::List(list, self.since(start)))
    }

    /// Parses `name` or `name.modifier…`: the dotted words that follow a word.
    pub(super) fn modifiers(&mut self) -> Vec<Name<'a>> {
        let mut modifiers = Vec::new();
        while self.kind() == TokenKind::Dotted {
            let Span { start, end } = self.step().span;
            let span = Span { start: start + 1, end };
            modifiers.push(Name { text: self.text_of(span), span });
        }
        modifiers
    }
}
