//! A link, from its options to its result.

use std::path::Path;
use std::time::Instant;

use device_image::fatbin::{self, MAX_BYTES};
use device_image::linked;
use host::input::{MAX_TEXT_BYTES, open, read};
use ptx_emulator::Diagnostic;
use ptx_emulator::program::{Linkage, Space, Variable};
use ptx_emulator::source::Source;

use crate::input::{self, Input, LTO_IR_REFUSED, Refusal};
use crate::nvidia::{self, Part};
use crate::options::{self, LinkOptions};
use crate::status::Status;

/// The inputs of a link, and its result.
#[derive(Debug)]
pub(crate) struct Link {
    /// The options; `None` if they were invalid.
    options: Option<LinkOptions>,
    texts: Vec<Source>,
    /// LTO-IR, which NVIDIA's library compiles.
    lto_ir_parts: Vec<Part>,
    /// The number of texts that were passed as LTO-IR.
    lto_text_count: usize,
    state: LinkState,
    errors: Log,
    infos: Log,
    begun: Instant,
}

#[derive(Debug)]
enum LinkState {
    Open,
    Failed,
    Image(Vec<u8>),
    /// The linked PTX, with the final zero.
    Ptx(Vec<u8>),
}

/// A log: lines of text for the caller.
#[derive(Debug, Default)]
pub(crate) struct Log(String);

impl Log {
    /// The maximum length of a log in bytes. Lines beyond it are dropped, so the log describes the
    /// first inputs.
    const MAX_BYTES: usize = 1 << 20;

    fn push_line(&mut self, line: &str) {
        if self.0.len() + line.len() < Self::MAX_BYTES {
            self.0.push_str(&line.replace('\0', "\u{fffd}"));
            self.0.push('\n');
        }
    }

    /// The log's text with a final zero; empty if there is no text.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let end: &[u8] = if self.0.is_empty() { &[] } else { &[0] };
        [self.0.as_bytes(), end].concat()
    }
}

impl Link {
    /// Creates a link with these options. If the options are wrong, the link can only return its
    /// log.
    pub(crate) fn new(written: &[String]) -> (Self, Result<(), Status>) {
        let mut link = Self {
            options: None,
            texts: Vec::new(),
            lto_ir_parts: Vec::new(),
            lto_text_count: 0,
            state: LinkState::Open,
            errors: Log::default(),
            infos: Log::default(),
            begun: Instant::now(),
        };
        let status = match LinkOptions::read(written) {
            Ok(options) => {
                link.options = Some(options);
                Ok(())
            }
            Err(wrong) => {
                link.state = LinkState::Failed;
                Err(link.refuse(wrong))
            }
        };
        (link, status)
    }

    fn refuse(&mut self, (status, log): Refusal) -> Status {
        self.errors.push_line(&log);
        status
    }

    /// The link's options, if the link still accepts inputs.
    fn options_if_open(&mut self) -> Result<LinkOptions, Status> {
        match (&self.options, &self.state) {
            (Some(options), LinkState::Open) => Ok(options.clone()),
            (None, _) => Err(self.refuse((
                Status::Internal,
                "error   : the options were wrong: create another link with nvJitLinkCreate"
                    .to_owned(),
            ))),
            (Some(_), _) => Err(self.refuse((
                Status::Internal,
                "error   : the link is complete: create another one with nvJitLinkCreate"
                    .to_owned(),
            ))),
        }
    }

    /// Adds an input from a file.
    ///
    /// # Errors
    /// If the file can't be read, and the errors of [`add`](Self::add).
    pub(crate) fn add_file(&mut self, kind: i32, path: &str) -> Result<(), Status> {
        let bytes = open(Path::new(path)).and_then(|file| read(file, MAX_BYTES));
        let bytes = bytes.map_err(|error| {
            self.refuse((Status::InvalidInput, format!("error   : {path} can't be read: {error}")))
        })?;
        self.add(kind, &bytes, path)
    }

    /// Adds an input from memory.
    ///
    /// # Errors
    /// If the input has a type or contents that can't be linked, or its PTX has errors.
    pub(crate) fn add(&mut self, kind: i32, bytes: &[u8], name: &str) -> Result<(), Status> {
        let options = self.options_if_open()?;
        if bytes.is_empty() {
            let log = format!("error   : {name}: there are no bytes");
            return Err(self.refuse((Status::InvalidInput, log)));
        }
        let input = input::read(kind, bytes, name, &options);
        match input.map_err(|refusal| self.refuse(refusal))? {
            Input::Text(text, is_lto) => {
                self.add_text(&options, Source { name: name.to_owned(), text })?;
                self.lto_text_count += usize::from(is_lto);
            }
            Input::LtoIr => self.add_lto_ir(bytes, name)?,
        }
        Ok(())
    }

    /// Stores LTO-IR for NVIDIA's library.
    fn add_lto_ir(&mut self, bytes: &[u8], name: &str) -> Result<(), Status> {
        let library = nvidia::library()
            .map_err(|why| self.refuse((Status::Internal, format!("error   : {why}"))))?;
        let size: usize = self.lto_ir_parts.iter().map(|part| part.bytes.len()).sum();
        let mut kept = Vec::new();
        let refused = if library.is_none() {
            Some((Status::NvvmCompile, LTO_IR_REFUSED.to_owned()))
        } else if (size + bytes.len()) as u64 > MAX_BYTES {
            let why = format!("more than {MAX_BYTES} bytes of LTO-IR are not linked together");
            Some((Status::InvalidInput, why))
        } else if kept.try_reserve_exact(bytes.len()).is_err() {
            Some((Status::Internal, format!("out of memory: {} bytes are needed", bytes.len())))
        } else {
            None
        };
        if let Some((status, why)) = refused {
            return Err(self.refuse((status, format!("error   : {name}: {why}"))));
        }
        kept.extend(bytes);
        self.lto_ir_parts.push(Part { name: name.to_owned(), bytes: kept });
        Ok(())
    }

    /// Adds PTX.
    fn add_text(&mut self, options: &LinkOptions, source: Source) -> Result<(), Status> {
        let (name, text) = (&source.name, &source.text);
        let size: usize = self.texts.iter().map(|source| source.text.len()).sum();
        if (size + text.len()) as u64 > MAX_TEXT_BYTES {
            let log = format!(
                "error   : {name}: more than {MAX_TEXT_BYTES} bytes of PTX are not linked together"
            );
            return Err(self.refuse((Status::InvalidInput, log)));
        }
        let module = ptx_emulator::parse_part(&source)
            .map_err(|diagnostics| self.log_errors(&diagnostics))?;
        if module.target > options.architecture {
            let log = format!(
                "fatal   : {name}: SM version specified by .target is higher than default SM version assumed: \
                 the file is for sm_{}, but -arch is {}; compile it for that architecture or an older one",
                module.target, options.target
            );
            return Err(self.refuse((Status::PtxCompile, log)));
        }
        if options.verbose {
            let entries = module.functions.iter().filter(|function| function.entry).count();
            let (major, minor) = module.version;
            self.infos.push_line(&format!(
                "info    : {name}: PTX {major}.{minor} for sm_{}, {} bytes, {entries} kernels",
                module.target,
                source.text.len()
            ));
        }
        self.texts.push(source);
        Ok(())
    }

    /// Logs the errors in a PTX text, and returns the status for them.
    fn log_errors(&mut self, diagnostics: &[Diagnostic]) -> Status {
        for one in diagnostics {
            self.errors.push_line(&one.to_string());
        }
        Status::PtxCompile
    }

    /// Links all inputs. May only be called once.
    ///
    /// # Errors
    /// If the inputs don't match the options, or can't be linked together.
    pub(crate) fn complete(&mut self) -> Result<(), Status> {
        let options = self.options_if_open()?;
        self.state = LinkState::Failed;
        let refused = if options.ptx && self.lto_text_count < self.texts.len() {
            Some((Status::IncorrectInputType, "error   : with -ptx, all inputs have to be LTO-IR"))
        } else if options.lto && self.lto_text_count == 0 && self.lto_ir_parts.is_empty() {
            Some((Status::NvvmCompile, "error   : there is no LTO-IR: leave out -lto, or add some"))
        } else {
            None
        };
        if let Some((status, log)) = refused {
            return Err(self.refuse((status, log.to_owned())));
        }
        let begun = Instant::now();
        self.compile(&options)?;
        let text = self.link_texts(&options).map_err(|lines| {
            lines.iter().for_each(|line| self.errors.push_line(line));
            Status::Internal
        })?;
        self.state = if options.ptx {
            LinkState::Ptx((text + "\0").into_bytes())
        } else {
            let text = match options.max_registers {
                Some(most) => linked::with_max_registers(&text, most),
                None => text,
            };
            LinkState::Image(fatbin::from_ptx(text.as_bytes(), options.architecture))
        };
        if options.time {
            let milliseconds = |begun: Instant| begun.elapsed().as_secs_f64() * 1e3;
            let (all, own) = (milliseconds(self.begun), milliseconds(begun));
            self.infos.push_line(&format!("nvJitLink time until Complete: {:.6}", all - own));
            self.infos.push_line(&format!("nvJitLinkComplete time to finish: {own:.6}"));
        }
        Ok(())
    }

    /// Compiles the LTO-IR to PTX with NVIDIA's library.
    fn compile(&mut self, options: &LinkOptions) -> Result<(), Status> {
        let parts = std::mem::take(&mut self.lto_ir_parts);
        let library = if parts.is_empty() { None } else { nvidia::library().ok().flatten() };
        let Some(library) = library else { return Ok(()) };
        let text = library.link(&options.written, &parts);
        let text = text.map_err(|log| self.refuse((Status::NvvmCompile, log)))?;
        self.add_text(options, Source { name: "LTO-IR".to_owned(), text })
    }

    /// Links all PTX texts to one text. The error is a list of lines for the log.
    fn link_texts(&self, options: &LinkOptions) -> Result<String, Vec<String>> {
        let lines = |all: Vec<Diagnostic>| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let is_part = options.relocatable || options.ptx;
        let text = match self.texts.as_slice() {
            [] => options::empty_module(&options.target),
            // A single relocatable text is returned unchanged: it will be linked with others later,
            // and was checked when it was added.
            [one] if is_part => return Ok(one.text.clone()),
            texts => ptx_emulator::link(texts).map_err(lines)?,
        };
        let source = Source { name: "linked".to_owned(), text };
        if is_part {
            ptx_emulator::parse_part(&source).map_err(lines)?;
            return Ok(source.text);
        }
        let module = ptx_emulator::parse(&source).map_err(lines)?;
        // The parser reports undefined functions at their calls; undefined variables only show when
        // a module is loaded.
        let is_missing = |variable: &&Variable| {
            variable.linkage == Linkage::Extern
                && matches!(variable.space, Space::Global | Space::Const)
        };
        let missing = module.variables.iter().filter(is_missing);
        let missing: Vec<String> = missing
            .map(|variable| {
                format!("error   : Undefined reference to '{}': no input defines it", variable.name)
            })
            .collect();
        if missing.is_empty() { Ok(source.text) } else { Err(missing) }
    }

    /// The linked image.
    ///
    /// # Errors
    /// If the link isn't complete, or the option `-ptx` was given.
    pub(crate) fn image(&self) -> Result<&[u8], Status> {
        match &self.state {
            LinkState::Image(image) => Ok(image),
            _ => Err(Status::Internal),
        }
    }

    /// The linked PTX, with its final zero.
    ///
    /// # Errors
    /// If the link isn't complete, or the option `-ptx` wasn't given.
    pub(crate) fn ptx(&self) -> Result<&[u8], Status> {
        let is_wanted = self.options.as_ref().is_some_and(|options| options.ptx);
        match &self.state {
            LinkState::Ptx(text) => Ok(text),
            _ if is_wanted => Err(Status::Internal),
            _ => Err(Status::InvalidInput),
        }
    }

    /// The error log.
    pub(crate) fn error_log(&self) -> &Log {
        &self.errors
    }

    /// The info log.
    pub(crate) fn info_log(&self) -> &Log {
        &self.infos
    }

    /// Refuses a request for linked LTO-IR.
    pub(crate) fn lto_ir(&mut self) -> Status {
        let log = "error   : there is no linked LTO-IR, which only NVIDIA's compiler makes: take the linked \
                   cubin, or with -ptx the linked PTX";
        self.refuse((Status::InvalidInput, log.to_owned()))
    }
}
