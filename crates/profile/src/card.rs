//! Cards and their peak speeds, from NVIDIA's data sheets.

use std::fmt;

use clap::ValueEnum;

/// A card whose roofline can be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Card {
    /// NVIDIA H100 SXM5.
    #[default]
    H100,
    /// NVIDIA A100 SXM4 with 80 GB.
    A100,
    /// NVIDIA GeForce RTX 4090.
    #[value(name = "rtx-4090")]
    Rtx4090,
}

/// The peak speeds of a card, without sparsity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Peak in floating-point operations per second in single precision, without tensor cores.
    pub single: f64,
    /// Peak in floating-point operations per second on tensor cores, with TF32.
    pub tf32: f64,
    /// Peak memory bandwidth in bytes per second.
    pub memory: f64,
}

impl Card {
    /// The product name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::H100 => "NVIDIA H100 SXM5",
            Self::A100 => "NVIDIA A100 SXM4 80GB",
            Self::Rtx4090 => "NVIDIA GeForce RTX 4090",
        }
    }

    /// The speeds of the card.
    ///
    /// Sources: "NVIDIA H100 Tensor Core GPU", data sheet, column H100 SXM (67 and, with sparsity, 989
    /// TFLOP/s; 3.35 TB/s); "NVIDIA A100 Tensor Core GPU", data sheet, column A100 80GB SXM (19.5 and
    /// 156 TFLOP/s; 2,039 GB/s); "NVIDIA Ada GPU Architecture", appendix A, GeForce RTX 4090 (82.6 and
    /// 82.6 TFLOP/s; 1,008 GB/s).
    #[must_use]
    pub const fn speeds(self) -> Speeds {
        let (single, tf32, memory) = match self {
            Self::H100 => (67e12, 494.5e12, 3.35e12),
            Self::A100 => (19.5e12, 156e12, 2.039e12),
            Self::Rtx4090 => (82.6e12, 82.6e12, 1.008e12),
        };
        Speeds { single, tf32, memory }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}
