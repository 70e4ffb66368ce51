//! Access rights of devices. Each allocation is on one device; other devices can be granted access.

/// A set of devices of a process, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Devices(u64);

impl Devices {
    /// The maximum number of devices.
    pub const MAX: u32 = 64;
    /// All devices.
    pub const ALL: Self = Self(u64::MAX);

    /// Adds a device. An ordinal that is too large is ignored.
    #[must_use]
    pub fn with(self, device: u32) -> Self {
        Self(self.0 | 1u64.checked_shl(device).unwrap_or(0))
    }

    /// Removes a device.
    #[must_use]
    pub fn without(self, device: u32) -> Self {
        Self(self.0 & !1u64.checked_shl(device).unwrap_or(0))
    }

    /// Whether a device is in the set.
    #[must_use]
    pub fn contains(self, device: u32) -> bool {
        self.0 & 1u64.checked_shl(device).unwrap_or(0) != 0
    }
}

/// Where memory is, and which other devices may access it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The device that the memory is on.
    pub device: u32,
    /// Other devices that may access the memory regardless of their contexts: the devices that have
    /// access to a pool (`cuMemPoolSetAccess`), or all devices for host memory.
    pub shared_with: Devices,
    /// Whether a device whose context has enabled peer access to this device
    /// (`cuCtxEnablePeerAccess`) may access the memory. False for pools.
    pub to_peers: bool,
}

impl Home {
    /// The home of memory from `cuMemAlloc`.
    #[must_use]
    pub fn on(device: u32) -> Self {
        Self { device, shared_with: Devices::default(), to_peers: true }
    }

    /// The home of memory that every device can access: pinned, registered or managed.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { device: 0, shared_with: Devices::ALL, to_peers: true }
    }
}

/// The origin of an access: the device of the kernel, and the peers to whose memory it has access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The device.
    pub device: u32,
    /// The devices whose memory the context may access (peer access is enabled).
    pub peers: Devices,
}

impl Reach {
    /// Whether memory may be accessed from this device.
    #[must_use]
    pub fn includes(self, home: Home) -> bool {
        home.device == self.device
            || home.shared_with.contains(self.device)
            || home.to_peers && self.peers.contains(home.device)
    }
}

/// The message for an access to memory of a device without peer access.
pub(crate) fn wrong_device(home: Home, reach: Reach) -> String {
    let (own, other) = (reach.device, home.device);
    let remedy = if home.to_peers {
        "enable access in this context first (cuCtxEnablePeerAccess), or copy it"
    } else {
        "grant the device access to its pool first (cuMemPoolSetAccess), or copy it"
    };
    format!("it is on device {other}, but is accessed from device {own}: {remedy}")
}
