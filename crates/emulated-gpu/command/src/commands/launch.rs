//! What `run`, `trace` and `profile` share: which kernel to launch, how, and on which arguments.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use ptx_emulator::memory::{AccessError, Heap};
use ptx_emulator::room::filled;
use ptx_emulator::{Checks, Emulator, Kernel, Launch, Loaded, Options};

use super::argument::Argument;
use super::{Failure, read};

/// A launch, as the command line gives it. Without a group of its own: it would have the name of the
/// group of `run`, `trace` or `profile`, which have their arguments in a type of the same name.
#[derive(Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// The file: PTX, or CUDA C where it is called `.cu`, which is compiled.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The entry to launch, by its name in PTX or in CUDA C; not needed when the file has only one.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Blocks of the grid: X, X,Y or X,Y,Z.
    #[arg(long, value_name = "SHAPE", default_value = "1")]
    grid: Shape,
    /// Threads of a block: X, X,Y or X,Y,Z.
    #[arg(long, value_name = "SHAPE", default_value = "32")]
    block: Shape,
    /// Bytes of dynamic shared memory.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// An argument of the kernel, once for each of its parameters, in order. TYPE:VALUE is a
    /// number, as u32:64 or f32:0.5. TYPE[N]:WHAT is a buffer of N elements, of which the kernel is
    /// given the address; WHAT is a number (each element is that), a list (1,2,3), iota (0, 1,
    /// 2, …), random (from −1 to 1, the same at each run), or @FILE with its bytes.
    #[arg(long = "arg", value_name = "TYPE:VALUE")]
    pub(crate) arguments: Vec<Argument>,
    /// Keep all blocks resident at once, so that they may wait for each other.
    #[arg(long)]
    cooperative: bool,
    /// Run blocks in order on one thread.
    #[arg(long)]
    deterministic: bool,
    /// Shuffle the order in which the warps of a block take turns.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Also find reads of memory and of registers that nothing has written.
    #[arg(long)]
    initcheck: bool,
    /// Also find accesses of two threads to the same memory that nothing orders.
    #[arg(long)]
    racecheck: bool,
    /// Also find barriers that a part of a warp misses, and shuffles from lanes that don't take part.
    #[arg(long)]
    synccheck: bool,
    /// Give up on a warp after so many instructions.
    #[arg(long, value_name = "N", default_value_t = 1 << 32)]
    limit: u64,
}

/// A shape along x, y, z.
#[derive(Clone, Copy, Debug)]
struct Shape([u32; 3]);

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        axes(text, 1).map(Self)
    }
}

/// A place in a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index(pub(crate) [u32; 3]);

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
pub(crate) struct Prepared {
    /// The device, with the buffers in its memory.
    pub(crate) emulator: Emulator,
    /// The text that is run.
    pub(crate) source: String,
    /// The kernel.
    pub(crate) kernel: Kernel,
    /// Its shape and its parameters.
    pub(crate) launch: Launch,
    /// Where each argument's buffer is, and its size; `None` for a number.
    addresses: Vec<Option<(u64, usize)>>,
}

impl Prepared {
    /// The buffers as they are now, in the order of the arguments; `None` for a number.
    ///
    /// # Errors
    /// When there is no room for them.
    pub(crate) fn buffers(&self) -> Result<Vec<Option<Vec<u8>>>, Failure> {
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
    pub(crate) fn prepare(&self, options: Options) -> Result<Prepared, Failure> {
        let source = read(&self.file)?;
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
