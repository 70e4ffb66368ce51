//! The protocol of streams: queues of work, each done in order by a thread of its own, and waiting
//! for each other.
//!
//! No two queues wait for each other for ever. What a job waits for was put into its queue before the
//! job was put into another, because [`Order`] lets one thread at a time find out what there is and
//! add to it: so there is always a job that waits for nothing, the oldest.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How far a queue has to have come: this many of its jobs are done.
pub(crate) type Ticket<J> = (Arc<Queue<J>>, u64);

/// A queue of jobs.
#[derive(Debug)]
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    /// Work has come, or none will.
    work: Condvar,
    /// Work has been done.
    done: Condvar,
}

#[derive(Debug)]
struct State<J> {
    jobs: VecDeque<Entry<J>>,
    submitted: u64,
    completed: u64,
    /// Whether there is a thread that does the work.
    working: bool,
    closed: bool,
}

/// Work, and what has to be done in other queues before.
#[derive(Debug)]
struct Entry<J> {
    after: Vec<Ticket<J>>,
    job: J,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        let state = State {
            jobs: VecDeque::new(),
            submitted: 0,
            completed: 0,
            working: false,
            closed: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), done: Condvar::new() }
    }
}

impl<J> Queue<J> {
    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end, to be done after others: how much work stands in the queue then, since
    /// its beginning. Where no thread does the work, `start` starts one that calls
    /// [`work`](Self::work).
    ///
    /// # Errors
    /// That of `start`; the job is not in the queue then.
    pub(crate) fn push<E>(
        &self,
        after: Vec<Ticket<J>>,
        job: J,
        start: impl FnOnce() -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut state = self.state();
        if !state.working {
            start()?;
            state.working = true;
        }
        state.jobs.push_back(Entry { after, job });
        state.submitted += 1;
        let ticket = state.submitted;
        drop(state);
        self.work.notify_one();
        Ok(ticket)
    }

    /// What stands in it, if there is something that is not done.
    pub(crate) fn pending(self: &Arc<Self>) -> Option<Ticket<J>> {
        let state = self.state();
        (state.completed < state.submitted).then(|| (Arc::clone(self), state.submitted))
    }

    /// Waits until this much work is done, since the beginning.
    pub(crate) fn wait_for(&self, ticket: u64) {
        let mut state = self.state();
        while state.completed < ticket {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How much work has been done since the beginning, and how much stands in it.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let state = self.state();
        (state.completed, state.submitted - state.completed)
    }

    /// Waits until all is done that stands in it now.
    pub(crate) fn wait_for_all(&self) {
        let ticket = self.state().submitted;
        self.wait_for(ticket);
    }

    /// The thread that does the work ends when there is none.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.work.notify_one();
    }

    /// Does the work, until the queue is closed and empty.
    pub(crate) fn work(&self, mut run: impl FnMut(J)) {
        while let Some(Entry { after, job }) = self.next() {
            for (queue, ticket) in &after {
                queue.wait_for(*ticket);
            }
            // What the job holds is given back before it counts as done.
            run(job);
            drop(after);
            self.state().completed += 1;
            self.done.notify_all();
        }
    }

    fn next(&self) -> Option<Entry<J>> {
        let mut state = self.state();
        loop {
            if let Some(entry) = state.jobs.pop_front() {
                return Some(entry);
            }
            if state.closed {
                state.working = false;
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The one order in which work comes into the queues that may wait for each other, until it ends.
#[derive(Debug, Default)]
pub(crate) struct Order(Mutex<Ended>);

#[derive(Debug, Default)]
struct Ended(bool);

/// While it lives, nobody else puts work into these queues.
#[derive(Debug)]
pub(crate) struct Turn<'order>(
    #[expect(dead_code, reason = "held for its `Drop`")] MutexGuard<'order, Ended>,
);

impl Order {
    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn to put work in; `None` when no work is taken any longer.
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        let ended = self.ended();
        (!ended.0).then_some(Turn(ended))
    }

    /// No work is taken from now on: whoever then waits for the queues waits for all that ever was.
    /// False when it had ended before.
    pub(crate) fn end(&self) -> bool {
        !std::mem::replace(&mut self.ended().0, true)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use shuttle::thread;

    use super::*;
    use crate::event::Mark;

    /// How many orders of the threads are tried.
    const ORDERS: usize = 1000;

    type Job = Box<dyn FnOnce() + Send>;
    type Jobs = Arc<Queue<Job>>;

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let model = Arc::new(model);
        let again = Arc::clone(&model);
        shuttle::check_random(move || model(), ORDERS);
        shuttle::check_pct(move || again(), ORDERS, 3);
    }

    fn put(queue: &Jobs, after: Vec<Ticket<Job>>, job: impl FnOnce() + Send + 'static) -> u64 {
        let own = Arc::clone(queue);
        let start = || -> Result<(), Infallible> {
            thread::spawn(move || own.work(|job| job()));
            Ok(())
        };
        let Ok(ticket) = queue.push(after, Box::new(job), start);
        ticket
    }

    /// A default queue that waits for two others, which wait for it, as streams do.
    #[derive(Default)]
    struct Streams {
        order: Order,
        null: Jobs,
        others: [Jobs; 2],
    }

    impl Streams {
        fn submit(&self, which: Option<usize>, job: impl FnOnce() + Send + 'static) -> bool {
            let Some(_turn) = self.order.turn() else { return false };
            match which {
                None => {
                    let after = self.others.iter().filter_map(Queue::pending).collect();
                    put(&self.null, after, job);
                }
                Some(index) => {
                    let after = self.null.pending().into_iter().collect();
                    put(&self.others[index], after, job);
                }
            }
            true
        }

        fn all(&self) -> impl Iterator<Item = &Jobs> {
            self.others.iter().chain([&self.null])
        }

        fn finish(&self) {
            self.all().for_each(|queue| queue.wait_for_all());
            self.all().for_each(|queue| queue.close());
        }
    }

    #[test]
    fn a_queue_does_everything_in_order() {
        check(|| {
            let (queue, done) = (Jobs::default(), Arc::new(AtomicUsize::new(0)));
            for index in 0..3 {
                let done = Arc::clone(&done);
                put(&queue, Vec::new(), move || {
                    assert_eq!(done.fetch_add(1, Ordering::SeqCst), index);
                });
            }
            queue.wait_for(2);
            assert!(done.load(Ordering::SeqCst) >= 2);
            queue.wait_for_all();
            assert_eq!(done.load(Ordering::SeqCst), 3);
            // A closed queue takes work still, of threads that have the stream.
            queue.close();
            let ticket = put(&queue, Vec::new(), move || drop(done));
            queue.wait_for(ticket);
        });
    }

    #[test]
    fn queues_that_wait_for_each_other_come_to_an_end() {
        check(|| {
            let streams = Arc::new(Streams::default());
            let inside = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..2)
                .map(|index| {
                    let (streams, inside) = (Arc::clone(&streams), Arc::clone(&inside));
                    thread::spawn(move || {
                        for which in [Some(index), None] {
                            let inside = Arc::clone(&inside);
                            streams.submit(which, move || match which {
                                // The default queue's jobs run alone.
                                None => assert_eq!(inside.load(Ordering::SeqCst), 0),
                                Some(_) => {
                                    inside.fetch_add(1, Ordering::SeqCst);
                                    thread::yield_now();
                                    inside.fetch_sub(1, Ordering::SeqCst);
                                }
                            });
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            streams.finish();
        });
    }

    #[test]
    fn what_an_end_waits_for_is_all_that_was_taken() {
        check(|| {
            let streams = Arc::new(Streams::default());
            let freed = Arc::new(AtomicBool::new(false));
            let threads: Vec<_> = [Some(0), Some(1), None]
                .into_iter()
                .map(|which| {
                    let (streams, freed) = (Arc::clone(&streams), Arc::clone(&freed));
                    thread::spawn(move || {
                        streams.submit(which, move || assert!(!freed.load(Ordering::SeqCst)));
                    })
                })
                .collect();
            assert!(streams.order.end());
            streams.finish();
            freed.store(true, Ordering::SeqCst);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(!streams.submit(None, || ()) && !streams.order.end());
        });
    }

    #[test]
    fn a_mark_is_passed_before_who_waits_for_it_goes_on() {
        check(|| {
            let (first, second) = (Jobs::default(), Jobs::default());
            let (mark, written) = (Arc::new(Mark::default()), Arc::new(AtomicBool::new(false)));
            let own = (Arc::clone(&mark), Arc::clone(&written));
            put(&second, Vec::new(), move || {
                own.0.wait().unwrap();
                assert!(own.1.load(Ordering::SeqCst));
            });
            put(&first, Vec::new(), move || written.store(true, Ordering::SeqCst));
            put(&first, Vec::new(), move || mark.pass());
            for queue in [&first, &second] {
                queue.wait_for_all();
                queue.close();
            }
        });
    }

    #[test]
    fn a_queue_without_a_thread_takes_nothing() {
        shuttle::check_random(
            || {
                let queue = Jobs::default();
                let refused = queue.push(Vec::new(), Box::new(|| ()), || Err("no thread"));
                assert_eq!(refused, Err("no thread"));
                assert!(queue.pending().is_none());
                queue.wait_for_all();
            },
            1,
        );
    }
}
