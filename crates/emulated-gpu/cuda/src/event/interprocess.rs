//! State of an event that processes share: the number of its records, and how many of them were passed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ptx_emulator::memory::{SharedMemory, SharedNumbers};

use crate::abi::error::{Code, Error, Result};

/// How often another process's work is looked at at least: no process wakes another one's threads.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);
/// How often it is asked whether the other process is still there.
const LIFE_SIGN: Duration = Duration::from_millis(200);

/// The numbers, each with its meaning.
#[derive(Clone, Copy)]
enum Number {
    /// The last ticket that was drawn: a record of the event has one.
    Drawn,
    /// That of the last record.
    Recorded,
    /// The newest of which work has come by.
    Passed,
    /// The process that recorded last, as [`mark_of`] has it.
    Process,
}

/// Process numbers are less on Linux (`PID_MAX_LIMIT`).
const PROCESSES: u32 = 1 << 22;

/// A process and, in the bits above its number, the last bits of when it began: numbers are given out again.
fn mark_of(process: u32, began: Option<u32>) -> u32 {
    (process % PROCESSES) | (began.unwrap_or(0) << PROCESSES.trailing_zeros())
}

/// What the system says of a process behind its name (proc(5), `/proc/PID/stat`), if there is one.
fn stat(process: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = text.rsplit_once(')')?;
    Some(behind.split_whitespace().map(str::to_owned).collect())
}

/// When a process began, in ticks since the system did: the 22nd field, and the 20th behind the name.
fn began(stat: Vec<String>) -> u32 {
    stat.get(19).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0) as u32
}

/// Whether the process of a mark still runs. One that was killed is there until its parent asks for its exit
/// status, and never does anything again; one whose first thread has exited is not distinguished from it by
/// its state, but has others.
fn runs(mark: u32) -> bool {
    let process = mark % PROCESSES;
    let Some(stat) = stat(process) else { return false };
    let is_over = matches!(stat.first().map(String::as_str), Some("Z" | "X" | "x"));
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    mark_of(process, Some(began(stat))) == mark && (!is_over || threads() > 1)
}

/// An event that several processes have.
#[derive(Debug)]
pub(crate) struct SharedEvent(SharedNumbers);

impl SharedEvent {
    /// One that was never recorded.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where the system allows no files of memory.
    pub(crate) fn new() -> Result<Self> {
        SharedNumbers::new().map(Self).ok_or_else(|| {
            Code::OUT_OF_MEMORY.because(
                "an event for several processes is a file of memory (memfd_create), which this process may \
                 not have, or not one more",
            )
        })
    }

    /// Another process's.
    ///
    /// # Errors
    /// `MAP_FAILED` when that has ended, or has it no longer.
    pub(crate) fn open(place: SharedMemory) -> Result<Self> {
        let SharedMemory { process, descriptor, inode, .. } = place;
        let found = SharedNumbers::open(process, descriptor, inode);
        found.map(Self).ok_or_else(|| {
            Code::MAP_FAILED.because(format!(
                "process {process} has ended or destroyed the event, or may not be asked for it"
            ))
        })
    }

    /// By what other processes find it.
    ///
    /// # Errors
    /// `MAP_FAILED` when the system can't tell.
    pub(crate) fn place(&self) -> Result<SharedMemory> {
        self.0.place().ok_or_else(|| Error::from(Code::MAP_FAILED))
    }

    fn get(&self, number: Number) -> &AtomicU32 {
        self.0.get(number as usize)
    }

    /// A ticket for a record that is about to be made.
    pub(super) fn draw(&self) -> u32 {
        self.get(Number::Drawn).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The record is made.
    pub(super) fn record(&self, ticket: u32) {
        let own = std::process::id();
        self.get(Number::Process).store(mark_of(own, stat(own).map(began)), Ordering::SeqCst);
        self.get(Number::Recorded).fetch_max(ticket, Ordering::SeqCst);
    }

    /// The ticket of the last record, of whichever process.
    pub(super) fn recorded(&self) -> Option<u32> {
        Some(self.get(Number::Recorded).load(Ordering::SeqCst)).filter(|ticket| *ticket > 0)
    }

    /// Work has come by.
    pub(super) fn pass(&self, ticket: u32) {
        self.get(Number::Passed).fetch_max(ticket, Ordering::SeqCst);
    }

    /// Whether it has.
    pub(super) fn has_passed(&self, ticket: u32) -> bool {
        self.get(Number::Passed).load(Ordering::SeqCst) >= ticket
    }

    /// The same, or an error where no work will come by any longer.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when the process that recorded it has ended before.
    pub(super) fn check(&self, ticket: u32) -> Result<bool> {
        let mark = self.get(Number::Process).load(Ordering::SeqCst);
        let process = mark % PROCESSES;
        let is_there = runs(mark);
        // It may have come by just before its end, so this is looked at last.
        let has_passed = self.has_passed(ticket);
        if is_there || has_passed {
            return Ok(has_passed);
        }
        Err(Code::LAUNCH_FAILED.because(format!(
            "process {process} has recorded an event, and ended before its work came to it"
        )))
    }

    /// Waits until it has.
    ///
    /// # Errors
    /// As of [`check`](Self::check).
    pub(super) fn wait(&self, ticket: u32) -> Result {
        let (mut pause, mut asked) = (SHORTEST, Instant::now());
        while !self.has_passed(ticket) {
            if asked.elapsed() > LIFE_SIGN {
                asked = Instant::now();
                self.check(ticket)?;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST);
        }
        Ok(())
    }
}
