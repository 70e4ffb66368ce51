//! The types of CUDA C: their sizes, conversions and names.

use std::rc::Rc;

with_rows! {
    /// The arithmetic types: size in bytes, name, and letters in mangled names (Itanium C++ ABI).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Scalar: (u64, &'static str, &'static str) {
        Bool = (1, "bool", "b");
        Char = (1, "char", "c");
        SignedChar = (1, "signed char", "a");
        UnsignedChar = (1, "unsigned char", "h");
        Short = (2, "short", "s");
        UnsignedShort = (2, "unsigned short", "t");
        Int = (4, "int", "i");
        UnsignedInt = (4, "unsigned int", "j");
        Long = (8, "long", "l");
        UnsignedLong = (8, "unsigned long", "m");
        LongLong = (8, "long long", "x");
        UnsignedLongLong = (8, "unsigned long long", "y");
        Half = (2, "__half", "6__half");
        Float = (4, "float", "f");
        Double = (8, "double", "d");
    }
}

/// Types that CUDA's headers define as scalars.
pub(crate) const SCALAR_ALIASES: [(&str, Scalar); 19] = [
    ("size_t", Scalar::UnsignedLong),
    ("ptrdiff_t", Scalar::Long),
    ("intptr_t", Scalar::Long),
    ("uintptr_t", Scalar::UnsignedLong),
    ("clock_t", Scalar::Long),
    ("int8_t", Scalar::SignedChar),
    ("uint8_t", Scalar::UnsignedChar),
    ("int16_t", Scalar::Short),
    ("uint16_t", Scalar::UnsignedShort),
    ("int32_t", Scalar::Int),
    ("uint32_t", Scalar::UnsignedInt),
    ("int64_t", Scalar::Long),
    ("uint64_t", Scalar::UnsignedLong),
    ("uint", Scalar::UnsignedInt),
    ("uchar", Scalar::UnsignedChar),
    ("ushort", Scalar::UnsignedShort),
    ("ulong", Scalar::UnsignedLong),
    ("half", Scalar::Half),
    ("__half", Scalar::Half),
];

/// The elements of CUDA's vector types: `char1` to `char4` have elements of `signed char`.
pub(crate) const VECTOR_ELEMENTS: [(&str, Scalar); 12] = [
    ("char", Scalar::SignedChar),
    ("uchar", Scalar::UnsignedChar),
    ("short", Scalar::Short),
    ("ushort", Scalar::UnsignedShort),
    ("int", Scalar::Int),
    ("uint", Scalar::UnsignedInt),
    ("long", Scalar::Long),
    ("ulong", Scalar::UnsignedLong),
    ("longlong", Scalar::LongLong),
    ("ulonglong", Scalar::UnsignedLongLong),
    ("float", Scalar::Float),
    ("double", Scalar::Double),
];

/// The names of the types that CUDA's headers define, except for those with their own header.
pub(crate) fn header_types() -> impl Iterator<Item = String> {
    let aliases = SCALAR_ALIASES.iter().map(|(name, _)| (*name).to_owned());
    let vectors = VECTOR_ELEMENTS.iter();
    let vectors = vectors.flat_map(|(base, _)| (1..=4).map(move |count| format!("{base}{count}")));
    aliases.chain(vectors).chain(["dim3".to_owned()])
}

impl Scalar {
    /// The size in bytes.
    pub(crate) fn size(self) -> u64 {
        Self::ROWS[self as usize].0
    }

    /// Whether the type is an integer type (including `bool`).
    pub(crate) fn is_integer(self) -> bool {
        !self.is_floating()
    }

    /// Whether the type is a floating-point type.
    pub(crate) fn is_floating(self) -> bool {
        matches!(self, Self::Half | Self::Float | Self::Double)
    }

    /// Whether the type is signed.
    pub(crate) fn is_signed(self) -> bool {
        self.is_floating() || self.unsigned() != self
    }

    /// Integer promotion: types narrower than `int` become `int`.
    pub(crate) fn promoted(self) -> Self {
        if self.is_integer() && self.size() < 4 { Self::Int } else { self }
    }

    /// The common type of two types by C's usual arithmetic conversions.
    pub(crate) fn common(self, other: Self) -> Self {
        for floating in [Self::Double, Self::Float, Self::Half] {
            if self == floating || other == floating {
                return floating;
            }
        }
        let (a, b) = (self.promoted(), other.promoted());
        let (higher, lower) = if a.rank() >= b.rank() { (a, b) } else { (b, a) };
        if higher.is_signed() == lower.is_signed() || !higher.is_signed() {
            // Both types have the same signedness, or the type of higher rank is unsigned.
            return higher;
        }
        if higher.size() > lower.size() { higher } else { higher.unsigned() }
    }

    fn rank(self) -> u32 {
        use Scalar::{Int, Long, LongLong, UnsignedInt, UnsignedLong, UnsignedLongLong};
        match self {
            Int | UnsignedInt => 1,
            Long | UnsignedLong => 2,
            LongLong | UnsignedLongLong => 3,
            _ => 0,
        }
    }

    /// The unsigned type of the same size.
    pub(crate) fn unsigned(self) -> Self {
        match self {
            Self::Char | Self::SignedChar => Self::UnsignedChar,
            Self::Short => Self::UnsignedShort,
            Self::Int => Self::UnsignedInt,
            Self::Long => Self::UnsignedLong,
            Self::LongLong => Self::UnsignedLongLong,
            other => other,
        }
    }

    /// The type's name in the source.
    pub(crate) fn name(self) -> &'static str {
        Self::ROWS[self as usize].1
    }

    /// The letters in mangled names (Itanium C++ ABI).
    pub(crate) fn mangled(self) -> &'static str {
        Self::ROWS[self as usize].2
    }
}

/// A member of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Rc<str>,
    pub(crate) ty: QualifiedType,
    /// The offset from the start of the struct in bytes.
    pub(crate) offset: u64,
}

/// A struct, a union or a vector type. Two are equal if they are the same definition.
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) name: Rc<str>,
    pub(crate) fields: Vec<Field>,
    /// The size in bytes, including the padding at the end.
    pub(crate) size: u64,
    /// The alignment in bytes.
    pub(crate) align: u64,
    /// The definition in the source; `None` for a vector type.
    pub(crate) declaration: Option<Rc<crate::syntax::StructDeclaration>>,
    /// A unique number.
    pub(crate) id: u32,
    /// The template and its arguments, if the struct is an instance.
    pub(crate) applied: Option<(Rc<str>, Vec<TemplateValue>)>,
}

impl Struct {
    /// The member with this name, which may be in an unnamed member. Its offset is from the start
    /// of the whole struct.
    pub(crate) fn member(&self, name: &str) -> Option<Field> {
        let inner = |field: &Field| match &field.ty.ty {
            Type::Struct(inner) if crate::syntax::is_unnamed(&field.name) => {
                let member = inner.member(name)?;
                Some(Field { offset: field.offset + member.offset, ..member })
            }
            _ => None,
        };
        let own = self.fields.iter().find(|field| &*field.name == name).cloned();
        own.or_else(|| self.fields.iter().find_map(inner))
    }

    /// The template and its arguments, if the struct is an instance.
    pub(crate) fn template_arguments(&self) -> Option<(&Rc<str>, &Vec<TemplateValue>)> {
        self.applied.as_ref().map(|(name, arguments)| (name, arguments))
    }
}

/// An argument of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TemplateValue {
    /// A type.
    Type(QualifiedType),
    /// An integer and its type.
    Number(Type, u64),
}

impl TemplateValue {
    /// The argument's name in the source.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Type(ty) => ty.name(),
            Self::Number(Type::Scalar(Scalar::Bool), bits) => (*bits != 0).to_string(),
            Self::Number(ty, bits) if ty.scalar().is_some_and(Scalar::is_signed) => {
                bits.cast_signed().to_string()
            }
            Self::Number(_, bits) => bits.to_string(),
        }
    }
}

/// A type.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    /// `nullptr_t`
    Null,
    Pointer(Rc<QualifiedType>),
    Array(Rc<QualifiedType>, u64),
    Struct(Rc<Struct>),
    /// An enum: its name, and its underlying type.
    Enum(Rc<str>, Scalar),
}

/// A type with its qualifiers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QualifiedType {
    pub(crate) ty: Type,
    /// `const`
    pub(crate) is_const: bool,
    /// `volatile`
    pub(crate) is_volatile: bool,
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Void, Self::Void) | (Self::Null, Self::Null) => true,
            (Self::Scalar(a), Self::Scalar(b)) => a == b,
            (Self::Pointer(a), Self::Pointer(b)) => a == b,
            (Self::Array(a, n), Self::Array(b, m)) => n == m && a == b,
            (Self::Struct(a), Self::Struct(b)) => a.id == b.id,
            (Self::Enum(a, _), Self::Enum(b, _)) => a == b,
            _ => false,
        }
    }
}

impl From<Type> for QualifiedType {
    fn from(ty: Type) -> Self {
        Self { ty, is_const: false, is_volatile: false }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl Type {
    /// A pointer to a type.
    pub(crate) fn pointer(to: QualifiedType) -> Self {
        Self::Pointer(Rc::new(to))
    }

    /// The size in bytes; 0 for `void`.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Void => 0,
            Self::Scalar(scalar) | Self::Enum(_, scalar) => scalar.size(),
            Self::Null | Self::Pointer(_) => 8,
            Self::Array(element, count) => element.ty.size().saturating_mul(*count),
            Self::Struct(own) => own.size,
        }
    }

    /// The alignment in bytes.
    pub(crate) fn align(&self) -> u64 {
        match self {
            Self::Array(element, _) => element.ty.align(),
            Self::Struct(own) => own.align,
            other => other.size().max(1),
        }
    }

    /// The type as an arithmetic type, if it is one. An enum counts as its underlying type.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Enum(_, scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Whether the type is an integer type or an enum.
    pub(crate) fn is_integer(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_integer)
    }

    /// The type that a pointer points to.
    pub(crate) fn pointee(&self) -> Option<&QualifiedType> {
        match self {
            Self::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// Whether values of the type are represented by an address: arrays and structs.
    pub(crate) fn is_aggregate(&self) -> bool {
        matches!(self, Self::Array(..) | Self::Struct(_))
    }

    /// The type's name in the source.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Void => "void".into(),
            Self::Scalar(scalar) => scalar.name().into(),
            Self::Null => "nullptr_t".into(),
            Self::Pointer(to) => format!("{} *", to.name()),
            Self::Array(..) => {
                let (mut element, mut lengths) = (self, String::new());
                while let Self::Array(inner, count) = element {
                    lengths.push_str(&format!("[{count}]"));
                    element = &inner.ty;
                }
                format!("{} {lengths}", element.name())
            }
            Self::Struct(own) => own.name.to_string(),
            Self::Enum(name, _) => name.to_string(),
        }
    }
}

impl QualifiedType {
    /// The type with `const`.
    pub(crate) fn constant(self) -> Self {
        Self { is_const: true, ..self }
    }

    /// The type without `const`.
    pub(crate) fn mutable(self) -> Self {
        Self { is_const: false, ..self }
    }

    /// The type's name in the source.
    pub(crate) fn name(&self) -> String {
        let constant = if self.is_const { "const " } else { "" };
        let volatile = if self.is_volatile { "volatile " } else { "" };
        format!("{constant}{volatile}{}", self.ty.name())
    }
}
