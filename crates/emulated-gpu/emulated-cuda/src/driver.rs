//! The one driver of a process: settings, device, and every object that has a handle.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptx_emulator::{Emulator, Options};

use crate::allocations::Allocations;
use crate::api::link::Linker;
use crate::array::Array;
use crate::capture::Capture;
use crate::condition::Condition;
use crate::context::{Context, Primary};
use crate::coredump::Coredumps;
use crate::counts::Register;
use crate::error::{Code, Error, Result};
use crate::event::Event;
use crate::function::Function;
use crate::graph::{Executable, Graph};
use crate::graph_memory::Taken;
use crate::green::{Description, Green};
use crate::mipmap::Mipmap;
use crate::module::Module;
use crate::pool::{Pool, Pools};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::stream::Stream;
use crate::texture::Objects;
use crate::texture_reference::Reference;
use crate::user_object::UserObject;
use crate::virtual_memory::Handles;

/// CUDA 13.5. A driver runs the PTX of its own version and of older ones; the emulator reads PTX up
/// to 9.x, so what NVRTC 12.9 (PTX 8.8) and NVRTC 13.5 emit loads alike. Programs whose toolkit is newer
/// than the driver compile PTX to machine code themselves (Warp does), which no older number allows.
pub(crate) const VERSION: i32 = 13_050;

/// The driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) settings: Settings,
    pub(crate) emulator: Emulator,
    pub(crate) allocations: Allocations,
    /// Of physical memory.
    pub(crate) handles: Handles,
    /// The primary context of each device.
    pub(crate) primary: Vec<Mutex<Primary>>,
    pub(crate) contexts: Registry<Context>,
    pub(crate) greens: Registry<Green>,
    pub(crate) descriptions: Registry<Description>,
    pub(crate) streams: Registry<Stream>,
    pub(crate) events: Registry<Event>,
    pub(crate) modules: Registry<Module>,
    pub(crate) functions: Registry<Function>,
    pub(crate) graphs: Registry<Graph>,
    /// The graph that each node is in.
    pub(crate) nodes: Registry<Graph>,
    pub(crate) executables: Registry<Executable>,
    pub(crate) conditions: Registry<Condition>,
    pub(crate) captures: Registry<Capture>,
    pub(crate) linkers: Registry<Linker>,
    pub(crate) users: Registry<UserObject>,
    pub(crate) graph_memory: Taken,
    pub(crate) arrays: Registry<Array>,
    pub(crate) mipmaps: Registry<Mipmap>,
    pub(crate) textures: Objects,
    pub(crate) surfaces: Objects,
    pub(crate) references: Registry<Reference>,
    pub(crate) pools: Pools,
    pub(crate) counts: Register,
    pub(crate) coredumps: Coredumps,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The process that has called `cuInit`, or 0. One that was forked off since has the memory of this
/// one and none of its threads: locks that those held will never be free. So this is looked at
/// before any lock, and such a process is told that nothing was initialised, as NVIDIA's driver
/// tells it.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// How many cards a program has asked for, where the environment says nothing; 0 for as many as it
/// says.
static DEVICES: AtomicU32 = AtomicU32::new(0);

/// Asks for so many cards, before `cuInit`.
///
/// # Errors
/// `INVALID_VALUE` for a number that can't be; `NOT_PERMITTED` after `cuInit`, unless there are as
/// many.
pub(crate) fn ask_for_devices(count: u32) -> Result<()> {
    let count = crate::settings::devices("emulatedGpuSetDevices", count.into())?;
    match DRIVER.get().map(|driver| driver.settings.devices) {
        Some(there) if there != count => Err(Code::NOT_PERMITTED
            .because(format!("cuInit was called already, and there are {there} cards"))),
        _ => {
            DEVICES.store(count, Ordering::Relaxed);
            Ok(())
        }
    }
}

fn read_settings() -> Result<Settings> {
    let asked = Some(DEVICES.load(Ordering::Relaxed)).filter(|count| *count > 0);
    Settings::read(asked, |name| std::env::var(name).ok())
}

/// The driver's settings; before `cuInit`, those that it would have if it were called now.
///
/// # Errors
/// When the environment says something that can't be.
pub(crate) fn settings() -> Result<Settings> {
    DRIVER.get().map_or_else(read_settings, |driver| Ok(driver.settings.clone()))
}

fn forked() -> Error {
    Code::NOT_INITIALIZED
        .because("this process was forked after cuInit; start it with spawn, or fork before cuInit")
}

/// The driver, once `cuInit` has made it.
///
/// # Errors
/// `NOT_INITIALIZED` before, and in a process that was forked off since.
pub(crate) fn driver() -> Result<&'static Driver> {
    let driver = DRIVER.get().ok_or_else(|| Code::NOT_INITIALIZED.because("call cuInit first"))?;
    if PROCESS.load(Ordering::Relaxed) == std::process::id() { Ok(driver) } else { Err(forked()) }
}

/// Makes the driver, the first time.
///
/// # Errors
/// When the environment says something that can't be; `NOT_INITIALIZED` in a process that was
/// forked off since the first time.
pub(crate) fn initialise() -> Result<&'static Driver> {
    static FIRST: Mutex<()> = Mutex::new(());
    let own = std::process::id();
    let first = PROCESS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|process| process != own) {
        return Err(forked());
    }
    let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let settings = read_settings().inspect_err(|_| {
        // Nothing was made: a process that is forked off may try again.
        PROCESS.store(0, Ordering::Relaxed);
    })?;
    let memory = settings.memory_of_each();
    let emulator = Emulator::new(Options {
        threads: settings.threads,
        deterministic: settings.deterministic,
        seed: settings.seed,
        checks: settings.checks,
        instruction_limit: settings.instruction_limit,
        memory: Some(memory),
        reserve_addresses: true,
        capability: Some(settings.capability),
        ..Options::default()
    });
    let driver = DRIVER.get_or_init(|| Driver {
        allocations: Allocations::new(memory),
        handles: Handles::default(),
        primary: (0..settings.devices).map(|device| Mutex::new(Primary::of(device))).collect(),
        pools: Pools::new(settings.devices),
        settings,
        emulator,
        contexts: Registry::default(),
        greens: Registry::default(),
        descriptions: Registry::default(),
        streams: Registry::default(),
        events: Registry::default(),
        modules: Registry::default(),
        functions: Registry::default(),
        graphs: Registry::default(),
        nodes: Registry::default(),
        executables: Registry::default(),
        conditions: Registry::default(),
        captures: Registry::default(),
        linkers: Registry::default(),
        users: Registry::default(),
        graph_memory: Taken::default(),
        arrays: Registry::default(),
        mipmaps: Registry::default(),
        textures: Objects::default(),
        surfaces: Objects::default(),
        references: Registry::default(),
        counts: Register::default(),
        coredumps: Coredumps::default(),
    });
    PROCESS.store(own, Ordering::Relaxed);
    driver.emulator.set_statistics(driver.settings.statistics.is_some());
    crate::report::at_exit(driver);
    Ok(driver)
}

impl Driver {
    pub(crate) fn stream(&self, handle: usize) -> Result<Arc<Stream>> {
        let missing = || Code::INVALID_HANDLE.because(format!("there is no stream {handle:#x}"));
        self.streams.get(handle).ok_or_else(missing)
    }

    pub(crate) fn event(&self, handle: usize) -> Result<Arc<Event>> {
        let missing = || Code::INVALID_HANDLE.because(format!("there is no event {handle:#x}"));
        self.events.get(handle).ok_or_else(missing)
    }

    pub(crate) fn function(&self, handle: usize) -> Result<Arc<Function>> {
        let missing = || Code::INVALID_HANDLE.because(format!("there is no function {handle:#x}"));
        self.functions.get(handle).ok_or_else(missing)
    }

    pub(crate) fn graph(&self, handle: usize) -> Result<Arc<Graph>> {
        let missing = || Code::INVALID_VALUE.because(format!("there is no graph {handle:#x}"));
        self.graphs.get(handle).ok_or_else(missing)
    }

    pub(crate) fn pool(&self, handle: usize) -> Result<Arc<Pool>> {
        let missing = || Code::INVALID_VALUE.because(format!("there is no pool {handle:#x}"));
        self.pools.get(handle).ok_or_else(missing)
    }

    pub(crate) fn module(&self, handle: usize) -> Result<Arc<Module>> {
        let missing = || Code::INVALID_HANDLE.because(format!("there is no module {handle:#x}"));
        self.modules.get(handle).ok_or_else(missing)
    }
}
