//! Tests of plans and graphs, and of kernels that run while gradients are sent, on two emulated devices.

use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data::Epoch;
use data_parallel::{DataParallel, Rank, on_gpus};
use gpu::Choice;
use training::Preset;
use training::dump::Inputs;

use super::*;

/// Steps with batches of these sizes; after each, the number of graphs and the plans.
fn after(sizes: &[usize], setup: Setup) -> Vec<(usize, Rc<[plan::LayerPlan]>)> {
    let gpu = Gpu::open_one(Choice::Emulated, 0, 2).unwrap();
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let mut level = Level3::new(&gpu, &preset.network, setup, Profile::default()).unwrap();
    let step = |&size: &usize| {
        let order = Epoch::in_order(inputs.set.len(), size, false);
        level.load(&order.batch(&inputs.set, 0), None).unwrap();
        level.step(0.1).unwrap();
        let graphs = level.graphs.as_ref().map_or(0, Graphs::len);
        (graphs, Rc::clone(&level.state.plans))
    };
    sizes.iter().map(step).collect()
}

#[test]
fn a_size_is_planned_once() {
    let found = after(&[5, 5, 8, 5, 8], Setup::default());
    let same = |i: usize, j: usize| Rc::ptr_eq(&found[i].1, &found[j].1);
    assert!(same(0, 1) && same(0, 3) && same(2, 4) && !same(0, 2));
}

#[test]
fn a_size_is_captured_once_unless_buffers_move() {
    let graphs = |sizes: &[usize]| {
        let found = after(sizes, Setup { graph: true, ..Setup::default() });
        found.into_iter().map(|(graphs, _)| graphs).collect::<Vec<_>>()
    };
    assert_eq!(graphs(&[8, 8, 5, 8, 5]), [1, 1, 2, 2, 2]);
    // A larger batch needs larger buffers, which are elsewhere.
    assert_eq!(graphs(&[5, 8, 5]), [1, 1, 2]);
}

/// The last layer's gradients are sent while the first one's are computed: rank 0 finishes the latter
/// although rank 1 has not sent anything yet, and only later work waits.
#[test]
fn gradients_are_computed_while_others_are_sent() {
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let gpu = Gpu::open_one(Choice::Emulated, 0, 2).unwrap();
    let (says, hears) = channel();
    let (says, hears) = (Mutex::new(says), Mutex::new(hears));
    let make = |place: Rank| {
        let gpu = Gpu::open_one(Choice::Emulated, place.rank, 2).unwrap();
        let setup = Setup::default();
        Ok(Level3::new(&gpu, &preset.network, setup, Profile::default()).unwrap())
    };
    let work = |level: &mut DataParallel<Level3>| {
        level.set_parameters(&inputs.parameters)?;
        let order = Epoch::in_order(inputs.set.len(), preset.batch_size, false);
        level.load(&order.batch(&inputs.set, 0), None)?;
        level.forward()?;
        if !level.rank().is_first() {
            hears.lock().unwrap().recv().unwrap();
            return level.backward();
        }
        let stream = Arc::clone(&level.inner().launcher().stream);
        let dw = &mut level.inner().layers()[0].dw;
        stream.memcpy_htod(&vec![f32::NAN; dw.len()], dw).unwrap();
        stream.synchronize().unwrap();
        level.backward()?;
        let begun = Instant::now();
        let looker = stream.context().new_stream().unwrap();
        let mut dw1 = || looker.clone_dtoh(&level.inner().layers()[0].dw).unwrap();
        while dw1().iter().any(|v| v.is_nan()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "dw1 waits for the other rank");
        }
        // A read in the kernels' stream would wait for everything that was sent.
        says.lock().unwrap().send(()).unwrap();
        stream.synchronize().map_err(training::Error::level)
    };
    on_gpus(&gpu, 2, data_parallel::Setup::default(), &make, &work).unwrap();
}
