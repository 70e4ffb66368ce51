//! Graphs: making, launching, and looking into them.

use std::sync::Arc;

use crate::abi::{Handle, Out};
use crate::border::export;
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::graph::Executable;
use crate::operation::Operation;
use crate::registry::fresh;
use crate::stream;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_…`: free on launch, upload, device launch, node priority.
const AUTO_FREE: u64 = 1;
const DEVICE_LAUNCH: u64 = 4;
const FLAGS: u64 = 15;

fn instantiate(out: Out<Handle>, graph: Handle, flags: u64) -> Result {
    out.required()?;
    if flags & !FLAGS != 0 || flags & AUTO_FREE != 0 && flags & DEVICE_LAUNCH != 0 {
        return Err(Code::INVALID_VALUE.because(format!("flags {flags:#x} of an executable graph")));
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(Code::NOT_SUPPORTED.because("kernels can't launch graphs here"));
    }
    let driver = driver()?;
    let executable = driver.graph(graph)?.instantiate(flags)?;
    let handle = fresh();
    driver.executables.insert(handle, Arc::new(executable));
    out.set(handle)
}

fn executable(handle: Handle) -> Result<Arc<Executable>> {
    let missing =
        || Code::INVALID_VALUE.because(format!("there is no executable graph {handle:#x}"));
    driver()?.executables.get(handle).ok_or_else(missing)
}

export! {
    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(out, graph, flags)
    }

    fn cuGraphLaunch(graph: Handle, stream: Handle) also cuGraphLaunch_ptsz {
        let graph = executable(graph)?;
        let stream = stream::find(stream)?;
        stream::enqueue(&stream, Operation::All(Arc::new(graph.work())))
    }

    fn cuGraphUpload(graph: Handle, stream: Handle) also cuGraphUpload_ptsz {
        executable(graph)?;
        stream::find(stream).map(|_| ())
    }

    fn cuGraphExecDestroy(graph: Handle) {
        executable(graph)?;
        driver()?.executables.remove(graph);
        Ok(())
    }

    fn cuGraphDestroy(graph: Handle) {
        driver()?.graph(graph)?.forget()
    }
}
