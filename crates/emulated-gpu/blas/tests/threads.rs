//! A product in a process whose environment requests more threads than the system allows.

#![allow(unsafe_code, reason = "products take addresses")]

use std::process::Command;

use emulated_blas::{Compute, DataType, InputRounding, Product, View};

/// The environment variable that is set in the child process, which multiplies.
const CHILD: &str = "EMULATED_BLAS_TEST_CHILD";

/// The size of the matrices, large enough for the product to use all threads.
const SIZE: usize = 512;

#[test]
fn an_excessive_thread_count_is_reduced() {
    if std::env::var_os(CHILD).is_none() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "an_excessive_thread_count_is_reduced", "--nocapture"])
            .envs([(CHILD, "1"), ("RAYON_NUM_THREADS", "50000")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("RAYON_NUM_THREADS is 50000"), "{said}");
        return;
    }
    for inputs in [InputRounding::Full, InputRounding::F16] {
        let (ones, mut result) = (vec![1.0_f32; SIZE * SIZE], vec![0.0_f32; SIZE * SIZE]);
        let view =
            |address: *const f32| View::new(address as u64, DataType::F32, (1, SIZE as isize));
        let views = [view(ones.as_ptr()), view(ones.as_ptr()), view(result.as_mut_ptr())];
        let product = Product::new([SIZE; 3], views, Compute::F32(inputs), 90);
        // SAFETY: the matrices are alive, and have `SIZE · SIZE` elements.
        unsafe { product.run(None) }.unwrap();
        assert!(result.iter().all(|&sum| sum == SIZE as f32));
    }
}
