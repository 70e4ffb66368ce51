//! What the sanitizer finds: for each a planted fault, and a clean twin that is not flagged.

mod initcheck;
mod memcheck;
mod objects;
mod ordering;
mod racecheck;
mod synccheck;
mod volatile;
