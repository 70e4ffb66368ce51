//! An independent program with a kernel, which uses cudarc and knows nothing about an emulator.

#![allow(unsafe_code, reason = "cudarc's launch is unsafe: the compiler can't check its arguments")]

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

// ANCHOR: program
const SAXPY: &str = include_str!("../kernels/compiled/saxpy.ptx");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let saxpy = context.load_module(Ptx::from_src(SAXPY))?.load_function("saxpy")?;

    let x: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let on_device = stream.clone_htod(&x)?;
    let mut y = stream.clone_htod(&[1.0_f32; 1000])?;
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&1000_u32).arg(&2.0_f32).arg(&on_device).arg(&mut y);
    // SAFETY: these are saxpy's parameters, and both vectors have 1000 elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1000)) }?;

    for (x, y) in x.iter().zip(stream.clone_dtoh(&y)?) {
        assert_eq!(y, 2.0 * x + 1.0);
    }
    println!("right, on {}", context.name()?);
    Ok(())
}
// ANCHOR_END: program
