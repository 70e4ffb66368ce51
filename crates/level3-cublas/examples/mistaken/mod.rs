//! Level 3 with a planted mistake in the descriptions of products that are passed to the library.
#![allow(unsafe_code, reason = "a library with mistakes breaks the contract of its trait")]

use gpu::{Gpu, Result};
use level3_cublas::library::{Library, Problem, Routine};
use level3_cublas::{Level3, Setup};
use profile::Profile;
use tensor::Network;

/// A library, and the mistake to make in each product's description.
struct Mistaken<M>(Box<dyn Library>, M);

impl<M: Fn(&mut Problem)> Library for Mistaken<M> {
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let mut problem = *problem;
        (self.1)(&mut problem);
        self.0.plan(&problem)
    }
}

/// Level 3 with a mistake, on the emulated GPU.
///
/// # Panics
/// On any other GPU, whose libraries don't check a description against the buffers.
pub(crate) fn level3(
    gpu: &Gpu,
    network: &Network,
    setup: Setup,
    mistake: impl Fn(&mut Problem) + 'static,
) -> Result<Level3> {
    assert!(gpu.is_emulated(), "only the emulated GPU checks the arguments of a library");
    let level = Level3::new(gpu, network, setup, Profile::default())?;
    // SAFETY: the emulated library checks each description before it reads or writes.
    Ok(unsafe { level.with_library(|library| Box::new(Mistaken(library, mistake))) })
}
