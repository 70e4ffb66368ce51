//! Test of threads that share a handle, as PyTorch's threads do.

use emulated_gpu_test_support::device::Device;

use crate::support::{Call, CublasLt, Shape, Type};

const THREADS: usize = 4;
const ROUNDS: usize = 20;

/// A cuBLASLt handle has no settings: every call describes all of its work.
#[test]
fn threads_may_share_a_handle() {
    let lt = CublasLt::new();
    let ty = Type::F32;
    let handle = lt.handle as usize;
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            scope.spawn(move || {
                // This value is forgotten below, because dropping it would destroy the handle that
                // all threads share.
                let lt = CublasLt { handle: handle as _, device: Device::new() };
                let lt = std::mem::ManuallyDrop::new(lt);
                let x = thread as f64;
                let a = lt.numbers(ty, &[x, 0.0, 0.0, x]);
                let b = lt.numbers(ty, &[1.0, -2.0, 3.0, -4.0]);
                let (d, bias) = (lt.numbers(ty, &[0.0; 4]), lt.numbers(ty, &[0.5, 3.0]));
                let addresses = [&a, &b, &d, &d].map(|slice| lt.address(slice));
                // The call's epilogue is ReLU with a bias.
                let call = Call {
                    epilogue: 6,
                    bias: lt.address(&bias),
                    ..Call::new([Shape::new(ty, 2, 2); 4], addresses)
                };
                let relu = |x: f64| x.max(0.0);
                let wanted = [x + 0.5, relu(-2.0 * x + 3.0), 3.0 * x + 0.5, relu(-4.0 * x + 3.0)];
                for _ in 0..ROUNDS {
                    assert_eq!(call.run(&lt), (0, 0));
                    assert_eq!(lt.get_numbers(ty, &d), wanted);
                }
            });
        }
    });
}
