//! Several GPUs, a rank each: every one computes the gradients of its share of a batch, NCCL adds
//! them up, and all make the same update.
//!
//! ```text
//! kernels       … dz2  dw2  db2 | dz1  dw1  db1 |          update w1 b1 w2 b2 …
//!                              \               \          /
//! all_reduce                    [ dw2 db2 ]     [ dw1 db1 ]
//! ```
//!
//! A bucket is what is sent at once: the gradients of a layer, or of several small ones. It is sent
//! in a second stream as soon as it is there, while the kernels go on with the layer before.
//!
//! What is added up are sums with the factor 1/B of the whole batch in them already, so shares may be
//! of different sizes, or empty.
#![allow(unsafe_code, reason = "NCCL is a C library")]

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use cudarc::nccl::result::{self, NcclError};
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t};
use gpu::{Buffer, Layer, Profiler, Work};
use training::Rank;

use crate::Rules;
use crate::error::{Error, Result};

mod communicator;
mod environment;
mod link;
mod peer;
mod rendezvous;
mod start;

pub use communicator::Communicator;
pub(crate) use communicator::Id;
pub(crate) use environment::Environment;
pub use start::{EachRank, Make, on_gpus};
pub(crate) use start::{Process, install, on_process};

/// The bytes in which a rank says how it was started.
const TERMS: usize = 4096;

/// One of several ranks.
pub(crate) struct Ranks {
    place: Rank,
    communicator: Arc<Communicator>,
    /// The kernels' stream.
    compute: Arc<CudaStream>,
    /// The stream in which ranks speak with each other.
    stream: Arc<CudaStream>,
    profiler: Profiler,
    /// How many layers are in the bucket that is full when the gradients of layer `l` are there; 0
    /// where none is.
    buckets: Vec<usize>,
    operation: ncclRedOp_t,
    /// A number that all ranks ask each other for.
    number: RefCell<Buffer>,
    /// Whether nothing is sent, for launches that only try what is captured next.
    silent: Cell<bool>,
}

impl Ranks {
    /// Takes a place among the ranks. `layers` are inputs and outputs of each layer, and a bucket is
    /// full with `bucket` bytes.
    pub(crate) fn new(
        communicator: Arc<Communicator>,
        compute: &Arc<CudaStream>,
        profiler: &Profiler,
        layers: &[[usize; 2]],
        bucket: usize,
        rules: &Rules,
    ) -> Result<Self> {
        let operation = if rules.averages { ncclRedOp_t::ncclAvg } else { ncclRedOp_t::ncclSum };
        Ok(Self {
            place: communicator.place(),
            communicator,
            compute: Arc::clone(compute),
            stream: compute.context().new_stream()?,
            profiler: profiler.clone(),
            buckets: buckets(layers, bucket),
            operation,
            number: RefCell::new(compute.alloc_zeros(1)?),
            silent: Cell::new(false),
        })
    }

    pub(crate) const fn place(&self) -> Rank {
        self.place
    }

    /// Does something without the others.
    pub(crate) fn silently<T>(&self, launch: impl FnOnce() -> T) -> T {
        self.silent.set(true);
        let done = launch();
        self.silent.set(false);
        done
    }

    // ANCHOR: reduce
    /// The gradients of layer `l`, the first of `layers`, have been put into the kernels' stream: sends
    /// them, where a bucket is full now.
    pub(crate) fn reduce(&self, l: usize, layers: &mut [Layer]) -> Result<()> {
        let bucket = &mut layers[..self.buckets[l]];
        if bucket.is_empty() || self.silent.get() {
            return Ok(());
        }
        // This stream waits for the kernels so far; the kernels wait for nothing.
        self.stream.join(&self.compute)?;
        let gradients = bucket.iter_mut().flat_map(|layer| [&mut layer.dw, &mut layer.db]);
        self.sum("all_reduce", self.operation, gradients)
    }

    /// Has the kernels wait for all that was sent.
    pub(crate) fn wait(&self) -> Result<()> {
        Ok(self.compute.join(&self.stream)?)
    }
    // ANCHOR_END: reduce

    /// The gradients of a share without samples: 0, which the others' are added to.
    pub(crate) fn nothing_to_add(&self, layers: &mut [Layer]) -> Result<()> {
        for l in (0..layers.len()).rev() {
            self.compute.memset_zeros(&mut layers[l].dw)?;
            self.compute.memset_zeros(&mut layers[l].db)?;
            self.reduce(l, &mut layers[l..])?;
        }
        self.wait()
    }

    // ANCHOR: sum
    /// Puts into the second stream: each of the buffers becomes the sum of those of all ranks. They
    /// are sent as one, which the group says.
    fn sum<'a>(
        &self,
        name: &'static str,
        operation: ncclRedOp_t,
        buffers: impl Iterator<Item = &'a mut Buffer>,
    ) -> Result<()> {
        let mut elements = 0;
        let place = |buffer: &'a mut Buffer| {
            let count = buffer.len();
            elements += count;
            let at = buffer.device_ptr_mut(&self.stream).0;
            (at as *mut c_void, count)
        };
        let places: Vec<_> = buffers.map(place).collect();
        let bytes = elements * size_of::<f32>();
        let stream = self.stream.cu_stream().cast();
        self.profiled(Work { operation: name, bytes, flops: 0 }, |comm| {
            result::group_start()?;
            let float = ncclDataType_t::ncclFloat32;
            // SAFETY: the buffers hold as many elements as they say, and live until the streams are
            // done: until `wait`, and then the kernels' stream frees them.
            let sent = places.iter().try_for_each(|&(at, count)| unsafe {
                result::all_reduce(at, at, count, float, operation, comm, stream).map(|_| ())
            });
            // A group that was begun has to be ended.
            let ended = result::group_end();
            sent.and(ended.map(|_| ()))
        })
    }
    // ANCHOR_END: sum

    /// Puts a call into the second stream, and writes it down.
    fn profiled(
        &self,
        work: Work,
        call: impl FnOnce(ncclComm_t) -> std::result::Result<(), NcclError>,
    ) -> Result<()> {
        let _range = self.profiler.range(work.operation);
        if !self.profiler.is_on() {
            return self.communicator.with(work.operation, call);
        }
        let event = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        self.communicator.with(work.operation, call)?;
        Ok(self.profiler.sent(work, (start, event()?))?)
    }

    /// The sum over all ranks of a number that stands in the kernels' stream.
    pub(crate) fn sum_of(&self, number: &mut Buffer) -> Result<()> {
        self.stream.join(&self.compute)?;
        self.sum("sum of losses", ncclRedOp_t::ncclSum, std::iter::once(number))?;
        self.wait()
    }

    /// Whether something holds on any rank; waits for the device.
    pub(crate) fn any(&self, here: bool) -> Result<bool> {
        let mut number = self.number.borrow_mut();
        self.compute.memcpy_htod(&[f32::from(u8::from(here))], &mut *number)?;
        self.stream.join(&self.compute)?;
        self.sum("any", ncclRedOp_t::ncclMax, std::iter::once(&mut *number))?;
        self.wait()?;
        let found = self.compute.clone_dtoh(&*number)?;
        self.compute.synchronize()?;
        self.check()?;
        Ok(found[0] != 0.0)
    }

    /// Fails when another rank is lost: then what was read may be anything.
    pub(crate) fn check(&self) -> Result<()> {
        self.communicator.with("ncclCommGetAsyncError", |_| Ok(()))
    }

    /// Sees that all ranks have the same terms, a line each.
    pub(crate) fn agree(&self, terms: &[String]) -> Result<()> {
        let text = terms.join("\n");
        let mut own = text.into_bytes();
        // Longer ones are not looked at to their ends.
        own.resize(TERMS, 0);
        let send = self.compute.clone_htod(&own)?;
        let mut all: CudaSlice<u8> = self.compute.alloc_zeros(TERMS * self.place.world_size)?;
        self.stream.join(&self.compute)?;
        let from = send.device_ptr(&self.stream).0 as *const c_void;
        let to = all.device_ptr_mut(&self.stream).0 as *mut c_void;
        let (byte, stream) = (ncclDataType_t::ncclUint8, self.stream.cu_stream().cast());
        // SAFETY: there are this many bytes, and of all ranks; both live until the stream is done.
        self.communicator.with("ncclAllGather", |comm| unsafe {
            result::all_gather(from, to, TERMS, byte, comm, stream).map(|_| ())
        })?;
        self.wait()?;
        let all = self.compute.clone_dtoh(&all)?;
        self.compute.synchronize()?;
        self.check()?;
        let all: Vec<String> = all
            .chunks_exact(TERMS)
            .map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
            .collect();
        difference(&all).map_or(Ok(()), |reason| Err(Error::Unlike(reason)))
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // The memory that ranks send from is given back in the other stream. When this can't be
        // waited for, nothing is left to do.
        let _ = self.stream.synchronize();
    }
}

// ANCHOR: buckets
/// How many layers are sent when the gradients of each layer are there: those from the last layer
/// on come first, and a bucket is full when it holds this many bytes.
fn buckets(layers: &[[usize; 2]], full: usize) -> Vec<usize> {
    let mut buckets = vec![0; layers.len()];
    let (mut bytes, mut waiting) = (0_usize, 0);
    for (l, &[inputs, outputs]) in layers.iter().enumerate().rev() {
        bytes = bytes.saturating_add(outputs * (inputs + 1) * size_of::<f32>());
        waiting += 1;
        if bytes >= full || l == 0 {
            buckets[l] = waiting;
            (bytes, waiting) = (0, 0);
        }
    }
    buckets
}
// ANCHOR_END: buckets

/// Which ranks were started otherwise than the first, and how.
fn difference(all: &[String]) -> Option<String> {
    let first: Vec<&str> = all[0].lines().collect();
    let (rank, other) = all.iter().enumerate().find(|(_, other)| **other != all[0])?;
    let other: Vec<&str> = other.lines().collect();
    let differs = (0..first.len().max(other.len())).find(|&i| first.get(i) != other.get(i))?;
    let of = |terms: &[&str]| terms.get(differs).copied().unwrap_or("nothing").to_owned();
    Some(format!("rank 0 has `{}`, and rank {rank} `{}`", of(&first), of(&other)))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use data::Epoch;
    use gpu::{Choice, Gpu};
    use profile::Profile;
    use training::dump::Inputs;
    use training::{Level, Preset};

    use super::*;
    use crate::{Level3, Setup};

    #[test]
    fn buckets_are_filled_from_the_last_layer_on() {
        let layers = [[784, 32], [32, 17], [17, 10]];
        // 100,480, 2,244 and 720 bytes.
        assert_eq!(buckets(&layers, 1), [1, 1, 1]);
        assert_eq!(buckets(&layers, 1024), [1, 2, 0]);
        assert_eq!(buckets(&layers, 4096), [3, 0, 0]);
        assert_eq!(buckets(&layers, usize::MAX), [3, 0, 0]);
    }

    /// The last layer's gradients are sent while the first one's are computed: these get ready on
    /// rank 0 although rank 1 has not sent anything yet, and only what comes behind them waits.
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
        let work = |level: &mut Level3| {
            let place = level.place();
            level.set_parameters(&inputs.parameters)?;
            let order = Epoch::in_order(inputs.set.len(), preset.batch_size, false);
            level.load(&place.share(&order.batch(&inputs.set, 0)), None)?;
            level.forward()?;
            if !place.is_first() {
                hears.lock().unwrap().recv().unwrap();
                return level.backward();
            }
            let stream = Arc::clone(level.on.stream());
            let dw = &mut level.state.layers[0].dw;
            stream.memcpy_htod(&vec![f32::NAN; dw.len()], dw).unwrap();
            stream.synchronize().unwrap();
            level.backward()?;
            let begun = Instant::now();
            let looker = stream.context().new_stream().unwrap();
            while looker.clone_dtoh(&level.state.layers[0].dw).unwrap().iter().any(|v| v.is_nan()) {
                assert!(begun.elapsed() < Duration::from_secs(60), "dw1 waits for the other rank");
            }
            // What is read in the kernels' stream would wait for all that was sent.
            says.lock().unwrap().send(()).unwrap();
            stream.synchronize().map_err(training::Error::level)
        };
        on_gpus(&gpu, 2, &make, &work).unwrap();
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let of = |texts: &[&str]| difference(&texts.map_to_strings());
        assert_eq!(of(&["a: 1\nb: 2", "a: 1\nb: 2"]), None);
        let said = of(&["a: 1\nb: 2", "a: 1\nb: 2", "a: 1\nb: 3"]).unwrap();
        assert_eq!(said, "rank 0 has `b: 2`, and rank 2 `b: 3`");
        assert!(of(&["a: 1", "a: 1\nc: 4"]).unwrap().contains("rank 0 has `nothing`"));
    }

    trait Strings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl Strings for [&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }
}
