//! Access rights of devices: memory is on one of them, and others may be let in.

/// Some of a process's devices, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Devices(u64);

impl Devices {
    /// How many there are at most.
    pub const MOST: u32 = 64;
    /// Every one.
    pub const ALL: Self = Self(u64::MAX);

    /// With one more; a number that none can have adds nothing.
    #[must_use]
    pub fn with(self, device: u32) -> Self {
        Self(self.0 | 1u64.checked_shl(device).unwrap_or(0))
    }

    /// Without one.
    #[must_use]
    pub fn without(self, device: u32) -> Self {
        Self(self.0 & !1u64.checked_shl(device).unwrap_or(0))
    }

    /// Whether it is among them.
    #[must_use]
    pub fn contains(self, device: u32) -> bool {
        self.0 & 1u64.checked_shl(device).unwrap_or(0) != 0
    }
}

/// Where memory is, and which other devices may access it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The device that it is on.
    pub device: u32,
    /// Other devices that may access it whatever their contexts have enabled: of a pool
    /// (`cuMemPoolSetAccess`), or all of them, of the host's memory.
    pub shared_with: Devices,
    /// Whether devices may access it whose contexts have enabled access to this one's memory
    /// (`cuCtxEnablePeerAccess`): not that of pools.
    pub to_peers: bool,
}

impl Home {
    /// Memory as `cuMemAlloc` gives it.
    #[must_use]
    pub fn on(device: u32) -> Self {
        Self { device, shared_with: Devices::default(), to_peers: true }
    }

    /// Memory that every device accesses: pinned, registered or managed.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { device: 0, shared_with: Devices::ALL, to_peers: true }
    }
}

/// From where memory is accessed: the device that a kernel runs on, and those whose memory it has been
/// let into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The device.
    pub device: u32,
    /// Devices to whose memory its context has enabled access.
    pub peers: Devices,
}

impl Reach {
    /// Whether memory may be accessed from there.
    #[must_use]
    pub fn includes(self, home: Home) -> bool {
        home.device == self.device
            || home.shared_with.contains(self.device)
            || home.to_peers && self.peers.contains(home.device)
    }
}

/// Why memory can't be accessed from a device.
pub(crate) fn elsewhere(home: Home, reach: Reach) -> String {
    let (own, other) = (reach.device, home.device);
    let remedy = if home.to_peers {
        "enable access in this context first (cuCtxEnablePeerAccess), or copy it"
    } else {
        "its pool has to let the device in (cuMemPoolSetAccess), or copy it"
    };
    format!("it is on device {other}, and is accessed from device {own}: {remedy}")
}
