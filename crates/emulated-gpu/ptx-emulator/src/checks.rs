//! The optional checks (sanitizers), in addition to those that are always on.

/// Checks that cost time or that correct programs may fail on hardware's terms. Every access is
/// checked for bounds, alignment and use after free whatever is chosen here: nothing else keeps a
/// kernel from writing over the host's own memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// initcheck: reads of global, shared and local memory, and of registers, that nothing has
    /// written.
    pub initialisation: bool,
    /// racecheck: unordered accesses of two threads of one launch to the same global or shared memory. It doesn't
    /// detect races between launches in two streams.
    pub races: bool,
    /// synccheck: lanes of one warp that wait at different barriers or that a barrier leaves behind,
    /// and shuffles from lanes that don't take part.
    pub synchronisation: bool,
}
