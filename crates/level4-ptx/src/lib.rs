//! Level 4: the network in PTX written by hand.

mod plan;
mod rung;
mod table;

pub use plan::Plan;
pub use rung::Rung;
pub use table::Record;
