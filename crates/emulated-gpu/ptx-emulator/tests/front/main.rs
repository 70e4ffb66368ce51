//! Tests of the front end: valid and invalid texts, and the layers of the code.

mod diagnostics;
mod layers;
mod parser;
