//! What several processes know of an event: how often it was recorded, and how much of that was passed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ptx_emulator::memory::{SharedMemory, SharedNumbers};

use crate::error::{Code, Error, Result};

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
    /// The process that recorded last.
    Process,
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
        self.get(Number::Process).store(std::process::id(), Ordering::SeqCst);
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
        let process = self.get(Number::Process).load(Ordering::SeqCst);
        let is_there = std::path::Path::new(&format!("/proc/{process}")).exists();
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
