//! The table of layers, by which a kernel handles a network with any number of layers: one record for each.

/// What the kernels know of one layer: sizes, and the addresses of its tensors on the device. In
/// device memory a record is 88 bytes, laid out as the comment at the top of
/// `ptx/thread_per_sample.ptx` says.
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
    /// `[chunks, n, m]`, and behind it `[chunks, n]`.
    pub partial: u64,
}

impl Record {
    /// Words of 64 bits in a record.
    pub const WORDS: usize = 11;

    /// The record as it lies in device memory (little endian, as every NVIDIA GPU is).
    #[must_use]
    pub const fn words(&self) -> [u64; Self::WORDS] {
        let sizes = self.m as u64 | (self.n as u64) << 32;
        [
            sizes,
            self.per as u64,
            self.w,
            self.b,
            self.z,
            self.a,
            self.da,
            self.dz,
            self.dw,
            self.db,
            self.partial,
        ]
    }
}
