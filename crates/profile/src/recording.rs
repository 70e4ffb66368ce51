//! Recording of launches and copies: their number, times and speeds.
//!
//! On a real GPU, CUDA events before and after each launch or copy measure its time. The emulated GPU's times mean
//! nothing for a real GPU, so its table shows counts instead: instructions, bytes, multiply-adds, occupancy.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use cudarc::driver::{CudaFunction, LaunchConfig};
use gpu::{ActivityKind, Gpu, Nvtx, Profiler, Range, Recorder, Result, Stretch, Work};

use crate::counts::{Counter, Counts};
use crate::occupancy::Occupancy;
use crate::totals::{Span, Total, Totals};
use crate::{overlap, table, trace};

/// The maximum number of spans in the trace, because viewers become slow with more.
const MAX_SPANS: usize = 20_000;
/// The maximum number of pairs of events that are pending. When it is reached, their times are read.
const MAX_PENDING: usize = 4_096;

/// Records everything that is launched and copied through its [`profiler`](Self::profiler). Clones share the recorded
/// data.
#[derive(Clone)]
pub struct Recording(Rc<RefCell<Records>>);

struct Records {
    device: String,
    /// Counts instructions on the emulated GPU; `None` on a real one.
    counter: Option<Counter>,
    nvtx: Option<Nvtx>,
    functions: Vec<(&'static str, CudaFunction)>,
    /// The occupancy of launches on the emulated GPU; `None` on a real one.
    occupancy: Option<Occupancy>,
    /// The first activity, whose start is time 0.
    origin: Option<Stretch>,
    pending: Vec<Entry>,
    totals: Totals,
    spans: Vec<Span>,
}

/// A recorded activity in a stream.
struct Entry {
    work: Work,
    kind: ActivityKind,
    stretch: Stretch,
}

impl Recording {
    /// Starts a recording on this GPU.
    #[must_use]
    pub fn start(gpu: &Gpu) -> Self {
        Self(Rc::new(RefCell::new(Records {
            device: gpu.device().to_owned(),
            counter: gpu.is_emulated().then(Counter::start).flatten(),
            nvtx: Nvtx::load(),
            functions: Vec::new(),
            occupancy: gpu.is_emulated().then(|| Occupancy::new(gpu.context()).ok()).flatten(),
            origin: None,
            pending: Vec::new(),
            totals: Totals::default(),
            spans: Vec::new(),
        })))
    }

    /// The profiler to which a level reports its launches.
    #[must_use]
    pub fn profiler(&self) -> Profiler {
        Profiler::to(Rc::new(self.clone()))
    }

    /// The lines of the table; waits for the device.
    ///
    /// # Errors
    /// The driver's error.
    pub fn table(&self) -> Result<Vec<String>> {
        let mut records = self.0.borrow_mut();
        records.add_pending()?;
        let records = &*records;
        let mut lines = match &records.counter {
            Some(counter) => {
                let count = |name: &str| records.sum_of_counts(counter, name);
                let occupancy = |name: &str| records.occupancy.as_ref()?.range(name);
                table::lines_with_counts(&records.device, &records.totals, count, occupancy)
            }
            None => table::lines_with_times(&records.device, &records.totals),
        };
        lines.extend(overlap::line(&records.spans));
        Ok(lines)
    }

    /// The emulated GPU's counts of an operation's kernels until now; `None` on a real GPU.
    /// The caller has to synchronise the stream first.
    #[must_use]
    pub fn counts(&self, operation: &str) -> Option<Counts> {
        let records = self.0.borrow();
        records.counter.as_ref().map(|counter| records.sum_of_counts(counter, operation))
    }

    /// The sums over all launches of each operation, in order of their first launch; waits
    /// for the device.
    ///
    /// # Errors
    /// The driver's error.
    pub fn totals(&self) -> Result<Vec<Total>> {
        let mut records = self.0.borrow_mut();
        records.add_pending()?;
        Ok(records.totals.iter().cloned().collect())
    }

    /// The operations with counts, and their counts; waits for the device. Empty on a real GPU.
    ///
    /// # Errors
    /// The driver's error.
    pub fn operations_with_counts(&self) -> Result<Vec<(Total, Counts)>> {
        let totals = self.totals()?;
        let counts = |total: Total| {
            let counts = self.counts(total.name).filter(|counts| counts.warp_instructions > 0)?;
            Some((total, counts))
        };
        Ok(totals
            .into_iter()
            .filter(|total| total.kind == ActivityKind::Kernel)
            .filter_map(counts)
            .collect())
    }

    /// Writes a trace that Perfetto (<https://ui.perfetto.dev>) and Chrome (`chrome://tracing`)
    /// show; waits for the device.
    ///
    /// # Errors
    /// The driver's error; [`ProfileError::Write`](crate::ProfileError::Write) if the file can't be written.
    pub fn write_trace(&self, path: &Path) -> crate::Result<()> {
        let mut records = self.0.borrow_mut();
        records.add_pending()?;
        trace::write(path, &records.device, records.counter.is_some(), &records.spans)
    }
}

impl Recorder for Recording {
    fn watch(&self, operation: &'static str, function: &CudaFunction) {
        self.0.borrow_mut().functions.push((operation, function.clone()));
    }

    fn shape(&self, operation: &'static str, shape: LaunchConfig) -> Result<()> {
        let Records { functions, occupancy, .. } = &mut *self.0.borrow_mut();
        let Some(occupancy) = occupancy else { return Ok(()) };
        for (_, function) in functions.iter().filter(|(name, _)| *name == operation) {
            occupancy.launched(operation, function, shape)?;
        }
        Ok(())
    }

    fn range(&self, name: &str) -> Option<Range> {
        self.0.borrow().nvtx.as_ref().map(|nvtx| nvtx.push(name))
    }

    fn record(&self, work: Work, kind: ActivityKind, stretch: Stretch) -> Result<()> {
        let mut records = self.0.borrow_mut();
        records.pending.push(Entry { work, kind, stretch });
        if records.pending.len() < MAX_PENDING { Ok(()) } else { records.add_pending() }
    }
}

impl Records {
    /// The sum of the counts of an operation's kernels.
    fn sum_of_counts(&self, counter: &Counter, operation: &str) -> Counts {
        let functions = self.functions.iter().filter(|(other, _)| *other == operation);
        functions.map(|(_, function)| counter.counts(function)).sum()
    }

    /// Reads the times of pending events, and adds them to the totals.
    fn add_pending(&mut self) -> Result<()> {
        for entry in self.pending.drain(..) {
            let origin = self.origin.as_ref().unwrap_or(&entry.stretch);
            let (start, time) = (entry.stretch.since(origin)?, entry.stretch.elapsed()?);
            let Entry { work, kind, .. } = entry;
            self.totals.add(work, kind, time);
            if self.spans.len() < MAX_SPANS {
                self.spans.push(Span { work, kind, start, time });
            }
            self.origin.get_or_insert(entry.stretch);
        }
        Ok(())
    }
}
