//! What work reads and writes, as the emulated driver wants to be told.

/// `height` rows of `width` bytes, whose beginnings lie `pitch` bytes apart. The driver's
/// `EmulatedGpuRange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    kind: u32,
    reserved: u32,
}

impl Access {
    /// It is read.
    #[must_use]
    pub fn read(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { address, width, height, pitch, kind: 1, reserved: 0 }
    }

    /// It is written.
    #[must_use]
    pub fn write(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { kind: 2, ..Self::read(address, width, height, pitch) }
    }

    /// Bytes in one piece that are read.
    #[must_use]
    pub fn read_bytes(address: u64, len: u64) -> Self {
        Self::read(address, len, 1, len)
    }

    /// Bytes in one piece that are written.
    #[must_use]
    pub fn write_bytes(address: u64, len: u64) -> Self {
        Self::write(address, len, 1, len)
    }
}
