//! The sanitizers: for each error, a faulty kernel and a similar clean one that is not flagged.

mod initcheck;
mod memcheck;
mod objects;
mod ordering;
mod racecheck;
mod synccheck;
mod volatile;
