//! The one driver of a process: settings, device, and every object that has a handle.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::process;
use crate::abi::registry::Registry;
use crate::context::coredump::Coredumps;
use crate::context::hardware::Hardware;
use crate::context::leaks;
use crate::context::library_storage::Ended;
use crate::context::{Context, Primary};
use crate::device::settings::Settings;
use crate::event::Event;
use crate::execution::function::Function;
use crate::graph::executable::Executable;
use crate::graph::user_object::UserObject;
use crate::graph::{Graph, Graphs};
use crate::green_context::{Description, Green};
use crate::memory::pool::{Pool, Pools};
use crate::module::Module;
use crate::module::linker::Linker;
use crate::stream::capture::Capture;
use crate::stream::{Stream, Streams};
use crate::texture::Objects;
use crate::texture::arrays::Arrays;
use crate::texture::reference::Reference;

/// CUDA 13.5. A driver runs the PTX of its own version and of older ones; the emulator reads PTX up
/// to 9.x, so what NVRTC 12.9 (PTX 8.8) and NVRTC 13.5 emit loads alike. Programs whose toolkit is newer
/// than the driver compile PTX to machine code themselves (Warp does), which no older number allows.
pub(crate) const VERSION: i32 = 13_050;

/// The driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) hardware: Arc<Hardware>,
    /// The primary context of each device.
    pub(crate) primary: Vec<Mutex<Primary>>,
    pub(crate) contexts: Registry<Context>,
    /// Of each context, by its own handle.
    streams_of: Registry<Streams>,
    pub(crate) greens: Registry<Green>,
    pub(crate) descriptions: Registry<Description>,
    pub(crate) streams: Registry<Stream>,
    pub(crate) events: Registry<Event>,
    pub(crate) modules: Registry<Module>,
    pub(crate) functions: Registry<Function>,
    pub(crate) graphs: Arc<Graphs>,
    pub(crate) executables: Registry<Executable>,
    pub(crate) captures: Arc<Registry<Capture>>,
    pub(crate) linkers: Registry<Linker>,
    pub(crate) users: Registry<UserObject>,
    pub(crate) arrays: Arrays,
    pub(crate) textures: Objects,
    pub(crate) surfaces: Objects,
    pub(crate) references: Registry<Reference>,
    pub(crate) pools: Pools,
    pub(crate) coredumps: Coredumps,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// How many cards a program has asked for, where the environment says nothing; 0 for as many as it
/// says.
static DEVICES: AtomicU32 = AtomicU32::new(0);

/// Asks for this many cards, before `cuInit`.
///
/// # Errors
/// `INVALID_VALUE` for a number that can't be; `NOT_PERMITTED` after `cuInit`, unless there are as
/// many.
pub(crate) fn ask_for_devices(count: u32) -> Result<()> {
    let count = crate::device::settings::devices("emulatedGpuSetDevices", count.into())?;
    match DRIVER.get().map(|driver| driver.hardware.settings.devices) {
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
    DRIVER.get().map_or_else(read_settings, |driver| Ok(driver.hardware.settings.clone()))
}

/// The driver, once `cuInit` has made it.
///
/// # Errors
/// `NOT_INITIALIZED` before, and in a process that was forked off since.
pub(crate) fn driver() -> Result<&'static Driver> {
    process::check()?;
    DRIVER.get().ok_or_else(|| Code::NOT_INITIALIZED.into())
}

/// Makes the driver, the first time.
///
/// # Errors
/// When the environment says something that can't be; `NOT_INITIALIZED` in a process that was
/// forked off since the first time.
pub(crate) fn initialise() -> Result<&'static Driver> {
    static FIRST: Mutex<()> = Mutex::new(());
    process::begin()?;
    let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let settings = read_settings().inspect_err(|_| process::give_up())?;
    let driver = DRIVER.get_or_init(|| Driver::new(Arc::new(Hardware::new(settings))));
    process::ready(driver.hardware.settings.log.clone());
    Ok(driver)
}

impl Driver {
    fn new(hardware: Arc<Hardware>) -> Self {
        let devices = 0..hardware.settings.devices;
        Self {
            primary: devices.map(|device| Mutex::new(Primary::of(device))).collect(),
            contexts: Registry::default(),
            streams_of: Registry::default(),
            greens: Registry::default(),
            descriptions: Registry::default(),
            streams: Registry::default(),
            events: Registry::default(),
            modules: Registry::default(),
            functions: Registry::default(),
            graphs: Arc::new(Graphs::new(Arc::clone(&hardware))),
            executables: Registry::default(),
            captures: Arc::default(),
            linkers: Registry::default(),
            users: Registry::default(),
            arrays: Arrays::default(),
            textures: Objects::new(Arc::clone(&hardware)),
            surfaces: Objects::new(Arc::clone(&hardware)),
            references: Registry::default(),
            pools: Pools::new(Arc::clone(&hardware.allocations), hardware.settings.devices),
            coredumps: Coredumps::default(),
            hardware,
        }
    }

    /// Makes a context, which is known from now on.
    pub(crate) fn create_context(&self, handle: Handle, flags: u32, device: u32) -> Arc<Context> {
        let context = Context::new(handle, flags, device, Arc::clone(&self.hardware));
        let context = Arc::new(context);
        self.streams_of.insert(handle, Arc::new(Streams::new(Arc::clone(&context))));
        self.contexts.insert(handle, Arc::clone(&context));
        context
    }

    /// The streams of a context.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED`
    pub(crate) fn streams_of(&self, context: &Context) -> Result<Arc<Streams>> {
        self.streams_of.get(context.handle).ok_or_else(|| Code::CONTEXT_IS_DESTROYED.into())
    }

    /// Every stream in which there may be work.
    pub(crate) fn all_streams(&self) -> Vec<Arc<Stream>> {
        self.streams_of.all().iter().flat_map(|streams| streams.all()).collect()
    }

    /// Has a context take no work any longer, waits for what it has taken, then frees what belongs to it.
    /// Its handle is not known any longer. What is given back is told when no lock is held.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED` when another thread has begun to destroy it.
    pub(crate) fn destroy_context(&self, context: &Context) -> Result<Ended> {
        let (own, streams) = (context.handle, self.streams_of(context)?);
        context.end()?;
        // What nobody ended would go on keeping other threads from unsafe calls.
        for capture in streams.all().into_iter().filter_map(|stream| stream.capture()) {
            capture.abandon();
        }
        streams.synchronize();
        self.contexts.remove(own);
        self.streams_of.remove(own);
        self.streams.retain(|stream| stream.context.handle != own);
        self.events.retain(|event| event.context.handle != own);
        self.modules.retain(|module| module.context != own);
        self.functions.retain(|function| function.context != own);
        let stays = |module| module == 0 || self.modules.get(module).is_some();
        self.references.retain(|reference| stays(reference.module));
        self.textures.end_context(own);
        self.surfaces.end_context(own);
        streams.close();
        leaks::of_context(&self.hardware, own);
        self.hardware.memory().end_heap(own as u64);
        self.arrays.end_context(own);
        self.hardware.allocations.free_context(own)?;
        Ok(context.storage.end(own))
    }

    /// A module's handle, and those of its functions, are not known any longer.
    pub(crate) fn unload(&self, module: &Module) {
        let own = module.handle;
        self.modules.remove(own);
        self.functions.retain(|function| function.module != own);
        self.references.retain(|reference| reference.module != own);
    }

    /// The green context of a handle.
    ///
    /// # Errors
    /// `INVALID_CONTEXT`
    pub(crate) fn green(&self, handle: Handle) -> Result<Arc<Green>> {
        self.greens.find(handle, Code::INVALID_CONTEXT, "green context")
    }

    /// The one that stands under a context's handle.
    pub(crate) fn green_of_context(&self, context: Handle) -> Option<Arc<Green>> {
        self.greens.all().into_iter().find(|green| green.context == context)
    }

    pub(crate) fn stream(&self, handle: usize) -> Result<Arc<Stream>> {
        self.streams.find(handle, Code::INVALID_HANDLE, "stream")
    }

    pub(crate) fn event(&self, handle: usize) -> Result<Arc<Event>> {
        self.events.find(handle, Code::INVALID_HANDLE, "event")
    }

    pub(crate) fn function(&self, handle: usize) -> Result<Arc<Function>> {
        self.functions.find(handle, Code::INVALID_HANDLE, "function")
    }

    pub(crate) fn graph(&self, handle: usize) -> Result<Arc<Graph>> {
        self.graphs.graphs.find(handle, Code::INVALID_VALUE, "graph")
    }

    pub(crate) fn pool(&self, handle: usize) -> Result<Arc<Pool>> {
        self.pools.registry.find(handle, Code::INVALID_VALUE, "pool")
    }

    pub(crate) fn module(&self, handle: usize) -> Result<Arc<Module>> {
        self.modules.find(handle, Code::INVALID_HANDLE, "module")
    }
}
