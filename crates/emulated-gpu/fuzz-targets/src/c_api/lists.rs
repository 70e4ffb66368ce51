//! Arguments that are lists. Each list is as long as the largest value of a `count` argument.

use super::argument::{Arena, Bytes, any_address, handle, size};
use super::objects::{ObjectKind, Objects};
use super::structures::{ArgumentFunction, location_by_value};

/// The size of the memory for each of several results, in bytes.
const RESULT_BYTES: usize = 256;

/// The function that makes the list with this name.
pub(super) fn find(name: &str) -> Option<ArgumentFunction> {
    Some(match name {
        "nodes" => nodes,
        "edges" => edges,
        "pointers" => pointers,
        "sizes" => sizes,
        "copyattributes" => copy_attributes,
        "firsts" => first_copies,
        "numbers" => numbers,
        "places" => places,
        "widths" => widths,
        _ => return None,
    })
}

fn nodes(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let nodes = [(); 5].map(|()| handle(ObjectKind::Node, bytes, objects));
    arena.words(&nodes)
}

/// An array of `CUgraphEdgeData`, or null.
fn edges(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    if bytes.next() < 64 {
        return 0;
    }
    let edges = [(); 5].map(|()| bytes.one_of(&[0, 0, 0, 1, 1 << 16, u64::MAX]));
    arena.words(&edges)
}

fn pointers(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let pointers = [(); 5].map(|()| any_address(bytes, objects));
    arena.words(&pointers)
}

fn sizes(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let sizes = [(); 5].map(|()| size(bytes));
    arena.words(&sizes)
}

/// An array of `CUmemcpyAttributes`: the access order of the source, and the locations of source and
/// destination.
fn copy_attributes(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let mut words = Vec::new();
    for _ in 0..5 {
        let [from, to] = [location_by_value(bytes), location_by_value(bytes)];
        words.push(bytes.one_of(&[1, 1, 2, 3, 0, 4]) | from << 32);
        words.extend([from >> 32 | to << 32, to >> 32]);
    }
    arena.words(&words)
}

/// For each attribute, the index of the first copy to which it applies.
fn first_copies(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let indices = [0, 1, 2, 3, 4].map(|own| match bytes.next() {
        255 => u64::MAX,
        wrong @ 240.. => u64::from(wrong % 4),
        _ => own,
    });
    arena.words(&indices)
}

/// An array of 32-bit numbers, such as attributes.
fn numbers(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let words = [(); 3].map(|()| u64::from(bytes.next() % 26) | u64::from(bytes.next() % 26) << 32);
    arena.words(&words)
}

/// An array of pointers to memory for results; some are null.
fn places(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let places = [(); 5].map(|()| if bytes.next() < 16 { 0 } else { arena.zeros(RESULT_BYTES) });
    arena.words(&places)
}

/// The sizes of the results that [`places`] points to; some are invalid.
fn widths(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let widths = [(); 5].map(|()| bytes.one_of(&[4, 4, 8, RESULT_BYTES as u64, 0, 1, 3, 16]));
    arena.words(&widths)
}
