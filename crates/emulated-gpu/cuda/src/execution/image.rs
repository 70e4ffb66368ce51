//! Images of modules and libraries: the source, and the code loaded on each device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::Home;
use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, Loaded};

use crate::abi::error::{Code, Result};
use crate::context::hardware::Hardware;

/// The image of a module or library.
#[derive(Debug)]
pub(crate) struct Image {
    source: Source,
    /// The loaded code. For a library, this is the code on the first device.
    pub(crate) loaded: Loaded,
    /// The code of a library on the other devices; `None` for a module, which is only loaded on one
    /// device.
    other_devices: Option<Mutex<HashMap<u32, Loaded>>>,
    pub(crate) hardware: Arc<Hardware>,
}

impl Image {
    /// Loads a module's text on a device, or a library's text.
    ///
    /// # Errors
    /// The errors of the text.
    pub(crate) fn load(
        source: Source,
        device: Option<u32>,
        hardware: &Arc<Hardware>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let at = Home::on(device.unwrap_or(0));
        let loaded = hardware.emulator.load_at(at, source.clone())?;
        let other_devices = device.is_none().then(Mutex::default);
        Ok(Self { source, loaded, other_devices, hardware: Arc::clone(hardware) })
    }

    /// The code on a device. A library has separate variables on each.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the device has no memory for the variables.
    pub(crate) fn loaded_on(&self, device: u32) -> Result<Loaded> {
        let Some(others) = self.other_devices.as_ref().filter(|_| device != 0) else {
            return Ok(self.loaded.clone());
        };
        let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = others.get(&device) {
            return Ok(loaded.clone());
        }
        // The text was loaded before, so the only possible error is a lack of memory.
        let loaded = self.hardware.emulator.load_at(Home::on(device), self.source.clone());
        let loaded = loaded.map_err(|diagnostics| {
            let log: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            Code::OUT_OF_MEMORY.because(log.join("\n"))
        })?;
        others.insert(device, loaded.clone());
        Ok(loaded)
    }
}
