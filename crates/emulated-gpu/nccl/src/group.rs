//! Groups of calls, which begin together, and putting what they ask for into streams.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use emulated_blas::{Run, StreamHandle, Work};

use crate::collective::{Collective, ended};
use crate::communicator::{Communicator, Handle};
use crate::driver::{self, Context};
use crate::ffi::{Error, Result};
use crate::id::UniqueId;
use crate::meeting::rest;
use crate::point::{self, Transfer};
use crate::split::split;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Collective(Collective),
    Transfer(Transfer),
}

impl Asked {
    fn name(&self) -> &'static str {
        match self {
            Self::Collective(collective) => collective.agreed.kind.name(),
            Self::Transfer(transfer) => transfer.name(),
        }
    }
}

/// A communicator that is to be made, and the place of its handle.
pub(crate) struct Start {
    pub(crate) creation: Creation,
    pub(crate) out: *mut Handle,
}

/// From what it is made.
pub(crate) enum Creation {
    Join { id: UniqueId, ranks: (usize, usize), place: (Context, i32) },
    Split { whole: Arc<Communicator>, color: c_int, key: c_int },
}

impl Creation {
    /// Makes it: its handle, or 0 where the rank is in no part.
    fn run(&self) -> Result<Handle> {
        Ok(match self {
            Self::Join { id, ranks, place } => Communicator::join(id, *ranks, *place)?.handle,
            Self::Split { whole, color, key } => {
                split(whole, *color, *key)?.map_or(0, |part| part.handle)
            }
        })
    }
}

struct Entry {
    own: Arc<Communicator>,
    stream: usize,
    asked: Asked,
}

#[derive(Default)]
struct Group {
    depth: u32,
    starts: Vec<Start>,
    entries: Vec<Entry>,
    failed: Option<Error>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// `ncclGroupStart`
pub(crate) fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// `ncclGroupEnd`: the outermost one does what was asked for since.
///
/// # Errors
/// When no group was begun; the first error of a call in it; what can't be done.
pub(crate) fn end() -> Result {
    let group = GROUP.with_borrow_mut(|group| {
        let left = group.depth.checked_sub(1);
        group.depth = left.unwrap_or(0);
        match left {
            None => Err(Error::usage("ncclGroupEnd without ncclGroupStart")),
            Some(0) => Ok(Some(std::mem::take(group))),
            Some(_) => Ok(None),
        }
    })?;
    group.map_or(Ok(()), run)
}

/// A call's part, in a group of its own where none was begun.
///
/// # Errors
/// What the call finds wrong, which the end of the group tells again; and as of [`end`].
fn add(part: impl FnOnce(&mut Group) -> Result) -> Result {
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

/// Asks for communicators.
///
/// # Errors
/// As of [`end`].
///
/// # Safety
/// Each `out` is writable until the group ends.
pub(crate) unsafe fn begin(starts: Vec<Start>) -> Result {
    add(|group| {
        group.starts.extend(starts);
        Ok(())
    })
}

/// Asks for work of a rank's.
///
/// # Errors
/// What `asked` finds wrong, and as of [`end`].
pub(crate) fn ask(
    own: &Arc<Communicator>,
    stream: usize,
    asked: impl FnOnce() -> Result<Asked>,
) -> Result {
    add(|group| {
        let entry = Entry { own: Arc::clone(own), stream, asked: asked()? };
        group.entries.push(entry);
        Ok(())
    })
}

fn run(group: Group) -> Result {
    if let Some(error) = group.failed {
        return Err(error);
    }
    make(&group.starts)?;
    // What is asked of one communicator is one piece of work, in whatever streams: a send in one may be
    // received only after a receive in another.
    let mut pieces: Vec<Piece> = Vec::new();
    for Entry { own, stream, asked } in group.entries {
        match pieces.iter_mut().find(|piece| piece.own.handle == own.handle) {
            Some(piece) => piece.add(stream, asked),
            None => pieces.push(Piece { own, streams: vec![stream], list: vec![asked] }),
        }
    }
    for piece in &pieces {
        check_own_letters(&piece.own, &piece.list)?;
    }
    pieces.into_iter().try_for_each(Piece::launch)
}

/// What a group asks of one communicator.
struct Piece {
    own: Arc<Communicator>,
    /// The streams that were named, each once.
    streams: Vec<usize>,
    list: Vec<Asked>,
}

impl Piece {
    fn add(&mut self, stream: usize, asked: Asked) {
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
        self.list.push(asked);
    }

    /// Puts it into the first stream. It waits for what stands in the others, and they wait for it, as
    /// in NCCL.
    fn launch(self) -> Result {
        let Self { own, streams, list } = self;
        let Some((&first, others)) = streams.split_first() else { return Ok(()) };
        driver::within(own.context, || {
            others.iter().try_for_each(|other| driver::order(*other, first))?;
            launch(&own, first, list)?;
            others.iter().try_for_each(|other| driver::order(first, *other))
        })
    }
}

/// Makes communicators, all at once: each waits for the others.
fn make(starts: &[Start]) -> Result {
    let made: Vec<Result<Handle>> = match starts {
        [one] => vec![one.creation.run()],
        _ => std::thread::scope(|scope| {
            let threads: Vec<_> = starts
                .iter()
                .map(|start| {
                    let creation = &start.creation;
                    std::thread::Builder::new().spawn_scoped(scope, move || creation.run())
                })
                .collect();
            let joined = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
                let thread = thread.map_err(|error| Error::system("a thread", &error))?;
                let panicked = || Error::new(crate::ffi::Code::Internal, "a thread panicked");
                thread.join().unwrap_or_else(|_| Err(panicked()))
            };
            threads.into_iter().map(joined).collect()
        }),
    };
    let mut first = Ok(());
    for (start, made) in starts.iter().zip(made) {
        match made {
            // SAFETY: the promise of the caller of `begin`.
            Ok(handle) => unsafe { start.out.write_unaligned(handle) },
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// What a rank sends to itself it has to receive in the same group: nobody else will.
fn check_own_letters(own: &Communicator, list: &[Asked]) -> Result {
    let count = |sends: bool| {
        let own_letter = |asked: &&Asked| matches!(asked, Asked::Transfer(one) if one.peer == own.rank() && one.sends == sends);
        list.iter().filter(own_letter).count()
    };
    let (sent, received) = (count(true), count(false));
    if sent == received {
        return Ok(());
    }
    Err(Error::usage(format!(
        "rank {} sends itself {sent} messages and receives {received} in one group: it would wait for \
         ever",
        own.rank()
    )))
}

/// Puts work into a stream of the current context.
fn launch(own: &Arc<Communicator>, stream: usize, list: Vec<Asked>) -> Result {
    let name = if let [one] = &list[..] { one.name() } else { "ncclGroupEnd" };
    let driver = emulated_blas::driver()?;
    // A graph's work has no place among the calls: it runs when the graph does.
    let captured = driver.is_capturing(StreamHandle(stream))?;
    let ticket = (!captured).then(|| own.tickets.fetch_add(1, Relaxed));
    let done = Turn::new(own, ticket);
    let run: Run = Box::new(move |door| {
        let own = &done.own;
        let _turn = done.begin();
        let worked = own.error().map_or(Ok(()), Err).map_err(Into::into);
        let worked = worked.and_then(|()| work(&list, own, door));
        worked.or_else(|ends| ended(own, name, ends))
    });
    let work = Work { name, accesses: Vec::new(), run };
    // SAFETY: what is touched of device memory is asked of the door.
    Ok(unsafe { work.launch(driver, StreamHandle(stream)) }?)
}

/// Does what a group asks for: first the operations of all ranks in the order of the calls, then all
/// sends and receives together, as NCCL does (`ncclLaunchPrepare`: "Drain coll tasks first"). So ranks
/// may call for sends and operations in different orders in a group.
fn work(
    list: &[Asked],
    own: &Communicator,
    door: &emulated_blas::Door,
) -> std::result::Result<(), crate::collective::Ends> {
    let mut transfers = Vec::new();
    for asked in list {
        match asked {
            Asked::Transfer(transfer) => transfers.push(*transfer),
            Asked::Collective(collective) => {
                let number = own.operations.fetch_add(1, Relaxed) + 1;
                collective.run(own, door, number)?;
            }
        }
    }
    point::run(&transfers, own, door)
}

/// The place of a piece of work among those of its communicator. One whose stream never comes to it
/// gives its place up when it is dropped.
struct Turn {
    own: Arc<Communicator>,
    ticket: Option<u64>,
}

/// The turn, while it is this work's.
struct Held<'turn> {
    _lock: std::sync::MutexGuard<'turn, ()>,
    turn: &'turn Turn,
}

impl Turn {
    fn new(own: &Arc<Communicator>, ticket: Option<u64>) -> Self {
        own.add_piece();
        Self { own: Arc::clone(own), ticket }
    }

    fn begin(&self) -> Held<'_> {
        if let Some(ticket) = self.ticket {
            let mut rounds = 0;
            while self.own.done.load(Acquire) < ticket && !self.own.is_aborted() {
                rest(&mut rounds);
            }
        }
        let lock = self.own.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Held { _lock: lock, turn: self }
    }

    fn pass(&self) {
        if let Some(ticket) = self.ticket {
            self.own.done.fetch_max(ticket + 1, Release);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.turn.pass();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pass();
        self.own.end_piece();
    }
}
