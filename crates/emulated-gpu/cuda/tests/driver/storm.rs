//! Threads that allocate, use, capture, free and register each other's memory, in contexts that come
//! and go: whatever the order, a call answers with one of CUDA's codes, and the host's memory stays
//! its own. A sanitizer sees more of it (`crates/emulated-gpu/scripts/sanitize-emulator.sh`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{INCREMENT, alone, code, cu, function, is_child, launch, module, ok, stream};

const THREADS: u64 = 4;
const ROUNDS: u64 = 6;
const STEPS: u64 = 40;
/// The words of a canary, on either side of which the host has memory of its own.
const WORDS: usize = 1024;

/// Addresses that any thread may use, whether they are still alive or not.
static SHARED: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// A sequence of numbers that looks random (Knuth, "The Art of Computer Programming", MMIX).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn shared(&mut self) -> &'static AtomicU64 {
        &SHARED[self.roll(SHARED.len() as u64) as usize]
    }
}

/// What a call on memory that another thread may have freed answers.
fn check(what: &str, code: u32) {
    let known = [
        code::SUCCESS,
        code::INVALID_VALUE,
        code::INVALID_HANDLE,
        code::NOT_FOUND,
        code::ILLEGAL_ADDRESS,
        code::CONTEXT_IS_DESTROYED,
        code::HOST_MEMORY_ALREADY_REGISTERED,
        code::HOST_MEMORY_NOT_REGISTERED,
    ];
    assert!(known.contains(&code), "{what} answers {code}");
}

fn allocate(dice: &mut Dice) -> u64 {
    // Small and large, so that some go back to the host at once.
    let bytes = 4096 << (4 * dice.roll(4));
    let (mut device, mut host) = (0u64, 0usize);
    let code = match dice.roll(3) {
        0 => cu!(cuMemAlloc_v2(&raw mut device => *mut u64, bytes => usize)),
        1 => cu!(cuMemAllocManaged(&raw mut device => *mut u64, bytes => usize, 1 => u32)),
        _ => cu!(cuMemHostAlloc(&raw mut host => *mut usize, bytes => usize, 0 => u32)),
    };
    check("an allocation", code);
    device.max(host as u64)
}

/// One thing that a program may do.
fn step(dice: &mut Dice, (stream, increment): (usize, usize), own: &mut [u32]) {
    let address = dice.shared().load(Ordering::Relaxed);
    match dice.roll(9) {
        0 | 1 => dice.shared().store(allocate(dice), Ordering::Relaxed),
        2 | 3 => check("a launch", launch(increment, (4, 64), stream, &[address, 256])),
        4 => check("cuMemFree", cu!(cuMemFree_v2(address => u64))),
        5 => check("cuMemFreeHost", cu!(cuMemFreeHost(address as usize => usize))),
        6 => {
            let code = cu!(cuMemsetD8Async(
                address => u64, 1 => u8, 1024 => usize, stream => usize
            ));
            check("a fill", code);
            let to = own[WORDS..].as_mut_ptr();
            check("a copy", cu!(cuMemcpyDtoH_v2(to => *mut u32, address => u64, 1024 => usize)));
        }
        7 => {
            let (begin, bytes) = (own[WORDS..].as_ptr() as usize, 4 * WORDS);
            let code = cu!(cuMemHostRegister_v2(begin => usize, bytes => usize, 0 => u32));
            check("cuMemHostRegister", code);
            check("a launch", launch(increment, (4, 64), stream, &[begin as u64, 256]));
            check("cuMemHostUnregister", cu!(cuMemHostUnregister(begin => usize)));
        }
        _ => {
            let (mut graph, mut executable) = (0usize, 0usize);
            let code = cu!(cuStreamBeginCapture_v2(stream => usize, 2 => u32));
            check("a capture", code);
            let launched = launch(increment, (1, 64), stream, &[address, 64]);
            check("a captured launch", launched);
            let end = cu!(cuStreamEndCapture(stream => usize, &raw mut graph => *mut usize));
            if code == 0 && end == 0 {
                ok!(cuGraphInstantiateWithFlags(
                    &raw mut executable => *mut usize, graph => usize, 0 => u64
                ));
                for _ in 0..2 {
                    check("a graph", cu!(cuGraphLaunch(executable => usize, stream => usize)));
                }
                ok!(cuGraphExecDestroy(executable => usize));
                ok!(cuGraphDestroy(graph => usize));
            }
        }
    }
}

fn run(thread: u64) {
    let mut dice = Dice(thread);
    for _ in 0..ROUNDS {
        let context = crate::support::context();
        let target = (stream(1), function(module(INCREMENT), "increment"));
        let mut own = vec![7u32; 3 * WORDS];
        for _ in 0..STEPS {
            step(&mut dice, target, &mut own);
        }
        ok!(cuCtxDestroy_v2(context => usize));
        let canaries = own[..WORDS].iter().chain(&own[2 * WORDS..]);
        assert!(canaries.into_iter().all(|&word| word == 7), "a kernel wrote to the host's memory");
    }
}

#[test]
fn whatever_threads_do_the_host_keeps_its_memory() {
    let test = "whatever_threads_do_the_host_keeps_its_memory";
    if !is_child() {
        let output = alone(module_path!(), test, &[]);
        let said = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{said}{error}", output.status);
        return;
    }
    let threads: Vec<_> =
        (0..THREADS).map(|thread| std::thread::spawn(move || run(thread))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
