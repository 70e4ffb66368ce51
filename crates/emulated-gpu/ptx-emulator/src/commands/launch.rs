//! The launch that `run`, `trace` and `profile` share: its kernel, its options and its arguments.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use super::argument::{Argument, Buffer, Element};
use super::source::read_with;
use super::table::{NamedBuffer, lay_out};
use super::{CommandOutput, Environment, Failure, entry};
use crate::memory::{AccessError, Heap};
use crate::program::Parameter;
use crate::room::filled;
use crate::source::Source;
use crate::{Checks, Emulator, Kernel, Launch, ParameterLayout, RunOptions};

/// A launch, as described on the command line. It has no argument group, because the group would have the same
/// name as the group of `run`, `trace` or `profile`, whose arguments have a type of the same name.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args), group(skip))]
pub struct Arguments {
    /// The file: PTX, or CUDA C if the name ends in `.cu`, which is compiled
    #[cfg_attr(feature = "cli", arg(value_name = "FILE"))]
    pub file: PathBuf,
    /// The entry to launch, by its PTX name or its CUDA C name, such as `reverse<double>`; optional if the file
    /// has only one
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub entry: Option<String>,
    /// Blocks of the grid: X, X,Y or X,Y,Z
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHAPE", default_value = "1"))]
    pub grid: LaunchShape,
    /// Threads of a block: X, X,Y or X,Y,Z
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHAPE", default_value = "32"))]
    pub block: LaunchShape,
    /// Bytes of dynamic shared memory
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value_t = 0))]
    pub shared: u32,
    /// An argument of the kernel; one for each parameter, in order. TYPE:VALUE is a number, such as u32:64 or
    /// f32:0.5; TYPE is u8 to u64, s8 to s64, f16, bf16, f32 or f64. TYPE[N]:WHAT is a buffer of N elements,
    /// whose address is passed; WHAT is a number (the value of each element), a list (1,2,3), iota (0, 1, 2,
    /// …), random (from −1 to 1, the same at each run), or @FILE with its bytes. table:FIELD,… is a buffer with
    /// the layout of a C structure; each FIELD is TYPE:VALUE, null, or the name of a --buffer, for its address.
    /// struct:FIELD,… is such a structure passed by value
    #[allow(rustdoc::broken_intra_doc_links, reason = "`--help` shows it unchanged")]
    #[cfg_attr(feature = "cli", arg(long = "arg", value_name = "TYPE:VALUE"))]
    pub arguments: Vec<Argument>,
    /// A buffer that is not an argument: kernels find its address in a table
    #[allow(rustdoc::broken_intra_doc_links, reason = "`--help` shows it unchanged")]
    #[cfg_attr(feature = "cli", arg(long = "buffer", value_name = "NAME=TYPE[N]:WHAT"))]
    pub buffers: Vec<NamedBuffer>,
    /// Keep all blocks resident at once, so that they may wait for each other
    #[cfg_attr(feature = "cli", arg(long))]
    pub cooperative: bool,
    /// Run blocks in order on one thread
    #[cfg_attr(feature = "cli", arg(long))]
    pub deterministic: bool,
    /// Shuffle the order in which the warps of a block take turns
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Also report reads of uninitialised memory and registers
    #[cfg_attr(feature = "cli", arg(long))]
    pub initcheck: bool,
    /// Also report races: unordered accesses of two threads of one launch to the same memory. Races between streams
    /// are not detected. Races of volatile accesses are reported, except for a load that a loop waits for, or against
    /// an atomic access
    #[cfg_attr(feature = "cli", arg(long))]
    pub racecheck: bool,
    /// Also report barriers that a part of a warp misses, and shuffles from inactive lanes
    #[cfg_attr(feature = "cli", arg(long))]
    pub synccheck: bool,
    /// Instruction limit: stop a warp that executes more
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = DEFAULT_INSTRUCTION_LIMIT))]
    pub limit: u64,
}

/// The default for `--limit`.
const DEFAULT_INSTRUCTION_LIMIT: u64 = 1 << 32;

/// The defaults of the command line.
impl Default for Arguments {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            entry: None,
            grid: LaunchShape([1, 1, 1]),
            block: LaunchShape([32, 1, 1]),
            shared: 0,
            arguments: Vec::new(),
            buffers: Vec::new(),
            cooperative: false,
            deterministic: false,
            seed: None,
            initcheck: false,
            racecheck: false,
            synccheck: false,
            limit: DEFAULT_INSTRUCTION_LIMIT,
        }
    }
}

/// The number of blocks or threads along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape(pub [u32; 3]);

impl FromStr for LaunchShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        axes(text, 1).map(Self)
    }
}

/// The position of a block or thread along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchIndex(pub [u32; 3]);

impl FromStr for LaunchIndex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        axes(text, 0).map(Self)
    }
}

/// Formats a shape or a position in the syntax of the command line, without the last numbers if they equal `rest`.
pub(super) fn without_rest(axes: [u32; 3], rest: u32) -> String {
    let length = axes.iter().rposition(|&axis| axis != rest).map_or(1, |last| last + 1);
    axes[..length].iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Parses up to three numbers. Missing numbers are `rest`.
fn axes(text: &str, rest: u32) -> Result<[u32; 3], String> {
    let mut axes = [rest; 3];
    let mut parts = text.split(',');
    for (axis, part) in axes.iter_mut().zip(&mut parts) {
        *axis = part.parse().map_err(|_| format!("`{part}` is not a number"))?;
    }
    if parts.next().is_some() {
        return Err("there are three axes at most: X, X,Y or X,Y,Z".into());
    }
    Ok(axes)
}

/// A launch that is ready to run.
pub struct Prepared {
    /// The device, with the buffers in its memory.
    pub emulator: Emulator,
    /// The PTX text.
    pub source: String,
    /// The kernel.
    pub kernel: Kernel,
    /// The grid, the block and the parameters of the launch.
    pub launch: Launch,
    /// The buffers of the launch: first the buffers of the arguments, in order, then the buffers with names.
    placed: Vec<PlacedBuffer>,
}

/// The maximum distance of an address from the buffer to which it belongs, as a multiple of the buffer's length or of
/// 64 elements, whichever is more.
const MAX_DISTANCE: i64 = 4;

/// A buffer in the device's memory.
struct PlacedBuffer {
    role: BufferRole,
    element: Element,
    address: u64,
    before: Vec<u8>,
}

/// How a launch uses a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferRole {
    /// The argument with this index.
    Argument(usize),
    /// Not an argument: a buffer with a name.
    Named(String),
}

impl Display for BufferRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argument(index) => write!(f, "argument {index}"),
            Self::Named(name) => write!(f, "buffer {name}"),
        }
    }
}

/// A buffer after a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferAfter {
    /// How the launch uses the buffer.
    pub role: BufferRole,
    /// The type of an element.
    pub element: Element,
    /// All elements.
    pub bytes: Vec<u8>,
    /// Whether the launch changed any element.
    pub changed: bool,
}

impl Prepared {
    /// The current buffers: first the buffers of the arguments, in order, then the buffers with names. Tables are left
    /// out, because they hold addresses, which differ from run to run.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub fn buffers(&self) -> Result<Vec<BufferAfter>, Failure> {
        let mut buffers = Vec::new();
        for PlacedBuffer { role, element, address, before } in &self.placed {
            let mut bytes = filled(0, before.len()).map_err(Failure::Memory)?;
            if self.emulator.memory().read(*address, &mut bytes).is_ok() {
                let (role, changed) = (role.clone(), bytes != *before);
                buffers.push(BufferAfter { role, element: *element, bytes, changed });
            }
        }
        Ok(buffers)
    }

    /// The element at an address in device memory, or the nearest element.
    #[must_use]
    pub fn element_at(&self, address: u64) -> Option<BufferElement> {
        let elements = self.placed.iter().map(|buffer| {
            let bytes = buffer.element.bytes();
            let offset = address.wrapping_sub(buffer.address) as i64;
            let (index, count) = (offset.div_euclid(bytes as i64), buffer.before.len() / bytes);
            BufferElement { role: buffer.role.clone(), index, count }
        });
        let distance = |element: &BufferElement| {
            let beyond = element.index.saturating_sub(element.count as i64 - 1);
            beyond.max(element.index.saturating_neg()).max(0)
        };
        let nearest = elements.min_by_key(distance)?;
        let most = MAX_DISTANCE.saturating_mul(nearest.count.max(64) as i64);
        (distance(&nearest) <= most).then_some(nearest)
    }

    /// The names of the kernel's parameters in PTX; empty if the PTX comes from a compiler, which doesn't keep the
    /// names.
    #[must_use]
    pub fn parameter_names(&self, compiled: bool) -> Vec<String> {
        parameter_names(&self.source, self.kernel.name(), compiled)
    }
}

/// An element of a launch's buffer, or a position before or after its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferElement {
    /// How the launch uses the buffer.
    pub role: BufferRole,
    /// The index; negative before the beginning.
    pub index: i64,
    /// The number of elements of the buffer.
    pub count: usize,
}

/// Why an argument doesn't match a parameter; `compiled` means that the types of the parameters come from a
/// compiler.
fn fits(argument: &Argument, layout: &ParameterLayout, compiled: bool) -> Result<(), String> {
    let size = layout.size as usize;
    let fields = "struct:FIELD,… passes a structure by value, as struct:u64:11,f32:0.5";
    let given = match argument {
        Argument::Number { bytes, .. } => bytes.len(),
        Argument::Buffer(_) | Argument::Table(_) => 8,
        Argument::Structure(fields) => {
            // C pads a structure to a multiple of its alignment.
            let bytes = lay_out(fields, |_| Some(0))?.len().next_multiple_of(layout.align as usize);
            return match bytes == size {
                true => Ok(()),
                false => {
                    Err(format!("is a structure of {bytes} bytes, but the parameter has {size}"))
                }
            };
        }
    };
    if given != size {
        let hint = match argument {
            _ if !layout.is_scalar() => format!("; {fields}"),
            Argument::Number { element, .. } if size == 8 => {
                format!("; a buffer of 64 elements is written as {}[64]:0", element.name())
            }
            _ => String::new(),
        };
        return Err(format!("has {given} bytes, but the parameter has {size}{hint}"));
    }
    let element = match argument {
        Argument::Number { element, .. } => Some(*element),
        _ => None,
    };
    let wrong = layout.is_scalar().then(|| Element::mismatch(element, layout.element, compiled));
    wrong.flatten().map_or(Ok(()), Err)
}

/// The names of a kernel's parameters in PTX; empty if the PTX comes from a compiler, which doesn't keep the names.
fn parameter_names(text: &str, kernel: &str, compiled: bool) -> Vec<String> {
    let source = Source { name: String::new(), text: text.to_owned() };
    let Some(module) = (!compiled).then(|| crate::parse(&source).ok()).flatten() else {
        return Vec::new();
    };
    let entry = module.functions.iter().find(|function| function.entry && function.name == kernel);
    entry.map_or_else(Vec::new, |entry| {
        let name = |parameter: &Parameter| match parameter {
            Parameter::Variable(id) => entry.variables[id.0 as usize].name.clone(),
            Parameter::Register(_) => String::new(),
        };
        entry.parameters.iter().map(name).collect()
    })
}

/// Copies bytes into newly allocated device memory, and returns its address.
fn copy_to_device(emulator: &Emulator, bytes: &[u8]) -> Result<u64, Failure> {
    let memory = emulator.memory();
    let address = memory.allocate(bytes.len() as u64, 256).map_err(Failure::Memory)?;
    let inside = |error: AccessError| Failure::Usage(error.to_string());
    memory.write(address, bytes).map_err(inside)?;
    Ok(address)
}

impl Arguments {
    /// Loads the file and allocates the buffers, on a device with the options of `environment` and of the command
    /// line.
    ///
    /// # Errors
    /// If the file can't be read or has errors, if it has no such entry, or if the arguments don't match the
    /// kernel's parameters.
    pub fn prepare(
        &self,
        environment: &Environment<'_>,
        options: RunOptions,
        output: &mut CommandOutput,
    ) -> Result<Prepared, Failure> {
        let (source, instance) = read_with(&self.file, self.entry.as_deref(), environment, output)?;
        let text = source.text.clone();
        let emulator = Emulator::new(RunOptions {
            deterministic: self.deterministic || options.deterministic,
            seed: self.seed,
            checks: Checks {
                initialisation: self.initcheck,
                races: self.racecheck,
                synchronisation: self.synccheck,
            },
            instruction_limit: Some(self.limit),
            ..options
        });
        let loaded = emulator.load(source).map_err(Failure::Program)?;
        let kernel = entry::find(&loaded, instance.as_deref().or(self.entry.as_deref()))?;
        let layouts = kernel.parameters();
        let compiled = self.file.extension().is_some_and(|end| end == "cu");
        let names = || parameter_names(&text, kernel.name(), compiled);
        if layouts.len() != self.arguments.len() {
            let plural = if layouts.len() == 1 { "" } else { "s" };
            let list = Some(names().join(", ")).filter(|list| !list.is_empty());
            return Err(Failure::Usage(format!(
                "{} takes {} argument{plural}{}, but got {}",
                kernel.name(),
                layouts.len(),
                list.map(|list| format!(" ({list})")).unwrap_or_default(),
                self.arguments.len()
            )));
        }
        for (index, (argument, layout)) in self.arguments.iter().zip(layouts).enumerate() {
            fits(argument, layout, compiled).map_err(|why| {
                let name = names().get(index).map(|name| format!(" ({name})")).unwrap_or_default();
                Failure::Usage(format!("argument {index} of {}{name} {why}", kernel.name()))
            })?;
        }
        let mut placed = Vec::new();
        let mut place = |role, buffer: &Buffer| -> Result<u64, Failure> {
            let before = buffer.bytes().map_err(Failure::Usage)?;
            let address = copy_to_device(&emulator, &before)?;
            placed.push(PlacedBuffer { role, element: buffer.element, address, before });
            Ok(address)
        };
        let mut names: HashMap<&str, u64> = HashMap::new();
        for NamedBuffer { name, buffer } in &self.buffers {
            let address = place(BufferRole::Named(name.clone()), buffer)?;
            if names.insert(name, address).is_some() {
                return Err(Failure::Usage(format!("two buffers are called {name}")));
            }
        }
        let named = self.buffers.len();
        let mut parameters = vec![0; kernel.parameter_bytes() as usize];
        for (index, (argument, layout)) in self.arguments.iter().zip(layouts).enumerate() {
            let structure = |fields| {
                let bytes = lay_out(fields, |name| names.get(name).copied());
                bytes.map_err(|why| Failure::Usage(format!("argument {index}: {why}")))
            };
            let bytes = match argument {
                Argument::Number { bytes, .. } => bytes.clone(),
                Argument::Buffer(buffer) => {
                    place(BufferRole::Argument(index), buffer)?.to_le_bytes().to_vec()
                }
                Argument::Table(fields) => {
                    copy_to_device(&emulator, &structure(fields)?)?.to_le_bytes().to_vec()
                }
                Argument::Structure(fields) => structure(fields)?,
            };
            parameters[layout.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        placed.rotate_left(named);
        let launch = Launch {
            grid: self.grid.0,
            block: self.block.0,
            dynamic_shared: self.shared,
            parameters,
            cooperative: self.cooperative,
            heap: Heap::default(),
        };
        Ok(Prepared { emulator, source: text, kernel, launch, placed })
    }
}
