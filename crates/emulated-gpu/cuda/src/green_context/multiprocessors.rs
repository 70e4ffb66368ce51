//! Sets of a device's multiprocessors, with which green contexts partition it (CUDA Driver API, "Green Contexts").
//! Kernels run as if they had the whole device, because results don't depend on the multiprocessor that runs a block.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::error::{Code, Result};
use crate::abi::green_context::{DeviceResource, GroupParameters, MULTIPROCESSORS, NONE};
use crate::device::limits::PROCESSORS;

/// The flag `CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING` of a split by count.
const IGNORE_COSCHEDULING: u32 = 1;
/// All flags of a split by count.
const COUNT_FLAGS: u32 = 3;
/// The flag `CU_DEV_SM_RESOURCE_GROUP_BACKFILL` of a group.
const BACKFILL: u32 = 1;
const DOMAINS: u32 = 6;
/// The minimum size of a group on every device.
const MIN_GROUP: u32 = 2;

/// The default and the maximum number of multiprocessors that are scheduled together. The numbers for compute
/// capability 9.0 differ from those of older cards.
fn coscheduled(capability: u32) -> (u32, u32) {
    if capability >= 90 { (8, 32) } else { (MIN_GROUP, MIN_GROUP) }
}

fn split_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn invalid_configuration(why: impl Into<String>) -> crate::abi::error::Error {
    Code::INVALID_RESOURCE_CONFIGURATION.because(why)
}

/// All multiprocessors of a device.
pub(crate) fn all(device: u32, capability: u32) -> DeviceResource {
    let mut set = [0u64; 4];
    for number in 0..PROCESSORS as usize {
        set[number / 64] |= 1 << (number % 64);
    }
    resource(device, set, coscheduled(capability).0)
}

/// The resource for a set of multiprocessors. Its minimum partition is as large as the group that is scheduled
/// together.
fn resource(device: u32, set: [u64; 4], coscheduled: u32) -> DeviceResource {
    let min = coscheduled.max(MIN_GROUP);
    let mut data = [0; 10];
    data[..3].copy_from_slice(&[count(&set), min, coscheduled]);
    DeviceResource { kind: MULTIPROCESSORS, device, set, data, ..DeviceResource::default() }
}

fn count(set: &[u64; 4]) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// Removes the first `number` multiprocessors from a set, and returns them.
fn take(set: &mut [u64; 4], mut number: u32) -> [u64; 4] {
    let mut taken = [0u64; 4];
    for (word, taken) in set.iter_mut().zip(&mut taken) {
        while number > 0 && *word != 0 {
            let lowest = *word & word.wrapping_neg();
            *word ^= lowest;
            *taken |= lowest;
            number -= 1;
        }
    }
    taken
}

/// Checks a resource that a program passes.
///
/// # Errors
/// `INVALID_RESOURCE_TYPE` if the resource is of another type, `INVALID_VALUE` if the driver didn't return it.
pub(crate) fn check(resource: &DeviceResource, capability: u32) -> Result {
    if resource.kind != MULTIPROCESSORS {
        return Err(
            Code::INVALID_RESOURCE_TYPE.because("the resource does not consist of multiprocessors")
        );
    }
    let whole = all(resource.device, capability);
    let inside = resource.set.iter().zip(whole.set).all(|(set, whole)| set & !whole == 0);
    if inside && count(&resource.set) > 0 && count(&resource.set) == resource.data[0] {
        return Ok(());
    }
    Err(Code::INVALID_VALUE.because("the driver did not return this resource"))
}

/// Checks that a resource can be split. A group of a split can't, unless a green context has it.
fn check_input(input: &DeviceResource, capability: u32) -> Result {
    check(input, capability)?;
    if input.is_group != 0 {
        return Err(invalid_configuration(
            "a group can only be split again once a green context has it",
        ));
    }
    Ok(())
}

/// The remainder of a split.
fn remainder(input: &DeviceResource, set: [u64; 4], split: u64) -> DeviceResource {
    if count(&set) == 0 {
        return DeviceResource { kind: NONE, ..DeviceResource::default() };
    }
    DeviceResource { split, ..resource(input.device, set, MIN_GROUP) }
}

/// The groups of a split, and the remainder.
pub(crate) type Split = (Vec<DeviceResource>, DeviceResource);

/// Splits a resource into up to `wanted` groups of equal size.
///
/// # Errors
/// `INVALID_VALUE` for unknown flags or groups that are too large, and the errors of [`check`] and `check_input`.
pub(crate) fn by_count(
    input: &DeviceResource,
    wanted: u32,
    min: u32,
    flags: u32,
    capability: u32,
) -> Result<Split> {
    check_input(input, capability)?;
    if flags & !COUNT_FLAGS != 0 || min > input.data[0] {
        return Err(Code::INVALID_VALUE.because(format!(
            "groups of {min} multiprocessors out of {}, flags {flags:#x}",
            input.data[0]
        )));
    }
    let unit = if flags & IGNORE_COSCHEDULING != 0 { MIN_GROUP } else { coscheduled(capability).0 };
    let size = min.max(1).next_multiple_of(unit);
    let (split, mut left) = (split_id(), input.set);
    let groups = (0..wanted.min(input.data[0] / size)).map(|_| DeviceResource {
        split,
        is_group: 1,
        ..resource(input.device, take(&mut left, size), unit)
    });
    let groups = groups.collect();
    Ok((groups, remainder(input, left, split)))
}

/// Splits a resource into groups that are described individually. A size of 0 is replaced by the largest possible
/// one. Groups may only be empty if `strict` is false.
///
/// # Errors
/// `INVALID_VALUE` for a description that is not valid, `INVALID_RESOURCE_CONFIGURATION` if a group doesn't fit, and
/// the errors of [`check`] and `check_input`.
pub(crate) fn by_groups(
    input: &DeviceResource,
    wanted: &mut [GroupParameters],
    strict: bool,
    capability: u32,
) -> Result<Split> {
    check_input(input, capability)?;
    let (default, max) = coscheduled(capability);
    let (split, mut left) = (split_id(), input.set);
    let mut groups = Vec::with_capacity(wanted.len());
    for (index, group) in wanted.iter_mut().enumerate() {
        let GroupParameters { count: wanted, coscheduled, flags, .. } = *group;
        if flags & !(BACKFILL | DOMAINS) != 0
            || coscheduled > max
            || !coscheduled.is_multiple_of(MIN_GROUP)
        {
            return Err(Code::INVALID_VALUE.because(format!(
                "group {index}: {coscheduled} coscheduled multiprocessors, flags {flags:#x}"
            )));
        }
        if flags & DOMAINS != 0 {
            return Err(invalid_configuration(format!(
                "group {index}: the device has no locality domains"
            )));
        }
        let fill = flags & BACKFILL != 0;
        let unit = if fill || coscheduled == 0 { MIN_GROUP } else { coscheduled };
        if !wanted.is_multiple_of(unit) || wanted > input.data[0] {
            return Err(Code::INVALID_VALUE.because(format!(
                "group {index}: the size {wanted} is too large, or not a multiple of {unit}"
            )));
        }
        let available = count(&left);
        if wanted == 0 {
            let step = match coscheduled {
                _ if fill => MIN_GROUP,
                0 => default,
                coscheduled => coscheduled,
            };
            group.count = available / step * step;
        }
        let size = group.count;
        if size > available || strict && (size == 0 || size < coscheduled) {
            return Err(invalid_configuration(format!(
                "group {index}: {size} multiprocessors, but {available} are left"
            )));
        }
        let unit = if coscheduled == 0 { default.min(size.max(MIN_GROUP)) } else { coscheduled };
        let group = resource(input.device, take(&mut left, size), unit);
        groups.push(DeviceResource { split, is_group: 1, ..group });
    }
    Ok((groups, remainder(input, left, split)))
}

/// The union of disjoint resources that come from one split.
///
/// # Errors
/// `INVALID_RESOURCE_CONFIGURATION` if they overlap or come from different splits.
pub(crate) fn union(all: &[DeviceResource]) -> Result<Option<DeviceResource>> {
    let Some((first, others)) = all.split_first() else { return Ok(None) };
    let mut set = first.set;
    for other in others {
        let same = (other.device, other.split, other.data[2])
            == (first.device, first.split, first.data[2]);
        let disjoint = set.iter().zip(other.set).all(|(word, other)| word & other == 0);
        if !same || !disjoint || first.split == 0 {
            return Err(invalid_configuration(
                "the multiprocessors of a context must be disjoint groups of one split",
            ));
        }
        set.iter_mut().zip(other.set).for_each(|(word, other)| *word |= other);
    }
    Ok(Some(resource(first.device, set, first.data[2])))
}
