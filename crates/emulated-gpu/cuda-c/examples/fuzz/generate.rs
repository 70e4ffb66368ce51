//! The names in scope, and generation of calls.

use crate::random::Random;
use crate::tree::{NodeKind, Tree, join, tree};

/// The names in scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The variables in scope: kind, name, and whether the variable may be written.
    pub(crate) variables: Vec<(NodeKind, String, bool)>,
    /// Variables of types narrower than `int`.
    pub(crate) narrow: Vec<String>,
    /// Arrays of eight unsigned numbers.
    pub(crate) arrays: Vec<String>,
}

impl Scope {
    pub(crate) fn readable(&self, kind: NodeKind) -> impl Iterator<Item = &str> {
        self.variables
            .iter()
            .filter(move |variable| variable.0 == kind)
            .map(|variable| variable.1.as_str())
    }

    /// A random variable to write to.
    pub(crate) fn writable(&self, kind: NodeKind, random: &mut Random) -> Option<String> {
        let all: Vec<&str> = self
            .variables
            .iter()
            .filter(|variable| variable.0 == kind && variable.2)
            .map(|variable| variable.1.as_str())
            .collect();
        (!all.is_empty()).then(|| random.choice(&all).to_owned())
    }

    pub(crate) fn array(&self, random: &mut Random) -> String {
        let all: Vec<&str> = self.arrays.iter().map(String::as_str).collect();
        if all.is_empty() { String::new() } else { random.choice(&all).to_owned() }
    }

    pub(crate) fn add(&mut self, kind: NodeKind, names: &[&str]) {
        self.variables.extend(names.iter().map(|name| (kind, (*name).to_owned(), true)));
    }
}

/// A function of the generated program.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) result: NodeKind,
    pub(crate) parameters: Vec<NodeKind>,
    /// An additional last argument, such as the limit of a recursion.
    pub(crate) last_argument: &'static str,
}

#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) random: Random,
    pub(crate) scope: Scope,
    pub(crate) functions: Vec<Signature>,
    /// The number of loops and labels so far, which their names contain to be unique.
    pub(crate) count: u32,
    /// The current nesting of loops.
    pub(crate) loops: u32,
    /// The number of calls in the current function.
    pub(crate) calls: u32,
}

/// The C type of a kind.
pub(crate) fn type_of(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Signed => "int",
        NodeKind::Wide => "unsigned long long",
        NodeKind::Long => "long long",
        NodeKind::Float => "float",
        NodeKind::Double => "double",
        NodeKind::Truth => "bool",
        _ => "unsigned",
    }
}

pub(crate) const KINDS: [NodeKind; 7] = [
    NodeKind::Unsigned,
    NodeKind::Signed,
    NodeKind::Wide,
    NodeKind::Long,
    NodeKind::Float,
    NodeKind::Double,
    NodeKind::Truth,
];

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            scope: Scope::default(),
            functions: Vec::new(),
            count: 0,
            loops: 0,
            calls: 0,
        }
    }

    pub(crate) fn number(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    pub(crate) fn kind(&mut self) -> NodeKind {
        KINDS[self.random.below(7) as usize]
    }

    /// A call of a function of the program that returns this kind.
    pub(crate) fn call(&mut self, kind: NodeKind, depth: u32) -> Option<Tree> {
        // Each call may be inlined, so their number is limited.
        if self.calls > 40 || self.loops > 1 {
            return None;
        }
        let fitting: Vec<Signature> =
            self.functions.iter().filter(|function| function.result == kind).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        self.calls += 1;
        let one = &fitting[self.random.below(fitting.len() as u64) as usize];
        let given: Vec<Tree> =
            one.parameters.iter().map(|kind| self.expression(*kind, depth.min(2) - 1)).collect();
        let places = join(given.iter().map(|_| "@"), ", ");
        let comma = if given.is_empty() || one.last_argument.is_empty() { "" } else { ", " };
        Some(tree(kind, &format!("{}({places}{comma}{})", one.name, one.last_argument), given))
    }
}
