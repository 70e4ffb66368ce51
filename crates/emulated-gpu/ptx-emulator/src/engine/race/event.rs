//! The record of one access in the shadow: thread, clock, semantics, and bytes of a word.

/// The sizes in bits of thread, block and clock numbers. In a grid with more blocks than that, some
/// blocks share a number. This can hide races, but causes no false positives.
const THREAD_BITS: u32 = 10;
const BLOCK_BITS: u32 = 26;
const CLOCK_BITS: u32 = 21;
/// The bits of the lane in a thread's number.
const LANE_BITS: u32 = 5;

/// The maximum clock. A block that reaches it is no longer checked.
pub(crate) const LAST_CLOCK: u32 = (1 << CLOCK_BITS) - 1;
/// The block number of the host.
pub(crate) const HOST: u32 = (1 << BLOCK_BITS) - 1;

/// How an access takes part in the memory model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Semantics {
    /// Not weak: volatile, relaxed, acquire, release or atomic.
    pub(crate) strong: bool,
    /// Strong with respect to other blocks: its scope is wider than `.cta`.
    pub(crate) wide: bool,
    /// A volatile access that is not a polling load. Such an access is also strong.
    pub(crate) volatile: bool,
    /// The access of an asynchronous copy that has not been waited for. Weak.
    pub(crate) asynchronous: bool,
}

/// A recorded access. See the module's comment. Zero means that there is no access, because clocks
/// start at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event(u64);

const STRONG: u64 = 1 << 4;
const WIDE: u64 = 1 << 5;
/// The flag of an asynchronous access (if it is weak) or a volatile access (if it is strong).
const SPECIAL: u64 = 1 << 6;
const CLOCK_AT: u32 = 7;
const THREAD_AT: u32 = CLOCK_AT + CLOCK_BITS;
const BLOCK_AT: u32 = THREAD_AT + THREAD_BITS;

impl Event {
    /// No access.
    pub(crate) const NONE: Self = Self(0);

    /// An access to the bytes in `mask`, one bit for each of a word's four bytes.
    #[inline]
    pub(crate) fn new(
        block: u32,
        thread: u32,
        clock: u32,
        semantics: Semantics,
        mask: u32,
    ) -> Self {
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        Self(
            u64::from(mask & 0xf)
                | flag(semantics.strong, STRONG)
                | flag(semantics.wide, WIDE)
                | flag(semantics.asynchronous || semantics.volatile, SPECIAL)
                | u64::from(clock.min(LAST_CLOCK)) << CLOCK_AT
                | u64::from(thread & ((1 << THREAD_BITS) - 1)) << THREAD_AT
                | u64::from(block & HOST) << BLOCK_AT,
        )
    }

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0 != 0
    }

    #[inline]
    pub(crate) fn block(self) -> u32 {
        (self.0 >> BLOCK_AT) as u32
    }

    #[inline]
    pub(crate) fn thread(self) -> u32 {
        (self.0 >> THREAD_AT) as u32 & ((1 << THREAD_BITS) - 1)
    }

    #[inline]
    pub(crate) fn warp(self) -> u32 {
        self.thread() / 32
    }

    #[inline]
    pub(crate) fn clock(self) -> u32 {
        (self.0 >> CLOCK_AT) as u32 & LAST_CLOCK
    }

    #[inline]
    pub(crate) fn bytes(self) -> u32 {
        (self.0 & 0xf) as u32
    }

    #[inline]
    pub(crate) fn strong(self) -> bool {
        self.0 & STRONG != 0
    }

    #[inline]
    pub(crate) fn asynchronous(self) -> bool {
        self.0 & (SPECIAL | STRONG) == SPECIAL
    }

    #[inline]
    pub(crate) fn volatile(self) -> bool {
        self.0 & (SPECIAL | STRONG) == SPECIAL | STRONG
    }

    /// Whether two accesses are by the same thread.
    #[inline]
    pub(crate) fn same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) >> THREAD_AT == 0
    }

    /// Whether two accesses are by the same warp.
    #[inline]
    pub(crate) fn same_warp(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (THREAD_AT + LANE_BITS) == 0
    }

    #[inline]
    pub(crate) fn same_block(self, other: Self) -> bool {
        (self.0 ^ other.0) >> BLOCK_AT == 0
    }

    /// Whether two accesses never race, even if unordered: both are strong, each is in the other's
    /// scope (PTX ISA, "Morally strong operations"), and they are not both volatile.
    #[inline]
    pub(crate) fn compatible(self, other: Self) -> bool {
        let both = self.0 & other.0;
        both & (STRONG | SPECIAL) == STRONG && (both & WIDE != 0 || self.same_block(other))
    }

    /// The distance of two threads: 0 if equal, 1 in the same warp, 2 in the same block, otherwise
    /// 3.
    #[inline]
    pub(crate) fn distance(self, other: Self) -> u32 {
        u32::from(!self.same_block(other))
            + u32::from(!self.same_warp(other))
            + u32::from(!self.same_thread(other))
    }
}

/// The common properties of all accesses of one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(pub(crate) Event);

impl Moment {
    /// The access of one thread, to the bytes in a mask.
    #[inline]
    pub(crate) fn event(self, thread: u32, bytes: u32) -> Event {
        Event(
            self.0.0
                | u64::from(bytes & 0xf)
                | u64::from(thread & ((1 << THREAD_BITS) - 1)) << THREAD_AT,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_returns_its_components() {
        let semantics = Semantics { asynchronous: true, ..Semantics::default() };
        let event = Event::new(70_000, 1023, 12_345, semantics, 0b0110);
        assert_eq!((event.block(), event.thread(), event.clock()), (70_000, 1023, 12_345));
        assert_eq!((event.warp(), event.bytes()), (31, 0b0110));
        assert!(!event.strong() && event.asynchronous() && !event.volatile() && event.is_some());
        let semantics = Semantics { strong: true, wide: true, volatile: true, asynchronous: false };
        let event = Event::new(1, 2, 3, semantics, 0xf);
        assert!(event.strong() && event.volatile() && !event.asynchronous());
        assert!(!Event::NONE.is_some());
    }

    #[test]
    fn strong_accesses_are_compatible_inside_their_scopes() {
        let narrow = Semantics { strong: true, ..Semantics::default() };
        let wide = Semantics { strong: true, wide: true, ..Semantics::default() };
        let volatile = Semantics { volatile: true, ..wide };
        let event = |block, semantics| Event::new(block, 0, 1, semantics, 0xf);
        assert!(event(0, volatile).compatible(event(1, wide)));
        assert!(!event(0, volatile).compatible(event(0, volatile)));
        assert!(event(0, narrow).compatible(event(0, wide)));
        assert!(event(0, wide).compatible(event(1, wide)));
        assert!(!event(0, wide).compatible(event(1, narrow)));
        assert!(!event(0, wide).compatible(event(0, Semantics::default())));
    }
}
