//! Sets of a device's multiprocessors, as green contexts divide them (CUDA Driver API, "Green Contexts"). Kernels run
//! as if they had the whole card: which multiprocessor a block is on changes no result.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::error::{Code, Result};
use crate::abi::green_context::{DeviceResource, GroupParameters, MULTIPROCESSORS, NONE};
use crate::device::limits::PROCESSORS;

/// `CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING`, and all flags of a split by count.
const EACH_ALONE: u32 = 1;
const COUNT_FLAGS: u32 = 3;
/// `CU_DEV_SM_RESOURCE_GROUP_BACKFILL`, and what names parts of a card that has none.
const BACKFILL: u32 = 1;
const DOMAINS: u32 = 6;
/// Groups are of at least this many, everywhere.
const PAIR: u32 = 2;

/// How many multiprocessors are scheduled together, and the most that can be: of compute capability 9.0 and of those
/// before.
fn together(capability: u32) -> (u32, u32) {
    if capability >= 90 { (8, 32) } else { (PAIR, PAIR) }
}

fn split_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn wrong(why: impl Into<String>) -> crate::abi::error::Error {
    Code::INVALID_RESOURCE_CONFIGURATION.because(why)
}

/// All of a device.
pub(crate) fn all(device: u32, capability: u32) -> DeviceResource {
    let mut set = [0u64; 4];
    for number in 0..PROCESSORS as usize {
        set[number / 64] |= 1 << (number % 64);
    }
    of(device, set, together(capability).0)
}

/// A set of them; the fewest that a partition can have are those that are scheduled together.
fn of(device: u32, set: [u64; 4], together: u32) -> DeviceResource {
    let least = together.max(PAIR);
    let mut data = [0; 10];
    data[..3].copy_from_slice(&[count(&set), least, together]);
    DeviceResource { kind: MULTIPROCESSORS, device, set, data, ..DeviceResource::default() }
}

fn count(set: &[u64; 4]) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// Takes the first ones out of a set.
fn take(set: &mut [u64; 4], mut many: u32) -> [u64; 4] {
    let mut taken = [0u64; 4];
    for (word, taken) in set.iter_mut().zip(&mut taken) {
        while many > 0 && *word != 0 {
            let lowest = *word & word.wrapping_neg();
            *word ^= lowest;
            *taken |= lowest;
            many -= 1;
        }
    }
    taken
}

/// Multiprocessors that a program passes.
///
/// # Errors
/// `INVALID_RESOURCE_TYPE`, `INVALID_VALUE`
pub(crate) fn check(resource: &DeviceResource, capability: u32) -> Result {
    if resource.kind != MULTIPROCESSORS {
        return Err(Code::INVALID_RESOURCE_TYPE.because("the resource is no multiprocessors"));
    }
    let whole = all(resource.device, capability);
    let inside = resource.set.iter().zip(whole.set).all(|(set, whole)| set & !whole == 0);
    if inside && count(&resource.set) > 0 && count(&resource.set) == resource.data[0] {
        return Ok(());
    }
    Err(Code::INVALID_VALUE.because("the resource is none that the driver gave out"))
}

/// What can be split: groups of a split become the resource of a context first.
fn check_input(input: &DeviceResource, capability: u32) -> Result {
    check(input, capability)?;
    if input.is_group != 0 {
        return Err(wrong("a group is split again once a green context has it"));
    }
    Ok(())
}

/// What the groups left.
fn rest(input: &DeviceResource, set: [u64; 4], split: u64) -> DeviceResource {
    if count(&set) == 0 {
        return DeviceResource { kind: NONE, ..DeviceResource::default() };
    }
    DeviceResource { split, ..of(input.device, set, PAIR) }
}

/// The groups of a split, and what they left.
pub(crate) type Split = (Vec<DeviceResource>, DeviceResource);

/// Splits them into groups of one size, as many as asked for and as there are.
///
/// # Errors
/// `INVALID_VALUE`, `INVALID_RESOURCE_TYPE`, `INVALID_RESOURCE_CONFIGURATION`
pub(crate) fn by_count(
    input: &DeviceResource,
    wanted: u32,
    least: u32,
    flags: u32,
    capability: u32,
) -> Result<Split> {
    check_input(input, capability)?;
    if flags & !COUNT_FLAGS != 0 || least > input.data[0] {
        return Err(Code::INVALID_VALUE
            .because(format!("groups of {least} of {}, flags {flags:#x}", input.data[0])));
    }
    let unit = if flags & EACH_ALONE != 0 { PAIR } else { together(capability).0 };
    let size = least.max(1).next_multiple_of(unit);
    let (split, mut left) = (split_id(), input.set);
    let groups = (0..wanted.min(input.data[0] / size)).map(|_| DeviceResource {
        split,
        is_group: 1,
        ..of(input.device, take(&mut left, size), unit)
    });
    let groups = groups.collect();
    Ok((groups, rest(input, left, split)))
}

/// Splits them into groups that are described one by one; where a description leaves the number open, it is
/// filled in. Without `strict`, groups may come out empty.
///
/// # Errors
/// `INVALID_VALUE`, `INVALID_RESOURCE_TYPE`, `INVALID_RESOURCE_CONFIGURATION`
pub(crate) fn by_groups(
    input: &DeviceResource,
    wanted: &mut [GroupParameters],
    strict: bool,
    capability: u32,
) -> Result<Split> {
    check_input(input, capability)?;
    let (usual, most) = together(capability);
    let (split, mut left) = (split_id(), input.set);
    let mut groups = Vec::with_capacity(wanted.len());
    for (index, group) in wanted.iter_mut().enumerate() {
        let GroupParameters { count: asked, together, flags, .. } = *group;
        if flags & !(BACKFILL | DOMAINS) != 0 || together > most || !together.is_multiple_of(PAIR) {
            return Err(Code::INVALID_VALUE
                .because(format!("group {index}: {together} together, flags {flags:#x}")));
        }
        if flags & DOMAINS != 0 {
            return Err(wrong(format!("group {index}: the card has no locality domains")));
        }
        let fill = flags & BACKFILL != 0;
        let unit = if fill || together == 0 { PAIR } else { together };
        if !asked.is_multiple_of(unit) || asked > input.data[0] {
            return Err(
                Code::INVALID_VALUE.because(format!("group {index}: {asked}, in steps of {unit}"))
            );
        }
        let there = count(&left);
        if asked == 0 {
            let step = match together {
                _ if fill => PAIR,
                0 => usual,
                together => together,
            };
            group.count = there / step * step;
        }
        let taken = group.count;
        if taken > there || strict && (taken == 0 || taken < together) {
            return Err(wrong(format!("group {index}: {taken}, and {there} are left")));
        }
        let unit = if together == 0 { usual.min(taken.max(PAIR)) } else { together };
        let made = of(input.device, take(&mut left, taken), unit);
        groups.push(DeviceResource { split, is_group: 1, ..made });
    }
    Ok((groups, rest(input, left, split)))
}

/// All of several, which are of one split.
///
/// # Errors
/// `INVALID_RESOURCE_CONFIGURATION`
pub(crate) fn union(all: &[DeviceResource]) -> Result<Option<DeviceResource>> {
    let Some((first, others)) = all.split_first() else { return Ok(None) };
    let mut set = first.set;
    for other in others {
        let same = (other.device, other.split, other.data[2])
            == (first.device, first.split, first.data[2]);
        let apart = set.iter().zip(other.set).all(|(own, other)| own & other == 0);
        if !same || !apart || first.split == 0 {
            return Err(wrong("multiprocessors of one context are different ones of one split"));
        }
        set.iter_mut().zip(other.set).for_each(|(own, other)| *own |= other);
    }
    Ok(Some(of(first.device, set, first.data[2])))
}
