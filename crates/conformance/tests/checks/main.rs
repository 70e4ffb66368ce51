//! The suite itself: that it passes, what it prints, and that it accepts a reader's level.

mod command_line;
mod edges;
mod no_batch;
mod own_level;
mod report_pages;
mod suite;
mod witnesses;
