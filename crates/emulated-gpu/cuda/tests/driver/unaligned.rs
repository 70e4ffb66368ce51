//! Unaligned arrays and structures of the program, which NVIDIA's driver accepts, too.

use crate::support::{INCREMENT, allocate, context, function, module, ok, own_context, read};

/// A copy of values at an odd address.
struct Unaligned(Vec<u8>);

impl Unaligned {
    fn new<T: Copy>(values: &[T]) -> Self {
        let mut bytes = vec![0; size_of_val(values) + 1];
        let at = usize::from((bytes.as_ptr() as usize).is_multiple_of(2));
        // SAFETY: any value may be read as bytes, and the buffer has space for them after the first one or two bytes.
        unsafe {
            let to = bytes.as_mut_ptr().add(at);
            to.copy_from_nonoverlapping(values.as_ptr().cast(), size_of_val(values));
        }
        Self(bytes)
    }

    fn address(&self) -> usize {
        self.0.as_ptr() as usize | 1
    }

    /// Reads the value back.
    fn get<T: Copy>(&self) -> T {
        // SAFETY: the tests read the type that they stored.
        unsafe { (self.address() as *const T).read_unaligned() }
    }
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    shape: [u32; 7],
    stream: usize,
    attributes: usize,
    count: u32,
}

/// `CUlaunchAttribute`
#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    id: u64,
    value: [u64; 8],
}

/// The second form of `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelNode {
    function: usize,
    shape: [u32; 7],
    parameters: usize,
    extra: usize,
    kernel: usize,
    context: usize,
}

#[test]
fn launches_read_parameters_and_attributes_at_odd_addresses() {
    let context = context();
    let increment = function(module(INCREMENT), "increment");
    let address = Unaligned::new(&[0u64]);
    ok!(cuMemAlloc_v2(address.address(), 16usize));
    let block: u64 = address.get();
    let count = Unaligned::new(&[4u64]);
    let block_value = Unaligned::new(&[block]);
    let parameters = Unaligned::new(&[block_value.address(), count.address()]);
    let shape = [1, 1, 1, 4, 1, 1, 0];
    ok!(cuMemsetD32_v2(block, 0u32, 4usize));
    ok!(cuLaunchKernel(
        increment => usize, 1 => u32, 1 => u32, 1 => u32, 4 => u32, 1 => u32, 1 => u32, 0 => u32,
        0 => usize, parameters.address() => usize, 0 => usize,
    ));
    // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    let attributes = Unaligned::new(&[Attribute { id: 2, value: [1; 8] }]);
    let config = Config { shape, stream: 0, attributes: attributes.address(), count: 1 };
    let config = Unaligned::new(&[config]);
    ok!(cuLaunchKernelEx(config.address(), increment, parameters.address(), 0usize));
    // CU_LAUNCH_PARAM_BUFFER_POINTER, …_BUFFER_SIZE, …_END
    let (buffer, size) = (Unaligned::new(&[block, 4]), Unaligned::new(&[16usize]));
    let extra = Unaligned::new(&[1, buffer.address(), 2, size.address(), 0]);
    ok!(cuLaunchKernel(
        increment => usize, 1 => u32, 1 => u32, 1 => u32, 4 => u32, 1 => u32, 1 => u32, 0 => u32,
        0 => usize, 0 => usize, extra.address() => usize,
    ));
    assert_eq!(read(block, 4), [3; 4]);
    let (node, graph) = (Unaligned::new(&[0usize]), Unaligned::new(&[0usize]));
    ok!(cuGraphCreate(graph.address(), 0u32));
    let graph: usize = graph.get();
    let (function, parameters) = (increment, parameters.address());
    let given = KernelNode { function, shape, parameters, extra: 0, kernel: 0, context };
    let given = Unaligned::new(&[given]);
    ok!(cuGraphAddKernelNode_v2(node.address(), graph, 0usize, 0usize, given.address()));
    // Add another node after the first one, with parameters that were read from a node.
    ok!(cuGraphAddKernelNode_v2(
        node.address() => usize, graph => usize, Unaligned::new(&[node.get::<usize>()]).address() => usize,
        1 => usize, given.address() => usize,
    ));
    let node: usize = node.get();
    ok!(cuGraphKernelNodeGetParams_v2(node, given.address()));
    ok!(cuGraphKernelNodeSetParams_v2(node, given.address()));
    let executable = Unaligned::new(&[0usize]);
    ok!(cuGraphInstantiateWithFlags(executable.address(), graph, 0u64));
    ok!(cuGraphLaunch(executable.get::<usize>(), 0usize));
    assert_eq!(read(block, 4), [5; 4]);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn copies_and_lists_are_read_and_written_at_odd_addresses() {
    let _context = own_context();
    let block = allocate(64);
    let (from, to) = (Unaligned::new(&[7u32; 16]), Unaligned::new(&[0u32; 16]));
    ok!(cuMemcpyHtoD_v2(block, from.address(), 64usize));
    ok!(cuMemcpyDtoH_v2(to.address(), block, 64usize));
    assert_eq!(to.get::<[u32; 16]>(), [7; 16]);
    // The words of CUDA_MEMCPY2D: x, y, type, host, device, array and pitch of the source and of the destination;
    // width; height.
    let copy = [0, 0, 1, from.address(), 0, 0, 8, 4, 0, 2, 0, block as usize, 0, 16, 4, 2];
    ok!(cuMemsetD8_v2(block, 0u8, 64usize));
    ok!(cuMemcpy2D_v2(Unaligned::new(&copy).address()));
    assert_eq!(read(block, 8), [0, 7, 0, 0, 0, 7, 0, 0]);
    let lists = [
        Unaligned::new(&[block]),
        Unaligned::new(&[block + 4]),
        Unaligned::new(&[4usize]),
        Unaligned::new(&[0usize]),
    ];
    let [targets, sources, sizes, firsts] = lists.each_ref().map(Unaligned::address);
    ok!(cuMemcpyBatchAsync_v2(
        targets, sources, sizes, 1 => usize, Unaligned::new(&[[1i32, 0, 0, 0, 0, 0]]).address(),
        firsts, 1 => usize, 2 => usize
    ));
    ok!(cuCtxSynchronize());
    assert_eq!(read(block, 1), [7]);
    // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, …_RANGE_SIZE
    let (kind, size) = (Unaligned::new(&[0u32]), Unaligned::new(&[0usize]));
    let (which, outputs) =
        (Unaligned::new(&[2u32, 12]), Unaligned::new(&[kind.address(), size.address()]));
    ok!(cuPointerGetAttributes(2u32, which.address(), outputs.address(), block));
    assert_eq!((kind.get::<u32>(), size.get::<usize>()), (2, 64));
}

/// Offsets that overflow are rejected; they don't wrap around.
#[test]
fn copies_whose_offsets_overflow_are_rejected() {
    use crate::support::{code, cu};
    let _context = own_context();
    let block = allocate(64);
    let host = [1u8; 64];
    let copy = |y: usize, pitch: usize| {
        let copy =
            [0, 0, 1, host.as_ptr() as usize, 0, 0, 4, 0, y, 2, 0, block as usize, 0, pitch, 4, 1];
        cu!(cuMemcpy2D_v2(copy.as_ptr()))
    };
    assert_eq!((copy(0, 4), copy(15, 4)), (0, 0));
    for (y, pitch) in [(1 << 62, 4), (1 << 32, 1 << 32), (usize::MAX, usize::MAX), (16, 4)] {
        assert_eq!(copy(y, pitch), code::INVALID_VALUE, "{y} {pitch}");
    }
}
