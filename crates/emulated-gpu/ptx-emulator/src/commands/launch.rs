//! The launch that `run`, `trace` and `profile` share: its kernel, its options and its arguments.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use super::argument::{Argument, Buffer, Element};
use super::source::read_with;
use super::table::{Named, lay_out};
use super::{Failure, Setting, Told, entry};
use crate::memory::{AccessError, Heap};
use crate::room::filled;
use crate::{Checks, Emulator, Kernel, Launch, Options, ParameterLayout};

/// A launch, as the command line gives it. Without a group of its own: it would have the name of the
/// group of `run`, `trace` or `profile`, which have their arguments in a type of the same name.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args), group(skip))]
pub struct Arguments {
    /// The file: PTX, or CUDA C where it is called `.cu`, which is compiled.
    #[cfg_attr(feature = "cli", arg(value_name = "FILE"))]
    pub file: PathBuf,
    /// The entry to launch, by its name in PTX or in CUDA C, such as `reverse<double>`; not needed
    /// when the file has only one.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub entry: Option<String>,
    /// Blocks of the grid: X, X,Y or X,Y,Z.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHAPE", default_value = "1"))]
    pub grid: Shape,
    /// Threads of a block: X, X,Y or X,Y,Z.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHAPE", default_value = "32"))]
    pub block: Shape,
    /// Bytes of dynamic shared memory.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value_t = 0))]
    pub shared: u32,
    /// An argument of the kernel, once for each of its parameters, in order. TYPE:VALUE is a
    /// number, as u32:64 or f32:0.5; TYPE is u8 to u64, s8 to s64, f16, bf16, f32 or f64. TYPE[N]:WHAT is a buffer of N elements, of which the kernel is
    /// given the address; WHAT is a number (each element is that), a list (1,2,3), iota (0, 1,
    /// 2, …), random (from −1 to 1, the same at each run), or @FILE with its bytes. table:FIELD,… is a
    /// buffer that holds each FIELD behind the other, as a structure of C does: TYPE:VALUE, null, or
    /// the name of a --buffer, for its address. struct:FIELD,… is such a structure passed by value.
    #[allow(rustdoc::broken_intra_doc_links, reason = "`--help` shows it as it stands")]
    #[cfg_attr(feature = "cli", arg(long = "arg", value_name = "TYPE:VALUE"))]
    pub arguments: Vec<Argument>,
    /// A buffer that is no argument: kernels find its address in a table.
    #[allow(rustdoc::broken_intra_doc_links, reason = "`--help` shows it as it stands")]
    #[cfg_attr(feature = "cli", arg(long = "buffer", value_name = "NAME=TYPE[N]:WHAT"))]
    pub buffers: Vec<Named>,
    /// Keep all blocks resident at once, so that they may wait for each other.
    #[cfg_attr(feature = "cli", arg(long))]
    pub cooperative: bool,
    /// Run blocks in order on one thread.
    #[cfg_attr(feature = "cli", arg(long))]
    pub deterministic: bool,
    /// Shuffle the order in which the warps of a block take turns.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Also find reads of memory and of registers that nothing has written.
    #[cfg_attr(feature = "cli", arg(long))]
    pub initcheck: bool,
    /// Also find accesses of two threads of one launch to the same memory that nothing orders; races
    /// between streams are not detected. Volatile orders nothing; only a volatile load that a loop
    /// waits for, and a volatile access that meets an atomic one, are not reported.
    #[cfg_attr(feature = "cli", arg(long))]
    pub racecheck: bool,
    /// Also find barriers that a part of a warp misses, and shuffles from lanes that don't take part.
    #[cfg_attr(feature = "cli", arg(long))]
    pub synccheck: bool,
    /// Give up on a warp after this many instructions.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = MOST_INSTRUCTIONS))]
    pub limit: u64,
}

/// Instructions that a warp executes at most, unless something else is said.
const MOST_INSTRUCTIONS: u64 = 1 << 32;

/// What holds where nothing is said.
impl Default for Arguments {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            entry: None,
            grid: Shape([1, 1, 1]),
            block: Shape([32, 1, 1]),
            shared: 0,
            arguments: Vec::new(),
            buffers: Vec::new(),
            cooperative: false,
            deterministic: false,
            seed: None,
            initcheck: false,
            racecheck: false,
            synccheck: false,
            limit: MOST_INSTRUCTIONS,
        }
    }
}

/// A shape along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(pub [u32; 3]);

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        axes(text, 1).map(Self)
    }
}

/// A place in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(pub [u32; 3]);

impl FromStr for Index {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        axes(text, 0).map(Self)
    }
}

/// Up to three numbers; what is not written is `rest`.
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

/// A launch that is ready to be made.
pub struct Prepared {
    /// The device, with the buffers in its memory.
    pub emulator: Emulator,
    /// The text that is run.
    pub source: String,
    /// The kernel.
    pub kernel: Kernel,
    /// Its shape and its parameters.
    pub launch: Launch,
    /// Its buffers: those of the arguments, in their order, then those that have names.
    placed: Vec<Placed>,
}

/// A buffer in the device's memory.
struct Placed {
    place: BufferRole,
    element: Element,
    address: u64,
    before: Vec<u8>,
}

/// What a buffer is to the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferRole {
    /// The argument of a number.
    Argument(usize),
    /// No argument: a buffer with a name.
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

/// A buffer as a launch left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What it is to the launch.
    pub place: BufferRole,
    /// The type of an element.
    pub element: Element,
    /// All elements.
    pub bytes: Vec<u8>,
    /// Whether they are others than before.
    pub changed: bool,
}

impl Prepared {
    /// The buffers as they are now: those of the arguments, in their order, then those that have names.
    /// Tables are not among them: they hold addresses, which are others each time.
    ///
    /// # Errors
    /// When there is no room for them.
    pub fn buffers(&self) -> Result<Vec<Left>, Failure> {
        let mut found = Vec::new();
        for Placed { place, element, address, before } in &self.placed {
            let mut bytes = filled(0, before.len()).map_err(Failure::Memory)?;
            if self.emulator.memory().read(*address, &mut bytes).is_ok() {
                let (place, changed) = (place.clone(), bytes != *before);
                found.push(Left { place, element: *element, bytes, changed });
            }
        }
        Ok(found)
    }
}

/// Why an argument is not what a parameter takes; `compiled` says that a compiler gave the parameters their types.
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
                    Err(format!("is a structure of {bytes} bytes, and the parameter has {size}"))
                }
            };
        }
    };
    if given != size {
        let hint = if layout.is_scalar() { String::new() } else { format!("; {fields}") };
        return Err(format!("has {given} bytes, and the parameter has {size}{hint}"));
    }
    let element = match argument {
        Argument::Number { element, .. } => Some(*element),
        _ => None,
    };
    let wrong = layout.is_scalar().then(|| Element::mismatch(element, layout.element, compiled));
    wrong.flatten().map_or(Ok(()), Err)
}

/// Puts bytes into the device's memory, and says where.
fn put(emulator: &Emulator, bytes: &[u8]) -> Result<u64, Failure> {
    let memory = emulator.memory();
    let address = memory.allocate(bytes.len() as u64, 256).map_err(Failure::Memory)?;
    let inside = |error: AccessError| Failure::Usage(error.to_string());
    memory.write(address, bytes).map_err(inside)?;
    Ok(address)
}

impl Arguments {
    /// Loads the file and makes the buffers, on a device of these options beside those that the
    /// command line gives.
    ///
    /// # Errors
    /// When the file can't be read or has errors (which are printed), when it has no such entry,
    /// and when the arguments are not those that the kernel takes.
    pub fn prepare(
        &self,
        setting: &Setting<'_>,
        options: Options,
        told: &mut Told,
    ) -> Result<Prepared, Failure> {
        let (source, instance) = read_with(&self.file, self.entry.as_deref(), setting, told)?;
        let text = source.text.clone();
        let emulator = Emulator::new(Options {
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
        if layouts.len() != self.arguments.len() {
            return Err(Failure::Usage(format!(
                "{} takes {} arguments, and {} --arg were given",
                kernel.name(),
                layouts.len(),
                self.arguments.len()
            )));
        }
        let compiled = self.file.extension().is_some_and(|end| end == "cu");
        for (index, (argument, layout)) in self.arguments.iter().zip(layouts).enumerate() {
            fits(argument, layout, compiled).map_err(|why| {
                Failure::Usage(format!("argument {index} of {} {why}", kernel.name()))
            })?;
        }
        let mut placed = Vec::new();
        let mut place = |place, buffer: &Buffer| -> Result<u64, Failure> {
            let before = buffer.bytes().map_err(Failure::Usage)?;
            let address = put(&emulator, &before)?;
            placed.push(Placed { place, element: buffer.element, address, before });
            Ok(address)
        };
        let mut names: HashMap<&str, u64> = HashMap::new();
        for Named { name, buffer } in &self.buffers {
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
                    put(&emulator, &structure(fields)?)?.to_le_bytes().to_vec()
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
