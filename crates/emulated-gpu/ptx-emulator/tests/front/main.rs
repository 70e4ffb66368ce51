//! What is read before anything runs: texts, what is said of wrong ones, and the layers of the code.

mod diagnostics;
mod layers;
mod parser;
