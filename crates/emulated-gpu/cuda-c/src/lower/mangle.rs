//! Mangling: the names of kernels in PTX, by the rules of the Itanium C++ ABI ("Mangling").

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::{Lowered, Lowerer, Symbol};
use crate::source::Span;
use crate::syntax::{Function, TemplateArgument, TemplateParameter, TypeExpr};
use crate::types::{QualifiedType, TemplateValue, Type};

/// The parts of a type that its mangled name depends on.
#[derive(Debug)]
enum MangledType {
    /// Letters that are never abbreviated.
    Letters(String),
    /// A struct or an enum with a name, which includes its namespaces.
    Named(String),
    /// A struct or an enum without a name, by its number in the source.
    Unnamed(u32),
    /// An instance of a struct template: its name and arguments.
    Applied(String, Vec<MangledType>),
    /// A template argument that is a number: its type and its digits.
    Number(Box<MangledType>, String),
    /// A parameter of the template, by index.
    Parameter(usize),
    /// A type with qualifiers.
    Qualified(&'static str, Box<MangledType>),
    /// A pointer.
    Pointer(Box<MangledType>),
    /// An array, with its length.
    Array(u64, Box<MangledType>),
}

impl MangledType {
    fn new(ty: &Type) -> Self {
        match ty {
            Type::Pointer(to) => Self::Pointer(Box::new(Self::of_qualified(to))),
            Type::Array(element, count) => {
                Self::Array(*count, Box::new(Self::of_qualified(element)))
            }
            Type::Struct(own) => match own.template_arguments() {
                None => Self::named(&own.name),
                Some((name, arguments)) => Self::Applied(
                    name.to_string(),
                    arguments.iter().map(Self::of_argument).collect(),
                ),
            },
            Type::Enum(name, _) => Self::named(name),
            Type::Void => Self::Letters("v".into()),
            Type::Null => Self::Letters("Dn".into()),
            Type::Scalar(scalar) => Self::Letters(scalar.mangled().into()),
        }
    }

    /// The parser names a struct without a name `(unnamed struct 1)`.
    fn named(name: &str) -> Self {
        let number = name.strip_suffix(')').and_then(|rest| rest.rsplit(' ').next());
        match number.and_then(|number| number.parse().ok()) {
            Some(number) => Self::Unnamed(number),
            None => Self::Named(name.to_owned()),
        }
    }

    fn of_argument(value: &TemplateValue) -> Self {
        match value {
            TemplateValue::Type(ty) => Self::of_qualified(ty),
            TemplateValue::Number(ty, bits) => Self::number(ty, *bits),
        }
    }

    fn number(ty: &Type, bits: u64) -> Self {
        Self::Number(Box::new(Self::new(ty)), digits(ty, bits))
    }

    fn of_qualified(ty: &QualifiedType) -> Self {
        Self::new(&ty.ty).qualified(ty.is_const, ty.is_volatile)
    }

    fn qualified(self, is_const: bool, is_volatile: bool) -> Self {
        let letters = match (is_const, is_volatile) {
            (false, false) => return self,
            (true, false) => "K",
            (false, true) => "V",
            (true, true) => "VK",
        };
        Self::Qualified(letters, Box::new(self))
    }

    /// The mangled type without abbreviations.
    fn unabbreviated(&self) -> String {
        match self {
            Self::Letters(text) => text.clone(),
            Self::Number(ty, digits) => format!("L{}{digits}E", ty.unabbreviated()),
            Self::Named(name) => full_name(name, ""),
            Self::Unnamed(number) => format!("Ut{number}_"),
            Self::Applied(name, arguments) => {
                let arguments: String = arguments.iter().map(Self::unabbreviated).collect();
                full_name(name, &format!("I{arguments}E"))
            }
            Self::Parameter(0) => "T_".into(),
            Self::Parameter(place) => format!("T{}_", base36(place - 1)),
            Self::Qualified(letters, inner) => format!("{letters}{}", inner.unabbreviated()),
            Self::Pointer(inner) => format!("P{}", inner.unabbreviated()),
            Self::Array(count, inner) => format!("A{count}_{}", inner.unabbreviated()),
        }
    }

    /// Appends the mangled type to `name`. A compound type that has occurred before is in `known`,
    /// and is replaced by its number there.
    fn write(&self, known: &mut Vec<String>, name: &mut String) {
        match self {
            Self::Letters(text) => return name.push_str(text),
            Self::Number(ty, digits) => {
                name.push('L');
                ty.write(known, name);
                return name.push_str(&format!("{digits}E"));
            }
            _ => {}
        }
        let full = self.unabbreviated();
        if abbreviate(&full, known, name) {
            return;
        }
        match self {
            Self::Pointer(inner) => {
                name.push('P');
                inner.write(known, name);
            }
            Self::Qualified(letters, inner) => {
                name.push_str(letters);
                inner.write(known, name);
            }
            Self::Array(count, inner) => {
                name.push_str(&format!("A{count}_"));
                inner.write(known, name);
            }
            Self::Named(own) => return write_name(own, None, known, name),
            Self::Applied(own, arguments) => {
                return write_name(own, Some(arguments), known, name);
            }
            _ => name.push_str(&full),
        }
        known.push(full);
    }
}

/// Appends the number of a component that has occurred before; returns false if it hasn't.
fn abbreviate(full: &str, known: &[String], name: &mut String) -> bool {
    let Some(place) = known.iter().position(|other| *other == full) else { return false };
    match place {
        0 => name.push_str("S_"),
        more => name.push_str(&format!("S{}_", base36(more - 1))),
    }
    true
}

/// A name without abbreviations, followed by `suffix`.
fn full_name(name: &str, suffix: &str) -> String {
    let parts: String = name.split("::").map(|part| format!("{}{part}", part.len())).collect();
    if name.contains("::") { format!("N{parts}{suffix}E") } else { format!("{parts}{suffix}") }
}

/// Appends a name with its namespaces, each of which may be abbreviated, and the template
/// arguments.
fn write_name(
    own: &str,
    arguments: Option<&[MangledType]>,
    known: &mut Vec<String>,
    name: &mut String,
) {
    let parts: Vec<&str> = own.split("::").collect();
    let nested = parts.len() > 1;
    if nested {
        name.push('N');
    }
    let mut from = 0;
    // Find the longest prefix that has occurred before.
    for until in (1..=parts.len()).rev() {
        if until == parts.len() && arguments.is_none() {
            continue;
        }
        if abbreviate(&full_name(&parts[..until].join("::"), ""), known, name) {
            from = until;
            break;
        }
    }
    for until in from + 1..=parts.len() {
        let part = parts[until - 1];
        name.push_str(&format!("{}{part}", part.len()));
        known.push(full_name(&parts[..until].join("::"), ""));
    }
    if let Some(arguments) = arguments {
        name.push('I');
        for argument in arguments {
            argument.write(known, name);
        }
        name.push('E');
        let full: String = arguments.iter().map(MangledType::unabbreviated).collect();
        known.push(full_name(own, &format!("I{full}E")));
    }
    if nested {
        name.push('E');
    }
}

/// A name that is only used in PTX, written in the letters that PTX allows ("Identifiers").
pub(super) fn ascii(name: &str) -> String {
    let one = |c: char| match c {
        c if c.is_ascii() => c.to_string(),
        c => format!("_u{:x}_", u32::from(c)),
    };
    name.chars().map(one).collect()
}

/// The name of a variable in PTX.
pub(super) fn variable(name: &str) -> String {
    if name.contains("::") { format!("_Z{}", full_name(name, "")) } else { name.to_owned() }
}

fn base36(number: usize) -> String {
    let digit =
        |value: usize| char::from_digit(value as u32, 36).unwrap_or('0').to_ascii_uppercase();
    if number < 36 {
        digit(number).to_string()
    } else {
        format!("{}{}", digit(number / 36), digit(number % 36))
    }
}

impl Lowerer<'_> {
    /// The name of a kernel or a function in PTX: mangled with its template arguments, except for
    /// `extern "C"`.
    pub(super) fn mangled(
        &mut self,
        function: &Function,
        template: &HashMap<Rc<str>, Symbol>,
    ) -> Lowered<String> {
        if function.attributes.extern_c {
            return Ok(function.name.to_string());
        }
        let mut name = String::from("_Z");
        let mut known: Vec<String> = Vec::new();
        let is_template = !function.template.is_empty();
        let argument = |parameter: &TemplateParameter| match template.get(&parameter.name)? {
            Symbol::Alias(ty) => Some(MangledType::of_qualified(ty)),
            Symbol::Constant(ty, bits) => Some(MangledType::number(ty, *bits)),
            _ => None,
        };
        let arguments: Vec<MangledType> = function.template.iter().filter_map(argument).collect();
        write_name(&function.name, is_template.then_some(&*arguments), &mut known, &mut name);
        // The full name of a function isn't a component that is abbreviated.
        known.pop();
        if is_template {
            // Only the names of templates contain the result type, which is void.
            name.push('v');
        }
        if function.parameters.is_empty() {
            name.push('v');
        }
        for parameter in &function.parameters {
            // Qualifiers of the parameter itself are ignored.
            let mut written = &parameter.ty;
            while let TypeExpr::Qualified { inner, .. } = written {
                written = inner;
            }
            let shape =
                match written {
                    TypeExpr::Array(element, _) => MangledType::Pointer(Box::new(
                        self.mangled_type(element, function, parameter.span)?,
                    )),
                    _ => self.mangled_type(written, function, parameter.span)?,
                };
            shape.write(&mut known, &mut name);
        }
        Ok(name)
    }

    /// A type as written in the source. Parameters of the template stay parameters.
    fn mangled_type(
        &mut self,
        ty: &TypeExpr,
        function: &Function,
        span: Span,
    ) -> Lowered<MangledType> {
        Ok(match ty {
            TypeExpr::Named(name, _) => {
                match function.template.iter().position(|one| one.name == *name) {
                    Some(place) => MangledType::Parameter(place),
                    None => MangledType::of_qualified(&self.resolve(ty, span)?.0),
                }
            }
            TypeExpr::Applied(name, arguments, _) => {
                let mut shapes = Vec::new();
                for argument in arguments.iter() {
                    shapes.push(match argument {
                        TemplateArgument::Type(ty) => self.mangled_type(ty, function, span)?,
                        TemplateArgument::Value(value) => {
                            let (ty, bits) = self.constant(value, "a template argument")?;
                            MangledType::number(&ty, bits)
                        }
                    });
                }
                MangledType::Applied(name.to_string(), shapes)
            }
            TypeExpr::Pointer(inner) => {
                MangledType::Pointer(Box::new(self.mangled_type(inner, function, span)?))
            }
            TypeExpr::Qualified { inner, is_const, is_volatile } => {
                self.mangled_type(inner, function, span)?.qualified(*is_const, *is_volatile)
            }
            TypeExpr::Array(inner, _) => {
                let count = match self.resolve(ty, span)?.0.ty {
                    Type::Array(_, count) => count,
                    _ => 0,
                };
                MangledType::Array(count, Box::new(self.mangled_type(inner, function, span)?))
            }
            other => MangledType::of_qualified(&self.resolve(other, span)?.0),
        })
    }
}

/// The digits of a number as a template argument: 4 in `Li4E`.
fn digits(ty: &Type, bits: u64) -> String {
    let signed = ty.scalar().is_some_and(crate::types::Scalar::is_signed);
    let bytes = ty.size().clamp(1, 8);
    let value = (bits << (64 - 8 * bytes)).cast_signed() >> (64 - 8 * bytes);
    match value {
        ..0 if signed => format!("n{}", value.unsigned_abs()),
        _ => (bits & (u64::MAX >> (64 - 8 * bytes))).to_string(),
    }
}
