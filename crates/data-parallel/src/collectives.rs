//! The collectives: all-reduces of gradients, in buckets that are sent while the backward pass goes on, and
//! reductions of a single number.
#![allow(unsafe_code, reason = "NCCL is a C library")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use cudarc::nccl::result::{self, NcclError};
use cudarc::nccl::sys::{ncclComm_t, ncclDataType_t, ncclRedOp_t};
use gpu::{Buffer, Launcher, Layer, Work};

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::rank::Rank;
use crate::{Reduction, terms};

/// The number of bytes of settings that [`Collectives::require_equal_terms`] exchanges per rank.
const TERMS_BYTES: usize = 4096;

/// One rank's collectives.
pub(crate) struct Collectives {
    place: Rank,
    communicator: Arc<Communicator>,
    /// The kernels' stream.
    compute: Launcher,
    /// The second stream, which runs the collectives.
    stream: Arc<CudaStream>,
    /// For each layer, the number of layers in the bucket that this layer's gradients complete; 0 if they complete no
    /// bucket.
    buckets: Vec<usize>,
    operation: ncclRedOp_t,
    /// A buffer of one element, for reductions of a single number.
    number: RefCell<Buffer>,
}

impl Collectives {
    /// Prepares the collectives of one rank. `layers` has the numbers of inputs and outputs of each layer.
    pub(crate) fn new(
        communicator: Arc<Communicator>,
        compute: Launcher,
        layers: &[[usize; 2]],
        reduction: Reduction,
    ) -> Result<Self> {
        let operation =
            if reduction.averages { ncclRedOp_t::ncclAvg } else { ncclRedOp_t::ncclSum };
        Ok(Self {
            place: communicator.place(),
            communicator,
            stream: compute.stream.context().new_stream()?,
            buckets: buckets(layers, reduction.bucket),
            operation,
            number: RefCell::new(compute.stream.alloc_zeros(1)?),
            compute,
        })
    }

    pub(crate) const fn place(&self) -> Rank {
        self.place
    }

    // ANCHOR: reduce
    /// Sends the bucket if layer `l`, the first of `layers`, completes it. Called once the kernels
    /// that compute this layer's gradients are in the stream. After layer 0, makes the kernels that
    /// follow wait for all buckets.
    pub(crate) fn reduce(&self, l: usize, layers: &mut [Layer]) -> Result<()> {
        let bucket = &mut layers[..self.buckets[l]];
        if bucket.is_empty() {
            return Ok(());
        }
        // The collectives' stream waits for the kernels enqueued so far; the
        // kernels' stream doesn't wait.
        self.stream.join(&self.compute.stream)?;
        let gradients = bucket.iter_mut().flat_map(|layer| [&mut layer.dw, &mut layer.db]);
        self.sum("all_reduce", self.operation, gradients)?;
        if l == 0 { self.wait() } else { Ok(()) }
    }

    /// Makes the kernels' stream wait for everything that was sent.
    fn wait(&self) -> Result<()> {
        Ok(self.compute.stream.join(&self.stream)?)
    }
    // ANCHOR_END: reduce

    /// Takes part in the all-reduce with zeros as gradients, for a rank whose share is empty.
    pub(crate) fn reduce_nothing(&self, layers: &mut [Layer]) -> Result<()> {
        for l in (0..layers.len()).rev() {
            self.compute.stream.memset_zeros(&mut layers[l].dw)?;
            self.compute.stream.memset_zeros(&mut layers[l].db)?;
            self.reduce(l, &mut layers[l..])?;
        }
        Ok(())
    }

    // ANCHOR: sum
    /// Enqueues an all-reduce of every buffer on the second stream, as one NCCL group.
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
            // SAFETY: each buffer has `count` elements. It lives until the collective is done: `wait` makes
            // the kernels' stream wait for it, and that stream frees the buffer.
            let sent = places.iter().try_for_each(|&(at, count)| unsafe {
                result::all_reduce(at, at, count, float, operation, comm, stream).map(|_| ())
            });
            // The group has to be ended even if a call in it failed.
            let ended = result::group_end();
            sent.and(ended.map(|_| ()))
        })
    }
    // ANCHOR_END: sum

    /// Makes a call that enqueues work on the second stream, and records it in the profile.
    fn profiled(
        &self,
        work: Work,
        call: impl FnOnce(ncclComm_t) -> std::result::Result<(), NcclError>,
    ) -> Result<()> {
        let profiler = &self.compute.profiler;
        let _range = profiler.range(work.operation);
        if !profiler.is_on() {
            return self.communicator.call(work.operation, call);
        }
        let event = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        self.communicator.call(work.operation, call)?;
        Ok(profiler.sent(work, (start, event()?))?)
    }

    /// Sums a number on the device over all ranks. A rank whose share is empty passes `None`, which counts as 0.
    pub(crate) fn sum_of(&self, number: Option<&mut Buffer>) -> Result<f32> {
        let mut own = self.number.borrow_mut();
        let number = match number {
            Some(number) => number,
            None => {
                self.compute.stream.memset_zeros(&mut *own)?;
                &mut *own
            }
        };
        self.stream.join(&self.compute.stream)?;
        self.sum("sum of losses", ncclRedOp_t::ncclSum, std::iter::once(&mut *number))?;
        self.wait()?;
        let sum = self.compute.read(&number.as_view(), 1)?[0];
        self.check()?;
        Ok(sum)
    }

    /// The maximum over all ranks of the number `here`; waits for the device.
    pub(crate) fn largest(&self, here: f32) -> Result<f32> {
        let (mut number, compute) = (self.number.borrow_mut(), &self.compute.stream);
        compute.memcpy_htod(&[here], &mut *number)?;
        self.stream.join(compute)?;
        self.sum("any", ncclRedOp_t::ncclMax, std::iter::once(&mut *number))?;
        self.wait()?;
        let found = compute.clone_dtoh(&*number)?;
        compute.synchronize()?;
        self.check()?;
        Ok(found[0])
    }

    /// Fails if another rank is lost, because then the result of a collective is undefined.
    fn check(&self) -> Result<()> {
        self.communicator.call("ncclCommGetAsyncError", |_| Ok(()))
    }

    /// Checks that all ranks have the same settings. `terms` has a line for each setting.
    ///
    /// # Errors
    /// [`Error::Unlike`] with the first setting that differs.
    pub(crate) fn require_equal_terms(&self, terms: &[String]) -> Result<()> {
        let compute = &self.compute.stream;
        let mut own = terms.join("\n").into_bytes();
        // Settings that are longer than the limit are cut off, so the rest is not compared.
        own.resize(TERMS_BYTES, 0);
        let send = compute.clone_htod(&own)?;
        let mut all: CudaSlice<u8> = compute.alloc_zeros(TERMS_BYTES * self.place.world_size)?;
        self.stream.join(compute)?;
        let from = send.device_ptr(&self.stream).0 as *const c_void;
        let to = all.device_ptr_mut(&self.stream).0 as *mut c_void;
        let (byte, stream) = (ncclDataType_t::ncclUint8, self.stream.cu_stream().cast());
        // SAFETY: `from` has TERMS_BYTES bytes and `to` as many for each rank; both live until the stream is done.
        self.communicator.call("ncclAllGather", |comm| unsafe {
            result::all_gather(from, to, TERMS_BYTES, byte, comm, stream).map(|_| ())
        })?;
        self.wait()?;
        let all = compute.clone_dtoh(&all)?;
        compute.synchronize()?;
        self.check()?;
        let all: Vec<String> = all
            .chunks_exact(TERMS_BYTES)
            .map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
            .collect();
        terms::difference(&all).map_or(Ok(()), |reason| Err(Error::Unlike(reason)))
    }
}

impl Drop for Collectives {
    fn drop(&mut self) {
        // The collectives have to finish before the kernels' stream frees the buffers. Failures are ignored, because
        // `drop` can't report them.
        let _ = self.stream.synchronize();
    }
}

// ANCHOR: buckets
/// For each layer, the number of layers that are sent together once its gradients are finished.
/// Buckets are filled from the last layer on, and are full with `full` bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_filled_from_the_last_layer_on() {
        let layers = [[784, 32], [32, 17], [17, 10]];
        // The gradients of the three layers have 100,480, 2,244 and 720 bytes.
        assert_eq!(buckets(&layers, 1), [1, 1, 1]);
        assert_eq!(buckets(&layers, 1024), [1, 2, 0]);
        assert_eq!(buckets(&layers, 4096), [3, 0, 0]);
        assert_eq!(buckets(&layers, usize::MAX), [3, 0, 0]);
    }
}
