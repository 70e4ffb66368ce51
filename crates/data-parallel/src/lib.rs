//! Data parallelism: several ranks, each with a GPU, train one network together.
//!
//! Every rank computes the gradients of its share of a batch, NCCL adds them up, and all make the same update:
//!
//! ```text
//! kernels       … dz2  dw2  db2 | dz1  dw1  db1 |          update w1 b1 w2 b2 …
//!                              \               \          /
//! all_reduce                    [ dw2 db2 ]     [ dw1 db1 ]
//! ```
//!
//! A bucket holds the gradients that are sent together: the gradients of a layer, or of several small layers. A second
//! stream sends it as soon as it is complete, while the kernels go on with the layer before. Each rank has already
//! applied the factor 1/B of the whole batch to its sums, so shares may have different sizes, or be empty.
//!
//! [`DataParallel`] is an adapter: it makes a rank of any level that implements [`DeviceLevel`], and is a
//! [`Level`](training::Level) itself. A level that can run several steps in one call
//! ([`MultiStep`](training::MultiStep)) runs them one at a time if it is a rank, because every step ends with an
//! all-reduce.
//!
//! | module | contents |
//! |---|---|
//! | `level` | [`DeviceLevel`], the trait that a level implements to be a rank |
//! | `adapter` | [`DataParallel`] |
//! | `collectives`, `communicator` | all-reduces, and NCCL's communicator |
//! | `rank`, `terms` | a rank's number and share; the settings that have to be the same on all ranks |
//! | `options` | `--gpus`, `--distributed`, `--bucket`, `--wait` |
//! | `threads`, `process` | ranks as threads of one process; this process as one of several |
//! | `environment`, `rendezvous` | torchrun's and Slurm's variables; how processes find each other |
//! | `peer`, `link` | which peers a rank accepts, and how it notices that a peer has failed |

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

pub use adapter::{DataParallel, Reduction};
pub use error::{Error, Result};
pub use level::{DeviceLevel, Finished};
pub use options::ParallelArgs;
pub use rank::Rank;
pub use threads::{EachRank, Make, on_gpus};
