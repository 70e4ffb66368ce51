//! A stress test: threads allocate, use, capture, free and register each other's memory, in contexts that are created
//! and destroyed. In any order, each call must return one of CUDA's codes, and no kernel may write to the host's
//! memory. A sanitizer detects more (`crates/emulated-gpu/scripts/sanitize-emulator.sh`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{INCREMENT, code, cu, function, in_child, launch, module, ok, stream};

const THREADS: u64 = 4;
const ROUNDS: u64 = 6;
const STEPS: u64 = 40;
/// The number of words of each canary. Canaries are host memory around the memory in use, and must
/// not change.
const CANARY_WORDS: usize = 1024;

/// Addresses that any thread may use, whether they are still valid or not.
static SHARED: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// A pseudo-random number generator (Knuth, "The Art of Computer Programming", MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn shared(&mut self) -> &'static AtomicU64 {
        &SHARED[self.below(SHARED.len() as u64) as usize]
    }
}

/// Checks the result of a call on memory that another thread may have freed.
fn check(what: &str, code: u32) {
    let allowed = [
        code::SUCCESS,
        code::INVALID_VALUE,
        code::INVALID_HANDLE,
        code::NOT_FOUND,
        code::ILLEGAL_ADDRESS,
        code::CONTEXT_IS_DESTROYED,
        code::HOST_MEMORY_ALREADY_REGISTERED,
        code::HOST_MEMORY_NOT_REGISTERED,
    ];
    assert!(allowed.contains(&code), "{what} returned {code}");
}

fn allocate(random: &mut Random) -> u64 {
    // Small and large blocks; some of them return to the host immediately when freed.
    let bytes = 4096 << (4 * random.below(4));
    let (mut device, mut host) = (0u64, 0usize);
    let code = match random.below(3) {
        0 => cu!(cuMemAlloc_v2(&raw mut device, bytes => usize)),
        1 => cu!(cuMemAllocManaged(&raw mut device, bytes => usize, 1u32)),
        _ => cu!(cuMemHostAlloc(&raw mut host, bytes => usize, 0u32)),
    };
    check("an allocation", code);
    device.max(host as u64)
}

/// Runs one random operation.
fn step(random: &mut Random, (stream, increment): (usize, usize), host: &mut [u32]) {
    let address = random.shared().load(Ordering::Relaxed);
    match random.below(9) {
        0 | 1 => random.shared().store(allocate(random), Ordering::Relaxed),
        2 | 3 => check("a launch", launch(increment, (4, 64), stream, &[address, 256])),
        4 => check("cuMemFree", cu!(cuMemFree_v2(address))),
        5 => check("cuMemFreeHost", cu!(cuMemFreeHost(address as usize))),
        6 => {
            let code = cu!(cuMemsetD8Async(address, 1u8, 1024usize, stream));
            check("a fill", code);
            let to = host[CANARY_WORDS..].as_mut_ptr();
            check("a copy", cu!(cuMemcpyDtoH_v2(to, address, 1024usize)));
        }
        7 => {
            let (begin, bytes) = (host[CANARY_WORDS..].as_ptr() as usize, 4 * CANARY_WORDS);
            let code = cu!(cuMemHostRegister_v2(begin, bytes, 0u32));
            check("cuMemHostRegister", code);
            check("a launch", launch(increment, (4, 64), stream, &[begin as u64, 256]));
            check("cuMemHostUnregister", cu!(cuMemHostUnregister(begin)));
        }
        _ => {
            let (mut graph, mut executable) = (0usize, 0usize);
            let code = cu!(cuStreamBeginCapture_v2(stream, 2u32));
            check("a capture", code);
            let launched = launch(increment, (1, 64), stream, &[address, 64]);
            check("a captured launch", launched);
            let end = cu!(cuStreamEndCapture(stream, &raw mut graph));
            if code == 0 && end == 0 {
                ok!(cuGraphInstantiateWithFlags(&raw mut executable, graph, 0u64));
                for _ in 0..2 {
                    check("a graph", cu!(cuGraphLaunch(executable, stream)));
                }
                ok!(cuGraphExecDestroy(executable));
                ok!(cuGraphDestroy(graph));
            }
        }
    }
}

fn run(thread: u64) {
    let mut random = Random(thread);
    for _ in 0..ROUNDS {
        let context = crate::support::context();
        let target = (stream(1), function(module(INCREMENT), "increment"));
        let mut host = vec![7u32; 3 * CANARY_WORDS];
        for _ in 0..STEPS {
            step(&mut random, target, &mut host);
        }
        ok!(cuCtxDestroy_v2(context));
        let canaries = host[..CANARY_WORDS].iter().chain(&host[2 * CANARY_WORDS..]);
        assert!(canaries.into_iter().all(|&word| word == 7), "a kernel wrote to the host's memory");
    }
}

#[test]
fn concurrent_calls_never_corrupt_host_memory() {
    in_child!(&[]);
    let threads: Vec<_> =
        (0..THREADS).map(|thread| std::thread::spawn(move || run(thread))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
