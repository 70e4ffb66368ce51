//! Data parallelism: several ranks, each with a GPU, train one network together.
//!
//! Every rank computes the gradients of its share of a batch, NCCL adds them up, and all make the same
//! update:
//!
//! ```text
//! kernels       … dz2  dw2  db2 | dz1  dw1  db1 |          update w1 b1 w2 b2 …
//!                              \               \          /
//! all_reduce                    [ dw2 db2 ]     [ dw1 db1 ]
//! ```
//!
//! A bucket is what is sent at once: the gradients of a layer, or of several small ones. It is sent
//! in a second stream as soon as it is there, while the kernels go on with the layer before. What is
//! added up are sums with the factor 1/B of the whole batch in them already, so shares may be of
//! different sizes, or empty.
//!
//! [`DataParallel`] is an adapter: it makes a rank of any level that implements [`DeviceLevel`], and is a
//! [`Level`](training::Level) itself. A level that takes several steps in one call
//! ([`MultiStep`](training::MultiStep)) takes them one at a time as a rank, since gradients are summed at
//! every step.
//!
//! | module | contents |
//! |---|---|
//! | `level` | the optional trait: what a level needs so that it can be a rank |
//! | `adapter` | [`DataParallel`] |
//! | `collectives`, `communicator` | what ranks do together, through NCCL |
//! | `rank`, `terms` | which rank this is; what all have to agree on |
//! | `options` | `--gpus`, `--distributed`, `--bucket`, `--wait` |
//! | `threads`, `process` | ranks as threads of one process; this process as one of several |
//! | `environment`, `rendezvous`, `peer`, `link` | torchrun's and Slurm's variables; how processes find each other, whom they let in, and how they hear that one has failed |

mod adapter;
mod collectives;
mod communicator;
mod environment;
mod error;
mod level;
mod link;
mod options;
mod peer;
mod process;
mod rank;
mod rendezvous;
mod terms;
mod threads;

pub use adapter::{DataParallel, Setup};
pub use error::{Error, Result};
pub use level::{DeviceLevel, Finished};
pub use options::ParallelArgs;
pub use rank::Rank;
pub use threads::{EachRank, Make, on_gpus};
