//! Loads and stores. A half warp whose addresses are all the same, or are neighbours, is served by one
//! check and one copy; every other lane is checked and served by itself.

pub(crate) mod choose;
mod each;
mod element;
pub(super) mod instruction;
pub(super) mod pattern;
mod rows;
