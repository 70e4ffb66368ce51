//! Tests on two emulated devices: how often products are planned and captured, and whether kernels run while
//! gradients are sent. They are a separate test program, because the first call that opens a device decides
//! how many devices the process has.
#![allow(unsafe_code, reason = "wraps the library to count its calls")]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data::Epoch;
use data_parallel::{DataParallel, DeviceLevel, Rank, on_gpus};
use gpu::{Choice, Gpu, Result};
use level3_cublas::library::{EpiloguePointers, Library, Problem, Routine};
use level3_cublas::{Level3, Setup};
use profile::Profile;
use training::dump::Inputs;
use training::{Level, Preset};

/// The number of products that were planned, and the number that were computed or captured.
#[derive(Clone, Default)]
struct Calls {
    plans: Rc<Cell<usize>>,
    runs: Rc<Cell<usize>>,
}

/// A wrapper of a library or a routine that counts its calls.
struct Counted<T: ?Sized>(Calls, Box<T>);

impl Library for Counted<dyn Library> {
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let Self(calls, library) = self;
        calls.plans.set(calls.plans.get() + 1);
        let routine = library.plan(problem)?;
        Ok(routine.map(|routine| Box::new(Counted(calls.clone(), routine)) as Box<dyn Routine>))
    }
}

impl Routine for Counted<dyn Routine> {
    unsafe fn run(&self, addresses: [u64; 3], pointers: EpiloguePointers) -> Result<()> {
        let Self(calls, routine) = self;
        calls.runs.set(calls.runs.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { routine.run(addresses, pointers) }
    }
}

/// Runs steps with batches of these sizes. Returns the numbers of plans and of runs after each step.
fn plans_and_runs(sizes: &[usize], setup: Setup) -> Vec<(usize, usize)> {
    let gpu = Gpu::open_one(Choice::Emulated, 0, 2).unwrap();
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let calls = Calls::default();
    let level = Level3::new(&gpu, &preset.network, setup, Profile::default()).unwrap();
    // SAFETY: the wrappers pass their arguments on unchanged.
    let mut level =
        unsafe { level.with_library(|library| Box::new(Counted(calls.clone(), library))) };
    let step = |&size: &usize| {
        let order = Epoch::in_order(inputs.set.len(), size, false);
        level.load(&order.batch(&inputs.set, 0), None).unwrap();
        level.step(0.1).unwrap();
        (calls.plans.get(), calls.runs.get())
    };
    sizes.iter().map(step).collect()
}

/// The number of products in a step with two layers: three for each layer, except `da` of the first.
const PRODUCTS: usize = 5;

#[test]
fn each_batch_size_is_planned_once() {
    let plans: Vec<usize> = plans_and_runs(&[5, 5, 8, 5, 8], Setup::default())
        .into_iter()
        .map(|(plans, _)| plans)
        .collect();
    assert_eq!(plans, [1, 1, 2, 2, 2].map(|sizes| sizes * PRODUCTS));
}

#[test]
fn each_batch_size_is_captured_once_unless_buffers_move() {
    // A product runs once before it is captured, and once while it is captured; a replay doesn't call the library.
    let captures = |sizes: &[usize]| {
        let found = plans_and_runs(sizes, Setup { graph: true, ..Setup::default() });
        found.into_iter().map(|(_, runs)| runs as f64 / (2 * PRODUCTS) as f64).collect::<Vec<_>>()
    };
    assert_eq!(captures(&[8, 8, 5, 8, 5]), [1.0, 1.0, 2.0, 2.0, 2.0]);
    // A larger batch moves the buffers, so the graph of the smaller one is captured again.
    assert_eq!(captures(&[5, 8, 5, 8]), [1.0, 2.0, 3.0, 3.0]);
}

/// The last layer's gradients are sent while the first one's are computed: rank 0 finishes computing them although rank
/// 1 has not sent anything yet, and only later work waits.
#[test]
fn gradients_are_computed_while_others_are_sent() {
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let gpu = Gpu::open_one(Choice::Emulated, 0, 2).unwrap();
    let (sender, receiver) = channel();
    let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
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
            receiver.lock().unwrap().recv().unwrap();
            return level.backward();
        }
        let stream = Arc::clone(&level.inner().launcher().stream);
        let dw = &mut level.inner().layers()[0].dw;
        stream.memcpy_htod(&vec![f32::NAN; dw.len()], dw).unwrap();
        stream.synchronize().unwrap();
        level.backward()?;
        let begun = Instant::now();
        // Uses another stream, because a read in the kernels' stream would wait for all collectives.
        let other_stream = stream.context().new_stream().unwrap();
        let mut dw1 = || other_stream.clone_dtoh(&level.inner().layers()[0].dw).unwrap();
        while dw1().iter().any(|v| v.is_nan()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "dw1 waits for the other rank");
        }
        sender.lock().unwrap().send(()).unwrap();
        stream.synchronize().map_err(training::Error::level)
    };
    on_gpus(&gpu, 2, data_parallel::Reduction::default(), &make, &work).unwrap();
}
