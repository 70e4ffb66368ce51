//! Collective operations.
//!
//! A buffer is processed in pieces. For each piece, every rank copies its elements to shared memory, all ranks wait at
//! a barrier, and each rank reads the elements that it needs. For a sum, the piece is cut into segments, each rank adds
//! up its own segment, and all ranks wait at a second barrier. So a rank moves about twice the bytes of its buffer, as
//! in a ring algorithm.

use emulated_blas::{Access, AccessRequester, Refused, words};

use crate::communicator::Communicator;
use crate::ffi::{Error, Result, report};
use crate::membership::BarrierKind;
use crate::operation::{CollectiveParameters, NcclCollective};
use crate::reduction::{Factor, Reduction, multiply};
use crate::region::PIECE_BYTES;

/// The number of bytes that are multiplied by a factor at a time.
const BLOCK_BYTES: usize = 1 << 13;

/// A collective operation of one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) parameters: CollectiveParameters,
    pub(crate) reduction: Reduction,
    pub(crate) send: u64,
    pub(crate) receive: u64,
}

/// The reason why work ends early: the driver refused access to memory, or the ranks failed to cooperate.
#[derive(Debug)]
pub(crate) enum WorkError {
    Refused(Refused),
    Failed(Error),
}

impl From<Refused> for WorkError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Error> for WorkError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Collective {
    /// The number of elements that this rank sends, and the number that it receives.
    pub(crate) fn counts(&self, ranks: usize, rank: usize) -> (u64, u64) {
        let CollectiveParameters { kind, count, root, .. } = self.parameters;
        let is_root = root as usize == rank;
        let all = count.saturating_mul(ranks as u64);
        match kind {
            NcclCollective::AllReduce => (count, count),
            NcclCollective::Reduce => (count, if is_root { count } else { 0 }),
            NcclCollective::Broadcast => (if is_root { count } else { 0 }, count),
            NcclCollective::AllGather => (count, all),
            NcclCollective::ReduceScatter => (all, count),
        }
    }

    /// Runs the operation.
    ///
    /// # Errors
    /// If access to memory is refused, or another rank calls a different operation, has ended or has failed.
    pub(crate) fn run(
        &self,
        comm: &Communicator,
        requester: &AccessRequester,
        number: u64,
    ) -> Result<(), WorkError> {
        let size = self.parameters.data_type.size() as u64;
        let (sends, receives) = self.counts(comm.ranks(), comm.rank());
        let bytes = |count: u64| count.saturating_mul(size);
        let mut accesses = vec![
            Access::read_bytes(self.send, bytes(sends)).aligned_to(size),
            Access::write_bytes(self.receive, bytes(receives)).aligned_to(size),
        ];
        if let Reduction::Scaled(Factor::At(address)) = self.reduction {
            accesses.push(Access::read_bytes(address, size).aligned_to(size));
        }
        accesses.retain(|access| access.width > 0);
        // On a refusal, the communicator fails for all ranks, so that the others don't wait.
        if let Err(refused) = requester.request(&accesses) {
            comm.membership.fail(crate::ffi::Code::UnhandledCuda, comm.rank());
            return Err(refused.into());
        }
        comm.membership
            .region
            .reserve_pieces(comm.rank())
            .inspect_err(|_| comm.membership.fail(crate::ffi::Code::System, comm.rank()))?;
        self.compare_calls(comm, number)?;
        // SAFETY: access to both buffers and the factor was granted.
        unsafe {
            let factor = self.reduction.factor(self.parameters.data_type, comm.ranks());
            match self.parameters.kind {
                NcclCollective::AllReduce | NcclCollective::Reduce => self.reduce(comm, factor)?,
                NcclCollective::Broadcast => self.broadcast(comm)?,
                NcclCollective::AllGather => self.gather(comm)?,
                NcclCollective::ReduceScatter => self.scatter(comm, factor)?,
            }
        }
        Ok(())
    }

    /// Publishes this rank's call, and compares it with the calls of the other ranks.
    fn compare_calls(&self, comm: &Communicator, number: u64) -> Result {
        let region = &comm.membership.region;
        self.parameters.publish(&region.slot(comm.rank()).call);
        comm.membership.barrier(BarrierKind::Work)?;
        for rank in 0..comm.ranks() {
            if let Some(difference) = self.parameters.difference(&region.slot(rank).call) {
                let why = format!("rank {rank} {difference}, in operation {number} of both");
                return Err(comm.membership.fail_mismatch(rank, why));
            }
        }
        // No rank may publish its next call before all ranks have compared this one.
        comm.membership.barrier(BarrierKind::Work)
    }

    /// The number of elements that fit into a piece for each of `parts` equal parts.
    fn max_elements(&self, parts: usize) -> usize {
        (PIECE_BYTES / self.parameters.data_type.size() / parts).max(1)
    }

    /// Copies elements between device memory and the memory shared by all ranks. If there is a factor, each element is
    /// multiplied by it.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes` bytes.
    unsafe fn copy(&self, from: *const u8, to: *mut u8, bytes: usize, factor: Option<[u8; 8]>) {
        let Some(factor) = factor else {
            // SAFETY: guaranteed by the caller.
            return unsafe { words::copy(to, from, bytes) };
        };
        let mut block = [0; BLOCK_BYTES];
        for begin in (0..bytes).step_by(BLOCK_BYTES) {
            let block = &mut block[..BLOCK_BYTES.min(bytes - begin)];
            // SAFETY: guaranteed by the caller.
            unsafe { words::read(from.add(begin), block) };
            multiply(self.parameters.data_type, block, factor);
            // SAFETY: as above.
            unsafe { words::write(to.add(begin), block) };
        }
    }

    fn sent(&self, element: usize) -> *const u8 {
        (self.send + (element * self.parameters.data_type.size()) as u64) as *const u8
    }

    fn received(&self, element: usize) -> *mut u8 {
        (self.receive + (element * self.parameters.data_type.size()) as u64) as *mut u8
    }

    /// # Safety
    /// The driver has granted access to the buffers of this rank.
    unsafe fn reduce(&self, comm: &Communicator, factor: Option<[u8; 8]>) -> Result {
        let CollectiveParameters { kind, data_type, count, root, .. } = self.parameters;
        let (region, ranks, rank) = (&comm.membership.region, comm.ranks(), comm.rank());
        let (size, count, most) = (data_type.size(), count as usize, self.max_elements(1));
        let published: Vec<*const u8> =
            (0..ranks).map(|r| region.offered_elements(r).cast_const()).collect();
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            let each = len.div_ceil(ranks);
            let segment = |rank: usize| {
                let from = (each * rank).min(len);
                (from, (from + each).min(len) - from)
            };
            // SAFETY: access is granted, as the caller promises. Until the first barrier, no other rank reads the piece
            // that this rank offers. From the first to the second barrier, no rank writes to an offered piece. Ranks
            // write to results only in that interval, each to its own.
            unsafe {
                self.copy(self.sent(begin), region.offered_elements(rank), len * size, factor);
                comm.membership.barrier(BarrierKind::Work)?;
                self.reduction.reduce_ring(
                    data_type,
                    &published,
                    rank,
                    segment(rank),
                    region.result(rank),
                );
                comm.membership.barrier(BarrierKind::Work)?;
                if kind == NcclCollective::AllReduce || root as usize == rank {
                    for other in 0..ranks {
                        let (from, len) = segment(other);
                        let to = self.received(begin + from);
                        self.copy(region.result(other), to, len * size, None);
                    }
                }
            }
            begin += len;
        }
        // No barrier is needed here, because the next operation begins with one before any rank writes to a result.
        Ok(())
    }

    /// # Safety
    /// The driver has granted access to the buffers of this rank.
    unsafe fn broadcast(&self, comm: &Communicator) -> Result {
        let CollectiveParameters { data_type, count, root, .. } = self.parameters;
        let region = &comm.membership.region;
        let (size, count, most, root) =
            (data_type.size(), count as usize, self.max_elements(1), root as usize);
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`.
            unsafe {
                if root == comm.rank() {
                    self.copy(self.sent(begin), region.offered_elements(root), len * size, None);
                }
                comm.membership.barrier(BarrierKind::Work)?;
                self.copy(region.offered_elements(root), self.received(begin), len * size, None);
                comm.membership.barrier(BarrierKind::Work)?;
            }
            begin += len;
        }
        Ok(())
    }

    /// # Safety
    /// The driver has granted access to the buffers of this rank.
    unsafe fn gather(&self, comm: &Communicator) -> Result {
        let CollectiveParameters { data_type, count, .. } = self.parameters;
        let region = &comm.membership.region;
        let (size, count, most) = (data_type.size(), count as usize, self.max_elements(1));
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`. If the send buffer is inside the receive buffer, each piece
            // is copied before its place is written.
            unsafe {
                self.copy(self.sent(begin), region.offered_elements(comm.rank()), len * size, None);
                comm.membership.barrier(BarrierKind::Work)?;
                for rank in 0..comm.ranks() {
                    let to = self.received(rank * count + begin);
                    self.copy(region.offered_elements(rank), to, len * size, None);
                }
                comm.membership.barrier(BarrierKind::Work)?;
            }
            begin += len;
        }
        Ok(())
    }

    /// # Safety
    /// The driver has granted access to the buffers of this rank.
    unsafe fn scatter(&self, comm: &Communicator, factor: Option<[u8; 8]>) -> Result {
        let CollectiveParameters { data_type, count, .. } = self.parameters;
        let (region, ranks) = (&comm.membership.region, comm.ranks());
        let (size, count, most) = (data_type.size(), count as usize, self.max_elements(ranks));
        let published: Vec<*const u8> =
            (0..ranks).map(|r| region.offered_elements(r).cast_const()).collect();
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`; a piece has space for `len` elements of each rank.
            unsafe {
                let offered = region.offered_elements(comm.rank());
                for rank in 0..ranks {
                    let to = offered.add(rank * len * size);
                    self.copy(self.sent(rank * count + begin), to, len * size, factor);
                }
                comm.membership.barrier(BarrierKind::Work)?;
                let (from, to) = ((comm.rank() * len, len), self.received(begin));
                self.reduction.reduce_ring(data_type, &published, comm.rank(), from, to);
                comm.membership.barrier(BarrierKind::Work)?;
            }
            begin += len;
        }
        Ok(())
    }
}

/// Reports, once, why work has ended early, and returns the error for the driver.
pub(crate) fn report_failure(
    comm: &Communicator,
    name: &str,
    error: WorkError,
) -> Result<(), Refused> {
    match error {
        WorkError::Refused(refused) => Err(refused),
        // After an abort, work is meant to end, so ending early is not an error.
        WorkError::Failed(_) if comm.is_aborted() => Ok(()),
        WorkError::Failed(error) => {
            comm.fail(&error);
            report(&comm.describe_error(name, &error));
            // CUDA_ERROR_LAUNCH_FAILED
            Err(Refused::with_code(719))
        }
    }
}
