//! The choice of the GPU, a real one or the emulated one, and the option `--device`.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::probe::{DetectedGpu, Unusable};
use crate::{Gpu, GpuError, Result};

/// The argument of `--device`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// An NVIDIA GPU if one works, otherwise the emulated GPU.
    #[default]
    Auto,
    /// An NVIDIA GPU; an error if none works.
    Cuda,
    /// The emulated GPU, on the CPU.
    Emulated,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}

/// Which GPU to compute on.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DeviceArgs {
    /// auto: use an NVIDIA GPU if one works, otherwise the emulator; cuda: require an NVIDIA GPU;
    /// emulated: run on the CPU.
    #[arg(
        long,
        value_name = "DEVICE",
        value_enum,
        default_value_t,
        env = "FOUR_LEVELS_DEVICE",
        hide_possible_values = true,
        help_heading = "Device"
    )]
    pub device: Choice,
}

impl DeviceArgs {
    /// Opens the GPU that `--device` selects. If `auto` falls back to the emulator, the first call prints the reason to
    /// standard error.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open(self) -> Result<Gpu> {
        self.open_one(0, 1)
    }

    /// Opens one of several GPUs, as [`open`](Self::open).
    ///
    /// # Errors
    /// As [`Gpu::open_one`].
    pub fn open_one(self, ordinal: usize, count: usize) -> Result<Gpu> {
        static FALLBACK_NOTE: std::sync::Once = std::sync::Once::new();
        let gpu = Gpu::open_one(self.device, ordinal, count)?;
        if let Some(why) = gpu.why_not_real() {
            FALLBACK_NOTE.call_once(|| {
                host::complain(format_args!("note: {why}; computing on the emulated GPU"));
            });
        }
        Ok(gpu)
    }
}

/// The driver to use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// NVIDIA's driver, on which this GPU was found.
    Real(DetectedGpu),
    /// The emulated driver. It need not be loaded, because the dynamic loader finds it as `libcuda.so.1`.
    EmulatedAlready,
    /// The emulated driver, which has to be loaded. The reason is set if it is a fallback rather than the user's
    /// choice.
    Emulated(Option<Unusable>),
}

/// Decides which driver to use. The driver is only probed if the decision depends on it.
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
    fn a_real_gpu_is_preferred() {
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
    fn cuda_never_falls_back_and_the_error_has_the_reason() {
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
            assert!(said.ends_with("use --device emulated or --device auto"), "{said}");
        }
    }

    #[test]
    fn emulated_does_not_probe_the_driver() {
        let decision = decide(Choice::Emulated, || unreachable!("the driver was probed")).unwrap();
        assert_eq!(decision, Decision::Emulated(None));
    }
}
