//! Arguments that describe the resources of a device, and the structures of NVML.

use super::argument::{Arena, Bytes, RESULT_BYTES};
use super::objects::Objects;
use super::structures::ArgumentFunction;

/// The function that makes the structure with this name.
pub(super) fn find(name: &str) -> Option<ArgumentFunction> {
    Some(match name {
        "resource" => resource,
        "resources" => resources,
        "resourcetype" => |bytes, _, _| resource_type(bytes),
        "groups" => groups,
        "versioned" => versioned,
        "cardtext" => card_text,
        "cardidentifier" => card_identifier,
        "details" => process_details,
        "fields" => fields,
        "signed" => |bytes, _, _| bytes.one_of(&[0, 1, 2, 3, 4, u64::from(u32::MAX), 1 << 31]),
        _ => return None,
    })
}

/// A value of `CU_DEV_RESOURCE_TYPE_…`.
fn resource_type(bytes: &mut Bytes<'_>) -> u64 {
    bytes.one_of(&[1, 1, 1, 1, 1, 1000, 10_000, 0, 7])
}

/// A `CUdevResource` with several multiprocessors, starting with number `first`: with the contents that the driver
/// would return, or with a few wrong fields.
fn one_resource(bytes: &mut Bytes<'_>, first: u32) -> Vec<u64> {
    let kind_and_device = resource_type(bytes) | bytes.one_of(&[0, 0, 0, 0, 0, 1, 1 << 31]) << 32;
    let many = bytes.one_of(&[2, 8, 8, 16, 8, 0, 1, 132, 200]);
    let mut set = [0_u64; 4];
    for number in u64::from(first)..(u64::from(first) + many).min(256) {
        set[number as usize / 64] |= 1 << (number % 64);
    }
    let split = bytes.one_of(&[1, 1, 1, 0, 1, 2]);
    let count = bytes.one_of(&[many, many, many, many, many, many + 1, u64::from(u32::MAX)]);
    let together = bytes.one_of(&[8, 8, 2, 8, 8, 0, 1 << 31]);
    let mut words = vec![kind_and_device, split];
    words.extend(set);
    words.push(bytes.one_of(&[0, 0, 0, 0, 0, 1]));
    words.extend([0; 5]);
    words.extend([count | 8 << 32, together, 0, 0, 0, 0]);
    words
}

fn resource(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    if bytes.next() == 0 {
        return 0;
    }
    let words = one_resource(bytes, 0);
    arena.words(&words)
}

/// An array of resources, as long as the largest value of a `count` argument.
fn resources(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let mut words = Vec::new();
    for index in 0..5 {
        words.extend(one_resource(bytes, index * 8));
    }
    arena.words(&words)
}

/// An array of `CU_DEV_SM_RESOURCE_GROUP_PARAMS`, as long as the largest value of a `count`
/// argument.
fn groups(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let mut words = Vec::new();
    for _ in 0..5 {
        let count = bytes.one_of(&[0, 2, 8, 16, 132, 3, 1 << 31]);
        let together = bytes.one_of(&[0, 0, 2, 8, 32, 3, u64::from(u32::MAX)]);
        let flags = bytes.one_of(&[0, 0, 0, 1, 2, 8]);
        words.extend([count | together << 32, flags << 32, 0, 0, 0, 0, 0, 0]);
    }
    arena.words(&words)
}

/// Memory for a structure of NVML that begins with its size and version, which are valid or invalid.
fn versioned(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    // Structures for identifiers and process details have further input fields, so other functions make them.
    let version =
        bytes.one_of(&[40 | 2 << 24, 64 | 1 << 24, 84 | 1 << 24, 40 | 1 << 24, 0, u64::MAX]);
    let at = arena.zeros(RESULT_BYTES);
    arena.write(at, version & 0xffff_ffff);
    at
}

/// The identifier of the first card, and its PCI address.
const IDENTIFIER: &std::ffi::CStr = c"GPU-656d756c-6174-6564-2d67-70752d303031";
const ADDRESS: &std::ffi::CStr = c"00000000:00:00.0";

/// A text that identifies a card.
fn card_text(bytes: &mut Bytes<'_>, _: &Objects, _: &mut Arena) -> u64 {
    let texts =
        [IDENTIFIER, ADDRESS, c"0:1:0", c"GPU-", c"", c"::.", c"100000000:0:0.0", c"\xff%s"];
    match usize::from(bytes.next()) {
        0 => 0,
        which => texts[which % texts.len()].as_ptr() as u64,
    }
}

/// A `nvmlUUID_v1_t`: with its version, its kind, and an identifier as text or as bytes.
fn card_identifier(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let version = bytes.one_of(&[52 | 1 << 24, 52 | 1 << 24, 52 | 1 << 24, 52 | 2 << 24, 0]);
    let kind = bytes.one_of(&[1, 1, 2, 2, 0, 3]);
    let mut text = [bytes.one_of(&[0, 0xff]) as u8; 48];
    let value: &[u8] = match bytes.next() % 4 {
        0 => b"emulated-gpu-001",
        1 => b"GPU-",
        _ => IDENTIFIER.to_bytes(),
    };
    text[..value.len()].copy_from_slice(value);
    let mut words = vec![version | kind << 32];
    words.extend(
        text.chunks(8)
            .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))),
    );
    arena.words(&words)
}

/// A `nvmlProcessDetailList_v1_t`, with memory for as many entries as it states, or null.
fn process_details(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let version = bytes.one_of(&[24 | 1 << 24, 24 | 1 << 24, 24 | 1 << 24, 24 | 2 << 24, 0]);
    let (mode, count) = (u64::from(bytes.next() % 5), u64::from(bytes.next() % 5));
    let place = if bytes.next() < 64 { 0 } else { arena.zeros(RESULT_BYTES) };
    arena.words(&[version | mode << 32, count, place])
}

/// An array of `nvmlFieldValue_t`, as long as the largest value of a `signed` argument, or null.
fn fields(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    if bytes.next() == 0 {
        return 0;
    }
    let mut words = Vec::new();
    for _ in 0..5 {
        let which = bytes.one_of(&[91, 91, 0, 1, 160, u64::from(u32::MAX)]);
        words.extend([which | u64::from(bytes.next()) << 32, 0, 0, 0, 0]);
    }
    arena.words(&words)
}
