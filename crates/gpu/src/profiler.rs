//! Recording of launches and copies.

use std::rc::Rc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, LaunchConfig};

use crate::{Range, Result, Stretch, Work};

/// The kind of an activity in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// A kernel, or a computation of a library.
    Kernel,
    /// A copy.
    Copy,
    /// A collective operation of several GPUs.
    Collective,
}

/// Records launches and copies. The crate `profile` implements this trait.
pub trait Recorder {
    /// Called when a kernel was loaded for an operation.
    fn watch(&self, operation: &'static str, function: &CudaFunction);

    /// Called when an operation is launched with this grid.
    ///
    /// # Errors
    /// The driver's error.
    fn shape(&self, operation: &'static str, shape: LaunchConfig) -> Result<()>;

    /// Begins a named range of the host's time line for NVIDIA's profilers; it ends when it is dropped. `None`
    /// if the NVTX library is missing.
    fn range(&self, name: &str) -> Option<Range>;

    /// Called when an activity was enqueued in a stream between two events.
    ///
    /// # Errors
    /// The driver's error.
    fn record(&self, work: Work, kind: ActivityKind, stretch: Stretch) -> Result<()>;
}

/// Passes launches and copies to an optional recorder. Clones share the recorder.
#[derive(Clone, Default)]
pub struct Profiler(pub(crate) Option<Rc<dyn Recorder>>);

impl Profiler {
    /// A profiler that records nothing.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// A profiler that passes everything to this recorder.
    #[must_use]
    pub fn to(recorder: Rc<dyn Recorder>) -> Self {
        Self(Some(recorder))
    }

    /// Whether there is a recorder; if so, launches need events before and after them.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Reports that a kernel was loaded for an operation.
    pub fn watch(&self, operation: &'static str, function: &CudaFunction) {
        if let Some(recorder) = &self.0 {
            recorder.watch(operation, function);
        }
    }

    /// See [`Recorder::range`].
    #[must_use]
    pub fn range(&self, name: &str) -> Option<Range> {
        self.0.as_ref()?.range(name)
    }

    /// Records a collective, given the events before and after it.
    ///
    /// # Errors
    /// The driver's error.
    pub fn sent(&self, work: Work, (start, end): (CudaEvent, CudaEvent)) -> Result<()> {
        let Some(recorder) = &self.0 else { return Ok(()) };
        recorder.record(work, ActivityKind::Collective, Stretch::between(start, end))
    }

    /// Runs `copy`, which enqueues a copy in a stream, and records the copy.
    ///
    /// # Errors
    /// The error of `copy`; the driver's error.
    pub fn copy(
        &self,
        name: &'static str,
        stream: &CudaStream,
        bytes: usize,
        copy: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let work = Work { operation: name, bytes, flops: 0 };
        self.activity(work, ActivityKind::Copy, stream, copy)
    }

    /// Runs `launch`, which enqueues an activity in a stream, and records the activity.
    ///
    /// # Errors
    /// The error of `launch`; the driver's error.
    pub fn activity(
        &self,
        work: Work,
        kind: ActivityKind,
        stream: &CudaStream,
        launch: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(recorder) = &self.0 else { return launch() };
        let _range = recorder.range(work.operation);
        let stretch = Stretch::record(stream, launch)?;
        recorder.record(work, kind, stretch)
    }
}
