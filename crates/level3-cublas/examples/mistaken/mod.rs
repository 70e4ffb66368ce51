//! Level 3 on a library that is told of each product with a mistake.
#![allow(unsafe_code, reason = "a mistaken library is a promise that isn't kept")]

use gpu::Gpu;
use level3_cublas::library::{Library, Problem, Routine};
use level3_cublas::{Level3, Result, Setup};
use profile::Profile;
use tensor::Network;

/// A library, and the mistake that is made with each product.
struct Mistaken<M>(Box<dyn Library>, M);

impl<M: Fn(&mut Problem)> Library for Mistaken<M> {
    fn has_epilogues(&self) -> bool {
        self.0.has_epilogues()
    }

    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let mut problem = *problem;
        (self.1)(&mut problem);
        self.0.plan(&problem)
    }
}

/// The level, on the emulated GPU.
///
/// # Panics
/// On another GPU, whose libraries believe what they are told.
pub(crate) fn level3(
    gpu: &Gpu,
    network: &Network,
    setup: Setup,
    mistake: impl Fn(&mut Problem) + 'static,
) -> Result<Level3> {
    assert!(gpu.is_emulated(), "only the emulated GPU checks what it is told");
    let level = Level3::new(gpu, network, setup, Profile::default())?;
    // SAFETY: the emulated library checks what it is told before it reads or writes.
    Ok(unsafe { level.with_library(|library| Box::new(Mistaken(library, mistake))) })
}
