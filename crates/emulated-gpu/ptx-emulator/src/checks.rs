//! The optional checks (sanitizers), in addition to the checks that are always on.

/// Checks that cost time, or that may reject programs which work on real hardware. Bounds, alignment and use
/// after free are checked for every access regardless of these options, because a kernel could overwrite the
/// host's own memory otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// initcheck: reads of uninitialised global, shared or local memory, or of uninitialised registers.
    pub initialisation: bool,
    /// racecheck: unordered accesses of two threads of one launch to the same global or shared memory. It doesn't
    /// detect races between launches in two streams.
    pub races: bool,
    /// synccheck: lanes of one warp that wait at different barriers, lanes that miss a barrier, and shuffles
    /// from inactive lanes.
    pub synchronisation: bool,
}
