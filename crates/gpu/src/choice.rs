//! Which GPU to compute on: what was asked for, what there is, and what follows.

use std::fmt;

use clap::ValueEnum;

use crate::probe::{DetectedGpu, Unusable};
use crate::{GpuError, Result};

/// What `--device` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The NVIDIA GPU where there is one that can be used, else the emulated one.
    #[default]
    Auto,
    /// The NVIDIA GPU, or an error.
    Cuda,
    /// The emulated GPU, on this machine's processor.
    Emulated,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Compute on the NVIDIA GPU.
    Real(DetectedGpu),
    /// The driver that the loader finds is the emulated one already.
    EmulatedAlready,
    /// Load the emulated driver; it was not asked for where there is a reason.
    Emulated(Option<Unusable>),
}

/// Decides, from what was asked for and what the probe found. The probe is made only when its
/// answer matters.
pub(crate) fn decide(
    choice: Choice,
    probe: impl FnOnce() -> Result<DetectedGpu, Unusable>,
) -> Result<Decision> {
    if choice == Choice::Emulated {
        return Ok(Decision::Emulated(None));
    }
    match (probe(), choice) {
        (Ok(found), _) => Ok(Decision::Real(found)),
        (Err(Unusable::Emulated), Choice::Auto) => Ok(Decision::EmulatedAlready),
        (Err(why), Choice::Auto) => Ok(Decision::Emulated(Some(why))),
        (Err(why), _) => Err(GpuError::NoGpu(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> DetectedGpu {
        DetectedGpu { name: "Some Card".into(), driver: (12, 4), capability: (8, 6) }
    }

    #[test]
    fn the_real_gpu_comes_first() {
        for choice in [Choice::Auto, Choice::Cuda] {
            assert_eq!(decide(choice, || Ok(card())).unwrap(), Decision::Real(card()));
        }
    }

    #[test]
    fn auto_falls_back_and_keeps_the_reason() {
        let decision = decide(Choice::Auto, || Err(Unusable::OldDriver((11, 4)))).unwrap();
        assert_eq!(decision, Decision::Emulated(Some(Unusable::OldDriver((11, 4)))));
        let decision = decide(Choice::Auto, || Err(Unusable::Emulated)).unwrap();
        assert_eq!(decision, Decision::EmulatedAlready);
    }

    #[test]
    fn cuda_never_falls_back_and_says_why() {
        let cases = [
            (Unusable::NoLibrary("libcuda.so.1: not found".into()), "libcuda.so.1: not found"),
            (Unusable::NoDevice, "no device"),
            (Unusable::OldDriver((11, 4)), "CUDA 11.4"),
            (
                Unusable::OldDevice { name: "Old Card".into(), capability: (3, 5) },
                "Old Card has compute capability 3.5",
            ),
            (Unusable::Failed { call: "cuInit", code: 999 }, "cuInit failed with error 999"),
            (Unusable::Emulated, "emulated"),
        ];
        for (why, words) in cases {
            let said = decide(Choice::Cuda, || Err(why)).unwrap_err().to_string();
            assert!(said.starts_with("no NVIDIA GPU can be used: "), "{said}");
            assert!(said.contains(words), "{said}");
            assert!(said.ends_with("--device emulated needs none"), "{said}");
        }
    }

    #[test]
    fn emulated_asks_no_driver() {
        let decision = decide(Choice::Emulated, || unreachable!("the probe was made")).unwrap();
        assert_eq!(decision, Decision::Emulated(None));
    }
}
