//! Barrier objects (PTX ISA, "mbarrier"): phases, each of this many arrivals and of transactions.
//!
//! The object itself is beside the block, by its place in shared memory; what stands there is its state,
//! as a program gets it from an arrival. A program that writes over it has no object any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::race::{Copied, ThreadClocks, VectorClock, join};

/// Arrivals of a phase, and transactions, at most.
const MOST: i64 = (1 << 20) - 1;

/// The state of an object, which its 64 bits hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    /// Modulo 4.
    phase: u64,
    /// Arrivals that each phase waits for.
    expected: i64,
    /// Those that this one still waits for.
    pub(super) pending: i64,
    /// Transactions that it waits for; below 0 where more have come than were expected so far.
    transactions: i64,
}

impl Status {
    /// As 64 bits. The highest is 1, so that memory which is zero is no state.
    fn bits(self) -> u64 {
        let word = |number: i64, bits: u32| (number as u64) & ((1 << bits) - 1);
        word(self.transactions, 21)
            | word(self.pending, 20) << 21
            | word(self.expected, 20) << 41
            | self.phase << 61
            | 1 << 63
    }

    /// And back.
    pub(super) fn of(bits: u64) -> Option<Self> {
        let word = |at: u32, width: u32| (bits >> at & ((1 << width) - 1)) as i64;
        (bits >> 63 == 1).then_some(Self {
            phase: bits >> 61 & 3,
            expected: word(41, 20),
            pending: word(21, 20),
            transactions: word(0, 21) << 43 >> 43,
        })
    }
}

/// An object.
#[derive(Clone, Debug)]
struct Object {
    status: Status,
    /// What those know who have arrived in this phase, where races are looked for, and what those that
    /// wait for an earlier one learn.
    arrived: Option<Arc<VectorClock>>,
    completed: Option<Arc<VectorClock>>,
    /// Copies that are there when the phase is over, and those of phases that are, for which no thread
    /// has waited yet.
    copies: Vec<Copied>,
    landed: Vec<Copied>,
}

/// What has been done wrong, in words.
pub(super) type Wrong = String;

/// All objects of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    at: BTreeMap<u64, Object>,
    /// How many times something has been done to one.
    pub(super) events: u64,
}

impl Objects {
    /// What to write at a place for a new object.
    ///
    /// # Errors
    /// Where the count is none, or with `strict` where there is one already, of which `stored` is left.
    pub(super) fn initialise(
        &mut self,
        at: u64,
        stored: u64,
        count: u64,
        strict: bool,
    ) -> Result<u64, Wrong> {
        let expected = arrivals(count)?;
        if strict && self.at.get(&at).is_some_and(|object| object.status.bits() == stored) {
            return Err(
                "there is a barrier object already, which no mbarrier.inval has ended".into()
            );
        }
        let status = Status { phase: 0, expected, pending: expected, transactions: 0 };
        let object = Object {
            status,
            arrived: None,
            completed: None,
            copies: Vec::new(),
            landed: Vec::new(),
        };
        self.at.insert(at, object);
        self.events += 1;
        Ok(status.bits())
    }

    /// The object at a place, to be changed.
    fn change(&mut self, at: u64, stored: u64) -> Result<&mut Object, Wrong> {
        self.events += 1;
        self.find(at, stored)
    }

    /// The object at a place, where `stored` stands in memory.
    fn find(&mut self, at: u64, stored: u64) -> Result<&mut Object, Wrong> {
        match self.at.get_mut(&at) {
            Some(object) if object.status.bits() == stored => Ok(object),
            Some(_) => Err("something has been written over the barrier object there".into()),
            None => Err(
                "there is no barrier object: mbarrier.init has not made one, or mbarrier.inval \
                         has ended it"
                    .into(),
            ),
        }
    }

    /// Ends an object; what to write in its place.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn invalidate(&mut self, at: u64, stored: u64) -> Result<u64, Wrong> {
        self.change(at, stored)?;
        self.at.remove(&at);
        Ok(0)
    }

    /// This many arrivals, of which `known` is known, after this many transactions more are expected; what to
    /// write.
    ///
    /// # Errors
    /// Where the phase does not wait for this many, or they end one that they must not.
    pub(super) fn arrive(
        &mut self,
        (at, stored): (u64, u64),
        arrival: Arrival,
        known: Option<Arc<VectorClock>>,
    ) -> Result<u64, Wrong> {
        let object = self.change(at, stored)?;
        let count = arrivals(arrival.count)?;
        let Status { pending, expected, .. } = object.status;
        if count > pending {
            return Err(format!("{count} arrive, and the phase waits for {pending}"));
        }
        if arrival.drop && count > expected {
            return Err(format!("{count} drop out, and phases wait for {expected}"));
        }
        object.expect(arrival.expected)?;
        object.status.pending -= count;
        if arrival.drop {
            object.status.expected -= count;
        }
        if arrival.incomplete && object.is_complete() {
            return Err(format!(
                "{count} arrive with .noComplete, and are the last {pending} that the phase waits for"
            ));
        }
        if let Some(known) = known {
            join(&mut object.arrived, &known);
        }
        Ok(object.settled())
    }

    /// Transactions that are expected, or have come (`come`).
    ///
    /// # Errors
    /// Where there are too many.
    pub(super) fn transact(
        &mut self,
        (at, stored): (u64, u64),
        count: u64,
        come: bool,
    ) -> Result<u64, Wrong> {
        let object = self.change(at, stored)?;
        let count = count as i64;
        object.expect(if come { -count } else { count })?;
        Ok(object.settled())
    }

    /// Copies that are there when the phase is over.
    ///
    /// # Errors
    /// Where there is no object.
    pub(super) fn carry(
        &mut self,
        (at, stored): (u64, u64),
        copies: impl IntoIterator<Item = Copied>,
    ) -> Result<(), Wrong> {
        self.change(at, stored)?.copies.extend(copies);
        Ok(())
    }

    /// Whether the phase of a state is over, and what is learnt where it is.
    ///
    /// # Errors
    /// Where the state is none, or of neither this phase nor the last.
    pub(super) fn test(
        &mut self,
        (at, stored): (u64, u64),
        phase: Phase,
        threads: Option<&mut ThreadClocks>,
    ) -> Result<Option<Option<Arc<VectorClock>>>, Wrong> {
        let object = self.find(at, stored)?;
        let now = object.status.phase;
        let over = match phase {
            Phase::Parity(parity) if parity > 1 => {
                return Err(format!("{parity} is no parity of a phase: it is 0 or 1"));
            }
            Phase::Parity(parity) => parity != now & 1,
            Phase::State(bits) => {
                let state =
                    Status::of(bits).ok_or("the register holds no state of a barrier object")?;
                if state.phase != now && state.phase != (now + 3) % 4 {
                    return Err("the state is neither of this phase nor of the one before".into());
                }
                state.phase != now
            }
        };
        if !over {
            return Ok(None);
        }
        let landed = std::mem::take(&mut object.landed);
        if let Some(known) = threads.and_then(|threads| threads.settle(&landed)) {
            join(&mut object.completed, &known);
        }
        Ok(Some(object.completed.clone()))
    }

    /// What an object still waits for, in words.
    pub(super) fn waits_for(&self, at: u64) -> String {
        let Some(object) = self.at.get(&at) else { return "which is gone".into() };
        let Status { expected, pending, transactions, .. } = object.status;
        let arrivals = format!("{pending} of {expected} arrivals");
        match transactions {
            0 => format!("which waits for {arrivals}"),
            1.. => {
                format!("which waits for {arrivals} and for {transactions} bytes of transactions")
            }
            _ => format!(
                "which waits for {arrivals}, and to be told to expect {} bytes that have come",
                -transactions
            ),
        }
    }
}

/// Which phase is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// That of a state.
    State(u64),
    /// The latest of that parity.
    Parity(u64),
}

/// What an arrival says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) count: u64,
    /// Transactions to expect.
    pub(super) expected: i64,
    pub(super) drop: bool,
    pub(super) incomplete: bool,
}

impl Object {
    fn expect(&mut self, transactions: i64) -> Result<(), Wrong> {
        let sum = self.status.transactions.saturating_add(transactions);
        if sum.abs() > MOST {
            return Err(format!("{sum} bytes of transactions, and an object counts to {MOST}"));
        }
        self.status.transactions = sum;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.status.pending == 0 && self.status.transactions == 0
    }

    /// Ends the phase where nothing is missing any more; its state.
    fn settled(&mut self) -> u64 {
        if self.is_complete() {
            let Status { phase, expected, .. } = self.status;
            self.status = Status { phase: (phase + 1) % 4, pending: expected, ..self.status };
            self.landed.append(&mut self.copies);
            if let Some(known) = self.arrived.take() {
                join(&mut self.completed, &known);
            }
        }
        self.status.bits()
    }
}

fn arrivals(count: u64) -> Result<i64, Wrong> {
    let fits = (1..=MOST as u64).contains(&count);
    if fits { Ok(count as i64) } else { Err(format!("{count} is no number of arrivals")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Arrival = Arrival { count: 1, expected: 0, drop: false, incomplete: false };

    fn arrive(objects: &mut Objects, stored: u64, arrival: Arrival) -> Result<u64, Wrong> {
        objects.arrive((8, stored), arrival, None)
    }

    fn over(objects: &mut Objects, stored: u64, phase: Phase) -> bool {
        objects.test((8, stored), phase, None).unwrap().is_some()
    }

    #[test]
    fn a_state_is_what_its_bits_say() {
        for transactions in [-MOST, -1, 0, MOST] {
            let status = Status { phase: 3, expected: MOST, pending: 5, transactions };
            assert_eq!(Status::of(status.bits()), Some(status));
        }
        assert_eq!(Status::of(0), None);
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_transaction() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 2, true).unwrap();
        let one = arrive(&mut objects, first, ONE).unwrap();
        let two = arrive(&mut objects, one, Arrival { expected: 32, ..ONE }).unwrap();
        assert!(!over(&mut objects, two, Phase::State(first)));
        let half = objects.transact((8, two), 16, true).unwrap();
        assert!(!over(&mut objects, half, Phase::Parity(0)));
        let done = objects.transact((8, half), 16, true).unwrap();
        assert!(over(&mut objects, done, Phase::State(first)));
        assert!(over(&mut objects, done, Phase::Parity(0)));
        assert!(!over(&mut objects, done, Phase::Parity(1)));
        assert_eq!(Status::of(done).unwrap().pending, 2);
    }

    #[test]
    fn transactions_may_come_before_they_are_expected() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 1, true).unwrap();
        let early = objects.transact((8, first), 64, true).unwrap();
        assert!(!over(&mut objects, early, Phase::Parity(0)));
        let done = arrive(&mut objects, early, Arrival { expected: 64, ..ONE }).unwrap();
        assert!(over(&mut objects, done, Phase::Parity(0)));
    }

    #[test]
    fn who_drops_out_is_not_waited_for_again() {
        let mut objects = Objects::default();
        let first = objects.initialise(8, 0, 3, true).unwrap();
        let dropped = arrive(&mut objects, first, Arrival { count: 2, drop: true, ..ONE }).unwrap();
        let second = arrive(&mut objects, dropped, ONE).unwrap();
        let third = arrive(&mut objects, second, ONE).unwrap();
        assert!(over(&mut objects, third, Phase::State(second)));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
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
        let state = objects.transact((8, objects.at[&8].status.bits()), 1 << 20, false);
        assert!(state.unwrap_err().contains("counts to"));
        assert!(objects.invalidate(8, objects.at[&8].status.bits()).is_ok());
        assert!(arrive(&mut objects, 0, ONE).is_err());
    }
}
