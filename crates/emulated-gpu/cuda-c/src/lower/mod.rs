//! Lowering of the syntax tree to the intermediate representation: resolves names, checks types,
//! and makes conversions explicit.
//!
//! Every variable is first a slot of local memory, which `optimise` promotes to registers if
//! possible. Calls of `__device__` functions are inlined, so that a reference is the place itself;
//! except for recursive and `__noinline__` functions (`out_of_line`).

mod aggregate;
mod asm;
mod assign;
mod atomic;
mod builtin;
mod call;
mod choose;
mod constant;
mod conversion;
mod convert;
mod defaults;
mod evaluate;
mod expression;
mod function;
mod global;
mod initialise;
mod instance;
mod loops;
mod mangle;
mod mathematics;
mod memory;
mod method;
mod operators;
mod out_of_line;
mod overload;
mod place;
mod print;
mod shuffle;
mod statement;
mod table;
mod template;
mod types;
mod warn;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

use crate::diagnostic::{Problem, Problems};
use crate::ir::{BlockId, Builder, Function as Kernel, Module, Op, Value};
use crate::source::Span;
use crate::syntax::{Function, Item, StatementKind, StructTemplate};
use crate::types::{QualifiedType, Struct, Type};

/// The error type of lowering: the error has already been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

pub(crate) type Lowered<T> = Result<T, Stop>;
/// The lowered call of a built-in function; `None` if the name is not one of a group of functions.
pub(crate) type Recognised = Lowered<Option<Typed>>;

/// The maximum nesting of expressions, statements and calls.
const MAX_NESTING: usize = 320;
/// The maximum number of instructions of a kernel before it is optimised.
const MAX_KERNEL: usize = 400_000;

/// The maximum number of instructions of all kernels and functions of a source: the compiler's
/// memory and run time grow with it.
const MAX_MODULE: usize = 1_500_000;

/// A value and its type. For a struct or an array, the value is its address.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) ty: Type,
    pub(crate) value: Value,
}

/// A place: an object in memory.
#[derive(Clone, Debug)]
pub(crate) struct Lvalue {
    pub(crate) ty: QualifiedType,
    pub(crate) address: Value,
}

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Variable(Lvalue),
    /// A variable of the module, which is identified by its number.
    Global(u32, QualifiedType),
    Constant(Type, u64),
    Alias(QualifiedType),
}

/// A call that is being inlined.
#[derive(Debug)]
struct Frame {
    name: Rc<str>,
    result: QualifiedType,
    /// The address at which the result is stored.
    slot: Option<Value>,
    returns_reference: bool,
    exit: BlockId,
    /// The targets of `break` and `continue`.
    breaks: Vec<BlockId>,
    continues: Vec<BlockId>,
    labels: HashMap<Rc<str>, (BlockId, bool, Span)>,
    /// The cases of each enclosing `switch`: values, and their blocks.
    cases: Vec<Vec<(Option<u64>, BlockId)>>,
    switch_types: Vec<Type>,
    function: *const Function,
    /// The number of the struct that the function is a member of; 0 if it isn't a member function.
    own: u32,
    /// The arguments of the function's template.
    template: template::Bindings,
}

impl Frame {
    /// A frame for a function that returns nothing: returning jumps to `exit`.
    fn new(function: &Rc<Function>, exit: BlockId) -> Self {
        Self {
            name: function.name.clone(),
            result: Type::Void.into(),
            slot: None,
            returns_reference: false,
            exit,
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: HashMap::default(),
            cases: Vec::new(),
            switch_types: Vec::new(),
            function: Rc::as_ptr(function),
            own: 0,
            template: HashMap::default(),
        }
    }
}

pub(crate) struct Lowerer<'a> {
    pub(crate) module: Module,
    problems: &'a mut Problems,
    options: &'a crate::CompileOptions<'a>,
    library: u32,
    functions: HashMap<Rc<str>, Vec<Rc<Function>>>,
    templates: HashMap<Rc<str>, Vec<Rc<StructTemplate>>>,
    /// All instances of struct templates.
    applied: Vec<Rc<Struct>>,
    /// The names that structs declare in addition to their members, by the structs' numbers.
    struct_names: HashMap<u32, template::Bindings>,
    /// The conversion operators of structs, by the structs' numbers: the type, and the function.
    conversions: HashMap<u32, Vec<(Type, Rc<Function>)>>,
    /// `constexpr` variables of the module, which constant expressions may read.
    constexpr_globals: HashSet<u32>,
    /// Arrays of dynamic shared memory by name: the type, and the declaration.
    dynamic_types: HashMap<Rc<str>, (Type, Span)>,
    /// Complete structs (with known members) by their numbers.
    complete_structs: HashMap<u32, Rc<Struct>>,
    /// Names of `enum class`es, which aren't integers without a cast.
    scoped_enums: HashSet<Rc<str>>,
    scopes: Vec<HashMap<Rc<str>, Symbol>>,
    structs: HashMap<Rc<str>, Rc<Struct>>,
    next_struct: u32,
    builder: Builder,
    frames: Vec<Frame>,
    depth: usize,
    strings: HashMap<Rc<[u8]>, u32>,
    /// The call, in the source, of the library function that is being lowered, if any. Messages and
    /// instructions refer to it.
    library_call: Option<Span>,
    used_names: HashSet<String>,
    /// Functions that are called instead of inlined.
    out_of_line: Vec<out_of_line::OutOfLine>,
    /// The values of `ExprKind::Computed`.
    computed: Vec<expression::Operand>,
    /// The number of instructions of constant expressions that were interpreted.
    interpreted_steps: u32,
    /// The names of the kernels that have been lowered.
    kernels: HashSet<String>,
    /// The number of values in all functions that have been lowered.
    lowered_values: usize,
}

/// Lowers all kernels of a source, and returns them with the mangled names of the name expressions.
/// `library` is the file number of the library.
pub(crate) fn lower(
    items: Vec<Item>,
    library: u32,
    options: &crate::CompileOptions<'_>,
    problems: &mut Problems,
) -> (Module, Vec<String>) {
    let span = Span::default();
    let builder = Builder { function: Kernel::new(String::new(), span), at: BlockId(0), span };
    let mut lowerer = Lowerer {
        module: Module::default(),
        problems,
        options,
        library,
        functions: HashMap::default(),
        templates: HashMap::default(),
        applied: Vec::new(),
        struct_names: HashMap::default(),
        conversions: HashMap::default(),
        constexpr_globals: HashSet::default(),
        dynamic_types: HashMap::default(),
        complete_structs: HashMap::default(),
        scoped_enums: HashSet::default(),
        scopes: vec![HashMap::default()],
        structs: HashMap::default(),
        next_struct: 0,
        builder,
        frames: Vec::new(),
        depth: 0,
        strings: HashMap::default(),
        library_call: None,
        used_names: HashSet::default(),
        out_of_line: Vec::new(),
        computed: Vec::new(),
        interpreted_steps: 0,
        kernels: HashSet::default(),
        lowered_values: 0,
    };
    lowerer.built_in_types();
    let mut kernels = Vec::new();
    let mut instances = Vec::new();
    for item in &items {
        match item {
            Item::Function(function) => {
                if lowerer.function_is_skipped(function) {
                    continue;
                }
                let is_defined = function.template.is_empty() && function.body.is_some();
                if function.attributes.global && is_defined {
                    kernels.push(function.clone());
                }
                lowerer.functions.entry(function.name.clone()).or_default().push(function.clone());
            }
            Item::Instance(instance) => instances.push(instance.clone()),
            Item::StructTemplate(template) => {
                let _: Lowered<()> = lowerer.struct_template(template);
            }
            Item::Statement(statement) => {
                lowerer.builder.span = statement.span;
                let result = match &statement.kind {
                    StatementKind::Variables(variables) => lowerer.globals(variables),
                    _ => lowerer.statement(statement),
                };
                let _: Lowered<()> = result;
            }
        }
    }
    for kernel in kernels {
        if lowerer.problems.too_many() {
            break;
        }
        lowerer.kernel(&kernel, HashMap::default());
    }
    let mut names = Vec::new();
    for instance in &instances {
        let lowered = lowerer.instance(instance);
        if let (true, Ok(Some(name))) = (instance.by_host, lowered) {
            names.push(name);
        }
    }
    lowerer.lower_out_of_line();
    lowerer.check_instances(&instances);
    (lowerer.module, names)
}

impl Lowerer<'_> {
    fn fail<T>(&mut self, problem: Problem) -> Lowered<T> {
        self.problems.push(problem);
        Err(Stop)
    }

    fn error<T>(&mut self, span: Span, message: impl Into<String>, help: &str) -> Lowered<T> {
        let problem = Problem::new(self.place_of(span), message);
        self.fail(if help.is_empty() { problem } else { problem.help(help) })
    }

    /// Fails if the target is older than this architecture.
    fn require_arch(
        &mut self,
        what: std::fmt::Arguments<'_>,
        least: u32,
        span: Span,
    ) -> Lowered<()> {
        if self.options.arch >= least {
            return Ok(());
        }
        let message =
            format!("{what} needs sm_{least}, and the target is sm_{}", self.options.arch);
        self.error(span, message, "compile for a newer architecture (`--arch`)")
    }

    /// The place to report an error at: for an error inside the library, the call of the library in
    /// the source.
    fn place_of(&self, span: Span) -> Span {
        self.library_call.unwrap_or(span)
    }

    fn warn(&mut self, problem: Problem) {
        if self.library_call.is_none() && problem.span.file != self.library {
            self.problems.push(problem);
        }
    }

    fn set_place(&mut self, span: Span) {
        self.builder.span = self.library_call.unwrap_or(span);
    }

    fn one_level_deeper<T>(
        &mut self,
        span: Span,
        inner: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<T> {
        if self.depth >= MAX_NESTING {
            let message = "this is nested too deeply";
            return self.error(span, message, "split it, or call fewer functions in each other");
        }
        let function = &self.builder.function;
        let values = function.values.len() + function.blocks.len();
        if self.lowered_values + values > MAX_MODULE {
            return self.error(
                span,
                format!("the source becomes larger than {MAX_MODULE} instructions here"),
                "calls of __device__ functions are inlined in each kernel: make them `__noinline__`, or \
                 compile the kernels separately",
            );
        }
        if values > MAX_KERNEL {
            return self.error(
                span,
                format!("the kernel becomes larger than {MAX_KERNEL} instructions here"),
                "calls of __device__ functions are inlined: call it in a loop, or make it `__noinline__`",
            );
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn lookup(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// The names of all types, or of everything else.
    fn names_in_scope(&self, types: bool) -> impl Iterator<Item = &str> {
        let all = self.scopes.iter().flatten();
        all.filter(move |(_, symbol)| matches!(symbol, Symbol::Alias(_)) == types)
            .map(|(name, _)| &**name)
    }

    fn bind(&mut self, name: &Rc<str>, symbol: Symbol) {
        if let Symbol::Variable(place) = &symbol
            && self.library_call.is_none()
            && let Op::Slot(slot) = self.builder.function.inst(place.address).op
        {
            self.builder.function.slots[slot as usize].name.get_or_insert_with(|| name.clone());
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), symbol);
        }
    }

    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.scopes.push(HashMap::default());
        let result = inner(self);
        self.scopes.pop();
        result
    }
}
