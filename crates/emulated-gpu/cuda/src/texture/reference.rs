//! Texture and surface references: variables of modules to which the host binds arrays and memory. NVIDIA has
//! deprecated them, but drivers of CUDA 12 and 13 still have them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_emulator::texture::{AddressMode, Filter, Opaque, Resource, Sampling};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::registry::new_handle;
use crate::abi::texture::{LinearResource, PitchedResource, TextureDescription};
use crate::context::hardware::Hardware;
use crate::texture::arrays::Arrays;
use crate::texture::{self, NORMALISED, READ_AS_INTEGER, sampling, surface_of};

/// A reference.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) handle: Handle,
    /// The module that has the variable; 0 for a reference that the program created.
    pub(crate) module: Handle,
    pub(crate) kind: Opaque,
    /// The handle of the variable.
    variable: Option<u64>,
    state: Mutex<ReferenceState>,
    hardware: Arc<Hardware>,
}

/// The state of a reference: the bound memory and the parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferenceState {
    pub(crate) source: Source,
    /// The `CUarray_format` and the number of channels, which are used if memory is bound.
    pub(crate) format: (u32, u32),
    pub(crate) texture: TextureDescription,
}

/// The bound array or memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Nothing,
    Array(Handle),
    /// Linear memory: address and size in bytes.
    Memory(u64, usize),
    /// Pitched memory: address; width in texels, number of rows, and pitch in bytes.
    Rows(u64, [usize; 3]),
}

impl Reference {
    /// A reference for a variable of a module, which begins with the sampling that the PTX declares.
    pub(crate) fn new(
        module: Handle,
        kind: Opaque,
        variable: Option<(u64, Sampling)>,
        hardware: Arc<Hardware>,
    ) -> Self {
        let read = variable.map(|(_, sampling)| sampling).unwrap_or_default();
        let mode = |mode| match mode {
            AddressMode::Wrap => 0,
            AddressMode::Clamp => 1,
            AddressMode::Mirror => 2,
            AddressMode::Border => 3,
        };
        let texture = TextureDescription {
            address: read.address.map(mode),
            filter: u32::from(read.filter == Filter::Linear),
            flags: if read.normalised { NORMALISED } else { 0 },
            ..TextureDescription::default()
        };
        let state = ReferenceState { source: Source::Nothing, format: (0, 0), texture };
        Self {
            handle: new_handle(),
            module,
            kind,
            variable: variable.map(|(address, _)| address),
            state: Mutex::new(state),
            hardware,
        }
    }

    fn state(&self) -> MutexGuard<'_, ReferenceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current state.
    pub(crate) fn get(&self) -> ReferenceState {
        *self.state()
    }

    /// The handle of the reference's variable.
    pub(crate) fn variable(&self) -> Option<u64> {
        self.variable
    }

    /// Changes the state, and binds the resulting resource to the variable. An incomplete or inconsistent state is
    /// stored but not bound, because programs set the parameters one after another.
    ///
    /// # Errors
    /// `INVALID_VALUE` or `NOT_SUPPORTED` if a single parameter is not valid, `INVALID_HANDLE` if the variable no
    /// longer exists.
    pub(crate) fn set(&self, arrays: &Arrays, change: impl FnOnce(&mut ReferenceState)) -> Result {
        let mut state = self.state();
        let mut new = *state;
        change(&mut new);
        if self.kind == Opaque::Texture {
            sampling(&new.texture)?;
        }
        let resource = self.resource(&new, arrays)?;
        *state = new;
        let Some(variable) = self.variable else { return Ok(()) };
        let bindings = self.hardware.memory().bindings();
        let bound = bindings.bind(variable, self.kind, resource);
        bound.map_err(|error| Code::INVALID_HANDLE.because(error.to_string()))
    }

    fn resource(&self, state: &ReferenceState, arrays: &Arrays) -> Result<Option<Resource>> {
        let memory = self.hardware.memory();
        let (format, channels) = state.format;
        let texels = match state.source {
            Source::Nothing => return Ok(None),
            Source::Array(handle) if self.kind == Opaque::Surface => {
                return surface_of(handle, arrays).map(Some);
            }
            Source::Array(handle) => arrays.array(handle)?.texels,
            Source::Memory(..) if channels == 0 => return Ok(None),
            Source::Memory(address, bytes) => {
                texture::linear(memory, LinearResource { address, format, channels, bytes })?
            }
            Source::Rows(address, [width, height, pitch]) => {
                let rows = PitchedResource { address, format, channels, width, height, pitch };
                texture::pitched(memory, rows)?
            }
        };
        Ok(texture::texture(texels, sampling(&state.texture)?).ok())
    }
}

/// Checks the flags of a texture reference.
///
/// # Errors
/// `INVALID_VALUE` for unknown flags.
pub(crate) fn check_flags(flags: u32) -> Result {
    if flags & !(READ_AS_INTEGER | NORMALISED | 0x10 | 0x20) == 0 {
        return Ok(());
    }
    Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x} of a texture")))
}
