//! Operations of all ranks.
//!
//! A buffer is worked through in pieces. Of each, every rank shows its elements to the others, all
//! meet, and each takes what it needs; for a sum the piece is cut into segments, each rank adds up its
//! own, and all meet once more. So a rank moves about twice the bytes of its buffer, as along a ring.

use emulated_blas::{Access, Door, Refused, words};

use crate::communicator::Communicator;
use crate::ffi::{Error, Result, say};
use crate::meeting::Who;
use crate::operation::{Agreed, NcclCollective};
use crate::reduction::{Factor, Reduction, multiply};
use crate::region::PIECE;

/// Bytes that are copied at a time.
const BLOCK: usize = 1 << 13;

/// An operation of one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) agreed: Agreed,
    pub(crate) reduction: Reduction,
    pub(crate) send: u64,
    pub(crate) receive: u64,
}

/// Why work ends: the driver has refused memory, or the ranks did not come together.
#[derive(Debug)]
pub(crate) enum Ends {
    Refused(Refused),
    Failed(Error),
}

impl From<Refused> for Ends {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Error> for Ends {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Collective {
    /// Elements that this rank sends, and that it receives.
    pub(crate) fn counts(&self, ranks: usize, rank: usize) -> (u64, u64) {
        let Agreed { kind, count, root, .. } = self.agreed;
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

    /// Does it.
    ///
    /// # Errors
    /// When memory is refused, another rank does something else, is gone or has failed.
    pub(crate) fn run(
        &self,
        own: &Communicator,
        door: &Door,
        number: u64,
    ) -> std::result::Result<(), Ends> {
        let size = self.agreed.data_type.size() as u64;
        let (sends, receives) = self.counts(own.ranks(), own.rank());
        let bytes = |count: u64| count.saturating_mul(size);
        let mut accesses = vec![
            Access::read_bytes(self.send, bytes(sends)).aligned_to(size),
            Access::write_bytes(self.receive, bytes(receives)).aligned_to(size),
        ];
        if let Reduction::Scaled(Factor::At(address)) = self.reduction {
            accesses.push(Access::read_bytes(address, size).aligned_to(size));
        }
        accesses.retain(|access| access.width > 0);
        // The others are told, so that they don't wait.
        if let Err(refused) = door.admit(&accesses) {
            own.seat.fail(crate::ffi::Code::UnhandledCuda, own.rank());
            return Err(refused.into());
        }
        own.seat
            .region
            .reserve_pieces(own.rank())
            .inspect_err(|_| own.seat.fail(crate::ffi::Code::System, own.rank()))?;
        self.agree(own, number)?;
        // SAFETY: both buffers and the factor were admitted.
        unsafe {
            let factor = self.reduction.factor(self.agreed.data_type, own.ranks());
            match self.agreed.kind {
                NcclCollective::AllReduce | NcclCollective::Reduce => self.reduce(own, factor)?,
                NcclCollective::Broadcast => self.broadcast(own)?,
                NcclCollective::AllGather => self.gather(own)?,
                NcclCollective::ReduceScatter => self.scatter(own, factor)?,
            }
        }
        Ok(())
    }

    /// All ranks show what they are about to do, and look at the others.
    fn agree(&self, own: &Communicator, number: u64) -> Result {
        let region = &own.seat.region;
        self.agreed.show(&region.slot(own.rank()).call);
        own.seat.meet(Who::Work)?;
        for rank in 0..own.ranks() {
            if let Some(difference) = self.agreed.difference(&region.slot(rank).call) {
                let why = format!("rank {rank} {difference}, in operation {number} of both");
                return Err(own.seat.differs(rank, why));
            }
        }
        // Nobody goes on, and shows something else, before all have looked.
        own.seat.meet(Who::Work)
    }

    /// How many elements fit into a piece, `parts` times.
    fn most(&self, parts: usize) -> usize {
        (PIECE / self.agreed.data_type.size() / parts).max(1)
    }

    /// Copies bytes between device memory and memory of the ranks, multiplied by a factor if there is
    /// one.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for as many bytes.
    unsafe fn copy(&self, from: *const u8, to: *mut u8, bytes: usize, factor: Option<[u8; 8]>) {
        let Some(factor) = factor else {
            // SAFETY: the caller's promise.
            return unsafe { words::copy(to, from, bytes) };
        };
        let mut block = [0; BLOCK];
        for begin in (0..bytes).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(bytes - begin)];
            // SAFETY: the caller's promise.
            unsafe { words::read(from.add(begin), block) };
            multiply(self.agreed.data_type, block, factor);
            // SAFETY: as above.
            unsafe { words::write(to.add(begin), block) };
        }
    }

    fn sent(&self, element: usize) -> *const u8 {
        (self.send + (element * self.agreed.data_type.size()) as u64) as *const u8
    }

    fn received(&self, element: usize) -> *mut u8 {
        (self.receive + (element * self.agreed.data_type.size()) as u64) as *mut u8
    }

    /// # Safety
    /// The driver has admitted what this rank sends and receives.
    unsafe fn reduce(&self, own: &Communicator, factor: Option<[u8; 8]>) -> Result {
        let Agreed { kind, data_type, count, root, .. } = self.agreed;
        let (region, ranks, rank) = (&own.seat.region, own.ranks(), own.rank());
        let (size, count, most) = (data_type.size(), count as usize, self.most(1));
        let shown: Vec<*const u8> = (0..ranks).map(|r| region.offered(r).cast_const()).collect();
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            let each = len.div_ceil(ranks);
            let segment = |rank: usize| {
                let from = (each * rank).min(len);
                (from, (from + each).min(len) - from)
            };
            // SAFETY: the caller's promise; until the meeting nobody else looks at this rank's
            // piece, and after it nobody writes there before the next; each rank has its own result.
            unsafe {
                self.copy(self.sent(begin), region.offered(rank), len * size, factor);
                own.seat.meet(Who::Work)?;
                self.reduction.along(data_type, &shown, rank, segment(rank), region.result(rank));
                own.seat.meet(Who::Work)?;
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
        // The next operation begins with a meeting before anybody writes to a result.
        Ok(())
    }

    /// # Safety
    /// The driver has admitted what this rank sends and receives.
    unsafe fn broadcast(&self, own: &Communicator) -> Result {
        let Agreed { data_type, count, root, .. } = self.agreed;
        let region = &own.seat.region;
        let (size, count, most, root) =
            (data_type.size(), count as usize, self.most(1), root as usize);
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`.
            unsafe {
                if root == own.rank() {
                    self.copy(self.sent(begin), region.offered(root), len * size, None);
                }
                own.seat.meet(Who::Work)?;
                self.copy(region.offered(root), self.received(begin), len * size, None);
                own.seat.meet(Who::Work)?;
            }
            begin += len;
        }
        Ok(())
    }

    /// # Safety
    /// The driver has admitted what this rank sends and receives.
    unsafe fn gather(&self, own: &Communicator) -> Result {
        let Agreed { data_type, count, .. } = self.agreed;
        let region = &own.seat.region;
        let (size, count, most) = (data_type.size(), count as usize, self.most(1));
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`. Where what is sent lies inside of what is received, each piece
            // was shown before its place is written.
            unsafe {
                self.copy(self.sent(begin), region.offered(own.rank()), len * size, None);
                own.seat.meet(Who::Work)?;
                for rank in 0..own.ranks() {
                    let to = self.received(rank * count + begin);
                    self.copy(region.offered(rank), to, len * size, None);
                }
                own.seat.meet(Who::Work)?;
            }
            begin += len;
        }
        Ok(())
    }

    /// # Safety
    /// The driver has admitted what this rank sends and receives.
    unsafe fn scatter(&self, own: &Communicator, factor: Option<[u8; 8]>) -> Result {
        let Agreed { data_type, count, .. } = self.agreed;
        let (region, ranks) = (&own.seat.region, own.ranks());
        let (size, count, most) = (data_type.size(), count as usize, self.most(ranks));
        let shown: Vec<*const u8> = (0..ranks).map(|r| region.offered(r).cast_const()).collect();
        let mut begin = 0;
        while begin < count {
            let len = most.min(count - begin);
            // SAFETY: as in `reduce`; a piece has room for `len` elements of each rank.
            unsafe {
                let offered = region.offered(own.rank());
                for rank in 0..ranks {
                    let to = offered.add(rank * len * size);
                    self.copy(self.sent(rank * count + begin), to, len * size, factor);
                }
                own.seat.meet(Who::Work)?;
                let (from, to) = ((own.rank() * len, len), self.received(begin));
                self.reduction.along(data_type, &shown, own.rank(), from, to);
                own.seat.meet(Who::Work)?;
            }
            begin += len;
        }
        Ok(())
    }
}

/// Says why work has ended, once, and makes of it what the driver wants.
pub(crate) fn ended(
    own: &Communicator,
    name: &str,
    ends: Ends,
) -> std::result::Result<(), Refused> {
    match ends {
        Ends::Refused(refused) => Err(refused),
        // Who aborts wants it to end, and nothing more.
        Ends::Failed(_) if own.is_aborted() => Ok(()),
        Ends::Failed(error) => {
            own.fail(&error);
            say(&own.report(name, &error));
            // CUDA_ERROR_LAUNCH_FAILED
            Err(Refused::with(719))
        }
    }
}
