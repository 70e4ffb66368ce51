//! Tests of the driver's functions, called like programs call them.
#![allow(unsafe_code, reason = "the functions are C")]

mod arrays;
mod capture;
mod cards;
mod conditional_nodes;
mod conditional_rules;
mod copies;
mod coredumps;
mod corner_cases;
mod cudarc;
mod descriptions;
mod devices;
mod emulated_gpu;
mod export_tables;
mod fatbins;
mod faults;
mod folders;
mod graph_attributes;
mod graph_edges;
mod graph_ids;
mod graphs;
mod green_contexts;
mod initialisation;
mod interprocess;
mod layers;
mod legacy_launches;
mod library_work;
mod lifetime;
mod linking;
mod memory;
mod mipmaps;
mod modules;
mod nested_graphs;
mod process_exit;
mod python;
mod resources;
mod streams;
mod stress;
#[path = "../support/mod.rs"]
mod support;
mod textures;
mod thread_exit;
mod unaligned;
mod virtual_memory;
