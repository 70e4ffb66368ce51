//! Resolution of type expressions to types.

use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

use super::{Lowered, Lowerer, Symbol};
use crate::diagnostic::Problem;
use crate::source::Span;
use crate::syntax::{EnumDeclaration, Expr, InnerName, StructDeclaration, TypeExpr};
use crate::types::{
    Field, QualifiedType, SCALAR_ALIASES, Scalar, Struct, TemplateValue, Type, VECTOR_ELEMENTS,
};

/// The maximum size of a type in bytes: more than any memory, but small enough that the sum of two
/// sizes doesn't overflow.
const MAX_TYPE_BYTES: u64 = 1 << 40;

/// The maximum length in bytes of the name of a template instance: a name doubles with each nested
/// instance that has two equal arguments.
const MAX_NAME_BYTES: usize = 1 << 16;

/// A type, and whether a reference to it was written.
pub(super) type TypeAndReference = (QualifiedType, bool);

impl Lowerer<'_> {
    pub(super) fn built_in_types(&mut self) {
        for (name, scalar) in SCALAR_ALIASES {
            self.bind(&Rc::from(name), Symbol::Alias(Type::Scalar(scalar).into()));
        }
        for (base, scalar) in VECTOR_ELEMENTS {
            for count in 1..=4u64 {
                self.vector_type(&format!("{base}{count}"), scalar, count);
            }
        }
        self.vector_type("dim3", Scalar::UnsignedInt, 3);
    }

    fn vector_type(&mut self, name: &str, scalar: Scalar, count: u64) {
        let name: Rc<str> = name.into();
        let size = scalar.size();
        let fields = ["x", "y", "z", "w"][..count as usize].iter().enumerate();
        let fields = fields
            .map(|(index, name)| Field {
                name: Rc::from(*name),
                ty: Type::Scalar(scalar).into(),
                offset: index as u64 * size,
            })
            .collect();
        let align = if count == 3 { size } else { (size * count).min(16) };
        self.next_struct += 1;
        let (size, declaration, id) = (size * count, None, self.next_struct);
        let own =
            Struct { name: name.clone(), fields, size, align, declaration, id, applied: None };
        let own = Rc::new(own);
        self.structs.insert(name.clone(), own.clone());
        self.bind(&name, Symbol::Alias(Type::Struct(own).into()));
    }

    /// Resolves a type that must not be a reference.
    pub(super) fn plain_type(&mut self, ty: &TypeExpr, span: Span) -> Lowered<QualifiedType> {
        let (ty, reference) = self.resolve(ty, span)?;
        if reference {
            let message = "a reference isn't allowed here";
            return self.error(span, message, "write a pointer, or the type itself");
        }
        Ok(ty)
    }

    pub(super) fn resolve(&mut self, ty: &TypeExpr, span: Span) -> Lowered<TypeAndReference> {
        Ok(match ty {
            TypeExpr::Scalar(scalar) => (Type::Scalar(*scalar).into(), false),
            TypeExpr::Void => (Type::Void.into(), false),
            TypeExpr::Auto => {
                return self.error(span, "`auto` needs an initial value here", "write the type");
            }
            TypeExpr::Named(name, place) => (self.resolve_named(name, *place)?, false),
            TypeExpr::Applied(name, arguments, place) => {
                (self.instantiate(name, arguments, *place)?.into(), false)
            }
            TypeExpr::Inner(outer, name, place) => (self.inner_type(outer, name, *place)?, false),
            TypeExpr::Struct(own) => (Type::Struct(self.define_struct(own, None)?).into(), false),
            TypeExpr::Enum(own) => (self.define_enum(own)?.into(), false),
            TypeExpr::Pointer(inner) => {
                let (inner, reference) = self.resolve(inner, span)?;
                if reference {
                    return self.error(span, "there are no pointers to references", "");
                }
                (Type::pointer(inner).into(), false)
            }
            TypeExpr::Reference(inner) => (self.resolve(inner, span)?.0, true),
            TypeExpr::Array(inner, length) => {
                let inner = self.plain_type(inner, span)?;
                let length = match length {
                    Some(length) => self.array_length(length)?,
                    None => 0,
                };
                let ty = Type::Array(Rc::new(inner.clone()), length);
                if ty.size() > MAX_TYPE_BYTES {
                    return self.error(span, "this array is larger than any memory", "");
                }
                (QualifiedType { ty, ..inner }, false)
            }
            TypeExpr::Qualified { inner, is_const, is_volatile } => {
                let (mut inner, reference) = self.resolve(inner, span)?;
                inner.is_const |= is_const;
                inner.is_volatile |= is_volatile;
                (inner, reference)
            }
            TypeExpr::Decltype(inner) => (self.type_of(inner)?.into(), false),
        })
    }

    fn array_length(&mut self, length: &crate::syntax::Expr) -> Lowered<u64> {
        let (ty, bits) = self.constant(length, "the length of an array")?;
        let signed = ty.scalar().is_some_and(Scalar::is_signed);
        if signed && (bits as i64) < 0 {
            return self.error(length.span, "the length of an array can't be negative", "");
        }
        Ok(bits)
    }

    fn resolve_named(&mut self, name: &Rc<str>, span: Span) -> Lowered<QualifiedType> {
        if let Some(Symbol::Alias(ty)) = self.lookup(name) {
            return Ok(ty.clone());
        }
        let problem = Problem::new(span, format!("there is no type `{name}`"));
        let problem = problem.did_you_mean(name, self.names_in_scope(true));
        self.fail(problem)
    }

    pub(super) fn define_struct(
        &mut self,
        own: &Rc<StructDeclaration>,
        applied: Option<(Rc<str>, Vec<TemplateValue>)>,
    ) -> Lowered<Rc<Struct>> {
        self.next_struct += 1;
        let id = self.next_struct;
        let name: Rc<str> = match &applied {
            None => own.name.clone(),
            Some((name, arguments)) => {
                let arguments: Vec<String> = arguments.iter().map(TemplateValue::name).collect();
                format!("{name}<{}>", arguments.join(", ")).into()
            }
        };
        if name.len() > MAX_NAME_BYTES {
            let help = "give a name to a part of it: `struct name { … };`";
            let message = format!("this type's name has more than {MAX_NAME_BYTES} bytes");
            return self.error(own.span, message, help);
        }
        // While its members are resolved, a struct is incomplete: it may contain pointers to
        // itself.
        let declaration = Some(own.clone());
        let empty = Rc::new(Struct {
            name,
            fields: Vec::new(),
            size: 0,
            align: 1,
            declaration,
            id,
            applied,
        });
        if empty.applied.is_some() {
            self.applied.push(empty.clone());
        }
        // For a template, this scope contains its parameters, which are also visible to the member
        // functions.
        self.bind(&own.name, Symbol::Alias(Type::Struct(empty.clone()).into()));
        let of_template = empty.applied.is_some();
        let mut names = match self.scopes.last() {
            Some(scope) if of_template => scope.clone(),
            _ => HashMap::from_iter([(
                own.name.clone(),
                Symbol::Alias(Type::Struct(empty.clone()).into()),
            )]),
        };
        self.scopes.push(HashMap::default());
        let result = self.members(own, &empty).and_then(|complete| {
            self.conversions_of(own, id)?;
            Ok(complete)
        });
        names.extend(self.scopes.pop().unwrap_or_default());
        let result = Rc::new(result?);
        let alias = Symbol::Alias(Type::Struct(result.clone()).into());
        names.insert(own.name.clone(), alias.clone());
        self.struct_names.insert(id, names);
        self.complete_structs.insert(id, result.clone());
        self.structs.insert(result.name.clone(), result.clone());
        self.bind(&own.name, alias);
        Ok(result)
    }

    /// The greater of an alignment and the alignment that the source specifies, if it specifies
    /// one.
    pub(super) fn alignment(&mut self, natural: u64, wanted: Option<&Rc<Expr>>) -> Lowered<u64> {
        let Some(wanted) = wanted else { return Ok(natural) };
        let (_, bits) = self.constant(wanted, "an alignment")?;
        if !bits.is_power_of_two() || bits > 128 {
            return self.error(wanted.span, "an alignment is a power of two up to 128", "");
        }
        Ok(natural.max(bits))
    }

    fn inner_names(&mut self, own: &Rc<StructDeclaration>) -> Lowered<()> {
        for inner in &own.names {
            match inner {
                InnerName::Alias(name, ty, span) => {
                    let ty = self.plain_type(ty, *span)?;
                    self.bind(name, Symbol::Alias(ty));
                }
                InnerName::Constant(name, ty, value, span) => {
                    let mut ty = self.plain_type(ty, *span)?;
                    if !ty.is_const {
                        let help =
                            "write `static constexpr` before a constant, and a variable outside";
                        return self.error(*span, "static members aren't supported", help);
                    }
                    if ty.ty.is_aggregate() {
                        super::global::deduce_length(&mut ty, value);
                        self.constant_array(&format!("{}_{name}", own.name), name, ty, value)?;
                        continue;
                    }
                    let bits = self.constant_bits(&ty.ty, value)?;
                    self.bind(name, Symbol::Constant(ty.ty, bits));
                }
                InnerName::Type(ty, span) => {
                    self.resolve(ty, *span)?;
                }
                InnerName::Assert(assertion) => self.statement(assertion)?,
            }
        }
        Ok(())
    }

    fn members(&mut self, own: &Rc<StructDeclaration>, empty: &Struct) -> Lowered<Struct> {
        self.inner_names(own)?;
        let (mut fields, mut size, mut align): (Vec<Field>, u64, u64) = (Vec::new(), 0, 1);
        let packed = own.layout.packed;
        for (index, (ty, name, span)) in own.fields.iter().enumerate() {
            let ty = self.plain_type(ty, *span)?;
            let ty = self.completed(&ty);
            if ty.ty.size() == 0 {
                let message = format!("the member `{name}` has no size");
                return self.error(*span, message, "a struct can only contain a pointer to itself");
            }
            if fields.iter().any(|field| field.name == *name) {
                return self.error(*span, format!("there are two members `{name}`"), "rename one");
            }
            let mut wanted = if packed { 1 } else { ty.ty.align() };
            for (_, own) in own.aligned.iter().filter(|(own, _)| *own == index) {
                wanted = self.alignment(wanted, Some(own))?;
            }
            let offset = if own.is_union { 0 } else { size.next_multiple_of(wanted) };
            size = size.max(offset + ty.ty.size());
            if size > MAX_TYPE_BYTES {
                let message = format!("`{}` is larger than any memory with this member", own.name);
                return self.error(*span, message, "use a pointer to it");
            }
            align = align.max(wanted);
            fields.push(Field { name: name.clone(), ty, offset });
        }
        let align = self.alignment(align, own.layout.align.as_ref())?;
        let size = size.max(1).next_multiple_of(align);
        let (name, declaration) = (empty.name.clone(), Some(own.clone()));
        let (id, applied) = (empty.id, empty.applied.clone());
        Ok(Struct { name, fields, size, align, declaration, id, applied })
    }

    /// The complete definition of a struct, which may have been incomplete when `own` was made.
    pub(super) fn complete(&self, own: &Rc<Struct>) -> Rc<Struct> {
        self.complete_structs.get(&own.id).unwrap_or(own).clone()
    }

    fn define_enum(&mut self, own: &Rc<EnumDeclaration>) -> Lowered<Type> {
        let ty = Type::Enum(own.name.clone(), Scalar::Int);
        let plain = Type::Enum(own.name.clone(), Scalar::UnsignedInt);
        let mut next: u64 = 0;
        let mut values = Vec::new();
        for (name, number, _) in &own.values {
            if let Some(number) = number {
                next = self.constant(number, "a value of an enum")?.1;
            }
            values.push((name.clone(), next));
            // Later enumerators can refer to earlier ones.
            self.bind(name, Symbol::Constant(Type::Scalar(Scalar::Int), next));
            next = next.wrapping_add(1);
        }
        let negative = values.iter().any(|(_, value)| (*value as i64) < 0);
        let ty = if negative || own.scoped { ty } else { plain };
        if own.scoped {
            self.scoped_enums.insert(own.name.clone());
        }
        for (name, value) in values {
            if own.scoped {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.remove(&name);
                }
                let full: Rc<str> = format!("{}::{name}", own.name).into();
                self.bind(&full, Symbol::Constant(ty.clone(), value));
            } else {
                self.bind(&name, Symbol::Constant(ty.clone(), value));
            }
        }
        self.bind(&own.name, Symbol::Alias(ty.clone().into()));
        Ok(ty)
    }
}
