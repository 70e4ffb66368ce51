//! A kernel launched through unmodified cudarc: correctly, and then with one element too many.

#![allow(unsafe_code, reason = "cudarc's launch is unsafe: the compiler can't check its arguments")]

use std::error::Error;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpu::{Choice, Gpu};
use host::println;

fn main() -> Result<(), Box<dyn Error>> {
    let path = format!("{}/../../book/kernels/compiled/saxpy.ptx", env!("CARGO_MANIFEST_DIR"));
    let ptx = Ptx::from_src(std::fs::read_to_string(&path)?);
    // ANCHOR: launches
    let gpu = Gpu::open(Choice::Emulated)?;
    let stream = gpu.stream();
    let saxpy = gpu.context().load_module(ptx)?.load_function("saxpy")?;

    let x = stream.clone_htod(&[0.0_f32, 1.0, 2.0, 3.0, 4.0])?;
    let mut y = stream.clone_htod(&[1.0_f32; 5])?;
    for n in [5_u32, 6] {
        let mut launch = stream.launch_builder(&saxpy);
        launch.arg(&n).arg(&2.0_f32).arg(&x).arg(&mut y);
        // SAFETY: the arguments match saxpy's parameters. For n = 6 the kernel exceeds its buffers on purpose.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
        match stream.clone_dtoh(&y) {
            Ok(y) => println!("n = {n}: y = {y:?}"),
            Err(error) => println!("n = {n}: {error}"),
        }
    }
    // ANCHOR_END: launches
    Ok(())
}
