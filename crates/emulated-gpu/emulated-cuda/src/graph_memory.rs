//! How much memory of a device belongs to graphs, and the most that ever did (CUDA Driver API,
//! `CUgraphMem_attribute`).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::driver::driver;
use crate::error::{Code, Result};

/// Of each device the most bytes that belonged to graphs, and the most that were in use.
#[derive(Debug, Default)]
pub(crate) struct Highs(Mutex<HashMap<u32, [u64; 2]>>);

impl Highs {
    fn highs(&self) -> MutexGuard<'_, HashMap<u32, [u64; 2]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is more of it, or more of it is used.
    pub(crate) fn note(&self, device: u32, [all, used]: [u64; 2]) {
        let mut highs = self.highs();
        let high = highs.entry(device).or_default();
        *high = [high[0].max(all), high[1].max(used)];
    }
}

fn unknown(attribute: u32) -> crate::error::Error {
    Code::INVALID_VALUE
        .because(format!("memory of graphs has no attribute {attribute}, or none to set"))
}

/// An attribute of a device's memory of graphs, in bytes.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn attribute(device: u32, attribute: u32) -> Result<u64> {
    let driver = driver()?;
    let [all, used] = driver.allocations.of_graphs(device);
    let [most, most_used] = driver.graph_highs.highs().get(&device).copied().unwrap_or_default();
    Ok(match attribute {
        0 => used,
        1 => most_used,
        2 => all,
        3 => most,
        _ => return Err(unknown(attribute)),
    })
}

/// Forgets one of the two that are the most: from now on it is what there is now.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn reset(device: u32, attribute: u32) -> Result {
    let driver = driver()?;
    let now = driver.allocations.of_graphs(device);
    let at = match attribute {
        1 => 1,
        3 => 0,
        _ => return Err(unknown(attribute)),
    };
    driver.graph_highs.highs().entry(device).or_default()[at] = now[at];
    Ok(())
}
