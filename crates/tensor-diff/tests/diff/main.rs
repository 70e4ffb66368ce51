//! Tests of the verdicts, their explanations and their output, and of refused input.

mod bounds;
mod clean;
mod command_line;
mod explained;
mod faults;
mod grammar;
mod hostile;
mod levels;
mod malformed;
mod operations;
mod pages;
mod places;
mod ranks;
mod readings;
mod reference_dumps;
mod samples;
mod support;
mod truthful;
mod usual_mistakes;
mod usual_rounding;
