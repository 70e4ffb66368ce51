//! Parser of functions and their bodies (PTX ISA, "Kernel and Function Directives").

use super::{Parser, Result};
use crate::diagnostic::Problem;
use crate::lexer::TokenKind;
use crate::program::Linkage;
use crate::syntax::{Block, Directive, Function, Name, Signature, Statement};

impl<'a> Parser<'a, '_> {
    /// Parses `.entry name (…) … { … }` or `.func (…) name (…) … { … }`.
    pub(super) fn function(&mut self, linkage: Linkage) -> Result<Function<'a>> {
        let entry = self.word() == ".entry";
        self.advance();
        if !entry && self.is_word(".attribute") {
            self.attributes()?;
        }
        let directives = self.directives.len();
        let results = if !entry && self.is("(") { self.parameters()? } else { Vec::new() };
        let name = self.name("the name of a function")?;
        let parameters = if self.is("(") { self.parameters()? } else { Vec::new() };
        let pointer = self.directives[directives..].iter().find(|word| word.text == ".ptr");
        if let Some(pointer) = pointer.filter(|_| !entry) {
            self.problems.push(
                Problem::new(pointer.span, "`.ptr` describes a parameter of an entry")
                    .help("remove it: a function takes the address as a number"),
            );
        }
        let mut function =
            Function { linkage, entry, name, results, parameters, directives: vec![], body: None };
        while self.kind() == TokenKind::Dotted && !self.at_item() {
            if let Some(directive) = self.directive()? {
                function.directives.push(directive);
            }
        }
        if self.is("{") {
            function.body = Some(self.block()?);
        } else if !matches!(self.kind(), TokenKind::Dotted | TokenKind::End) {
            // Like ptxas, accept a missing `;` before a directive.
            self.semicolon()?;
        }
        Ok(function)
    }

    /// Whether a directive of module scope follows, which ends a declaration.
    fn at_item(&self) -> bool {
        let items = [
            ".entry",
            ".func",
            ".visible",
            ".extern",
            ".weak",
            ".common",
            ".file",
            ".section",
            ".alias",
            ".version",
            ".target",
            ".address_size",
        ];
        self.space().is_some() || items.contains(&self.word())
    }

    fn parameters(&mut self) -> Result<Vec<crate::syntax::Declaration<'a>>> {
        self.expect("(")?;
        self.list(")", Self::parameter)
    }

    /// Parses the strings of a `.pragma`.
    fn pragmas(&mut self) -> Result<Vec<String>> {
        let mut texts = vec![self.string()?];
        while self.take(",") {
            texts.push(self.string()?);
        }
        self.expect(";")?;
        Ok(texts)
    }

    /// Parses `.maxntid 256, 1, 1`; `None` for a `.pragma`.
    fn directive(&mut self) -> Result<Option<Directive<'a>>> {
        let span = self.span();
        let name = Name { text: self.word(), span };
        self.advance();
        if name.text == ".pragma" {
            self.pragmas()?;
            return Ok(None);
        }
        let mut values = Vec::new();
        while let TokenKind::Integer { .. } = self.kind() {
            let span = self.span();
            values.push((self.number("a number of threads or registers")?, span));
            if !self.take(",") {
                break;
            }
            if !matches!(self.kind(), TokenKind::Integer { .. }) {
                return Err(self.expected("a number"));
            }
        }
        Ok(Some(Directive { name, values }))
    }

    /// Parses `{ … }`.
    pub(super) fn block(&mut self) -> Result<Block<'a>> {
        let open = self.span();
        self.expect("{")?;
        self.nested(|parser| {
            let mut statements = Vec::new();
            loop {
                if parser.take("}") {
                    return Ok(Block { statements });
                }
                if parser.kind() == TokenKind::End {
                    return Err(Problem::new(open, "this block has no end").help("close it with }"));
                }
                let before = parser.position;
                let declares =
                    !matches!(parser.kind(), TokenKind::Word | TokenKind::Mark("@" | ";"))
                        || matches!(parser.kind_ahead(1), TokenKind::Mark(":"));
                match parser.statement(&mut statements) {
                    Ok(()) => {}
                    Err(problem) => {
                        parser.problems.push(problem);
                        parser.has_unread_declarations |= declares;
                        parser.recover();
                        if parser.position == before && !parser.is("}") {
                            parser.advance();
                        }
                    }
                }
            }
        })
    }

    fn statement(&mut self, statements: &mut Vec<Statement<'a>>) -> Result<()> {
        if self.kind() == TokenKind::Word && matches!(self.kind_ahead(1), TokenKind::Mark(":")) {
            let label = self.name("a label")?;
            self.advance();
            return self.labelled_statement(label, statements);
        }
        let statement = match self.kind() {
            TokenKind::Mark("{") => Statement::Block(self.block()?),
            TokenKind::Dotted if self.space().is_some() => {
                Statement::Declaration(self.declaration(Linkage::Internal)?)
            }
            TokenKind::Dotted => return self.body_directive(statements),
            TokenKind::Mark(";") => {
                return Err(self.expected("a statement").help("remove this `;`"));
            }
            _ => Statement::Instruction(self.instruction()?),
        };
        statements.push(statement);
        Ok(())
    }

    fn labelled_statement(
        &mut self,
        label: Name<'a>,
        statements: &mut Vec<Statement<'a>>,
    ) -> Result<()> {
        let statement = match (self.kind(), self.word()) {
            (TokenKind::Dotted, ".branchtargets") => {
                self.advance();
                Statement::BranchTargets(label, self.names("a label")?)
            }
            (TokenKind::Dotted, ".calltargets") => {
                self.advance();
                Statement::CallTargets(label, self.names("the name of a function")?)
            }
            (TokenKind::Dotted, ".callprototype") => {
                self.advance();
                Statement::CallPrototype(label, self.prototype()?)
            }
            _ => {
                statements.push(Statement::Label(label));
                return Ok(());
            }
        };
        statements.push(statement);
        self.semicolon()
    }

    /// Parses `(.param .b32 _) _ (.param .b32 _) .noreturn`.
    fn prototype(&mut self) -> Result<Signature<'a>> {
        let results = if self.is("(") { self.parameters()? } else { Vec::new() };
        self.name("`_`")?;
        let parameters = if self.is("(") { self.parameters()? } else { Vec::new() };
        while self.kind() == TokenKind::Dotted {
            self.directive()?;
        }
        Ok(Signature { results, parameters })
    }

    fn body_directive(&mut self, statements: &mut Vec<Statement<'a>>) -> Result<()> {
        match self.word() {
            ".loc" => {
                self.advance();
                let file = self.number("the number of a file")?;
                let line = self.number("a line")?;
                self.number("a column")?;
                // `, function_name $L__info_string0+4, inlined_at 1 20 3`
                while self.take(",") {
                    if self.is_word("function_name") {
                        self.note_versioned_word("function_name");
                        self.advance();
                        self.name("a label of .debug_str")?;
                        if self.take("+") {
                            self.number("an offset")?;
                        }
                    } else if self.take_word("inlined_at") {
                        for what in ["the number of a file", "a line", "a column"] {
                            self.number(what)?;
                        }
                    } else {
                        return Err(self.expected("`function_name` or `inlined_at`"));
                    }
                }
                statements.push(Statement::Location { file, line });
                Ok(())
            }
            ".pragma" => {
                self.advance();
                self.note_versioned_word("used_bytes_mask");
                let used = self.pragmas()?.iter().filter_map(|text| used_bytes(text)).next_back();
                if used.is_none() {
                    self.directives.pop();
                }
                statements.extend(used);
                Ok(())
            }
            word => {
                Err(Problem::new(self.span(), format!("`{word}` is not allowed in a function"))
                    .help("a body holds declarations, labels, instructions, .loc and .pragma"))
            }
        }
    }
}

/// Parses the pragma `"used_bytes_mask 0xf"` (PTX ISA, "Pragma Strings"). All other strings are hints, possibly for
/// other compilers; without a number, this string is also a hint.
fn used_bytes<'a>(text: &str) -> Option<Statement<'a>> {
    let number = text.trim().strip_prefix("used_bytes_mask")?.trim();
    let mask = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    mask.ok().map(Statement::UsedBytes)
}
