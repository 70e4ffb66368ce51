//! Groups of calls (`ncclGroupStart`): collecting the calls, and enqueuing their work on streams.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use emulated_blas::{RunWork, StreamHandle, StreamWork};

use crate::collective::{Collective, report_failure};
use crate::communicator::{Communicator, Handle};
use crate::driver::{self, Context};
use crate::ffi::{Error, Result};
use crate::id::UniqueId;
use crate::membership::back_off;
use crate::point::{self, Transfer};
use crate::split::split;

/// A call that enqueues work on a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupCall {
    Collective(Collective),
    Transfer(Transfer),
}

impl GroupCall {
    fn name(&self) -> &'static str {
        match self {
            Self::Collective(collective) => collective.parameters.kind.texts()[0],
            Self::Transfer(transfer) => transfer.name(),
        }
    }
}

/// A communicator to be created, and the pointer to which its handle is written.
pub(crate) struct NewCommunicator {
    pub(crate) creation: Creation,
    pub(crate) out: *mut Handle,
}

/// The arguments with which a communicator is created.
pub(crate) enum Creation {
    Join { id: UniqueId, ranks: (usize, usize), place: (Context, i32) },
    Split { whole: Arc<Communicator>, color: c_int, key: c_int },
}

impl Creation {
    /// Creates the communicator and returns its handle, or 0 if this rank belongs to no part of the
    /// split.
    fn run(&self) -> Result<Handle> {
        Ok(match self {
            Self::Join { id, ranks, place } => Communicator::join(id, *ranks, *place)?.handle,
            Self::Split { whole, color, key } => {
                split(whole, *color, *key)?.map_or(0, |part| part.handle)
            }
        })
    }
}

struct PendingCall {
    comm: Arc<Communicator>,
    stream: usize,
    call: GroupCall,
}

#[derive(Default)]
struct Group {
    depth: u32,
    communicators: Vec<NewCommunicator>,
    entries: Vec<PendingCall>,
    failed: Option<Error>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// `ncclGroupStart`
pub(crate) fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Ends a group (`ncclGroupEnd`). If it is the outermost group, starts all work that was called in
/// it.
///
/// # Errors
/// `ncclInvalidUsage` if no group was begun. Otherwise the first error of a call in the group, or
/// an error of starting the work.
pub(crate) fn end() -> Result {
    let group = GROUP.with_borrow_mut(|group| {
        let left = group.depth.checked_sub(1);
        group.depth = left.unwrap_or(0);
        match left {
            None => Err(Error::invalid_usage("ncclGroupEnd without ncclGroupStart")),
            Some(0) => Ok(Some(std::mem::take(group))),
            Some(_) => Ok(None),
        }
    })?;
    group.map_or(Ok(()), run)
}

/// Adds a call to the current group; outside a group, starts the call at once.
///
/// # Errors
/// The error of the call itself, which the end of the group returns again, and the errors of
/// [`end`].
fn add_to_group(part: impl FnOnce(&mut Group) -> Result) -> Result {
    start();
    let added = GROUP.with_borrow_mut(|group| {
        let added = part(group);
        if let Err(error) = &added {
            group.failed.get_or_insert_with(|| error.clone());
        }
        added
    });
    let ended = end();
    added.and(ended)
}

/// Adds the creation of communicators to the current group.
///
/// # Errors
/// See [`end`].
///
/// # Safety
/// Each `out` is writable until the group ends.
pub(crate) unsafe fn create(communicators: Vec<NewCommunicator>) -> Result {
    add_to_group(|group| {
        group.communicators.extend(communicators);
        Ok(())
    })
}

/// Adds work of one rank to the current group.
///
/// # Errors
/// The error of `call`, and those of [`end`].
pub(crate) fn add_call(
    comm: &Arc<Communicator>,
    stream: usize,
    call: impl FnOnce() -> Result<GroupCall>,
) -> Result {
    add_to_group(|group| {
        let entry = PendingCall { comm: Arc::clone(comm), stream, call: call()? };
        group.entries.push(entry);
        Ok(())
    })
}

fn run(group: Group) -> Result {
    if let Some(error) = group.failed {
        return Err(error);
    }
    create_communicators(&group.communicators)?;
    // All calls for one communicator are a single piece of work, whatever their streams: a send on
    // one stream may only be received after a receive on another.
    let mut pieces: Vec<GroupWork> = Vec::new();
    for PendingCall { comm, stream, call } in group.entries {
        match pieces.iter_mut().find(|piece| piece.comm.handle == comm.handle) {
            Some(piece) => piece.add(stream, call),
            None => pieces.push(GroupWork { comm, streams: vec![stream], list: vec![call] }),
        }
    }
    for piece in &pieces {
        check_self_transfers(&piece.comm, &piece.list)?;
    }
    pieces.into_iter().try_for_each(GroupWork::launch)
}

/// The calls of a group for one communicator, which run as one piece of work.
struct GroupWork {
    comm: Arc<Communicator>,
    /// The streams that the calls name, without duplicates.
    streams: Vec<usize>,
    list: Vec<GroupCall>,
}

impl GroupWork {
    fn add(&mut self, stream: usize, call: GroupCall) {
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
        self.list.push(call);
    }

    /// Enqueues the work on the first stream. As in NCCL, it waits for earlier work in the other
    /// streams, and later work in those streams waits for it.
    fn launch(self) -> Result {
        let Self { comm, streams, list } = self;
        let Some((&first, others)) = streams.split_first() else { return Ok(()) };
        driver::with_context(comm.context, || {
            others.iter().try_for_each(|other| driver::order_streams(*other, first))?;
            launch(&comm, first, list)?;
            others.iter().try_for_each(|other| driver::order_streams(first, *other))
        })
    }
}

/// Creates communicators, each in its own thread, because each one waits for the others.
fn create_communicators(communicators: &[NewCommunicator]) -> Result {
    let created: Vec<Result<Handle>> = match communicators {
        [one] => vec![one.creation.run()],
        _ => std::thread::scope(|scope| {
            let threads: Vec<_> = communicators
                .iter()
                .map(|start| {
                    let creation = &start.creation;
                    std::thread::Builder::new().spawn_scoped(scope, move || creation.run())
                })
                .collect();
            let joined = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
                let thread =
                    thread.map_err(|error| Error::system_error("starting a thread", &error))?;
                let panicked = || Error::new(crate::ffi::Code::Internal, "a thread panicked");
                thread.join().unwrap_or_else(|_| Err(panicked()))
            };
            threads.into_iter().map(joined).collect()
        }),
    };
    let mut first = Ok(());
    for (start, created) in communicators.iter().zip(created) {
        match created {
            // SAFETY: `out` is writable, as the caller of `create` promises.
            Ok(handle) => unsafe { start.out.write_unaligned(handle) },
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// Checks that each message that a rank sends to itself is received in the same group, because
/// otherwise it would never be received.
fn check_self_transfers(comm: &Communicator, list: &[GroupCall]) -> Result {
    let count = |sends: bool| {
        let is_self_transfer = |call: &&GroupCall| matches!(call, GroupCall::Transfer(one) if one.peer == comm.rank() && one.sends == sends);
        list.iter().filter(is_self_transfer).count()
    };
    let (sent, received) = (count(true), count(false));
    if sent == received {
        return Ok(());
    }
    Err(Error::invalid_usage(format!(
        "rank {} sends itself {sent} messages and receives {received} in one group: it would wait \
         forever",
        comm.rank()
    )))
}

/// Enqueues work on a stream of the current context.
fn launch(comm: &Arc<Communicator>, stream: usize, list: Vec<GroupCall>) -> Result {
    let name = if let [one] = &list[..] { one.name() } else { "ncclGroupEnd" };
    let driver = emulated_blas::driver()?;
    // Work in a captured graph gets no ticket, because it runs whenever the graph is launched.
    let captured = driver.is_capturing(StreamHandle(stream))?;
    let ticket = (!captured).then(|| comm.tickets.fetch_add(1, Relaxed));
    let done = Turn::new(comm, ticket);
    let run: RunWork = Box::new(move |requester| {
        let comm = &done.comm;
        let _turn = done.wait();
        let worked = comm.error().map_or(Ok(()), Err).map_err(Into::into);
        let worked = worked.and_then(|()| work(&list, comm, requester));
        worked.or_else(|error| report_failure(comm, name, error))
    });
    let work = StreamWork { name, accesses: Vec::new(), run };
    // SAFETY: `work` only touches device memory to which the requester has granted access.
    Ok(unsafe { work.launch(driver, StreamHandle(stream)) }?)
}

/// Runs the calls of a group: as in NCCL (`ncclLaunchPrepare`: "Drain coll tasks first"), first the
/// collectives in the order of the calls, then all sends and receives together. So in a group,
/// ranks may call collectives and sends in different orders.
fn work(
    list: &[GroupCall],
    comm: &Communicator,
    requester: &emulated_blas::AccessRequester,
) -> Result<(), crate::collective::WorkError> {
    let mut transfers = Vec::new();
    for call in list {
        match call {
            GroupCall::Transfer(transfer) => transfers.push(*transfer),
            GroupCall::Collective(collective) => {
                let number = comm.operations.fetch_add(1, Relaxed) + 1;
                collective.run(comm, requester, number)?;
            }
        }
    }
    point::run(&transfers, comm, requester)
}

/// A piece of work's position in the queue of its communicator. Dropping it releases the position,
/// also if the stream never runs the work.
struct Turn {
    comm: Arc<Communicator>,
    ticket: Option<u64>,
}

/// A guard that exists while it is this work's turn. Dropping it lets the next piece of work run.
struct TurnGuard<'turn> {
    _lock: std::sync::MutexGuard<'turn, ()>,
    turn: &'turn Turn,
}

impl Turn {
    fn new(comm: &Arc<Communicator>, ticket: Option<u64>) -> Self {
        comm.add_piece();
        Self { comm: Arc::clone(comm), ticket }
    }

    fn wait(&self) -> TurnGuard<'_> {
        if let Some(ticket) = self.ticket {
            let mut rounds = 0;
            while self.comm.done.load(Acquire) < ticket && !self.comm.is_aborted() {
                back_off(&mut rounds);
            }
        }
        let lock = self.comm.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        TurnGuard { _lock: lock, turn: self }
    }

    fn pass(&self) {
        if let Some(ticket) = self.ticket {
            self.comm.done.fetch_max(ticket + 1, Release);
        }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.turn.pass();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pass();
        self.comm.end_piece();
    }
}
