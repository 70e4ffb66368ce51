//! The structures of green contexts: resources of a device, and groups of multiprocessors.

/// `CU_DEV_RESOURCE_TYPE_…`
pub(crate) const NONE: u32 = 0;
pub(crate) const MULTIPROCESSORS: u32 = 1;
pub(crate) const QUEUE_CONFIGURATION: u32 = 1000;
pub(crate) const QUEUE: u32 = 10_000;

/// The structure `CUdevResource`. The driver uses fields that CUDA declares as padding to store the set of
/// multiprocessors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceResource {
    pub(crate) kind: u32,
    pub(crate) device: u32,
    /// The split that made this resource, or 0.
    pub(crate) split: u64,
    /// One bit for each of the device's multiprocessors.
    pub(crate) set: [u64; 4],
    /// Whether the resource is one of the groups of a split, rather than the remainder.
    pub(crate) is_group: u64,
    pub(crate) padding: [u64; 5],
    /// For multiprocessors: their number, the minimum number in a partition, and the number that are scheduled
    /// together. For the configuration of work queues: the device, the limit of concurrent work, and the sharing scope.
    pub(crate) data: [u32; 10],
    pub(crate) next: usize,
}

const _: () = assert!(size_of::<DeviceResource>() == 144, "CUdevResource has 144 bytes");

/// `CU_DEV_SM_RESOURCE_GROUP_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupParameters {
    pub(crate) count: u32,
    pub(crate) coscheduled: u32,
    pub(crate) preferred: u32,
    pub(crate) flags: u32,
    pub(crate) domain: u32,
    reserved: [u32; 11],
}
