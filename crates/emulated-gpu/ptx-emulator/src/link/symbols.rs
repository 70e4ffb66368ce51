//! The symbols of linked texts: the text that defines each.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Part, problem};
use crate::diagnostic::{Diagnostic, Problem};
use crate::lexer::TokenKind;
use crate::program::{Linkage, Space};
use crate::syntax::{Declaration, Function, Item, Name};

/// How the symbols of all texts are resolved.
pub(super) struct Resolution {
    /// New names of symbols that are private to a text, by text and old name.
    names: HashMap<(usize, String), String>,
    /// Definitions that another definition replaces: text and item.
    dropped: HashSet<(usize, usize)>,
    /// The text that defines each shared symbol, and whether that definition is weak.
    defined: HashMap<String, (usize, bool)>,
}

/// The treatment of an item in the linked text.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Stays,
    /// The item becomes a declaration with this linkage, before its definition.
    Declares(&'static str),
    /// The item is dropped, because the symbol is already defined.
    Goes,
}

/// A symbol in one item of one text.
#[derive(Clone, Copy)]
struct Symbol<'a> {
    part: usize,
    item: usize,
    role: Role,
    name: Name<'a>,
}

/// How an item relates to a symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The symbol is private to its text.
    Private,
    /// The symbol is only declared: its definition is in another text, or later in this text.
    Announced,
    Defined,
    Weak,
    Common,
}

impl Resolution {
    pub(super) fn new(parts: &[Part]) -> Result<Self, Vec<Diagnostic>> {
        let mut symbols: BTreeMap<&str, Vec<Symbol>> = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            for (index, item) in part.file.items.iter().enumerate() {
                for (name, role) in names(item) {
                    let symbol = Symbol { part: number, item: index, role, name };
                    symbols.entry(name.text).or_default().push(symbol);
                }
            }
        }
        let mut resolution =
            Self { names: HashMap::new(), dropped: HashSet::new(), defined: HashMap::new() };
        let mut words = Words::of_texts(parts);
        for list in symbols.values() {
            resolution.rename(list, &mut words);
            resolution.choose(list, parts)?;
        }
        Ok(resolution)
    }

    /// The new name of a text's symbol, if it was renamed.
    pub(super) fn name(&self, part: usize, name: &str) -> Option<String> {
        // Most texts have no renamed symbols.
        if self.names.is_empty() {
            return None;
        }
        self.names.get(&(part, name.to_owned())).cloned()
    }

    /// The treatment of an item in the linked text.
    pub(super) fn fate(&self, part: usize, index: usize, item: &Item) -> Fate {
        let announced = || match item {
            Item::Function(function) => function.linkage == Linkage::Extern,
            Item::Variable(variable) => of_variable(variable) == Role::Announced,
            _ => false,
        };
        if !self.dropped.contains(&(part, index)) && !announced() {
            return Fate::Stays;
        }
        let mut places = names(item).into_iter().map(|(name, _)| self.defined.get(name.text));
        match (places.next().flatten(), item) {
            (Some((by, _)), _) if *by < part && places.all(|one| one.is_some()) => Fate::Goes,
            // Entries can't be called, so they need no declaration.
            (_, Item::Function(function)) if function.entry => Fate::Goes,
            (Some((_, true)), Item::Function(_)) => Fate::Declares(".weak"),
            (Some(_), Item::Function(_)) => Fate::Declares(".visible"),
            (Some(_), Item::Variable(_)) => Fate::Declares(".extern"),
            _ => Fate::Stays,
        }
    }

    /// Renames private symbols, so that only one text keeps the name.
    fn rename(&mut self, list: &[Symbol], words: &mut Words) {
        let is_shared = list.iter().any(|symbol| symbol.role != Role::Private);
        let keeper = if is_shared { None } else { list.first().map(|symbol| symbol.part) };
        for symbol in list.iter().filter(|symbol| symbol.role == Role::Private) {
            if Some(symbol.part) != keeper {
                let key = (symbol.part, symbol.name.text.to_owned());
                self.names
                    .entry(key)
                    .or_insert_with(|| words.unused_name(symbol.name.text, symbol.part));
            }
        }
    }

    /// Chooses one definition of a shared symbol.
    fn choose(&mut self, list: &[Symbol], parts: &[Part]) -> Result<(), Vec<Diagnostic>> {
        let having = |role| list.iter().filter(move |symbol| symbol.role == role);
        let strong: Vec<&Symbol> = having(Role::Defined).collect();
        if let [first, second, ..] = strong[..] {
            let (part, other) = (&parts[second.part], &parts[first.part].source.name);
            let message = format!("`{}` is defined in {other}, too", second.name.text);
            let help = "make one of them .weak, or remove its linkage directive";
            return Err(problem(part, Problem::new(second.name.span, message).help(help)));
        }
        let kept = strong.first().copied().or_else(|| having(Role::Weak).next());
        let commons: Vec<&Symbol> = having(Role::Common).collect();
        let kept = kept.or_else(|| commons.first().copied());
        if let Some(first) = commons.first() {
            let shape = |symbol: &Symbol| {
                let part = &parts[symbol.part];
                let tokens = part.tokens_of(part.file.spans[symbol.item]);
                tokens.iter().map(|token| part.text(token.span)).collect::<Vec<_>>()
            };
            if let Some(other) = commons.iter().find(|other| shape(other) != shape(first)) {
                let message = format!("`{}` is .common with another type or size", other.name.text);
                let help = format!("declare it as {} does", parts[first.part].source.name);
                let wrong = Problem::new(other.name.span, message).help(help);
                return Err(problem(&parts[other.part], wrong));
            }
        }
        let place = |kept: &Symbol| (kept.part, kept.role == Role::Weak);
        self.defined.extend(kept.map(|kept| (kept.name.text.to_owned(), place(kept))));
        for symbol in list.iter().filter(|one| matches!(one.role, Role::Weak | Role::Common)) {
            let is_kept =
                kept.is_some_and(|kept| (kept.part, kept.item) == (symbol.part, symbol.item));
            if !is_kept {
                self.dropped.insert((symbol.part, symbol.item));
                if names(&parts[symbol.part].file.items[symbol.item]).len() > 1 {
                    let message =
                        format!("`{}` is declared together with others", symbol.name.text);
                    let help = "declare each in a separate statement";
                    let wrong = Problem::new(symbol.name.span, message).help(help);
                    return Err(problem(&parts[symbol.part], wrong));
                }
            }
        }
        Ok(())
    }
}

/// The names of an item, and how it relates to each.
fn names<'a>(item: &Item<'a>) -> Vec<(Name<'a>, Role)> {
    match item {
        Item::Variable(declaration) => {
            let role = of_variable(declaration);
            declaration.names.iter().map(|declarator| (declarator.name, role)).collect()
        }
        Item::Function(function) => vec![(function.name, of_function(function))],
        Item::Alias(alias, _) => vec![(*alias, Role::Defined)],
        Item::File(..) => Vec::new(),
    }
}

fn of_variable(declaration: &Declaration) -> Role {
    match declaration.linkage {
        Linkage::Internal => Role::Private,
        // Dynamic shared memory begins at the same address for each name.
        Linkage::Extern if declaration.space == Space::Shared => Role::Private,
        Linkage::Extern => Role::Announced,
        Linkage::Visible => Role::Defined,
        Linkage::Weak => Role::Weak,
        Linkage::Common => Role::Common,
    }
}

fn of_function(function: &Function) -> Role {
    match (function.linkage, &function.body) {
        (Linkage::Internal, _) if !function.entry => Role::Private,
        (_, None) => Role::Announced,
        (Linkage::Weak, _) => Role::Weak,
        // An entry without a linkage directive can also be launched.
        _ => Role::Defined,
    }
}

/// Every name that occurs in the texts.
struct Words(HashSet<String>);

impl Words {
    fn of_texts(parts: &[Part]) -> Self {
        let definition_of = |part: &Part| {
            let words = part.tokens.iter().filter(|token| token.kind == TokenKind::Word);
            words.map(|token| part.text(token.span).to_owned()).collect::<Vec<_>>()
        };
        Self(parts.iter().flat_map(definition_of).collect())
    }

    /// An unused name.
    fn unused_name(&mut self, name: &str, part: usize) -> String {
        let mut fresh = format!("{name}__{part}");
        while !self.0.insert(fresh.clone()) {
            fresh.push('_');
        }
        fresh
    }
}
