//! Images of modules: the source, and its code on each device that uses it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::memory::Home;
use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, Loaded};

use crate::abi::error::{Code, Result};
use crate::context::hardware::Hardware;

/// A text that was loaded.
#[derive(Debug)]
pub(crate) struct Image {
    source: Source,
    /// Of a library, on the first device.
    pub(crate) loaded: Loaded,
    /// A library on the other devices; `None` of a module that is of one context, and one device.
    elsewhere: Option<Mutex<HashMap<u32, Loaded>>>,
    pub(crate) hardware: Arc<Hardware>,
}

impl Image {
    /// Loads a text: for one device, or as a library.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn load(
        source: Source,
        device: Option<u32>,
        hardware: &Arc<Hardware>,
    ) -> std::result::Result<Self, Vec<Diagnostic>> {
        let at = Home::on(device.unwrap_or(0));
        let loaded = hardware.emulator.load_at(at, source.clone())?;
        let elsewhere = device.is_none().then(Mutex::default);
        Ok(Self { source, loaded, elsewhere, hardware: Arc::clone(hardware) })
    }

    /// The code on a device: a library has variables of its own on each.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where there is no room for them.
    pub(crate) fn on(&self, device: u32) -> Result<Loaded> {
        let Some(elsewhere) = self.elsewhere.as_ref().filter(|_| device != 0) else {
            return Ok(self.loaded.clone());
        };
        let mut elsewhere = elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = elsewhere.get(&device) {
            return Ok(loaded.clone());
        }
        // It could be loaded before: what is missing now is memory.
        let loaded = self.hardware.emulator.load_at(Home::on(device), self.source.clone());
        let loaded = loaded.map_err(|diagnostics| {
            let log: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            Code::OUT_OF_MEMORY.because(log.join("\n"))
        })?;
        elsewhere.insert(device, loaded.clone());
        Ok(loaded)
    }
}
