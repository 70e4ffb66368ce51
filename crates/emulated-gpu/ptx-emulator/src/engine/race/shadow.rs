//! Shadow memory: one cell per word, in pages that are allocated when they are first touched.
//!
//! Most memory is only read, by many threads. A stamp marks a word whose cell already contains two
//! readers, such that every later writer conflicts with one of them. If the stamp is valid for a
//! reader, its read need not be recorded.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::cell::Cell;
use crate::room::OutOfMemory;
use crate::room::{filled, vector};

/// The words per page.
pub(crate) const PAGE_WORDS: usize = 1024;

/// The stamp of a word that has been read by several other blocks, and written by no thread.
pub(crate) const READ_BY_BLOCKS: u64 = u64::MAX;

/// The stamp of a word that several warps of a block have read since its last barrier.
pub(crate) fn read_by_warps(block: u32, least: u32) -> u64 {
    1 << 63 | u64::from(block) << 32 | u64::from(least)
}

/// The shadow of 4 KiB of memory.
#[derive(Debug)]
pub(crate) struct Page {
    stamps: Box<[AtomicU64; PAGE_WORDS]>,
    cells: Mutex<Box<[Cell; PAGE_WORDS]>>,
}

/// A pool of unused pages: clearing a page is cheaper than allocating one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<PoolState>);

#[derive(Debug, Default)]
struct PoolState {
    pages: Mutex<Vec<Page>>,
    /// Whether an allocation has failed, so that some accesses were not recorded.
    exhausted: AtomicBool,
}

/// The maximum number of pages in the pool, about 57 MB.
const MAX_POOLED_PAGES: usize = 1024;

impl Pool {
    fn take(&self) -> Option<Page> {
        let state = self.pages().pop();
        let Some(mut page) = state else {
            let page = Page::new();
            if page.is_err() {
                self.0.exhausted.store(true, Ordering::Relaxed);
            }
            return page.ok();
        };
        page.stamps.iter_mut().for_each(|stamp| *stamp.get_mut() = 0);
        let cells = page.cells.get_mut().unwrap_or_else(PoisonError::into_inner);
        cells.fill(Cell::default());
        Some(page)
    }

    fn put_back(&self, pages: impl Iterator<Item = Page>) {
        let mut state = self.pages();
        let free = MAX_POOLED_PAGES.saturating_sub(state.len());
        state.extend(pages.take(free));
    }

    fn pages(&self) -> MutexGuard<'_, Vec<Page>> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an allocation has failed since the last call.
    pub(crate) fn was_exhausted(&self) -> bool {
        self.0.exhausted.swap(false, Ordering::Relaxed)
    }
}

/// Converts a list with one element per word to an array, without another allocation.
fn array<T: std::fmt::Debug>(list: Vec<T>) -> Box<[T; PAGE_WORDS]> {
    list.into_boxed_slice().try_into().expect("as many as a page has")
}

impl Page {
    fn new() -> Result<Self, OutOfMemory> {
        let mut stamps = vector(PAGE_WORDS)?;
        stamps.extend((0..PAGE_WORDS).map(|_| AtomicU64::new(0)));
        let cells = filled(Cell::default(), PAGE_WORDS)?;
        let (stamps, cells) = (array(stamps), array(cells));
        Ok(Self { stamps, cells: Mutex::new(cells) })
    }

    #[inline]
    pub(crate) fn set_stamp(&self, word: usize, stamp: u64) {
        self.stamps[word % PAGE_WORDS].store(stamp, Ordering::Relaxed);
    }

    pub(crate) fn cells(&self) -> MutexGuard<'_, Box<[Cell; PAGE_WORDS]>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shadow of one allocation, or of a block's shared memory.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// The address of the first word of the memory.
    base: u64,
    pages: Box<[OnceLock<Page>]>,
    pool: Pool,
}

impl Drop for Shadow {
    fn drop(&mut self) {
        let pool = self.pool.clone();
        pool.put_back(self.pages.iter_mut().filter_map(OnceLock::take));
    }
}

impl Shadow {
    /// Creates the shadow of `size` bytes.
    ///
    /// # Errors
    /// If the host is out of memory for the list of pages.
    pub(crate) fn new(address: u64, size: u64, pool: Pool) -> Result<Self, OutOfMemory> {
        let base = address & !3;
        let words = (address + size - base).div_ceil(4) as usize;
        let count = words.div_ceil(PAGE_WORDS);
        let mut pages = vector(count)?;
        pages.extend((0..count).map(|_| OnceLock::new()));
        Ok(Self { base, pages: pages.into_boxed_slice(), pool })
    }

    /// Removes all recorded accesses.
    pub(crate) fn clear(&self) {
        for page in self.pages.iter().filter_map(OnceLock::get) {
            page.cells().fill(Cell::default());
            page.stamps.iter().for_each(|stamp| stamp.store(0, Ordering::Relaxed));
        }
    }

    /// Whether the shadow is large enough for an allocation of `size` bytes.
    pub(crate) fn has_room_for(&self, address: u64, size: u64) -> bool {
        let words = (address + size - self.base).div_ceil(4) as usize;
        words.div_ceil(PAGE_WORDS) <= self.pages.len()
    }

    /// The index of the word at an address.
    #[inline]
    pub(crate) fn word(&self, address: u64) -> usize {
        (address.wrapping_sub(self.base) / 4) as usize
    }

    /// The address of a word.
    #[inline]
    pub(crate) fn address(&self, word: usize) -> u64 {
        self.base.wrapping_add(word as u64 * 4)
    }

    /// Whether every word in a range has one of two stamps.
    #[inline]
    pub(crate) fn all_stamped(&self, address: u64, bytes: u64, [one, other]: [u64; 2]) -> bool {
        let (first, last) = (self.word(address), self.word(address + bytes - 1));
        let Some(page) = self.pages.get(first / PAGE_WORDS).and_then(OnceLock::get) else {
            return false;
        };
        let stamps = page.stamps.get(first % PAGE_WORDS..=last % PAGE_WORDS);
        // A range that spans two pages is checked word by word by the caller.
        first / PAGE_WORDS == last / PAGE_WORDS
            && stamps.is_some_and(|stamps| {
                stamps.iter().fold(true, |all, stamp| {
                    let stamp = stamp.load(Ordering::Relaxed);
                    all & (stamp == one || stamp == other)
                })
            })
    }

    /// The page of a word; `None` beyond the end, or if the host is out of memory.
    #[inline]
    pub(crate) fn page(&self, word: usize) -> Option<&Page> {
        let page = self.pages.get(word / PAGE_WORDS)?;
        page.get().or_else(|| self.create_page(page))
    }

    #[cold]
    fn create_page<'page>(&self, page: &'page OnceLock<Page>) -> Option<&'page Page> {
        // Another thread may have created the page in the meantime; then this one goes back.
        if let Err(mine) = page.set(self.pool.take()?) {
            self.pool.put_back(std::iter::once(mine));
        }
        page.get()
    }
}
