//! The parser of module scope (PTX ISA, "PTX Module Directives").

use super::{Parser, Result};
use crate::diagnostic::{Problem, closest};
use crate::lexer::TokenKind;
use crate::program::Linkage;
use crate::syntax::{File, Item, Name};

impl<'a> Parser<'a, '_> {
    pub(super) fn file(&mut self) -> File<'a> {
        let mut file = File::default();
        while self.kind() != TokenKind::End {
            let (before, start) = (self.position, self.span());
            if let Err(problem) = self.item(&mut file) {
                self.problems.push(problem);
                self.has_unread_declarations = true;
                self.recover_item();
            }
            file.spans.resize(file.items.len(), self.since(start));
            if self.position == before {
                self.advance();
            }
        }
        file.directives = std::mem::take(&mut self.directives);
        file
    }

    /// Skips to the next directive that is only valid at module scope, or past the next `;`.
    fn recover_item(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Mark(";") => {
                    self.advance();
                    return;
                }
                _ if self.begins_item() => return,
                // This is the body of a function whose header could not be read.
                TokenKind::Mark("{") => {
                    self.skip_braces();
                    if !matches!(self.kind(), TokenKind::Mark("," | ";" | "}")) {
                        return;
                    }
                }
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// Whether a directive follows that is only valid at module scope.
    fn begins_item(&self) -> bool {
        let items = [".entry", ".func", ".visible", ".extern", ".weak", ".common"];
        self.kind() == TokenKind::Dotted && items.contains(&self.word())
    }

    /// Skips past the brace that closes the current one.
    fn skip_braces(&mut self) {
        let mut depth = 0usize;
        while self.kind() != TokenKind::End && !self.begins_item() {
            match self.kind() {
                TokenKind::Mark("{") => depth += 1,
                TokenKind::Mark("}") => depth -= 1,
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return;
            }
        }
    }

    fn item(&mut self, file: &mut File<'a>) -> Result<()> {
        let linkage = match self.word() {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => Linkage::Internal,
        };
        if linkage != Linkage::Internal {
            self.advance();
        }
        if self.kind() != TokenKind::Dotted {
            return Err(self.expected("a directive").help(
                "module scope has .version, .target, variables and functions (.entry, .func)",
            ));
        }
        if linkage == Linkage::Common && !self.is_word(".global") {
            return Err(self.expected("`.global`").help("only .global variables are .common"));
        }
        if self.space().is_some() {
            file.items.push(Item::Variable(self.declaration(linkage)?));
            return Ok(());
        }
        let span = self.span();
        match self.word() {
            ".entry" | ".func" => file.items.push(Item::Function(self.function(linkage)?)),
            ".version" => {
                self.advance();
                let span = self.span();
                let version = self.word();
                let parts = version.split_once('.');
                let parsed = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                if !matches!(self.kind(), TokenKind::Float(_)) || parsed.is_none() {
                    return Err(self.expected("a version such as 8.0"));
                }
                self.advance();
                if file.version.is_some() {
                    return Err(Problem::new(span, "a second .version").help("remove one of them"));
                }
                file.version = parsed.map(|version| (version, span));
            }
            ".target" => {
                if file.version.is_none() {
                    return Err(Problem::new(span, "the version of PTX is missing")
                        .help("begin the file with .version 8.0, above .target"));
                }
                self.advance();
                let targets = self.names("a target such as sm_80")?;
                for target in targets {
                    let known =
                        ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];
                    if target.text.starts_with("sm_") || target.text.starts_with("compute_") {
                        file.target = Some(target);
                    } else if !known.contains(&target.text) {
                        return Err(unknown_target(target));
                    }
                    file.independent |= target.text == "texmode_independent";
                }
            }
            ".address_size" => {
                self.advance();
                let span = self.span();
                if self.number("64")? != 64 {
                    return Err(Problem::new(span, "addresses must have 64 bits")
                        .help("write .address_size 64: 32-bit addresses are no longer supported"));
                }
            }
            ".file" => {
                self.advance();
                let index = self.number("the number of a file")?;
                let name = self.string()?;
                if self.is(",") {
                    self.note_versioned_word("timestamp");
                    self.advance();
                    self.expression()?;
                    self.expect(",")?;
                    self.expression()?;
                }
                file.items.push(Item::File(index, name));
            }
            ".pragma" => {
                self.advance();
                self.string()?;
                while self.take(",") {
                    self.string()?;
                }
                self.semicolon()?;
            }
            ".section" => self.section()?,
            ".alias" => {
                self.advance();
                let alias = self.name("the new name of a function")?;
                self.expect(",")?;
                let function = self.name("the name of a function")?;
                self.semicolon()?;
                file.items.push(Item::Alias(alias, function));
            }
            word => {
                let known = [
                    ".version",
                    ".target",
                    ".address_size",
                    ".entry",
                    ".func",
                    ".global",
                    ".const",
                    ".shared",
                    ".visible",
                    ".extern",
                    ".weak",
                    ".common",
                    ".file",
                    ".pragma",
                    ".section",
                    ".alias",
                ];
                let help = match closest(word, known) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "move it into a function, or look for an extra brace above".into(),
                };
                let message = format!("`{word}` is not a directive of module scope");
                return Err(Problem::new(span, message).help(help));
            }
        }
        Ok(())
    }

    /// Parses `.section .debug_info { … }`: debug information, which is ignored (PTX ISA, "Debugging
    /// Directives: .section").
    fn section(&mut self) -> Result<()> {
        let start = self.span();
        self.advance();
        if self.kind() != TokenKind::Dotted {
            return Err(self.expected("the name of a section such as .debug_info"));
        }
        self.advance();
        self.expect("{")?;
        loop {
            match self.kind() {
                TokenKind::End => {
                    return Err(
                        Problem::new(start, "this section has no end").help("close it with }")
                    );
                }
                TokenKind::Mark("}") => {
                    self.advance();
                    return Ok(());
                }
                TokenKind::Word => {
                    self.advance();
                    self.expect(":")?;
                }
                TokenKind::Dotted => self.section_data()?,
                _ => return Err(self.expected("data, a label or `}`")),
            }
        }
    }

    /// Parses `.b8 1, 2, 3`, `.b32 label+4`, `.b64 end-begin`.
    fn section_data(&mut self) -> Result<()> {
        let bits = match self.word() {
            ".b8" => 8,
            ".b16" => 16,
            ".b32" => 32,
            ".b64" => 64,
            _ => return Err(self.expected(".b8, .b16, .b32 or .b64")),
        };
        self.advance();
        // A label or a section, with an optional addition or subtraction.
        if bits >= 32 && matches!(self.kind(), TokenKind::Word | TokenKind::Dotted) {
            self.advance();
            if self.take("+") || self.take("-") {
                if !matches!(self.kind(), TokenKind::Word | TokenKind::Integer { .. }) {
                    return Err(self.expected("a number or a label"));
                }
                self.advance();
            }
            return Ok(());
        }
        loop {
            self.section_number(bits)?;
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    fn section_number(&mut self, bits: u32) -> Result<()> {
        let negative = self.take("-");
        let TokenKind::Integer { value, .. } = self.kind() else {
            return Err(self.expected("a number"));
        };
        let most = if negative { 1 << (bits - 1) } else { u64::MAX >> (64 - bits) };
        if value > most {
            let message = format!("`{}` has more than {bits} bits", self.word());
            return Err(
                Problem::new(self.span(), message).help("write it as .b64, or byte by byte")
            );
        }
        self.advance();
        Ok(())
    }
}

fn unknown_target(target: Name) -> Problem {
    Problem::new(target.span, format!("`{}` is not a target", target.text))
        .help("write an architecture such as sm_52, sm_75, sm_80 or sm_90")
}
