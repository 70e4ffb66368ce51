//! The driver's functions, as programs call them.
#![allow(unsafe_code, reason = "the functions are C")]

mod arrays;
mod capture;
mod cards;
mod conditional_nodes;
mod conditional_rules;
mod copies;
mod coredumps;
mod cudarc;
mod descriptions;
mod devices;
mod documented;
mod emulated_gpu;
mod ends;
mod export_tables;
mod fatbins;
mod faults;
mod folders;
mod graph_attributes;
mod graph_edges;
mod graph_numbers;
mod graphs;
mod graphs_in_graphs;
mod green_contexts;
mod initialisation;
mod interprocess;
mod layers;
mod library_work;
mod lifetime;
mod linking;
mod memory;
mod mipmaps;
mod modules;
mod python;
mod resources;
mod storm;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod textures;
mod thread_ends;
mod unaligned;
mod virtual_memory;
