//! The suite itself: that it passes, what it prints, and that a level of one's own can be given to it.

mod command_line;
mod edges;
mod no_batch;
mod own_level;
mod report_pages;
mod suite;
mod witnesses;
