//! Loads and stores. A half warp whose addresses are all equal or consecutive is served by one
//! check and one copy; otherwise each lane is checked and served separately.

pub(crate) mod choose;
mod each;
mod element;
pub(super) mod instruction;
pub(super) mod pattern;
mod rows;
