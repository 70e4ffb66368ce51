//! Threads that stay awake between the phases of a step.
//!
//! A step is a list of phases, and a phase a list of items that don't depend on each other. A thread claims an
//! item with one compare-exchange. A phase ends when all of its *items* are finished, not when all threads have
//! arrived: a thread that the operating system has interrupted only delays the item that it holds.
//!
//! A thread that waits spins for a moment, because the wait is mostly shorter than going to sleep and waking up.
//! Then it leaves its core to others. While working alone is faster, because others need the cores, the caller does.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// Work that is done again and again, in phases.
pub(super) trait Work: Send + Sync + 'static {
    /// Computes an item of a phase.
    fn item(&self, phase: usize, item: usize);
}

/// The number of items of a phase.
#[derive(Clone, Copy)]
pub(super) struct Items {
    /// The number of items that are divided among the threads: the first ones. In each round a thread gets the same
    /// items, whose data is still in its cache.
    pub divided: usize,
    /// The number of items that any thread may claim. They are claimed before the divided items, which then even out
    /// the load.
    pub shared: usize,
}

/// Work and its progress. A round is one pass through all phases; rounds are counted from 1.
pub(super) struct Schedule<W> {
    pub work: W,
    rounds: AtomicUsize,
    phases: Vec<Phase>,
}

struct Phase {
    items: Items,
    /// For each item, the last round in which a thread has claimed it.
    claimed: Vec<AtomicUsize>,
    /// The items finished so far, in all rounds.
    finished: AtomicUsize,
}

/// A guard that counts an item as finished when it is dropped, even after a panic. Then the lock of the item is
/// poisoned, so the next thread that locks it panics, too.
struct Finished<'a>(&'a AtomicUsize);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

impl Phase {
    fn new(items: Items) -> Self {
        let claimed = (0..items.divided + items.shared).map(|_| AtomicUsize::new(0)).collect();
        Self { items, claimed, finished: AtomicUsize::new(0) }
    }

    /// The items in the order in which a thread tries to claim them.
    fn order(&self, thread: usize, threads: usize) -> impl Iterator<Item = usize> {
        let Items { divided, shared } = self.items;
        let (own, end) = (thread * divided / threads, (thread + 1) * divided / threads);
        (divided..divided + shared)
            .chain(own..end)
            .chain((end..divided).rev())
            .chain((0..own).rev())
    }
}

impl<W: Work> Schedule<W> {
    /// A schedule of work whose phases have these items.
    pub(super) fn new(work: W, items: &[Items]) -> Self {
        let phases = items.iter().copied().map(Phase::new).collect();
        Self { work, rounds: AtomicUsize::new(0), phases }
    }

    /// Runs all phases once, on the caller's thread.
    pub(super) fn run(&self) {
        self.take_part(self.next_round(), 0, 1);
    }

    fn next_round(&self) -> usize {
        self.rounds.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes part in a round as one of several threads, until the round is over.
    fn take_part(&self, round: usize, thread: usize, threads: usize) {
        for (number, phase) in self.phases.iter().enumerate() {
            for item in phase.order(thread, threads) {
                // No order with other memory is needed here: a phase begins after it has seen `finished` of the
                // one before.
                let claim = phase.claimed[item].compare_exchange(
                    round - 1,
                    round,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if claim.is_ok() {
                    let _finished = Finished(&phase.finished);
                    self.work.item(number, item);
                }
            }
            let over = || phase.finished.load(Ordering::Acquire) >= round * phase.claimed.len();
            // If the wait takes longer than a moment, the thread with the last item is not running, and may need this
            // core.
            wait(over, || thread::sleep(SPIN));
        }
    }
}

/// Spins until `holds` returns true; after [`SPIN`], calls `rest` between two checks.
fn wait(holds: impl Fn() -> bool, rest: impl Fn()) {
    let mut begin = None;
    while !holds() {
        if begin.get_or_insert_with(Instant::now).elapsed() > SPIN {
            rest();
        } else {
            (0..8).for_each(|_| spin_loop());
        }
    }
}

/// The choice between all threads and one: on a busy machine, threads that wait for each other can be slower than one.
/// The slower way is tried now and then. The results are the same, because they don't depend on which thread computes
/// an item.
struct Pace {
    /// Whether the rounds being measured run on one thread only.
    alone: bool,
    /// Whether the current measurement is a trial of the slower way.
    trial: bool,
    /// The time in seconds, and the number of rounds, of the current measurement so far.
    seconds: f64,
    rounds: u32,
    /// The time of a round in seconds, as last measured: on all threads, and on one.
    together: f64,
    by_itself: f64,
    /// The time in seconds, spent working, until the next trial.
    until_trial: f64,
}

impl Pace {
    /// The minimum duration of a measurement in seconds.
    const MEASUREMENT: f64 = 0.02;
    /// The minimum duration of a trial in seconds.
    const TRIAL: f64 = 0.004;
    /// The time between two trials, as a multiple of the duration of the last trial.
    const PAUSE: f64 = 50.0;

    const fn new() -> Self {
        Self {
            alone: false,
            trial: false,
            seconds: 0.0,
            rounds: 0,
            together: f64::INFINITY,
            by_itself: f64::INFINITY,
            until_trial: 0.0,
        }
    }

    /// Counts a round, and chooses whether the next round runs on all threads or on one.
    fn count(&mut self, time: Duration) {
        self.seconds += time.as_secs_f64();
        self.rounds += 1;
        if self.seconds < if self.trial { Self::TRIAL } else { Self::MEASUREMENT } {
            return;
        }
        let round = self.seconds / f64::from(self.rounds);
        *if self.alone { &mut self.by_itself } else { &mut self.together } = round;
        self.until_trial -= self.seconds;
        if self.trial {
            self.until_trial = Self::PAUSE * self.seconds;
        }
        self.trial = self.until_trial <= 0.0;
        self.alone = (self.by_itself < self.together) != self.trial;
        (self.seconds, self.rounds) = (0.0, 0);
    }
}

/// The threads of a level. The thread that calls [`run`](Self::run) is the first of them.
pub(super) struct Team<W> {
    shared: Arc<Shared<W>>,
    workers: Vec<JoinHandle<()>>,
    pace: Pace,
}

/// An order to the workers: a schedule, and the round to take part in; `None` ends the workers.
type Order<W> = Option<(Arc<Schedule<W>>, usize)>;

struct Shared<W> {
    /// The last order; `None` before the first order, and to end the workers.
    order: Mutex<Order<W>>,
    /// The number of orders so far.
    orders: AtomicUsize,
    /// For each worker, whether it is about to sleep.
    asleep: Vec<AtomicBool>,
}

impl<W: Work> Team<W> {
    /// Starts `threads - 1` workers; with the caller's thread, the team has `threads` threads.
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            order: Mutex::new(None),
            orders: AtomicUsize::new(0),
            asleep: (1..threads).map(|_| AtomicBool::new(false)).collect(),
        });
        let worker = |number: usize| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.serve(number, threads))
        };
        let workers = (0..threads - 1).map(worker).collect();
        Self { shared, workers, pace: Pace::new() }
    }

    /// Runs all phases once: on all threads, or only on the caller's while that is faster.
    pub(super) fn run(&mut self, schedule: &Arc<Schedule<W>>) {
        let begin = Instant::now();
        if self.pace.alone || self.workers.is_empty() {
            schedule.run();
        } else {
            let round = schedule.next_round();
            self.order(Some((Arc::clone(schedule), round)));
            schedule.take_part(round, 0, self.workers.len() + 1);
        }
        self.pace.count(begin.elapsed());
    }
}

impl<W> Team<W> {
    /// Gives the workers an order, and wakes those that sleep.
    fn order(&self, order: Order<W>) {
        *self.shared.order.lock().expect("nothing panics while it is held") = order;
        self.shared.orders.fetch_add(1, Ordering::SeqCst);
        for (worker, asleep) in self.workers.iter().zip(&self.shared.asleep) {
            if asleep.load(Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
    }
}

impl<W: Work> Shared<W> {
    /// A worker's loop: takes part in each order, until an order is `None`.
    fn serve(&self, number: usize, threads: usize) {
        let mut seen = 0;
        loop {
            let new = || self.orders.load(Ordering::SeqCst) != seen;
            wait(new, || {
                // If an order arrives after the check below, `unpark` follows it, so `park` returns immediately.
                self.asleep[number].store(true, Ordering::SeqCst);
                if !new() {
                    thread::park();
                }
                self.asleep[number].store(false, Ordering::SeqCst);
            });
            seen = self.orders.load(Ordering::SeqCst);
            let order = self.order.lock().expect("nothing panics while it is held").clone();
            let Some((schedule, round)) = order else { return };
            schedule.take_part(round, number + 1, threads);
        }
    }
}

impl<W> Drop for Team<W> {
    fn drop(&mut self) {
        self.order(None);
        for worker in self.workers.drain(..) {
            // A worker's panic is ignored here: it has poisoned the lock of an item, so the step has panicked, too.
            let _ = worker.join();
        }
    }
}
