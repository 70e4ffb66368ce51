//! Output of the result: tables for people, JSON for programs, and an HTML page.

mod levels_table;
mod page;
mod report;
mod run_table;
mod table;

pub use levels_table::write_levels_table;
pub use page::write_page;
pub use report::{write_json, write_judgement_json, write_levels_json, write_run_json};
pub use run_table::write_run_table;
pub use table::{write_judgement, write_table};
