//! Arguments that are structures of `cuda.h`.

use super::argument::{
    Arena, Bytes, buffer, device_address, dimension, handle, host_function_or_null, int, size,
    unified,
};
use super::objects::{ObjectKind, Objects};
use super::{lists, resources};

/// The index of the word in `CUDA_MEM_ALLOC_NODE_PARAMS` that receives the address.
pub(super) const ALLOCATED_ADDRESS_WORD: u64 = 14;

/// A function that makes an argument, and returns its value or address.
pub(super) type ArgumentFunction = fn(&mut Bytes<'_>, &Objects, &mut Arena) -> u64;

/// The function that makes the structure with this name.
pub(super) fn find(name: &str) -> Option<ArgumentFunction> {
    Some(match name {
        "parameters" => parameters,
        "extra" => extra,
        "anynode" => any_node,
        "config" => config,
        "kernelnode" => kernel_node,
        "hostnode" => host_node,
        "setnode" => set_node,
        "copy2d" => copy_2d,
        "arraydescription" => array_description,
        "resourcedescription" => resource_description,
        "texturedescription" => texture_description,
        "copy3d" => copy_3d,
        "poolproperties" => pool_properties,
        "location" => location,
        "properties" => properties,
        "access" => access,
        "ranges" => ranges,
        "allocationnode" => allocation_node,
        "copy3dpeer" => copy_3d_peer,
        "view" => view,
        "place" => |bytes, _, _| location_by_value(bytes),
        _ => return lists::find(name).or_else(|| resources::find(name)),
    })
}

/// The addresses of a kernel's arguments.
fn parameters(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    if bytes.next() == 0 {
        return 0;
    }
    let mut values = [(); 4].map(|()| device_address(bytes, objects));
    if bytes.next() < 64 {
        values[0] = handle(ObjectKind::Condition, bytes, objects);
    }
    let first = arena.words(&values);
    arena.words(&[first, first + 8, first + 16, first + 24, 0, 0, 0, 0])
}

/// The array `extra` of a launch: `CU_LAUNCH_PARAM_BUFFER_POINTER`, `…_SIZE`, `…_END`.
fn extra(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    if bytes.next() < 200 {
        return 0;
    }
    let values = [(); 4].map(|()| device_address(bytes, objects));
    let values = arena.words(&values);
    let size = arena.words(&[bytes.one_of(&[32, 24, 0, 1 << 46])]);
    arena.words(&[1, values, 2, size, 0])
}

fn launch_shape(bytes: &mut Bytes<'_>) -> [u64; 3] {
    // Each 64-bit word has two 32-bit numbers: first the three sizes of the grid, then the sizes of
    // the block.
    let grid = bytes.one_of(&[1, 1, 2, 0, 1 << 31]);
    let block = bytes.one_of(&[1, 32, 33, 1025, 0]);
    [grid | 1 << 32, 1 | block << 32, 1 | 1 << 32]
}

fn config(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let [a, b, c] = launch_shape(bytes);
    let shared = bytes.one_of(&[0, 64, 1 << 31]);
    let stream = handle(ObjectKind::Stream, bytes, objects);
    // One launch attribute: its number, and its value of 64 bytes.
    let attribute = [u64::from(bytes.next() % 16), int(bytes), int(bytes), 0, 0, 0, 0, 0, 0];
    let attributes = arena.words(&attribute);
    arena.words(&[a, b, c, shared, stream, attributes, u64::from(bytes.next() % 2)])
}

fn kernel_node(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let function = handle(ObjectKind::Function, bytes, objects);
    let [a, b, c] = launch_shape(bytes);
    let shared = bytes.one_of(&[0, 0, 64, 1 << 31]);
    let (parameters, extra) = (parameters(bytes, objects, arena), extra(bytes, objects, arena));
    let kernel = handle(ObjectKind::Kernel, bytes, objects);
    arena.words(&[function, a, b, c, shared, parameters, extra, kernel, 0])
}

/// A `CUgraphNodeParams`.
fn any_node(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let node_type = bytes.one_of(&[13, 13, 13, 13, 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 8, 12, 99]);
    let graph = |bytes: &mut Bytes<'_>| handle(ObjectKind::Graph, bytes, objects);
    let parameters: (ArgumentFunction, u64) = match node_type {
        0 => (kernel_node, 9),
        1 => (copy_3d, 25),
        2 => (set_node, 5),
        3 => (host_node, 2),
        10 => (allocation_node, 15),
        _ => (|_, _, _| 0, 0),
    };
    let at = parameters.0(bytes, objects, arena);
    let mut of_type: Vec<u64> = (0..parameters.1).map(|index| arena.read(at + 8 * index)).collect();
    match node_type {
        // The parameters of a copy node begin with flags and the context.
        1 => drop(of_type.splice(0..0, [bytes.one_of(&[0, 0, 0, 1]), 0])),
        4 => of_type.extend([graph(bytes), bytes.one_of(&[0, 0, 0, 1])]),
        6 | 7 => of_type.push(handle(ObjectKind::Event, bytes, objects)),
        10 => {}
        11 => of_type.push(device_address(bytes, objects)),
        _ => {
            let kind_and_size =
                bytes.one_of(&[0, 0, 1, 2, 2, 3]) | bytes.one_of(&[1, 1, 1, 2, 3, 0]) << 32;
            let context = bytes.one_of(&[0, 0, 0, 1]) * handle(ObjectKind::Context, bytes, objects);
            let condition = handle(ObjectKind::Condition, bytes, objects);
            of_type.extend([condition, kind_and_size, 0, context]);
        }
    }
    of_type.resize(29, 0);
    let reserved = bytes.one_of(&[0, 0, 0, 0, 0, 0, 0, 1]);
    let words = [vec![node_type, reserved], of_type, vec![0]].concat();
    arena.words(&words)
}

/// A `CUDA_MEM_ALLOC_NODE_PARAMS`.
fn allocation_node(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let words = [1, 1, 0, size(bytes), 0, 0, 0, 0, 0, 0, 0, 0, 0, size(bytes), 0];
    arena.words(&words)
}

fn host_node(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let words = [host_function_or_null(bytes), 0];
    arena.words(&words)
}

fn set_node(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let value_and_element = int(bytes) | bytes.one_of(&[1, 2, 4, 0, 8]) << 32;
    let words = [
        device_address(bytes, objects),
        size(bytes),
        value_and_element,
        size(bytes),
        dimension(bytes),
    ];
    arena.words(&words)
}

/// The source or destination of a copy: the kind of memory and the addresses.
fn copy_end(bytes: &mut Bytes<'_>, objects: &Objects) -> [u64; 4] {
    // The memory types are: host, device, array, unified, and invalid numbers.
    let kind = bytes.one_of(&[1, 2, 2, 4, 3, 0, 9]);
    let address = match kind {
        4 if bytes.next() < 128 => buffer(),
        4 => unified(bytes, objects),
        _ => device_address(bytes, objects),
    };
    let array = if kind == 3 { handle(ObjectKind::Array, bytes, objects) } else { 0 };
    [kind, buffer(), address, array]
}

/// A coordinate. Rows and slices of host memory stay inside the buffer.
fn coordinate(bytes: &mut Bytes<'_>) -> u64 {
    u64::from(bytes.next() % 16)
}

fn pitch(bytes: &mut Bytes<'_>) -> u64 {
    bytes.one_of(&[0, 64, 256, 1024, u64::MAX, 1 << 46])
}

fn copy_2d(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let mut words = Vec::new();
    for _ in 0..2 {
        words.extend([coordinate(bytes), coordinate(bytes)]);
        words.extend(copy_end(bytes, objects));
        words.push(pitch(bytes));
    }
    words.extend([u64::from(bytes.next()), coordinate(bytes)]);
    arena.words(&words)
}

fn copy_3d(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    copy_between(bytes, objects, arena, |_| 0)
}

fn copy_3d_peer(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    copy_between(bytes, objects, arena, |bytes| handle(ObjectKind::Context, bytes, objects))
}

/// A `CUDA_MEMCPY3D` or, with contexts, a `CUDA_MEMCPY3D_PEER`.
fn copy_between(
    bytes: &mut Bytes<'_>,
    objects: &Objects,
    arena: &mut Arena,
    context: impl Fn(&mut Bytes<'_>) -> u64,
) -> u64 {
    let mut words = Vec::new();
    for _ in 0..2 {
        words.extend([coordinate(bytes), coordinate(bytes), coordinate(bytes), 0]);
        words.extend(copy_end(bytes, objects));
        words.extend([context(bytes), pitch(bytes), coordinate(bytes)]);
    }
    words.extend([u64::from(bytes.next()), coordinate(bytes), u64::from(bytes.next() % 4)]);
    arena.words(&words)
}

/// A `CUarray_format` and the number of channels.
fn format(bytes: &mut Bytes<'_>) -> u64 {
    bytes.one_of(&[1, 2, 3, 8, 9, 10, 16, 32, 32, 0, 0xb0, 99])
        | bytes.one_of(&[1, 1, 2, 4, 3, 0]) << 32
}

fn axis_length(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.next() {
        hostile @ 250.. => {
            [0, 1 << 15, 1 << 17, 1 << 62, u64::MAX, 65_537][usize::from(hostile - 250)]
        }
        small => u64::from(small % 24),
    }
}

/// A `CUDA_ARRAY3D_DESCRIPTOR`, which also serves as the descriptor of a two-dimensional array.
fn array_description(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let sizes = [axis_length(bytes), axis_length(bytes), bytes.one_of(&[0, 0, 1, 3, 7, 1 << 40])];
    let flags = bytes.one_of(&[0, 2, 2, 1, 3, 4, 0x40, 1 << 31]);
    if bytes.next() < 128 {
        return arena.words(&[sizes[0], sizes[1], format(bytes), flags, 0]);
    }
    arena.words(&[sizes[0], sizes[1], sizes[2], format(bytes), flags])
}

/// A `CUDA_RESOURCE_DESC`.
fn resource_description(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let kind = bytes.one_of(&[0, 0, 0, 2, 3, 1, 9]);
    let mut words = vec![kind];
    match kind {
        2 => words.extend([device_address(bytes, objects), format(bytes), size(bytes)]),
        3 => words.extend([
            device_address(bytes, objects),
            format(bytes),
            axis_length(bytes),
            axis_length(bytes),
            bytes.one_of(&[32, 64, 512, 0, 33, u64::MAX]),
        ]),
        1 => words.push(handle(ObjectKind::Mipmap, bytes, objects)),
        _ => words.push(handle(ObjectKind::Array, bytes, objects)),
    }
    words.resize(17, 0);
    words.push(bytes.one_of(&[0, 0, 0, 0, 7]));
    arena.words(&words)
}

/// A `CUDA_TEXTURE_DESC`.
fn texture_description(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let modes = [0, 1, 1, 2, 3, 4];
    let pair =
        |bytes: &mut Bytes<'_>, list: &[u64]| bytes.one_of(&modes) | bytes.one_of(list) << 32;
    let mut words = vec![pair(bytes, &modes), pair(bytes, &[0, 1, 1, 2])];
    words.push(bytes.one_of(&[0, 1, 2, 3, 3, 0x10, 1 << 31]) | bytes.one_of(&[0, 1, 16]) << 32);
    words.extend([0; 10]);
    arena.words(&words)
}

/// A `CUDA_RESOURCE_VIEW_DESC`.
fn view(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let pair =
        |bytes: &mut Bytes<'_>| bytes.one_of(&[0, 0, 1, 2, 9]) | bytes.one_of(&[0, 1, 3, 0]) << 32;
    let mut words = vec![bytes.one_of(&[0, 0, 1, 2, 3, 20, 29, 34, 99])];
    words.extend([axis_length(bytes), axis_length(bytes), bytes.one_of(&[0, 0, 1, 3, u64::MAX])]);
    words.extend([pair(bytes), pair(bytes), 0, 0, 0, 0, 0, 0, 0, 0]);
    arena.words(&words)
}

fn pool_properties(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let pinned = bytes.one_of(&[1, 1, 1, 0, 7]);
    let place = bytes.one_of(&[1, 1, 1, 2, 1 << 32]);
    let words = [pinned, place, 0, size(bytes), 0, 0, 0, 0, 0, 0, 0];
    arena.words(&words)
}

/// A `CUmemAllocationProp`. Exports are never allowed, because no function would close the exported
/// files.
fn properties(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let pinned = bytes.one_of(&[1, 1, 1, 1, 0, 2, 1 | 8 << 32, 1 | 99 << 32]);
    let place = bytes.one_of(&[1, 1, 1, 1, 2, 3, 1 | 99 << 32]);
    let words =
        [pinned, place, bytes.one_of(&[0, 0, 0, 8]), bytes.one_of(&[0, 0, 0, 1, 1 << 8, 1 << 16])];
    arena.words(&words)
}

fn location(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let words = [bytes.one_of(&[1, 1, 2, 1 << 32, 99])];
    arena.words(&words)
}

/// A `CUmemLocation`, passed by value: its kind and its index.
pub(super) fn location_by_value(bytes: &mut Bytes<'_>) -> u64 {
    let kind = bytes.one_of(&[1, 1, 2, 3, 4, 0, 99]);
    kind | bytes.one_of(&[0, 0, 0, 1, u64::from(u32::MAX), 1 << 31]) << 32
}

/// An array of `CUmemAccessDesc`, three 32-bit words each.
fn access(bytes: &mut Bytes<'_>, _: &Objects, arena: &mut Arena) -> u64 {
    let flags = bytes.one_of(&[3, 1, 0, 99]);
    arena.words(&[1, flags | 1 << 32, flags << 32, 1, flags | 1 << 32, flags << 32, 1, flags])
}

/// An array of `EmulatedGpuRange`.
fn ranges(bytes: &mut Bytes<'_>, objects: &Objects, arena: &mut Arena) -> u64 {
    let mut words = Vec::new();
    for _ in 0..4 {
        words.extend([device_address(bytes, objects), size(bytes), size(bytes), size(bytes)]);
        words.push(u64::from(bytes.next() % 5));
    }
    arena.words(&words)
}
