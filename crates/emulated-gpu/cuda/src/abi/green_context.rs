//! The structures of green contexts: resources of a device, and groups of multiprocessors.

/// `CU_DEV_RESOURCE_TYPE_…`
pub(crate) const NONE: u32 = 0;
pub(crate) const MULTIPROCESSORS: u32 = 1;
pub(crate) const QUEUE_CONFIGURATION: u32 = 1000;
pub(crate) const QUEUE: u32 = 10_000;

/// `CUdevResource`. What it calls padding is the driver's, and says here which multiprocessors it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceResource {
    pub(crate) kind: u32,
    pub(crate) device: u32,
    /// The split that it comes from, or 0.
    pub(crate) split: u64,
    /// A bit for each of the device's multiprocessors.
    pub(crate) set: [u64; 4],
    /// Whether it is one of the split's groups, and not what they left.
    pub(crate) is_group: u64,
    pub(crate) padding: [u64; 5],
    /// Of multiprocessors: how many, the fewest of a partition, how many of them are scheduled together. Of the
    /// configuration of work queues: the device, how many, who shares them.
    pub(crate) data: [u32; 10],
    pub(crate) next: usize,
}

const _: () = assert!(size_of::<DeviceResource>() == 144, "CUdevResource has 144 bytes");

/// `CU_DEV_SM_RESOURCE_GROUP_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupParameters {
    pub(crate) count: u32,
    pub(crate) together: u32,
    pub(crate) preferred: u32,
    pub(crate) flags: u32,
    pub(crate) domain: u32,
    reserved: [u32; 11],
}
