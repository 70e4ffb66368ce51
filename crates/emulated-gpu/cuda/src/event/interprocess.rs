//! The shared state of an interprocess event: the number of times that it was recorded, and the number of records that
//! were reached.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ptx_emulator::memory::{SharedMemory, SharedNumbers};

use crate::abi::error::{Code, Error, Result};

/// The shortest and the longest interval of polling another process's work; processes can't wake each other's
/// threads.
const MIN_POLL_INTERVAL: Duration = Duration::from_micros(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The interval of checking whether the other process still runs.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(200);

/// The indices of the shared numbers.
#[derive(Clone, Copy)]
enum Number {
    /// The last ticket that was drawn. Each record of the event has a ticket.
    Drawn,
    /// The ticket of the last record.
    Recorded,
    /// The newest ticket that a stream's work has reached.
    Passed,
    /// The process that recorded last, encoded by [`process_mark`].
    Process,
}

/// An exclusive upper bound of process ids on Linux (`PID_MAX_LIMIT`).
const MAX_PROCESSES: u32 = 1 << 22;

/// A number that identifies a process: its id in the low bits and, because ids are reused, a part of its start time in
/// the high bits.
fn process_mark(process: u32, start_time: Option<u32>) -> u32 {
    (process % MAX_PROCESSES) | (start_time.unwrap_or(0) << MAX_PROCESSES.trailing_zeros())
}

/// The fields of `/proc/PID/stat` after the process name (proc(5)), if the process exists.
fn stat(process: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// The start time of a process in clock ticks after boot: field 22, which is the 20th after the name.
fn start_time(stat: Vec<String>) -> u32 {
    stat.get(19).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0) as u32
}

/// Whether the marked process still runs. A killed process remains as a zombie until its parent collects the exit
/// status. A process whose first thread has exited has the same state, but still has other threads.
fn is_running(mark: u32) -> bool {
    let process = mark % MAX_PROCESSES;
    let Some(stat) = stat(process) else { return false };
    let is_zombie = matches!(stat.first().map(String::as_str), Some("Z" | "X" | "x"));
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    process_mark(process, Some(start_time(stat))) == mark && (!is_zombie || threads() > 1)
}

/// An event that several processes share.
#[derive(Debug)]
pub(crate) struct SharedEvent(SharedNumbers);

impl SharedEvent {
    /// An event that was never recorded.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the system allows no (further) memory file.
    pub(crate) fn new() -> Result<Self> {
        SharedNumbers::new().map(Self).ok_or_else(|| {
            Code::OUT_OF_MEMORY.because(
                "an interprocess event needs a memory file (memfd_create), which this process may not \
                 create, or not another one",
            )
        })
    }

    /// Opens another process's event.
    ///
    /// # Errors
    /// `MAP_FAILED` if that process has ended or destroyed the event, or access is denied.
    pub(crate) fn open(place: SharedMemory) -> Result<Self> {
        let SharedMemory { process, descriptor, inode, .. } = place;
        let numbers = SharedNumbers::open(process, descriptor, inode);
        numbers.map(Self).ok_or_else(|| {
            Code::MAP_FAILED.because(format!(
                "process {process} has ended or destroyed the event, or may not be accessed"
            ))
        })
    }

    /// The place in shared memory where other processes find the event.
    ///
    /// # Errors
    /// `MAP_FAILED` if the system doesn't provide the necessary information.
    pub(crate) fn place(&self) -> Result<SharedMemory> {
        self.0.place().ok_or_else(|| Error::from(Code::MAP_FAILED))
    }

    fn get(&self, number: Number) -> &AtomicU32 {
        self.0.get(number as usize)
    }

    /// Draws a ticket, the sequence number of a new `cuEventRecord` of this event.
    pub(super) fn draw(&self) -> u32 {
        self.get(Number::Drawn).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Stores a new record.
    pub(super) fn record(&self, ticket: u32) {
        let process = std::process::id();
        self.get(Number::Process)
            .store(process_mark(process, stat(process).map(start_time)), Ordering::SeqCst);
        self.get(Number::Recorded).fetch_max(ticket, Ordering::SeqCst);
    }

    /// The ticket of the last record, by any process.
    pub(super) fn recorded(&self) -> Option<u32> {
        Some(self.get(Number::Recorded).load(Ordering::SeqCst)).filter(|ticket| *ticket > 0)
    }

    /// Marks a record as reached by the stream's work.
    pub(super) fn pass(&self, ticket: u32) {
        self.get(Number::Passed).fetch_max(ticket, Ordering::SeqCst);
    }

    /// Whether a record was reached.
    pub(super) fn has_passed(&self, ticket: u32) -> bool {
        self.get(Number::Passed).load(Ordering::SeqCst) >= ticket
    }

    /// Whether a record was reached; an error if it can't be reached any more.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` if the process that recorded the event ended before the record was reached.
    pub(super) fn check(&self, ticket: u32) -> Result<bool> {
        let mark = self.get(Number::Process).load(Ordering::SeqCst);
        let process = mark % MAX_PROCESSES;
        let is_alive = is_running(mark);
        // This is read last, because the record may have been reached just before the process ended.
        let has_passed = self.has_passed(ticket);
        if is_alive || has_passed {
            return Ok(has_passed);
        }
        Err(Code::LAUNCH_FAILED.because(format!(
            "process {process} recorded an event, but ended before its work reached the record"
        )))
    }

    /// Waits until a record was reached.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub(super) fn wait(&self, ticket: u32) -> Result {
        let (mut pause, mut checked) = (MIN_POLL_INTERVAL, Instant::now());
        while !self.has_passed(ticket) {
            if checked.elapsed() > LIVENESS_INTERVAL {
                checked = Instant::now();
                self.check(ticket)?;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
        Ok(())
    }
}
