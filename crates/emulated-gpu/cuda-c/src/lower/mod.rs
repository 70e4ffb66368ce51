//! The syntax tree to the intermediate form: names are looked up, types checked, conversions made.
//!
//! Every variable is first a slot of memory; `optimise` holds in registers what can be. Calls of
//! `__device__` functions are written out where they stand, so that a reference is the place itself; but
//! for those that come to call themselves (`apart`).

mod aggregate;
mod apart;
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
use crate::ir::{BlockId, Builder, Function as Kernel, Module, Value};
use crate::source::Span;
use crate::syntax::{Function, Item, StatementKind, StructTemplate};
use crate::types::{QualifiedType, Struct, Type};

/// It has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

pub(crate) type Lowered<T> = Result<T, Stop>;

/// Expressions, statements and calls nest at most as deep.
const DEEPEST: usize = 320;
/// A kernel has at most as many instructions before it is optimised.
const LARGEST: usize = 400_000;

/// All kernels and functions of a source have at most as many together: their memory and the time of the
/// optimiser grow with it.
const MAX_MODULE: usize = 1_500_000;

/// A value and its type. For a struct or an array, the value is the address at which it lies.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) ty: Type,
    pub(crate) value: Value,
}

/// Something that can be written to.
#[derive(Clone, Debug)]
pub(crate) struct Lvalue {
    pub(crate) ty: QualifiedType,
    pub(crate) address: Value,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Variable(Lvalue),
    /// A variable of the module, by its number.
    Global(u32, QualifiedType),
    Constant(Type, u64),
    Alias(QualifiedType),
}

/// A call that is being written out.
#[derive(Debug)]
struct Frame {
    name: Rc<str>,
    result: QualifiedType,
    /// Where the result is put: its address.
    slot: Option<Value>,
    returns_reference: bool,
    exit: BlockId,
    /// Where `break` and `continue` go.
    breaks: Vec<BlockId>,
    continues: Vec<BlockId>,
    labels: HashMap<Rc<str>, (BlockId, bool, Span)>,
    /// Cases of the innermost `switch`: values, and where they go.
    cases: Vec<Vec<(Option<u64>, BlockId)>>,
    switch_types: Vec<Type>,
    function: *const Function,
    /// The struct whose function it is; 0 for none.
    own: u32,
    /// What the parameters of its template are.
    template: template::Bound,
}

impl Frame {
    /// Of a function that gives nothing back, and goes to `exit` at its end.
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
    options: &'a crate::Options<'a>,
    library: u32,
    functions: HashMap<Rc<str>, Vec<Rc<Function>>>,
    templates: HashMap<Rc<str>, Vec<Rc<StructTemplate>>>,
    /// All structs that were made of templates.
    applied: Vec<Rc<Struct>>,
    /// What structs name besides their members, by their numbers.
    struct_names: HashMap<u32, template::Bound>,
    /// What structs become by themselves, by their numbers: the type, and the function.
    conversions: HashMap<u32, Vec<(Type, Rc<Function>)>>,
    /// `constexpr` variables of the module, which constant expressions may read.
    constexpr_globals: HashSet<u32>,
    /// Arrays of dynamic shared memory by their names: the type, and where it was declared.
    dynamic_types: HashMap<Rc<str>, (Type, Span)>,
    /// Structs by their numbers, as soon as their members are known.
    whole: HashMap<u32, Rc<Struct>>,
    /// Names of `enum class`es, which are no integers without a cast.
    scoped_enums: HashSet<Rc<str>>,
    scopes: Vec<HashMap<Rc<str>, Symbol>>,
    structs: HashMap<Rc<str>, Rc<Struct>>,
    next_struct: u32,
    builder: Builder,
    frames: Vec<Frame>,
    depth: usize,
    strings: HashMap<Rc<[u8]>, u32>,
    /// Where code of the library counts as standing: the place of the call.
    standing: Option<Span>,
    used_names: HashSet<String>,
    /// Functions that are called instead of written out.
    apart: Vec<apart::Apart>,
    /// The values of `ExprKind::Computed`.
    computed: Vec<expression::Any>,
    /// How many instructions of constant expressions were carried out.
    carried_out: u32,
    /// The names of the kernels that have been made.
    kernels: HashSet<String>,
    /// Values of all functions that have been made.
    made: usize,
}

/// Lowers all kernels of a source; what the names that the host asks for are in PTX. `library` is the
/// number of the text that was read before it.
pub(crate) fn lower(
    items: Vec<Item>,
    library: u32,
    options: &crate::Options<'_>,
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
        whole: HashMap::default(),
        scoped_enums: HashSet::default(),
        scopes: vec![HashMap::default()],
        structs: HashMap::default(),
        next_struct: 0,
        builder,
        frames: Vec::new(),
        depth: 0,
        strings: HashMap::default(),
        standing: None,
        used_names: HashSet::default(),
        apart: Vec::new(),
        computed: Vec::new(),
        carried_out: 0,
        kernels: HashSet::default(),
        made: 0,
    };
    lowerer.built_in_types();
    let mut kernels = Vec::new();
    let mut instances = Vec::new();
    for item in &items {
        match item {
            Item::Function(function) => {
                if lowerer.function_is_known(function) {
                    continue;
                }
                let whole = function.template.is_empty() && function.body.is_some();
                if function.attributes.global && whole {
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
        if lowerer.problems.are_many() {
            break;
        }
        lowerer.kernel(&kernel, HashMap::default());
    }
    let mut names = Vec::new();
    for instance in &instances {
        let made = lowerer.instance(instance);
        if let (true, Ok(Some(name))) = (instance.by_host, made) {
            names.push(name);
        }
    }
    lowerer.make_apart();
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

    /// What is wrong inside of the library is wrong with the call of it.
    fn place_of(&self, span: Span) -> Span {
        self.standing.unwrap_or(span)
    }

    fn warn(&mut self, problem: Problem) {
        if self.standing.is_none() && problem.span.file != self.library {
            self.problems.push(problem);
        }
    }

    fn stand(&mut self, span: Span) {
        self.builder.span = self.standing.unwrap_or(span);
    }

    fn deeper<T>(&mut self, span: Span, inner: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        if self.depth >= DEEPEST {
            return self.error(
                span,
                "this nests too deep",
                "split it, or call fewer functions in each other",
            );
        }
        let function = &self.builder.function;
        let values = function.values.len() + function.blocks.len();
        if self.made + values > MAX_MODULE {
            return self.error(
                span,
                format!("the source becomes larger than {MAX_MODULE} instructions here"),
                "calls of __device__ functions are written out in each kernel: make them `__noinline__`, or \
                 compile the kernels separately",
            );
        }
        if values > LARGEST {
            return self.error(
                span,
                format!("the kernel becomes larger than {LARGEST} instructions here"),
                "calls of __device__ functions are written out: call it in a loop, or make it `__noinline__`",
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

    fn bind(&mut self, name: &Rc<str>, symbol: Symbol) {
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
