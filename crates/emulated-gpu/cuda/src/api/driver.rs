//! The driver: settings, devices, and every object that has a handle. A process has one driver.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::process;
use crate::abi::registry::Registry;
use crate::context::coredump::Coredumps;
use crate::context::hardware::Hardware;
use crate::context::leaks;
use crate::context::library_storage::PendingDestructors;
use crate::context::{Context, Primary};
use crate::device::settings::Settings;
use crate::event::Event;
use crate::execution::function::Function;
use crate::graph::executable::Executable;
use crate::graph::user_object::UserObject;
use crate::graph::{Graph, Graphs};
use crate::green_context::{GreenContext, ResourceDescriptor};
use crate::memory::pool::{Pool, Pools};
use crate::module::Module;
use crate::module::linker::Linker;
use crate::stream::capture::Capture;
use crate::stream::{Stream, Streams};
use crate::texture::Objects;
use crate::texture::arrays::Arrays;
use crate::texture::reference::Reference;

/// The driver's version: CUDA 13.5. A driver runs the PTX of its own version and of older ones; the emulator reads PTX
/// up to 9.x, so the output of both NVRTC 12.9 (PTX 8.8) and NVRTC 13.5 can be loaded. If the version were older,
/// programs with a newer toolkit would compile PTX to machine code themselves, as Warp does.
pub(crate) const VERSION: i32 = 13_050;

/// The driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) hardware: Arc<Hardware>,
    /// The primary context of each device.
    pub(crate) primary: Vec<Mutex<Primary>>,
    pub(crate) contexts: Registry<Context>,
    /// The streams of each context, by the context's handle.
    streams_of: Registry<Streams>,
    pub(crate) green_contexts: Registry<GreenContext>,
    pub(crate) resource_descriptors: Registry<ResourceDescriptor>,
    pub(crate) streams: Registry<Stream>,
    pub(crate) events: Registry<Event>,
    pub(crate) modules: Registry<Module>,
    pub(crate) functions: Registry<Function>,
    pub(crate) graphs: Arc<Graphs>,
    pub(crate) executables: Registry<Executable>,
    pub(crate) captures: Arc<Registry<Capture>>,
    pub(crate) linkers: Registry<Linker>,
    pub(crate) user_objects: Registry<UserObject>,
    pub(crate) arrays: Arrays,
    pub(crate) textures: Objects,
    pub(crate) surfaces: Objects,
    pub(crate) references: Registry<Reference>,
    pub(crate) pools: Pools,
    pub(crate) coredumps: Coredumps,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The number of cards that the program asked for (`emulatedGpuSetDevices`), used if the environment doesn't set it;
/// 0 if the program didn't ask.
static DEVICES: AtomicU32 = AtomicU32::new(0);

/// Sets the number of cards, before `cuInit`.
///
/// # Errors
/// `INVALID_VALUE` if the number is out of range; `NOT_PERMITTED` after `cuInit`, unless there are exactly that many.
pub(crate) fn set_devices(count: u32) -> Result<()> {
    let count = crate::device::settings::devices("emulatedGpuSetDevices", count.into())?;
    match DRIVER.get().map(|driver| driver.hardware.settings.devices) {
        Some(there) if there != count => Err(Code::NOT_PERMITTED.because(format!(
            "cuInit was called already and made {there} cards; set their number before cuInit"
        ))),
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

/// The driver's settings; before `cuInit`, those that `cuInit` would use now.
///
/// # Errors
/// `INVALID_VALUE` if an environment variable has an invalid value.
pub(crate) fn settings() -> Result<Settings> {
    DRIVER.get().map_or_else(read_settings, |driver| Ok(driver.hardware.settings.clone()))
}

/// The driver, once `cuInit` has created it.
///
/// # Errors
/// `NOT_INITIALIZED` before `cuInit`, and in a child process that was forked after it.
pub(crate) fn driver() -> Result<&'static Driver> {
    process::check()?;
    DRIVER.get().ok_or_else(|| Code::NOT_INITIALIZED.into())
}

/// Creates the driver on the first call.
///
/// # Errors
/// `INVALID_VALUE` if an environment variable has an invalid value; `NOT_INITIALIZED` in a child that was forked
/// after the first call.
pub(crate) fn initialise() -> Result<&'static Driver> {
    static FIRST: Mutex<()> = Mutex::new(());
    process::begin()?;
    let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let settings = read_settings().inspect_err(|_| process::creation_failed())?;
    let driver = DRIVER.get_or_init(|| Driver::new(Arc::new(Hardware::new(settings))));
    process::creation_succeeded(driver.hardware.settings.log.clone());
    Ok(driver)
}

impl Driver {
    fn new(hardware: Arc<Hardware>) -> Self {
        let devices = 0..hardware.settings.devices;
        Self {
            primary: devices.map(|device| Mutex::new(Primary::new(device))).collect(),
            contexts: Registry::default(),
            streams_of: Registry::default(),
            green_contexts: Registry::default(),
            resource_descriptors: Registry::default(),
            streams: Registry::default(),
            events: Registry::default(),
            modules: Registry::default(),
            functions: Registry::default(),
            graphs: Arc::new(Graphs::new(Arc::clone(&hardware))),
            executables: Registry::default(),
            captures: Arc::default(),
            linkers: Registry::default(),
            user_objects: Registry::default(),
            arrays: Arrays::default(),
            textures: Objects::new(Arc::clone(&hardware)),
            surfaces: Objects::new(Arc::clone(&hardware)),
            references: Registry::default(),
            pools: Pools::new(Arc::clone(&hardware.allocations), hardware.settings.devices),
            coredumps: Coredumps::default(),
            hardware,
        }
    }

    /// Creates and registers a context.
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
    /// `CONTEXT_IS_DESTROYED` if the context was destroyed.
    pub(crate) fn streams_of(&self, context: &Context) -> Result<Arc<Streams>> {
        self.streams_of.get(context.handle).ok_or_else(|| Code::CONTEXT_IS_DESTROYED.into())
    }

    /// All streams of all contexts.
    pub(crate) fn all_streams(&self) -> Vec<Arc<Stream>> {
        self.streams_of.all().iter().flat_map(|streams| streams.all()).collect()
    }

    /// Destroys a context: stops accepting work, waits for pending work, frees the context's resources, and invalidates
    /// its handle. Returns the destructors of the values that libraries stored with the context, to be run when no lock
    /// is held.
    ///
    /// # Errors
    /// `CONTEXT_IS_DESTROYED` if another thread has begun to destroy it.
    pub(crate) fn destroy_context(&self, context: &Context) -> Result<PendingDestructors> {
        let (handle, streams) = (context.handle, self.streams_of(context)?);
        context.end()?;
        // A capture that was never ended would still forbid unsafe calls in other threads.
        for capture in streams.all().into_iter().filter_map(|stream| stream.capture()) {
            capture.abandon();
        }
        streams.synchronize();
        self.contexts.remove(handle);
        self.streams_of.remove(handle);
        self.streams.retain(|stream| stream.context.handle != handle);
        self.events.retain(|event| event.context.handle != handle);
        self.modules.retain(|module| module.context != handle);
        self.functions.retain(|function| function.context != handle);
        let stays = |module| module == 0 || self.modules.get(module).is_some();
        self.references.retain(|reference| stays(reference.module));
        self.textures.remove_context(handle);
        self.surfaces.remove_context(handle);
        streams.close();
        leaks::report_context(&self.hardware, handle);
        self.hardware.memory().end_heap(handle as u64);
        self.arrays.remove_context(handle);
        self.hardware.allocations.free_context(handle)?;
        Ok(context.storage.take_all(handle))
    }

    /// Removes a module and its functions, so that their handles become unknown.
    pub(crate) fn unload(&self, module: &Module) {
        let handle = module.handle;
        self.modules.remove(handle);
        self.functions.retain(|function| function.module != handle);
        self.references.retain(|reference| reference.module != handle);
    }

    /// The green context of a handle.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` if there is no such green context.
    pub(crate) fn green(&self, handle: Handle) -> Result<Arc<GreenContext>> {
        self.green_contexts.find(handle, Code::INVALID_CONTEXT, "green context")
    }

    /// The green context whose context has this handle.
    pub(crate) fn green_of_context(&self, context: Handle) -> Option<Arc<GreenContext>> {
        self.green_contexts.all().into_iter().find(|green| green.context == context)
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
