//! Tests of opening the emulated GPU, and of its errors. A process has one driver, so all of these tests use
//! the emulated one, even on a machine with a GPU.

use std::time::Duration;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use gpu::{Choice, Gpu, GpuError, KERNELS, Stretch};

fn gpu() -> Gpu {
    Gpu::open(Choice::Emulated).unwrap()
}

#[test]
fn the_first_choice_is_final_for_the_process() {
    let first = gpu();
    assert!(first.is_emulated() && first.device().starts_with("emulated ("), "{}", first.device());
    assert!(first.why_not_real().is_none(), "nothing else was asked for");
    assert_eq!(Gpu::open(Choice::Auto).unwrap().device(), first.device());
    let said = Gpu::open(Choice::Cuda).unwrap_err().to_string();
    assert!(said.contains("computes on emulated (") && said.contains("second driver"), "{said}");
}

#[test]
fn every_kernel_loads() {
    for kernel in KERNELS {
        gpu().kernel(kernel.name).unwrap();
    }
    assert!(matches!(gpu().kernel("matmul"), Err(GpuError::NoKernel(name)) if name == "matmul"));
}

#[test]
fn the_error_for_invalid_ptx_names_the_kernel() {
    let said = gpu().function("broken", ".version 8.0\n.target sm_50\nnonsense\n").unwrap_err();
    let said = said.to_string();
    assert!(said.starts_with("the kernel broken can't be loaded: "), "{said}");
    assert!(said.contains("CUDA_ERROR_INVALID_PTX"), "{said}");

    let ptx = ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry one() { ret; }\n";
    gpu().function("one", ptx).unwrap();
    let said = gpu().function("two", ptx).unwrap_err().to_string();
    assert!(
        said.contains("two can't be loaded") && said.contains("CUDA_ERROR_NOT_FOUND"),
        "{said}"
    );
}

#[test]
fn work_is_timed_by_events() {
    let gpu = gpu();
    let (stream, update) = (gpu.stream(), gpu.kernel("update").unwrap());
    let mut w = stream.clone_htod(&[1.0_f32; 3]).unwrap();
    let dw = stream.clone_htod(&[2.0_f32; 3]).unwrap();
    let mut record = || {
        Stretch::record(&stream, || {
            let mut launch = stream.launch_builder(&update);
            launch.arg(&mut w).arg(&dw).arg(&0.25_f32).arg(&3_usize);
            #[expect(unsafe_code, reason = "a kernel can't be launched without")]
            // SAFETY: the arguments match the kernel's parameters, and each buffer has three elements.
            unsafe { launch.launch(LaunchConfig::for_num_elems(3)) }?;
            Ok(())
        })
        .unwrap()
    };
    let (first, second) = (record(), record());
    assert!(first.elapsed().unwrap() <= second.since(&first).unwrap() + Duration::from_micros(2));
    assert_eq!(stream.clone_dtoh(&w).unwrap(), [0.0; 3]);
}
