//! The launches of every rung, by name: those of `thread_per_sample`, `tiled` and `one_launch`. That of
//! `whole_epoch` is not among them: `WithCust::new` refuses it.

use std::ffi::c_void;

use cust::launch;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{CUresult, cuLaunchCooperativeKernel};

use super::{Failure, WithCust};
use crate::one_launch::{BACKWARD, FORWARD, UPDATE};
use crate::state::loss_code;
use crate::tiled::Tiles;
use crate::{Plan, Rung};

pub(super) fn forward(on: &mut WithCust) -> Result<(), Failure> {
    match on.rung {
        Rung::ThreadPerSample => all_layers(on, "forward"),
        Rung::Tiled | Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 | Rung::RegisterTiles => {
            tiled_forward(on)
        }
        Rung::OneLaunch | Rung::WholeEpoch => one_launch(on, 0.0, FORWARD),
    }
}

pub(super) fn backward(on: &mut WithCust) -> Result<(), Failure> {
    match on.rung {
        Rung::ThreadPerSample => {
            zero_gradients(on)?;
            let kernel = on.module.get_function("backward")?;
            let (layers, batch) = (on.layers.len() as u32, on.batch as u32);
            let stream = &on.stream;
            // SAFETY: these are the kernel's parameters, and the table says what the layers are.
            unsafe {
                launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(
                    on.table.as_device_ptr(), layers,
                    on.x.as_device_ptr(), on.y.as_device_ptr(), on.p.as_device_ptr(), batch
                ))
            }?;
            Ok(())
        }
        Rung::Tiled | Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 | Rung::RegisterTiles => {
            tiled_backward(on)
        }
        Rung::OneLaunch | Rung::WholeEpoch => one_launch(on, 0.0, BACKWARD),
    }
}

pub(super) fn update(on: &mut WithCust, learning_rate: f32) -> Result<(), Failure> {
    // Elements that a block of 256 threads updates.
    let of_a_block = match on.rung {
        Rung::ThreadPerSample => 256,
        Rung::Tiled | Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 | Rung::RegisterTiles => {
            1024
        }
        Rung::OneLaunch | Rung::WholeEpoch => return one_launch(on, learning_rate, UPDATE),
    };
    let kernel = rest(on).get_function("update")?;
    let stream = &on.stream;
    for layer in &on.layers {
        for (w, dw) in [(&layer.w, &layer.dw), (&layer.b, &layer.db)] {
            let count = w.len() as u32;
            // SAFETY: these are the kernel's parameters, and both buffers have this many elements.
            unsafe {
                launch!(kernel<<<count.div_ceil(of_a_block), 256, 0, stream>>>(
                    w.as_device_ptr(), dw.as_device_ptr(), count, learning_rate
                ))
            }?;
        }
    }
    Ok(())
}

pub(super) fn step(on: &mut WithCust, learning_rate: f32) -> Result<(), Failure> {
    match on.rung {
        Rung::ThreadPerSample => {
            zero_gradients(on)?;
            all_layers(on, "forward_backward")?;
        }
        Rung::Tiled | Rung::TensorCores | Rung::Bf16 | Rung::ThreeTf32 | Rung::RegisterTiles => {
            tiled_forward(on)?;
            tiled_backward(on)?;
        }
        Rung::OneLaunch | Rung::WholeEpoch => {
            return one_launch(on, learning_rate, FORWARD | BACKWARD | UPDATE);
        }
    }
    update(on, learning_rate)
}

fn zero_gradients(on: &mut WithCust) -> Result<(), Failure> {
    for layer in &mut on.layers {
        // SAFETY: the buffers outlive the stream's work: nothing frees them before it is waited for.
        unsafe {
            layer.dw.set_zero_async(&on.stream)?;
            layer.db.set_zero_async(&on.stream)?;
        }
    }
    Ok(())
}

/// `forward` and `forward_backward` of the first rung, which take the same.
fn all_layers(on: &WithCust, name: &str) -> Result<(), Failure> {
    let kernel = on.module.get_function(name)?;
    let (layers, batch) = (on.layers.len() as u32, on.batch as u32);
    let loss = loss_code(on.network.loss);
    let stream = &on.stream;
    // SAFETY: these are the kernel's parameters, and the table says what the layers are.
    unsafe {
        launch!(kernel<<<batch.div_ceil(32), 32, 0, stream>>>(
            on.table.as_device_ptr(), layers, loss,
            on.x.as_device_ptr(), on.y.as_device_ptr(),
            on.p.as_device_ptr(), on.losses.as_device_ptr(), batch
        ))
    }?;
    Ok(())
}

fn tiled_forward(on: &WithCust) -> Result<(), Failure> {
    let (batch, stream) = (on.batch as u32, &on.stream);
    let last = on.layers.len() - 1;
    let kernel = on.module.get_function("forward_layer")?;
    let tiles = Tiles::of(on.rung);
    let threads = tiles.threads as u32;
    for (l, layer) in on.layers.iter().enumerate() {
        let (m, n) = (layer.inputs as u32, layer.outputs as u32);
        let (out, relu) = if l < last { (&layer.a, 1_u32) } else { (&layer.z, 0) };
        // SAFETY: these are the kernel's parameters, and the buffers have these shapes.
        unsafe {
            launch!(kernel<<<grid(n, batch, tiles.forward), threads, 0, stream>>>(
                a_prev(on, l), layer.w.as_device_ptr(), layer.b.as_device_ptr(),
                out.as_device_ptr(), batch, m, n, relu
            ))
        }?;
    }
    let (kernel, layer) = (rest(on).get_function("output")?, &on.layers[last]);
    let (n, loss) = (layer.outputs as u32, loss_code(on.network.loss));
    // SAFETY: these are the kernel's parameters, and the buffers have these shapes.
    unsafe {
        launch!(kernel<<<batch.div_ceil(4), 128, 0, stream>>>(
            layer.z.as_device_ptr(), on.y.as_device_ptr(), on.p.as_device_ptr(),
            layer.dz.as_device_ptr(), on.losses.as_device_ptr(), batch, n, loss
        ))
    }?;
    Ok(())
}

fn tiled_backward(on: &WithCust) -> Result<(), Failure> {
    let (batch, stream) = (on.batch as u32, &on.stream);
    let gradient = on.module.get_function("gradient")?;
    let sum_batch = rest(on).get_function("sum_batch")?;
    let backward_layer = on.module.get_function("backward_layer")?;
    let tiles = Tiles::of(on.rung);
    let threads = tiles.threads as u32;
    for (l, layer) in on.layers.iter().enumerate().rev() {
        let (m, n) = (layer.inputs as u32, layer.outputs as u32);
        // SAFETY: these are the kernels' parameters, and the buffers have these shapes.
        unsafe {
            launch!(gradient<<<grid(m, n, tiles.gradient), threads, 0, stream>>>(
                layer.dz.as_device_ptr(), a_prev(on, l), layer.dw.as_device_ptr(), batch, m, n
            ))?;
            launch!(sum_batch<<<n.div_ceil(32), 256, 0, stream>>>(
                layer.dz.as_device_ptr(), layer.db.as_device_ptr(), batch, n
            ))?;
        }
        if l > 0 {
            let before = &on.layers[l - 1];
            // SAFETY: as above.
            unsafe {
                launch!(backward_layer<<<grid(m, batch, tiles.backward), threads, 0, stream>>>(
                    layer.dz.as_device_ptr(), layer.w.as_device_ptr(),
                    before.a.as_device_ptr(), before.dz.as_device_ptr(), batch, m, n
                ))
            }?;
        }
    }
    Ok(())
}

/// The blocks for this many columns and rows.
fn grid(columns: u32, rows: u32, of_a_block: (usize, usize)) -> (u32, u32) {
    (columns.div_ceil(of_a_block.0 as u32), rows.div_ceil(of_a_block.1 as u32))
}

/// Where the kernels lie that are not products.
fn rest(on: &WithCust) -> &Module {
    on.rest.as_ref().unwrap_or(&on.module)
}

/// What goes into a layer.
fn a_prev(on: &WithCust, layer: usize) -> DevicePointer<f32> {
    let buffer: &DeviceBuffer<f32> = if layer == 0 { &on.x } else { &on.layers[layer - 1].a };
    buffer.as_device_ptr()
}

/// The step of the third rung. cust has no cooperative launch, but it passes on the driver's.
fn one_launch(on: &WithCust, learning_rate: f32, phases: u32) -> Result<(), Failure> {
    let Some(plan) = &on.plan else { return Ok(()) };
    let kernel = on.module.get_function("step")?;
    let pointers = [
        on.table.as_device_ptr().as_raw(),
        on.x.as_device_ptr().as_raw(),
        on.y.as_device_ptr().as_raw(),
        on.p.as_device_ptr().as_raw(),
        on.losses.as_device_ptr().as_raw(),
        on.barrier.as_device_ptr().as_raw(),
    ];
    let numbers = [
        on.layers.len() as u32,
        loss_code(on.network.loss),
        on.batch as u32,
        phases,
        plan.chunks as u32,
        plan.groups as u32,
        u32::from(plan.on_chip),
    ];
    let pointer = |i: usize| std::ptr::from_ref(&pointers[i]).cast_mut().cast::<c_void>();
    let number = |i: usize| std::ptr::from_ref(&numbers[i]).cast_mut().cast::<c_void>();
    let rate = std::ptr::from_ref(&learning_rate).cast_mut().cast::<c_void>();
    let mut arguments = [
        pointer(0),
        number(0),
        number(1),
        pointer(1),
        pointer(2),
        pointer(3),
        pointer(4),
        number(2),
        rate,
        number(3),
        number(4),
        number(5),
        number(6),
        pointer(5),
    ];
    let (blocks, threads, shared) =
        (plan.blocks() as u32, Plan::THREADS as u32, plan.shared as u32);
    let stream: &Stream = &on.stream;
    // SAFETY: these are the kernel's parameters, in its order; the driver copies them before it
    // returns. The table says what the layers are, and was written for this plan.
    let result: CUresult = unsafe {
        cuLaunchCooperativeKernel(
            kernel.to_raw(),
            blocks,
            1,
            1,
            threads,
            1,
            1,
            shared,
            stream.as_inner(),
            arguments.as_mut_ptr(),
        )
    };
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Failure::Cooperative(result)) }
}
