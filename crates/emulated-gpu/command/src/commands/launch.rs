//! What `run`, `trace` and `profile` share: which kernel to launch, how, and on which arguments.

use std::path::PathBuf;
use std::str::FromStr;

use super::argument::Argument;
use super::{Failure, Setting, Told, read};
use ptx_emulator::memory::{AccessError, Heap};
use ptx_emulator::room::filled;
use ptx_emulator::{Checks, Emulator, Kernel, Launch, Loaded, Options};

/// A launch, as the command line gives it. Without a group of its own: it would have the name of the
/// group of `run`, `trace` or `profile`, which have their arguments in a type of the same name.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args), group(skip))]
pub struct Arguments {
    /// The file: PTX, or CUDA C where it is called `.cu`, which is compiled.
    #[cfg_attr(feature = "cli", arg(value_name = "FILE"))]
    pub file: PathBuf,
    /// The entry to launch, by its name in PTX or in CUDA C; not needed when the file has only one.
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
    /// number, as u32:64 or f32:0.5. TYPE[N]:WHAT is a buffer of N elements, of which the kernel is
    /// given the address; WHAT is a number (each element is that), a list (1,2,3), iota (0, 1,
    /// 2, …), random (from −1 to 1, the same at each run), or @FILE with its bytes.
    #[allow(rustdoc::broken_intra_doc_links, reason = "`--help` shows it as it stands")]
    #[cfg_attr(feature = "cli", arg(long = "arg", value_name = "TYPE:VALUE"))]
    pub arguments: Vec<Argument>,
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
    /// Also find accesses of two threads to the same memory that nothing orders.
    #[cfg_attr(feature = "cli", arg(long))]
    pub racecheck: bool,
    /// Also find barriers that a part of a warp misses, and shuffles from lanes that don't take part.
    #[cfg_attr(feature = "cli", arg(long))]
    pub synccheck: bool,
    /// Give up on a warp after so many instructions.
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
    /// Where each argument's buffer is, and its size; `None` for a number.
    pub addresses: Vec<Option<(u64, usize)>>,
}

impl Prepared {
    /// The buffers as they are now, in the order of the arguments; `None` for a number.
    ///
    /// # Errors
    /// When there is no room for them.
    pub fn buffers(&self) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let read_back = |&(address, size): &(u64, usize)| {
            let mut bytes = filled(0, size).map_err(Failure::Memory)?;
            Ok(self.emulator.memory().read(address, &mut bytes).map(|()| bytes).ok())
        };
        let read = |buffer: &Option<_>| buffer.as_ref().map_or(Ok(None), read_back);
        self.addresses.iter().map(read).collect()
    }
}

/// The kernel that CUDA C calls so, whatever C++'s rules made of its name, where there is only one.
fn written(loaded: &Loaded, name: &str) -> Option<Kernel> {
    let names = loaded.kernels();
    let mut fitting = names.iter().filter(|kernel| cuda_c::written(kernel) == name);
    let one = fitting.next()?;
    if fitting.next().is_some() { None } else { loaded.kernel(one) }
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
        let source = read(&self.file, setting, told)?;
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
        let names = loaded.kernels();
        let kernel = match (&self.entry, &names[..]) {
            (Some(name), _) => loaded.kernel(name).or_else(|| written(&loaded, name)),
            (None, [only]) => loaded.kernel(only),
            (None, _) => None,
        };
        let kernel = kernel.ok_or_else(|| {
            Failure::Usage(match &self.entry {
                Some(name) => format!("there is no entry {name}, only {}", names.join(", ")),
                None => format!("name one of the entries with --entry: {}", names.join(", ")),
            })
        })?;
        let layouts = kernel.parameters();
        if layouts.len() != self.arguments.len() {
            return Err(Failure::Usage(format!(
                "{} takes {} arguments, and {} --arg were given",
                kernel.name(),
                layouts.len(),
                self.arguments.len()
            )));
        }
        let mut parameters = vec![0; kernel.parameter_bytes() as usize];
        let mut addresses = Vec::new();
        for (index, (argument, layout)) in self.arguments.iter().zip(layouts).enumerate() {
            let (bytes, address) = match argument {
                Argument::Number(bytes) => (bytes.clone(), None),
                Argument::Buffer { bytes, .. } => {
                    let size = bytes.len() as u64;
                    let memory = emulator.memory();
                    let address = memory.allocate(size, 256).map_err(Failure::Memory)?;
                    let inside = |error: AccessError| Failure::Usage(error.to_string());
                    memory.write(address, bytes).map_err(inside)?;
                    (address.to_le_bytes().to_vec(), Some((address, bytes.len())))
                }
            };
            addresses.push(address);
            let (at, size) = (layout.offset as usize, layout.size as usize);
            if bytes.len() != size {
                return Err(Failure::Usage(format!(
                    "argument {index} has {} bytes, and the parameter of {} has {size}",
                    bytes.len(),
                    kernel.name()
                )));
            }
            parameters[at..at + size].copy_from_slice(&bytes);
        }
        let launch = Launch {
            grid: self.grid.0,
            block: self.block.0,
            dynamic_shared: self.shared,
            parameters,
            cooperative: self.cooperative,
            heap: Heap::default(),
        };
        Ok(Prepared { emulator, source: text, kernel, launch, addresses })
    }
}
