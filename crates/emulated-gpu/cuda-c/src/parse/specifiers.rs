//! Declaration specifiers: attributes and the type before a declared name.

use std::rc::Rc;

use super::{Name, Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::TokenKind;
use crate::source::Span;
use crate::syntax::{Attributes, Expr, ExprKind, Layout, TypeExpr};
use crate::types::Scalar;
use crate::unsupported::alternative;

/// The specifiers of a declaration.
#[derive(Debug)]
pub(super) struct Specifiers {
    pub(super) attributes: Attributes,
    pub(super) ty: TypeExpr,
    pub(super) bounds: Vec<Expr>,
    pub(super) layout: Layout,
}

const TYPE_WORDS: [&str; 14] = [
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
    "auto", "struct", "enum", "union",
];

const SPECIFIERS: [&str; 28] = [
    "const",
    "volatile",
    "static",
    "inline",
    "extern",
    "constexpr",
    "typedef",
    "register",
    "__global__",
    "__device__",
    "__host__",
    "__shared__",
    "__constant__",
    "__managed__",
    "__forceinline__",
    "__inline__",
    "__inline",
    "__noinline__",
    "__launch_bounds__",
    "__align__",
    "alignas",
    "typename",
    "__attribute__",
    "__grid_constant__",
    "__restrict__",
    "__restrict",
    "decltype",
    "mutable",
];

const OTHER_KEYWORDS: [&str; 36] = [
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "return",
    "goto",
    "sizeof",
    "alignof",
    "template",
    "using",
    "namespace",
    "class",
    "public",
    "private",
    "protected",
    "virtual",
    "try",
    "catch",
    "throw",
    "new",
    "delete",
    "operator",
    "this",
    "friend",
    "static_cast",
    "reinterpret_cast",
    "const_cast",
    "dynamic_cast",
    "asm",
    "static_assert",
];

/// Whether a word is a keyword, which can't be a name.
pub(super) fn is_keyword(word: &str) -> bool {
    TYPE_WORDS.contains(&word)
        || SPECIFIERS.contains(&word)
        || OTHER_KEYWORDS.contains(&word)
        || matches!(word, "true" | "false" | "nullptr" | "__asm__" | "typeid" | "explicit")
}

impl Parser<'_> {
    /// Whether a declaration or a type begins here.
    pub(super) fn begins_type(&self) -> bool {
        let token = self.peek();
        if token.kind != TokenKind::Word && !token.is("::") {
            return false;
        }
        TYPE_WORDS.contains(&&*token.text)
            || SPECIFIERS.contains(&&*token.text)
            || self.begins_named_type()
    }

    /// Whether a type begins here that isn't part of a construction such as `T(a)` or `T{a}`.
    pub(super) fn begins_plain_type(&self) -> bool {
        let after = self.after_type();
        self.begins_type() && !after.is("(") && !after.is("{")
    }

    /// Parses attributes and the type, in any order.
    pub(super) fn specifiers(&mut self) -> Parsed<Specifiers> {
        let start = self.span();
        let mut attributes = Attributes::default();
        let (mut bounds, mut layout) = (Vec::new(), Layout::default());
        let (mut is_const, mut is_volatile) = (false, false);
        let mut ty: Option<TypeExpr> = None;
        let mut words: Vec<Rc<str>> = Vec::new();
        let mut is_type = false;
        loop {
            self.layout(&mut layout)?;
            let token = self.peek().clone();
            if ty.is_none()
                && words.is_empty()
                && (self.begins_named_type() || is_type && token.kind == TokenKind::Word)
            {
                ty = Some(self.named_type(is_type)?);
                is_type = false;
                continue;
            }
            if token.kind != TokenKind::Word {
                break;
            }
            match &*token.text {
                "const" => is_const = true,
                "volatile" => is_volatile = true,
                "constexpr" => (attributes.is_constexpr, is_const) = (true, true),
                "static" => attributes.is_static = true,
                "typedef" => attributes.is_typedef = true,
                "__global__" => attributes.global = true,
                "__device__" => attributes.device = true,
                "__host__" => attributes.host = true,
                "__shared__" => attributes.shared = true,
                "__constant__" => attributes.constant = true,
                "__managed__" => attributes.managed = true,
                "inline" | "register" | "__forceinline__" | "__inline__" | "__inline"
                | "__grid_constant__" | "__restrict__" | "__restrict" | "mutable" => {}
                "typename" => is_type = true,
                "extern" => {
                    attributes.is_extern = true;
                    if self.peek_ahead(1).kind == TokenKind::String {
                        self.bump();
                        attributes.extern_c = &*self.peek().text == "\"C\"";
                    }
                }
                "__noinline__" => attributes.is_noinline = true,
                "__launch_bounds__" => {
                    self.bump();
                    self.expect("(", "after __launch_bounds__")?;
                    loop {
                        bounds.push(self.assignment()?);
                        if !self.accept(",") {
                            break;
                        }
                    }
                    self.expect(")", "after the bounds")?;
                    continue;
                }
                "decltype" if ty.is_none() && words.is_empty() => {
                    self.bump();
                    let inner = self.bracketed("after decltype", "after the expression")?;
                    ty = Some(TypeExpr::Decltype(Rc::new(inner)));
                    continue;
                }
                "struct" | "union" if ty.is_none() && words.is_empty() => {
                    ty = Some(self.structure()?);
                    continue;
                }
                "enum" if ty.is_none() && words.is_empty() => {
                    ty = Some(self.enumeration()?);
                    continue;
                }
                "class" => {
                    let problem = Problem::new(token.span, "classes aren't supported");
                    return self.fail(problem.help("write a `struct` with plain members"));
                }
                "auto" if ty.is_none() && words.is_empty() => ty = Some(TypeExpr::Auto),
                "void" if ty.is_none() && words.is_empty() => ty = Some(TypeExpr::Void),
                word if TYPE_WORDS.contains(&word) && ty.is_none() => {
                    words.push(token.text.clone())
                }
                _ => break,
            }
            self.bump();
        }
        let ty = match ty {
            Some(ty) => ty,
            None if !words.is_empty() => {
                TypeExpr::Scalar(self.scalar(&words, start.until(self.last()))?)
            }
            None => return self.no_type(start),
        };
        let ty = if is_const || is_volatile {
            TypeExpr::Qualified { inner: Box::new(ty), is_const, is_volatile }
        } else {
            ty
        };
        Ok(Specifiers { attributes, ty, bounds, layout })
    }

    /// All attributes at this position: `__align__(n)`, `alignas(T)`,
    /// `__attribute__((aligned(n)))`. Attributes that don't affect the layout, such as
    /// `[[nodiscard]]`, are ignored.
    pub(super) fn layout(&mut self, layout: &mut Layout) -> Parsed<()> {
        loop {
            if self.is("__align__") || self.is("alignas") {
                self.bump();
                layout.align = Some(self.alignment()?);
            } else if self.is("__attribute__") || self.is("__attribute") {
                self.bump();
                self.expect("(", "after __attribute__")?;
                self.expect("(", "after __attribute__")?;
                while !self.is(")") && !self.ended() {
                    let word = self.bump();
                    match &*word.text {
                        "aligned" | "__aligned__" if self.is("(") => {
                            layout.align = Some(self.alignment()?);
                        }
                        // Without a number, it is the largest alignment of any type.
                        "aligned" | "__aligned__" => {
                            let largest = ExprKind::Integer(16, Scalar::Int);
                            layout.align = Some(Rc::new(self.expr(largest, word.span)?));
                        }
                        "packed" | "__packed__" => layout.packed = true,
                        _ if self.is("(") => self.skip_brackets()?,
                        _ => {}
                    }
                    self.accept(",");
                }
                self.expect(")", "after the attributes")?;
                self.expect(")", "after the attributes")?;
            } else if self.is("[") && self.peek_ahead(1).is("[") {
                while !(self.ended() || self.is("]") && self.peek_ahead(1).is("]")) {
                    self.bump();
                }
                self.bump();
                self.expect("]", "after the attributes")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Parses `(n)`, or `(T)` for the alignment of a type.
    fn alignment(&mut self) -> Parsed<Rc<Expr>> {
        self.expect("(", "before the alignment")?;
        let start = self.span();
        let align = if self.begins_plain_type() {
            let ty = self.type_name()?;
            self.expr(ExprKind::AlignofType(ty), start.until(self.last()))?
        } else {
            self.assignment()?
        };
        self.expect(")", "after the alignment")?;
        Ok(Rc::new(align))
    }

    fn no_type<T>(&mut self, start: Span) -> Parsed<T> {
        let token = self.peek().clone();
        if token.kind == TokenKind::Word && !is_keyword(&token.text) {
            if let Some(help) = alternative(&token.text) {
                let problem = Problem::new(token.span, format!("`{}` isn't supported", token.text));
                return self.fail(problem.help(help));
            }
            let all = self.scopes.iter().flatten();
            let types = all.filter(|(_, is)| **is == Name::Type).map(|(name, _)| &**name);
            let problem = Problem::new(token.span, format!("there is no type `{}`", token.text));
            let problem = problem.did_you_mean(&token.text, types.chain(TYPE_WORDS));
            return self.fail(problem);
        }
        let place = if self.position == 0 { start } else { self.span() };
        self.fail(Problem::new(place, format!("expected a type, found {}", self.describe_next())))
    }

    /// The arithmetic type of some words in any order.
    fn scalar(&mut self, words: &[Rc<str>], span: Span) -> Parsed<Scalar> {
        let count = |word: &str| words.iter().filter(|other| &***other == word).count();
        let (signed, unsigned, long) = (count("signed"), count("unsigned"), count("long"));
        let rest: Vec<&str> = words
            .iter()
            .map(|word| &**word)
            .filter(|word| !matches!(*word, "signed" | "unsigned" | "long" | "int"))
            .collect();
        let plain = signed + unsigned + long + count("int") == 0;
        let scalar = match (rest.as_slice(), long, signed + unsigned) {
            (["bool"], 0, 0) if plain => Some(Scalar::Bool),
            (["float"], 0, 0) if plain => Some(Scalar::Float),
            (["double"], 0, 0) if plain => Some(Scalar::Double),
            (["char"], 0, 0) if plain => Some(Scalar::Char),
            (["char"], 0, 1) if count("int") == 0 => {
                Some(if unsigned > 0 { Scalar::UnsignedChar } else { Scalar::SignedChar })
            }
            (["short"], 0, 0 | 1) => Some(Scalar::Short),
            ([], 0, 0 | 1) => Some(Scalar::Int),
            ([], 1, 0 | 1) => Some(Scalar::Long),
            ([], 2, 0 | 1) => Some(Scalar::LongLong),
            _ => None,
        };
        match scalar {
            Some(scalar) if unsigned > 0 => Ok(scalar.unsigned()),
            Some(scalar) => Ok(scalar),
            None => {
                let all = words.join(" ");
                let problem = Problem::new(span, format!("`{all}` isn't a type"));
                let long_double = rest == ["double"] && long > 0;
                let help = if long_double {
                    "the GPU's widest float has 64 bits: `double`"
                } else {
                    "the words of a type don't go together, or a `;` is missing before them"
                };
                self.fail(problem.help(help))
            }
        }
    }

    pub(super) fn skip_brackets(&mut self) -> Parsed<()> {
        self.expect("(", "here")?;
        let mut depth = 1;
        while depth > 0 && !self.ended() {
            depth += i32::from(self.is("(")) - i32::from(self.is(")"));
            self.bump();
        }
        Ok(())
    }
}
