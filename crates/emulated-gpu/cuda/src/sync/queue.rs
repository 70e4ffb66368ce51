//! The queues of streams. A worker thread executes each queue's jobs in order; jobs may wait for jobs of other
//! queues.
//!
//! Queues can't deadlock. A job only waits for jobs that were enqueued earlier, because [`SubmissionOrder`] lets only
//! one thread at a time collect the pending jobs and enqueue a new one. So the oldest pending job never waits.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A point in a queue: a queue, and the number of jobs that were executed at that point.
pub(crate) type Ticket<J> = (Arc<Queue<J>>, u64);

/// A queue of jobs.
#[derive(Debug)]
pub(crate) struct Queue<J> {
    state: Mutex<QueueState<J>>,
    /// Notified when work was enqueued or the queue was closed.
    work: Condvar,
    /// Notified when a job was done.
    done: Condvar,
}

#[derive(Debug)]
struct QueueState<J> {
    jobs: VecDeque<QueueEntry<J>>,
    submitted: u64,
    completed: u64,
    /// Whether the queue has a worker thread.
    has_worker: bool,
    closed: bool,
}

/// An entry of a queue: a job, and the tickets of other queues for which the job waits.
#[derive(Debug)]
struct QueueEntry<J> {
    after: Vec<Ticket<J>>,
    job: J,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        let state = QueueState {
            jobs: VecDeque::new(),
            submitted: 0,
            completed: 0,
            has_worker: false,
            closed: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), done: Condvar::new() }
    }
}

impl<J> Queue<J> {
    fn state(&self) -> MutexGuard<'_, QueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues a job that waits for `after`. Returns its ticket: the number of jobs enqueued so far. If the queue has
    /// no worker, `start` starts a thread that calls [`work`](Self::work).
    ///
    /// # Errors
    /// The errors of `start`; in that case, the job is not enqueued.
    pub(crate) fn push<E>(
        &self,
        after: Vec<Ticket<J>>,
        job: J,
        start: impl FnOnce() -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut state = self.state();
        if !state.has_worker {
            start()?;
            state.has_worker = true;
        }
        state.jobs.push_back(QueueEntry { after, job });
        state.submitted += 1;
        let ticket = state.submitted;
        drop(state);
        self.work.notify_one();
        Ok(ticket)
    }

    /// The ticket of the last job; `None` if that job is done.
    pub(crate) fn pending(self: &Arc<Self>) -> Option<Ticket<J>> {
        let state = self.state();
        (state.completed < state.submitted).then(|| (Arc::clone(self), state.submitted))
    }

    /// Waits until the job with this ticket is done.
    pub(crate) fn wait_for(&self, ticket: u64) {
        let mut state = self.state();
        while state.completed < ticket {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The number of jobs done so far, and the number of pending ones.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let state = self.state();
        (state.completed, state.submitted - state.completed)
    }

    /// Waits until all pending jobs are done.
    pub(crate) fn wait_for_all(&self) {
        let ticket = self.state().submitted;
        self.wait_for(ticket);
    }

    /// Closes the queue: its worker exits when the queue is empty.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.work.notify_one();
    }

    /// Executes jobs until the queue is closed and empty.
    pub(crate) fn work(&self, mut run: impl FnMut(J)) {
        while let Some(QueueEntry { after, job }) = self.next() {
            for (queue, ticket) in &after {
                queue.wait_for(*ticket);
            }
            // The job's resources are released before it counts as done.
            run(job);
            drop(after);
            self.state().completed += 1;
            self.done.notify_all();
        }
    }

    fn next(&self) -> Option<QueueEntry<J>> {
        let mut state = self.state();
        loop {
            if let Some(entry) = state.jobs.pop_front() {
                return Some(entry);
            }
            if state.closed {
                state.has_worker = false;
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Serialises submissions to queues whose jobs may wait for each other, until submissions are ended.
#[derive(Debug, Default)]
pub(crate) struct SubmissionOrder(Mutex<Ended>);

#[derive(Debug, Default)]
struct Ended(bool);

/// A guard: while it exists, no other thread can submit work.
#[derive(Debug)]
pub(crate) struct SubmissionGuard<'order>(
    #[expect(dead_code, reason = "held for its `Drop`")] MutexGuard<'order, Ended>,
);

impl SubmissionOrder {
    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the order for a submission; `None` if no more work is accepted.
    pub(crate) fn lock(&self) -> Option<SubmissionGuard<'_>> {
        let ended = self.ended();
        (!ended.0).then_some(SubmissionGuard(ended))
    }

    /// Ends the acceptance of work, so that a later wait covers all work that was ever accepted. Returns false if it
    /// had been ended before.
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

    /// Number of interleavings of the threads that are tried.
    const INTERLEAVINGS: usize = 1000;

    type Job = Box<dyn FnOnce() + Send>;
    type Jobs = Arc<Queue<Job>>;

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let model = Arc::new(model);
        let again = Arc::clone(&model);
        shuttle::check_random(move || model(), INTERLEAVINGS);
        shuttle::check_pct(move || again(), INTERLEAVINGS, 3);
    }

    fn put(queue: &Jobs, after: Vec<Ticket<Job>>, job: impl FnOnce() + Send + 'static) -> u64 {
        let worker = Arc::clone(queue);
        let start = || -> Result<(), Infallible> {
            thread::spawn(move || worker.work(|job| job()));
            Ok(())
        };
        let Ok(ticket) = queue.push(after, Box::new(job), start);
        ticket
    }

    /// A default queue, and two other queues that wait for it and for which it waits, as streams do.
    #[derive(Default)]
    struct Streams {
        order: SubmissionOrder,
        null: Jobs,
        other_jobs: [Jobs; 2],
    }

    impl Streams {
        fn submit(&self, which: Option<usize>, job: impl FnOnce() + Send + 'static) -> bool {
            let Some(_guard) = self.order.lock() else { return false };
            match which {
                None => {
                    let after = self.other_jobs.iter().filter_map(Queue::pending).collect();
                    put(&self.null, after, job);
                }
                Some(index) => {
                    let after = self.null.pending().into_iter().collect();
                    put(&self.other_jobs[index], after, job);
                }
            }
            true
        }

        fn all(&self) -> impl Iterator<Item = &Jobs> {
            self.other_jobs.iter().chain([&self.null])
        }

        fn finish(&self) {
            self.all().for_each(|queue| queue.wait_for_all());
            self.all().for_each(|queue| queue.close());
        }
    }

    #[test]
    fn a_queue_executes_jobs_in_order() {
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
            // A closed queue still accepts work, because threads may hold the stream.
            queue.close();
            let ticket = put(&queue, Vec::new(), move || drop(done));
            queue.wait_for(ticket);
        });
    }

    #[test]
    fn queues_that_wait_for_each_other_do_not_deadlock() {
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
                                // No other job may run at the same time as a job of the default queue.
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
    fn waiting_after_the_end_covers_all_accepted_work() {
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
    fn waiters_continue_after_the_mark_is_passed() {
        check(|| {
            let (first, second) = (Jobs::default(), Jobs::default());
            let (mark, written) = (Arc::new(Mark::default()), Arc::new(AtomicBool::new(false)));
            let shared = (Arc::clone(&mark), Arc::clone(&written));
            put(&second, Vec::new(), move || {
                shared.0.wait().unwrap();
                assert!(shared.1.load(Ordering::SeqCst));
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
    fn a_job_is_rejected_if_no_thread_can_be_started() {
        shuttle::check_random(
            || {
                let queue = Jobs::default();
                let rejected = queue.push(Vec::new(), Box::new(|| ()), || Err("no thread"));
                assert_eq!(rejected, Err("no thread"));
                assert!(queue.pending().is_none());
                queue.wait_for_all();
            },
            1,
        );
    }
}
