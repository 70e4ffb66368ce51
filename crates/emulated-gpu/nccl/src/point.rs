//! Sends and receives between two ranks.
//!
//! All sends and receives of a group progress together, each as far as it can. So two ranks that
//! both send before they receive don't block each other.
//!
//! The counters of a mailbox are in memory that the other rank can write: each one is checked
//! before it is used to compute an address.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use emulated_blas::{Access, AccessRequester, words};

use crate::collective::WorkError;
use crate::communicator::Communicator;
use crate::element::DataType;
use crate::ffi::{Code, Error};
use crate::operation::{RECEIVE, SEND};
use crate::region::{MAILBOX_BYTES, Mailbox};

/// A send or a receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) sends: bool,
    pub(crate) peer: usize,
    pub(crate) address: u64,
    pub(crate) count: u64,
    pub(crate) data_type: DataType,
}

/// The progress of a transfer.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    begun: bool,
    moved: u64,
    done: bool,
}

impl Transfer {
    /// The name of the exported function that was called.
    pub(crate) fn name(&self) -> &'static str {
        if self.sends { "ncclSend" } else { "ncclRecv" }
    }

    fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.data_type.size() as u64)
    }

    fn access(&self) -> Access {
        let access = match self.sends {
            true => Access::read_bytes(self.address, self.bytes()),
            false => Access::write_bytes(self.address, self.bytes()),
        };
        access.aligned_to(self.data_type.size() as u64)
    }

    /// Moves as many bytes as possible; returns whether there was any progress.
    ///
    /// # Errors
    /// If the other rank sends something different, or has damaged the mailbox.
    ///
    /// # Safety
    /// The driver has granted the access that `access` describes.
    unsafe fn advance(&self, comm: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { if self.sends { self.send(comm, progress) } else { self.receive(comm, progress) } }
    }

    /// Publishes the transfer as this rank's current call.
    fn publish(&self, comm: &Communicator) {
        let call = &comm.membership.region.slot(comm.rank()).call;
        call.kind.store(if self.sends { SEND } else { RECEIVE }, Relaxed);
        call.data_type.store(self.data_type as u32, Relaxed);
        call.count.store(self.count, Relaxed);
        call.root.store(self.peer as u32, Relaxed);
    }

    fn mailbox<'a>(&self, comm: &'a Communicator) -> &'a Mailbox {
        let (rank, peer) = (comm.rank(), self.peer);
        let (from, to) = if self.sends { (rank, peer) } else { (peer, rank) };
        comm.membership.region.mailbox(from, to)
    }

    /// The number of bytes in the mailbox, and the total numbers of bytes that were put in and taken out.
    ///
    /// # Errors
    /// `ncclInternalError` if the other rank has damaged the counters.
    fn filled(&self, comm: &Communicator) -> Result<(u64, u64, u64), Error> {
        let mailbox = self.mailbox(comm);
        let (put, bytes_taken) =
            (mailbox.bytes_put.load(Acquire), mailbox.bytes_taken.load(Acquire));
        let filled = put.wrapping_sub(bytes_taken);
        if filled <= MAILBOX_BYTES as u64 {
            return Ok((filled, put, bytes_taken));
        }
        comm.membership.fail(Code::Internal, self.peer);
        Err(Error::new(
            Code::Internal,
            format!(
                "the memory shared with rank {} is damaged: {put} bytes were put into a mailbox, and \
                 {bytes_taken} bytes_taken out",
                self.peer
            ),
        ))
    }

    /// # Safety
    /// See `advance`.
    unsafe fn send(&self, comm: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        let (rank, peer, region) = (comm.rank(), self.peer, &comm.membership.region);
        let mailbox = self.mailbox(comm);
        let (filled, put, _) = self.filled(comm)?;
        if !progress.begun {
            // The previous message must be taken out first, because the mailbox can only describe one message.
            if filled != 0 {
                return Ok(false);
            }
            region
                .reserve_mailbox(rank, peer)
                .inspect_err(|_| comm.membership.fail(Code::System, rank))?;
            mailbox.count.store(self.count, Relaxed);
            mailbox.data_type.store(self.data_type as u32, Relaxed);
            mailbox.end.store(put.wrapping_add(self.bytes()), Relaxed);
            let number = comm.sent[peer].fetch_add(1, Relaxed) + 1;
            mailbox.messages.store(number, Release);
            progress.begun = true;
        }
        let room = MAILBOX_BYTES as u64 - filled;
        let len = room.min(self.bytes() - progress.moved) as usize;
        // SAFETY: the buffer is readable, as the caller promises; the free space belongs to this rank until `put`
        // changes.
        unsafe {
            let from = (self.address + progress.moved) as *const u8;
            for_each_part(put, len, |at, begin, len| {
                words::copy(region.mailbox_bytes(rank, peer).add(at), from.add(begin), len);
            });
        }
        mailbox.bytes_put.store(put.wrapping_add(len as u64), Release);
        Ok(progress.add(len, self.bytes()))
    }

    /// # Safety
    /// See `advance`.
    unsafe fn receive(&self, comm: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        let (rank, peer, region) = (comm.rank(), self.peer, &comm.membership.region);
        let mailbox = self.mailbox(comm);
        if !progress.begun {
            let number = comm.received[peer].load(Relaxed) + 1;
            if mailbox.messages.load(Acquire) < number {
                return Ok(false);
            }
            comm.received[peer].store(number, Relaxed);
            let (count, data_type) = (mailbox.count.load(Relaxed), mailbox.data_type.load(Relaxed));
            if (count, data_type) != (self.count, self.data_type as u32) {
                self.publish(comm);
                let theirs =
                    DataType::from_code(data_type as i32).map_or("another type", DataType::name);
                let why = format!(
                    "rank {peer} sends {count} elements of {theirs}, and rank {rank} receives {} of {}",
                    self.count,
                    self.data_type.name()
                );
                return Err(comm.membership.fail_mismatch(peer, why));
            }
            progress.begun = true;
        }
        let (filled, _, bytes_taken) = self.filled(comm)?;
        let len = filled.min(self.bytes() - progress.moved) as usize;
        // SAFETY: the buffer is writable, as the caller promises; the bytes stay in the mailbox until `taken` changes.
        unsafe {
            let to = (self.address + progress.moved) as *mut u8;
            for_each_part(bytes_taken, len, |at, begin, len| {
                words::copy(to.add(begin), region.mailbox_bytes(peer, rank).add(at), len);
            });
        }
        mailbox.bytes_taken.store(bytes_taken.wrapping_add(len as u64), Release);
        Ok(progress.add(len, self.bytes()))
    }

    /// Whether the transfer can progress. Also true if the counters are damaged, so that `advance` reports that.
    fn can_advance(&self, comm: &Communicator, progress: &Progress) -> bool {
        let mailbox = self.mailbox(comm);
        let filled =
            mailbox.bytes_put.load(Acquire).wrapping_sub(mailbox.bytes_taken.load(Acquire));
        match (self.sends, progress.begun) {
            (true, false) => filled == 0 || filled > MAILBOX_BYTES as u64,
            (true, true) => filled != MAILBOX_BYTES as u64,
            (false, false) => {
                mailbox.messages.load(Acquire) > comm.received[self.peer].load(Relaxed)
            }
            (false, true) => filled != 0,
        }
    }
}

impl Progress {
    /// Records that `len` more of the `all` bytes have moved; returns whether there was any progress.
    fn add(&mut self, len: usize, all: u64) -> bool {
        self.moved += len as u64;
        self.done = self.moved == all;
        len > 0 || self.done
    }
}

/// Splits a copy between a buffer and the mailbox, which is a ring buffer, into at most two parts, and calls `part`
/// with each. A part has an offset in the mailbox, an offset in the buffer, and a length.
fn for_each_part(in_mailbox: u64, len: usize, mut part: impl FnMut(usize, usize, usize)) {
    let at = (in_mailbox % MAILBOX_BYTES as u64) as usize;
    let first = len.min(MAILBOX_BYTES - at);
    for (at, begin, len) in [(at, 0, first), (0, first, len - first)] {
        if len > 0 {
            part(at, begin, len);
        }
    }
}

/// Runs sends and receives together.
///
/// # Errors
/// If access to memory is refused, or a rank sends data that doesn't match the receive, has ended or has failed.
pub(crate) fn run(
    all: &[Transfer],
    comm: &Communicator,
    requester: &AccessRequester,
) -> Result<(), WorkError> {
    let accesses: Vec<Access> =
        all.iter().map(Transfer::access).filter(|access| access.width > 0).collect();
    if let Err(refused) = requester.request(&accesses) {
        comm.membership.fail(Code::UnhandledCuda, comm.rank());
        return Err(refused.into());
    }
    announce(all, comm);
    let mut progress = vec![Progress::default(); all.len()];
    while progress.iter().any(|one| !one.done) {
        let mut moved = false;
        for index in 0..all.len() {
            let (sends, peer) = (all[index].sends, all[index].peer);
            // Transfers between the same two ranks run in the order of the calls.
            let waits = all[..index].iter().zip(&progress).any(|(before, progress)| {
                !progress.done && (before.sends, before.peer) == (sends, peer)
            });
            if !progress[index].done && !waits {
                // SAFETY: the driver has granted the accesses above.
                moved |= unsafe { all[index].advance(comm, &mut progress[index]) }?;
            }
        }
        if !moved {
            wait(all, &progress, comm)?;
        }
    }
    Ok(())
}

/// Publishes which messages this work will send and receive, so that `deadlock` can find ranks that
/// wait for each other.
fn announce(all: &[Transfer], comm: &Communicator) {
    if let Some(first) = all.first() {
        first.publish(comm);
    }
    for (index, one) in all.iter().enumerate() {
        let alike = |other: &&Transfer| (other.sends, other.peer) == (one.sends, one.peer);
        let number = all[..=index].iter().filter(alike).count() as u64;
        let (reach, done) = match one.sends {
            true => (&one.mailbox(comm).last_sent, &comm.sent[one.peer]),
            false => (&one.mailbox(comm).last_received, &comm.received[one.peer]),
        };
        reach.fetch_max(done.load(Relaxed) + number, Release);
    }
}

/// Waits until one of the transfers can progress.
fn wait(all: &[Transfer], progress: &[Progress], comm: &Communicator) -> Result<(), Error> {
    let open = || all.iter().zip(progress).filter(|(_, progress)| !progress.done);
    let stuck = open().find(|(one, progress)| !one.can_advance(comm, progress));
    if let Some((one, _)) = stuck {
        one.publish(comm);
    }
    comm.membership.wait(|| {
        if open().any(|(transfer, progress)| transfer.can_advance(comm, progress)) {
            return Vec::new();
        }
        let mut peers: Vec<usize> = open().map(|(transfer, _)| transfer.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        // This rank itself is left out: messages to itself were checked when its group ended.
        peers.retain(|peer| *peer != comm.rank());
        peers
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(in_mailbox: u64, len: usize) -> Vec<(usize, usize, usize)> {
        let mut list = Vec::new();
        for_each_part(in_mailbox, len, |at, begin, len| list.push((at, begin, len)));
        list
    }

    #[test]
    fn a_mailbox_is_a_ring_buffer() {
        let whole = MAILBOX_BYTES as u64;
        assert_eq!(parts(whole - 4, 10), [(MAILBOX_BYTES - 4, 0, 4), (0, 4, 6)]);
        assert_eq!(parts(3 * whole, 8), [(0, 0, 8)]);
        assert_eq!(parts(5, 0), []);
    }

    /// Damages the counters of a mailbox through which a single rank sends to itself.
    #[test]
    fn damaged_mailbox_counters_are_an_error() {
        let id = crate::id::UniqueId::new().unwrap();
        let comm = Communicator::join(&id, (1, 0), (0, 0)).unwrap();
        let (source, mut target) = (*b"12345678", [0_u8; 8]);
        let places = [target.as_mut_ptr() as u64, source.as_ptr() as u64];
        let transfer = |sends| Transfer {
            sends,
            peer: 0,
            address: places[usize::from(sends)],
            count: 8,
            data_type: DataType::Uint8,
        };
        let mailbox = comm.membership.region.mailbox(0, 0);
        for (put, bytes_taken) in [(0, 1), (u64::MAX, 5), (MAILBOX_BYTES as u64 + 1, 0)] {
            mailbox.bytes_put.store(put, Relaxed);
            mailbox.bytes_taken.store(bytes_taken, Relaxed);
            mailbox.messages.store(1, Relaxed);
            for sends in [true, false] {
                let mut progress = Progress { begun: true, ..Progress::default() };
                assert!(transfer(sends).can_advance(&comm, &progress));
                // SAFETY: the buffer has eight bytes, which are valid during the test.
                let error = unsafe { transfer(sends).advance(&comm, &mut progress) }.unwrap_err();
                assert!(error.why.contains("damaged"), "{}", error.why);
                assert_eq!(error.code, Code::Internal);
            }
        }
        // With these damaged counters, the difference wraps around.
        mailbox.bytes_put.store(u64::MAX, Relaxed);
        mailbox.bytes_taken.store(u64::MAX, Relaxed);
        let (mut sent, mut received) = (Progress::default(), Progress::default());
        // SAFETY: as above.
        unsafe {
            assert!(transfer(true).advance(&comm, &mut sent).unwrap() && sent.done);
            assert!(transfer(false).advance(&comm, &mut received).unwrap() && received.done);
        }
        assert_eq!(source, target);
        comm.release(false);
    }
}
