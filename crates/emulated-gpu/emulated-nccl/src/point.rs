//! From one rank to another.
//!
//! Sends and receives of a group go on together, as far as each can: a rank that sends before it
//! receives doesn't wait for one that does the same.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use emulated_blas::{Access, Door};

use crate::collective::Ends;
use crate::communicator::Communicator;
use crate::element::DataType;
use crate::ffi::{Code, Error};
use crate::region::MAILBOX;

/// A send or a receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) sends: bool,
    pub(crate) peer: usize,
    pub(crate) address: u64,
    pub(crate) count: u64,
    pub(crate) data_type: DataType,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    begun: bool,
    moved: u64,
    done: bool,
}

impl Transfer {
    /// The exported function.
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

    /// Goes as far as it can: whether something moved.
    fn go_on(&self, own: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        if self.sends { self.send(own, progress) } else { self.receive(own, progress) }
    }

    fn send(&self, own: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        let (rank, peer) = (own.rank(), self.peer);
        let mailbox = own.seat.region.mailbox(rank, peer);
        let (put, taken) = (mailbox.put.load(Relaxed), mailbox.taken.load(Acquire));
        if !progress.begun {
            // What was sent before has to be taken out first: a message has one description.
            if put != taken {
                return Ok(false);
            }
            mailbox.count.store(self.count, Relaxed);
            mailbox.data_type.store(self.data_type as u32, Relaxed);
            let number = own.sent[peer].fetch_add(1, Relaxed) + 1;
            mailbox.messages.store(number, Release);
            progress.begun = true;
        }
        let room = MAILBOX as u64 - (put - taken);
        let len = room.min(self.bytes() - progress.moved) as usize;
        let letters = own.seat.region.letters(rank, peer);
        for (at, from, len) in parts(put, progress.moved, len) {
            // SAFETY: the bytes were admitted; the room is this rank's until `put` says otherwise.
            unsafe {
                let from = (self.address + from) as *const u8;
                std::ptr::copy_nonoverlapping(from, letters.add(at), len);
            }
        }
        mailbox.put.store(put + len as u64, Release);
        progress.moved += len as u64;
        progress.done = progress.moved == self.bytes();
        Ok(len > 0 || progress.done)
    }

    fn receive(&self, own: &Communicator, progress: &mut Progress) -> Result<bool, Error> {
        let (rank, peer) = (own.rank(), self.peer);
        let mailbox = own.seat.region.mailbox(peer, rank);
        if !progress.begun {
            let number = own.received[peer].load(Relaxed) + 1;
            if mailbox.messages.load(Acquire) < number {
                return Ok(false);
            }
            own.received[peer].store(number, Relaxed);
            let (count, data_type) = (mailbox.count.load(Relaxed), mailbox.data_type.load(Relaxed));
            if (count, data_type) != (self.count, self.data_type as u32) {
                own.seat.fail(Code::InvalidUsage, rank);
                let theirs = DataType::of(data_type as i32).map_or("another type", DataType::name);
                return Err(Error::usage(format!(
                    "rank {peer} sends {count} elements of {theirs}, and rank {rank} receives {} of {}",
                    self.count,
                    self.data_type.name()
                )));
            }
            progress.begun = true;
        }
        let (put, taken) = (mailbox.put.load(Acquire), mailbox.taken.load(Relaxed));
        let len = (put - taken).min(self.bytes() - progress.moved) as usize;
        let letters = own.seat.region.letters(peer, rank);
        for (at, to, len) in parts(taken, progress.moved, len) {
            // SAFETY: the bytes were admitted; what was put in stays until `taken` says otherwise.
            unsafe {
                let to = (self.address + to) as *mut u8;
                std::ptr::copy_nonoverlapping(letters.add(at), to, len);
            }
        }
        mailbox.taken.store(taken + len as u64, Release);
        progress.moved += len as u64;
        progress.done = progress.moved == self.bytes();
        Ok(len > 0 || progress.done)
    }
}

/// Bytes of a mailbox, which goes round, and of a buffer: at most two pieces.
fn parts(in_mailbox: u64, in_buffer: u64, len: usize) -> impl Iterator<Item = (usize, u64, usize)> {
    let at = (in_mailbox % MAILBOX as u64) as usize;
    let first = len.min(MAILBOX - at);
    [(at, in_buffer, first), (0, in_buffer + first as u64, len - first)]
        .into_iter()
        .filter(|part| part.2 > 0)
}

/// Does sends and receives together.
///
/// # Errors
/// When memory is refused, or a rank sends something else than is received, is gone or has failed.
pub(crate) fn run(all: &[Transfer], own: &Communicator, door: &Door) -> Result<(), Ends> {
    let accesses: Vec<Access> =
        all.iter().map(Transfer::access).filter(|access| access.width > 0).collect();
    if let Err(refused) = door.admit(&accesses) {
        own.seat.fail(Code::UnhandledCuda, own.rank());
        return Err(refused.into());
    }
    let mut progress = vec![Progress::default(); all.len()];
    while progress.iter().any(|one| !one.done) {
        let mut moved = false;
        for index in 0..all.len() {
            let (sends, peer) = (all[index].sends, all[index].peer);
            // Between two ranks, in the order of the calls.
            let waits = all[..index].iter().zip(&progress).any(|(before, progress)| {
                !progress.done && (before.sends, before.peer) == (sends, peer)
            });
            if !progress[index].done && !waits {
                moved |= all[index].go_on(own, &mut progress[index])?;
            }
        }
        if !moved {
            wait(all, &progress, own)?;
        }
    }
    Ok(())
}

/// Waits until one of the transfers can go on.
fn wait(all: &[Transfer], progress: &[Progress], own: &Communicator) -> Result<(), Error> {
    let region = &own.seat.region;
    let counts = |transfer: &Transfer| {
        let (from, to) =
            if transfer.sends { (own.rank(), transfer.peer) } else { (transfer.peer, own.rank()) };
        let mailbox = region.mailbox(from, to);
        (mailbox.messages.load(Acquire), mailbox.put.load(Acquire), mailbox.taken.load(Acquire))
    };
    let open = || all.iter().zip(progress).filter(|(_, progress)| !progress.done);
    let can_go = |transfer: &Transfer, progress: &Progress| {
        let (messages, put, taken) = counts(transfer);
        match (transfer.sends, progress.begun) {
            (true, false) => put == taken,
            (true, true) => put - taken < MAILBOX as u64,
            (false, false) => messages > own.received[transfer.peer].load(Relaxed),
            (false, true) => put > taken,
        }
    };
    own.seat.wait(|| {
        if open().any(|(transfer, progress)| can_go(transfer, progress)) {
            return Vec::new();
        }
        let mut peers: Vec<usize> = open().map(|(transfer, _)| transfer.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        peers.retain(|peer| *peer != own.rank());
        // A rank that waits for itself alone waits for ever; the group is looked at before.
        peers
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_goes_round() {
        let whole = MAILBOX as u64;
        assert_eq!(
            parts(whole - 4, 100, 10).collect::<Vec<_>>(),
            [(MAILBOX - 4, 100, 4), (0, 104, 6)]
        );
        assert_eq!(parts(3 * whole, 0, 8).collect::<Vec<_>>(), [(0, 0, 8)]);
        assert_eq!(parts(5, 0, 0).count(), 0);
    }
}
