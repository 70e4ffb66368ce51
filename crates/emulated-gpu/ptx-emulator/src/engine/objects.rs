//! Barrier objects (PTX ISA, "mbarrier"), whose phases wait for a number of arrivals and for
//! transactions.
//!
//! The objects themselves are stored outside of the emulated memory, by their address in shared
//! memory. The memory only contains an object's state, as an arrival returns it. If the program
//! overwrites it, the object becomes invalid.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::race::{AsyncCopy, ThreadClocks, VectorClock, join};

/// The maximum number of arrivals per phase, and of transactions.
const MAX_COUNT: i64 = (1 << 20) - 1;

/// The state of an object, which fits into its 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectState {
    /// The phase modulo 4.
    phase: u64,
    /// The number of arrivals that each phase waits for.
    expected: i64,
    /// The number of arrivals that the current phase still waits for.
    pub(super) pending: i64,
    /// The transactions (bytes) that the phase waits for; negative if more have completed than were
    /// expected so far.
    transactions: i64,
}

impl ObjectState {
    /// Encodes the state. The highest bit is 1, so that zeroed memory is not a valid state.
    fn bits(self) -> u64 {
        let word = |number: i64, bits: u32| (number as u64) & ((1 << bits) - 1);
        word(self.transactions, 21)
            | word(self.pending, 20) << 21
            | word(self.expected, 20) << 41
            | self.phase << 61
            | 1 << 63
    }

    /// Decodes a state.
    pub(super) fn decode(bits: u64) -> Option<Self> {
        let word = |at: u32, width: u32| (bits >> at & ((1 << width) - 1)) as i64;
        (bits >> 63 == 1).then_some(Self {
            phase: bits >> 61 & 3,
            expected: word(41, 20),
            pending: word(21, 20),
            transactions: word(0, 21) << 43 >> 43,
        })
    }
}

/// A barrier object.
#[derive(Clone, Debug)]
struct Object {
    status: ObjectState,
    /// For racecheck, the joined clocks of the threads that have arrived in this phase. The second
    /// clock is the clock of completed phases, which waiting threads learn.
    arrived: Option<Arc<VectorClock>>,
    completed: Option<Arc<VectorClock>>,
    /// Copies that complete with the current phase, and copies that completed with earlier phases
    /// but have not been waited for yet.
    copies: Vec<AsyncCopy>,
    completed_copies: Vec<AsyncCopy>,
}

/// A message that describes an invalid use.
pub(super) type ObjectError = String;

/// All barrier objects of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    by_address: BTreeMap<u64, Object>,
    /// The number of operations on objects so far.
    pub(super) events: u64,
}

impl Objects {
    /// Creates an object. Returns the state to be written to memory.
    ///
    /// # Errors
    /// If the count is invalid, or, with `strict`, if memory holds the state of an existing object
    /// (`stored`).
    pub(super) fn initialise(
        &mut self,
        at: u64,
        stored: u64,
        count: u64,
        strict: bool,
    ) -> Result<u64, ObjectError> {
        let expected = arrivals(count)?;
        if strict && self.by_address.get(&at).is_some_and(|object| object.status.bits() == stored) {
            return Err(
                "there is already a barrier object, which has not been invalidated (mbarrier.inval)".into()
            );
        }
        let status = ObjectState { phase: 0, expected, pending: expected, transactions: 0 };
        let object = Object {
            status,
            arrived: None,
            completed: None,
            copies: Vec::new(),
            completed_copies: Vec::new(),
        };
        self.by_address.insert(at, object);
        self.events += 1;
        Ok(status.bits())
    }

    /// Looks up an object for a change, and counts the operation.
    fn object_mut(&mut self, at: u64, stored: u64) -> Result<&mut Object, ObjectError> {
        self.events += 1;
        self.find(at, stored)
    }

    /// Looks up an object whose memory contains `stored`.
    fn find(&mut self, at: u64, stored: u64) -> Result<&mut Object, ObjectError> {
        match self.by_address.get_mut(&at) {
            Some(object) if object.status.bits() == stored => Ok(object),
            Some(_) => Err("the barrier object there has been written over".into()),
            None => Err(
                "there is no barrier object: mbarrier.init has not created one, or mbarrier.inval \
                         has ended it"
                    .into(),
            ),
        }
    }

    /// Removes an object. Returns the value to be written to memory.
    ///
    /// # Errors
    /// If there is no such object.
    pub(super) fn invalidate(&mut self, at: u64, stored: u64) -> Result<u64, ObjectError> {
        self.object_mut(at, stored)?;
        self.by_address.remove(&at);
        Ok(0)
    }

    /// Expects the transactions of an arrival, and performs the arrival. `known` is the clock of
    /// the arriving thread. Returns the state to be written to memory.
    ///
    /// # Errors
    /// If the phase doesn't wait for that many arrivals, or if it ends although `incomplete`
    /// doesn't allow that.
    pub(super) fn arrive(
        &mut self,
        (at, stored): (u64, u64),
        arrival: Arrival,
        known: Option<Arc<VectorClock>>,
    ) -> Result<u64, ObjectError> {
        let object = self.object_mut(at, stored)?;
        let count = arrivals(arrival.count)?;
        let ObjectState { pending, expected, .. } = object.status;
        if count > pending {
            return Err(format!("{count} threads arrive, but the phase waits for {pending}"));
        }
        if arrival.drop && count > expected {
            return Err(format!("{count} threads drop out, but phases only wait for {expected}"));
        }
        object.expect(arrival.expected)?;
        object.status.pending -= count;
        if arrival.drop {
            object.status.expected -= count;
        }
        if arrival.incomplete && object.is_complete() {
            return Err(format!(
                "{count} threads arrive with .noComplete, but are the last {pending} that the phase waits for"
            ));
        }
        if let Some(known) = known {
            join(&mut object.arrived, &known);
        }
        Ok(object.complete_if_done())
    }

    /// Expects transactions, or completes them (`completed`). Returns the state to be written to
    /// memory.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn change_transactions(
        &mut self,
        (at, stored): (u64, u64),
        count: u64,
        completed: bool,
    ) -> Result<u64, ObjectError> {
        let object = self.object_mut(at, stored)?;
        let count = count as i64;
        object.expect(if completed { -count } else { count })?;
        Ok(object.complete_if_done())
    }

    /// Registers copies that complete with the current phase.
    ///
    /// # Errors
    /// If there is no such object.
    pub(super) fn add_copies(
        &mut self,
        (at, stored): (u64, u64),
        copies: impl IntoIterator<Item = AsyncCopy>,
    ) -> Result<(), ObjectError> {
        self.object_mut(at, stored)?.copies.extend(copies);
        Ok(())
    }

    /// Tests whether a phase is complete. If it is, returns the clock that the testing thread
    /// learns.
    ///
    /// # Errors
    /// If `phase` is invalid, or is neither the current phase nor the previous phase.
    pub(super) fn test(
        &mut self,
        (at, stored): (u64, u64),
        phase: Phase,
        threads: Option<&mut ThreadClocks>,
    ) -> Result<Option<Option<Arc<VectorClock>>>, ObjectError> {
        let object = self.find(at, stored)?;
        let now = object.status.phase;
        let over = match phase {
            Phase::Parity(parity) if parity > 1 => {
                return Err(format!("the parity of a phase is 0 or 1, not {parity}"));
            }
            Phase::Parity(parity) => parity != now & 1,
            Phase::State(bits) => {
                let state = ObjectState::decode(bits)
                    .ok_or("the register does not hold the state of a barrier object")?;
                if state.phase != now && state.phase != (now + 3) % 4 {
                    return Err("the state is neither of this phase nor of the one before".into());
                }
                state.phase != now
            }
        };
        if !over {
            return Ok(None);
        }
        let landed = std::mem::take(&mut object.completed_copies);
        if let Some(known) = threads.and_then(|threads| threads.complete_copies(&landed)) {
            join(&mut object.completed, &known);
        }
        Ok(Some(object.completed.clone()))
    }

    /// Describes the arrivals and transactions for which an object waits.
    pub(super) fn waits_for(&self, at: u64) -> String {
        let Some(object) = self.by_address.get(&at) else { return "which no longer exists".into() };
        let ObjectState { expected, pending, transactions, .. } = object.status;
        let arrivals = format!("{pending} of {expected} arrivals");
        match transactions {
            0 => format!("which waits for {arrivals}"),
            1.. => {
                format!("which waits for {arrivals} and for {transactions} bytes of transactions")
            }
            _ => format!(
                "which waits for {arrivals}, and for {} completed bytes to be expected",
                -transactions
            ),
        }
    }
}

/// The phase that is tested.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// The phase in which `mbarrier.arrive` returned this state.
    State(u64),
    /// The latest phase with a parity.
    Parity(u64),
}

/// The operands of an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) count: u64,
    /// The transactions to expect.
    pub(super) expected: i64,
    pub(super) drop: bool,
    pub(super) incomplete: bool,
}

impl Object {
    fn expect(&mut self, transactions: i64) -> Result<(), ObjectError> {
        let sum = self.status.transactions.saturating_add(transactions);
        if sum.abs() > MAX_COUNT {
            return Err(format!(
                "{sum} bytes of transactions: a barrier object only counts to {MAX_COUNT}"
            ));
        }
        self.status.transactions = sum;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.status.pending == 0 && self.status.transactions == 0
    }

    /// Completes the phase if nothing is missing. Returns the state to be written to memory.
    fn complete_if_done(&mut self) -> u64 {
        if self.is_complete() {
            let ObjectState { phase, expected, .. } = self.status;
            self.status = ObjectState { phase: (phase + 1) % 4, pending: expected, ..self.status };
            self.completed_copies.append(&mut self.copies);
            if let Some(known) = self.arrived.take() {
                join(&mut self.completed, &known);
            }
        }
        self.status.bits()
    }
}

fn arrivals(count: u64) -> Result<i64, ObjectError> {
    let fits = (1..=MAX_COUNT as u64).contains(&count);
    if fits { Ok(count as i64) } else { Err(format!("{count} is not a valid number of arrivals")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Arrival = Arrival { count: 1, expected: 0, drop: false, incomplete: false };

    fn arrive(objects: &mut Objects, stored: u64, arrival: Arrival) -> Result<u64, ObjectError> {
        objects.arrive((8, stored), arrival, None)
    }

    fn is_phase_over(objects: &mut Objects, stored: u64, phase: Phase) -> bool {
        objects.test((8, stored), phase, None).unwrap().is_some()
    }

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for transactions in [-MAX_COUNT, -1, 0, MAX_COUNT] {
            let status = ObjectState { phase: 3, expected: MAX_COUNT, pending: 5, transactions };
            assert_eq!(ObjectState::decode(status.bits()), Some(status));
        }
        assert_eq!(ObjectState::decode(0), None);
    }

    #[test]
    fn phase_ends_with_its_last_arrival_and_transaction() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 2, true).unwrap();
        let one = arrive(&mut objects, first, ONE).unwrap();
        let two = arrive(&mut objects, one, Arrival { expected: 32, ..ONE }).unwrap();
        assert!(!is_phase_over(&mut objects, two, Phase::State(first)));
        let half = objects.change_transactions((8, two), 16, true).unwrap();
        assert!(!is_phase_over(&mut objects, half, Phase::Parity(0)));
        let done = objects.change_transactions((8, half), 16, true).unwrap();
        assert!(is_phase_over(&mut objects, done, Phase::State(first)));
        assert!(is_phase_over(&mut objects, done, Phase::Parity(0)));
        assert!(!is_phase_over(&mut objects, done, Phase::Parity(1)));
        assert_eq!(ObjectState::decode(done).unwrap().pending, 2);
    }

    #[test]
    fn transactions_may_complete_before_they_are_expected() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 1, true).unwrap();
        let early = objects.change_transactions((8, first), 64, true).unwrap();
        assert!(!is_phase_over(&mut objects, early, Phase::Parity(0)));
        let done = arrive(&mut objects, early, Arrival { expected: 64, ..ONE }).unwrap();
        assert!(is_phase_over(&mut objects, done, Phase::Parity(0)));
    }

    #[test]
    fn dropped_threads_are_not_waited_for_again() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 3, true).unwrap();
        let dropped = arrive(&mut objects, first, Arrival { count: 2, drop: true, ..ONE }).unwrap();
        let second = arrive(&mut objects, dropped, ONE).unwrap();
        let third = arrive(&mut objects, second, ONE).unwrap();
        assert!(is_phase_over(&mut objects, third, Phase::State(second)));
    }

    #[test]
    fn invalid_uses_are_errors() {
        let mut objects = Objects::default();
        assert!(arrive(&mut objects, 0, ONE).unwrap_err().contains("no barrier object"));
        assert!(objects.initialise(8, 0, 0, true).is_err());
        assert!(objects.initialise(8, 0, 1 << 20, true).is_err());
        let first = objects.initialise(8, 0, 2, true).unwrap();
        assert!(objects.initialise(8, first, 2, true).is_err());
        assert!(objects.initialise(8, first, 2, false).is_ok());
        assert!(arrive(&mut objects, first + 1, ONE).unwrap_err().contains("written over"));
        let three = Arrival { count: 3, ..ONE };
        assert!(arrive(&mut objects, first, three).unwrap_err().contains("waits for 2"));
        let last = Arrival { count: 2, incomplete: true, ..ONE };
        assert!(arrive(&mut objects, first, last).unwrap_err().contains("noComplete"));
        let state =
            objects.change_transactions((8, objects.by_address[&8].status.bits()), 1 << 20, false);
        assert!(state.unwrap_err().contains("counts to"));
        assert!(objects.invalidate(8, objects.by_address[&8].status.bits()).is_ok());
        assert!(arrive(&mut objects, 0, ONE).is_err());
    }
}
