//! The table of layers, which lets a kernel process a network with any number of layers: one record for each.

/// A layer as the kernels see it: its sizes, and the addresses of its tensors on the device. In
/// device memory a record has 88 bytes, in the layout that the comment at the top of
/// `ptx/thread_per_sample.ptx` describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Inputs of the layer.
    pub m: u32,
    /// Outputs (units) of the layer.
    pub n: u32,
    /// Units that a group of blocks computes; see [`Plan`](crate::Plan).
    pub per: u32,
    /// `[n, m]`.
    pub w: u64,
    /// `[n]`.
    pub b: u64,
    /// `[B, n]`.
    pub z: u64,
    /// `[B, n]`.
    pub a: u64,
    /// `[B, n]`.
    pub da: u64,
    /// `[B, n]`.
    pub dz: u64,
    /// `[n, m]`.
    pub dw: u64,
    /// `[n]`.
    pub db: u64,
    /// `[chunks, n, m]`, followed by `[chunks, n]`.
    pub partial: u64,
}

impl Record {
    /// Words of 64 bits in a record.
    pub const WORDS: usize = 11;

    /// The record as it is stored in device memory (little endian, as on every NVIDIA GPU).
    #[must_use]
    pub const fn words(&self) -> [u64; Self::WORDS] {
        let &Self { m, n, per, w, b, z, a, da, dz, dw, db, partial } = self;
        [m as u64 | (n as u64) << 32, per as u64, w, b, z, a, da, dz, dw, db, partial]
    }
}
