//! Where the time of a run goes: which kernels and copies, how often, how long, how fast.
//!
//! On a real GPU, CUDA events before and behind each of them tell the time. The emulated GPU's
//! times say nothing about a GPU, so there the table tells what it counted instead: instructions, bytes,
//! multiply-adds, and how many of a multiprocessor's places the blocks take.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, LaunchConfig};

use crate::counts::Counter;
use crate::nvtx::{Nvtx, Range};
use crate::{Counts, Gpu, Result, Stretch, Work};

mod launch;
mod occupancy;
mod report;
mod table;
mod totals;
mod trace;

mod overlap;

use occupancy::Occupancy;
pub use report::Profile;
pub use totals::{ActivityKind, Total};
use totals::{Span, Totals};

/// Spans that are kept for the trace: more than a viewer shows well.
const SPANS: usize = 20_000;
/// Pairs of events that are kept before they are asked for their times.
const PENDING: usize = 4_096;

/// Writes down what is launched and copied, where that was asked for. Clones write to the same
/// place.
#[derive(Clone, Default)]
pub struct Profiler(Option<Rc<RefCell<Records>>>);

struct Records {
    device: String,
    /// Counts instructions, on the emulated GPU.
    counter: Option<Counter>,
    nvtx: Option<Nvtx>,
    functions: Vec<(&'static str, CudaFunction)>,
    /// Of launches that are counted.
    occupancy: Option<Occupancy>,
    /// The first event: time 0.
    origin: Option<Stretch>,
    pending: Vec<Entry>,
    totals: Totals,
    spans: Vec<Span>,
}

/// Something that was put into a stream.
struct Entry {
    work: Work,
    kind: ActivityKind,
    stretch: Stretch,
}

impl Profiler {
    /// One that writes down nothing.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// One that writes down everything from now on.
    #[must_use]
    pub fn on(gpu: &Gpu) -> Self {
        Self(Some(Rc::new(RefCell::new(Records {
            device: gpu.device().to_owned(),
            counter: gpu.is_emulated().then(Counter::start).flatten(),
            nvtx: Nvtx::load(),
            functions: Vec::new(),
            occupancy: gpu.is_emulated().then(|| Occupancy::new(gpu.context()).ok()).flatten(),
            origin: None,
            pending: Vec::new(),
            totals: Totals::default(),
            spans: Vec::new(),
        }))))
    }

    /// Whether anything is written down: then launches have to be recorded between two events.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Is told of a kernel and of the operation that it is.
    pub fn watch(&self, operation: &'static str, function: &CudaFunction) {
        if let Some(records) = &self.0 {
            records.borrow_mut().functions.push((operation, function.clone()));
        }
    }

    /// Is told of the shape of a launch.
    fn shaped(&self, operation: &'static str, shape: LaunchConfig) -> Result<()> {
        let Some(records) = &self.0 else { return Ok(()) };
        let Records { functions, occupancy, .. } = &mut *records.borrow_mut();
        let Some(occupancy) = occupancy else { return Ok(()) };
        for (_, function) in functions.iter().filter(|(name, _)| *name == operation) {
            occupancy.launched(operation, function, shape)?;
        }
        Ok(())
    }

    /// Names what the host does until the range is dropped, for NVIDIA's own profilers; nothing
    /// happens where the NVTX library is missing.
    #[must_use]
    pub fn range(&self, name: &str) -> Option<Range> {
        self.0
            .as_ref()
            .and_then(|records| records.borrow().nvtx.as_ref().map(|nvtx| nvtx.push(name)))
    }

    /// Writes down a launch, given the events before and behind it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launched(&self, work: Work, events: Option<(CudaEvent, CudaEvent)>) -> Result<()> {
        match (&self.0, events) {
            (Some(records), Some((start, end))) => {
                let stretch = Stretch::between(start, end);
                records.borrow_mut().push(Entry { work, kind: ActivityKind::Kernel, stretch })
            }
            _ => Ok(()),
        }
    }

    /// Writes down what several GPUs do together, given the events before and behind it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn sent(&self, work: Work, (start, end): (CudaEvent, CudaEvent)) -> Result<()> {
        let Some(records) = &self.0 else { return Ok(()) };
        let stretch = Stretch::between(start, end);
        records.borrow_mut().push(Entry { work, kind: ActivityKind::Collective, stretch })
    }

    /// Makes a copy in a stream, and writes it down.
    ///
    /// # Errors
    /// What the copy says, or the driver.
    pub fn copy(
        &self,
        name: &'static str,
        stream: &CudaStream,
        bytes: usize,
        copy: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(records) = &self.0 else { return copy() };
        let _range = self.range(name);
        let stretch = Stretch::record(stream, copy)?;
        let work = Work { operation: name, bytes, flops: 0 };
        records.borrow_mut().push(Entry { work, kind: ActivityKind::Copy, stretch })
    }

    /// The table, a line each; waits for the device. Empty when nothing was written down.
    ///
    /// # Errors
    /// What the driver says.
    pub fn table(&self) -> Result<Vec<String>> {
        let Some(records) = &self.0 else { return Ok(Vec::new()) };
        let mut records = records.borrow_mut();
        records.fold()?;
        let records = &*records;
        let mut lines = match &records.counter {
            Some(counter) => {
                let count = |name: &str| records.counted(counter, name);
                let occupancy = |name: &str| records.occupancy.as_ref()?.of(name);
                table::counted(&records.device, &records.totals, count, occupancy)
            }
            None => table::timed(&records.device, &records.totals),
        };
        lines.extend(overlap::line(&records.spans));
        Ok(lines)
    }

    /// What the emulated GPU counted of an operation's kernels until now; `None` on a real GPU, and
    /// where nothing is written down. The stream has to be waited for before.
    #[must_use]
    pub fn counts(&self, operation: &str) -> Option<Counts> {
        let records = self.0.as_ref()?.borrow();
        records.counter.as_ref().map(|counter| records.counted(counter, operation))
    }

    /// The sums over all launches of each operation, in the order in which they first came; waits
    /// for the device. Empty when nothing was written down.
    ///
    /// # Errors
    /// What the driver says.
    pub fn totals(&self) -> Result<Vec<Total>> {
        let Some(records) = &self.0 else { return Ok(Vec::new()) };
        let mut records = records.borrow_mut();
        records.fold()?;
        Ok(records.totals.iter().cloned().collect())
    }

    /// The kernels that were counted, those of one name together, and what was counted of them; waits for
    /// the device. Empty on a real GPU, and when nothing was written down.
    ///
    /// # Errors
    /// What the driver says.
    pub fn counted(&self) -> Result<Vec<(Total, Counts)>> {
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
    /// What the driver or the operating system says.
    pub fn write_trace(&self, path: &Path) -> Result<()> {
        let Some(records) = &self.0 else { return Ok(()) };
        let mut records = records.borrow_mut();
        records.fold()?;
        trace::write(path, &records.device, records.counter.is_some(), &records.spans)
    }
}

impl Records {
    /// All that was counted of the kernels of an operation.
    fn counted(&self, counter: &Counter, operation: &str) -> Counts {
        let functions = self.functions.iter().filter(|(other, _)| *other == operation);
        functions.map(|(_, function)| counter.of(function)).sum()
    }

    fn push(&mut self, entry: Entry) -> Result<()> {
        self.pending.push(entry);
        if self.pending.len() < PENDING { Ok(()) } else { self.fold() }
    }

    /// Asks the events for their times, and adds these up.
    fn fold(&mut self) -> Result<()> {
        for entry in self.pending.drain(..) {
            let origin = self.origin.as_ref().unwrap_or(&entry.stretch);
            let (start, time) = (entry.stretch.since(origin)?, entry.stretch.elapsed()?);
            let Entry { work, kind, .. } = entry;
            self.totals.add(work, kind, time);
            if self.spans.len() < SPANS {
                self.spans.push(Span { work, kind, start, time });
            }
            self.origin.get_or_insert(entry.stretch);
        }
        Ok(())
    }
}
