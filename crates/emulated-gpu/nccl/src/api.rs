//! The exported functions of NCCL.

#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]

use std::ffi::{c_int, c_void};

use c_abi::{Fault, export};

use crate::arguments::{Config, check_buffer, check_config, data_type};
use crate::collective::Collective;
use crate::communicator::{Communicator, Handle, check_ranks, find};
use crate::driver;
use crate::element::DataType;
use crate::ffi::{Code, Error, In, Out, Result};
use crate::group::{self, Creation, GroupCall, NewCommunicator};
use crate::id::UniqueId;
use crate::operation::{CollectiveParameters, NcclCollective};
use crate::point::Transfer;
use crate::reduction::{FIRST_CUSTOM_OP, Factor};

/// The NCCL version that this library implements, 2.24.3, encoded as `NCCL_VERSION` does.
const VERSION: c_int = 22_403;

/// Checks that a number is a rank of the communicator. `name` is the argument's name, for the
/// message.
fn checked_rank(communicator: &Communicator, number: c_int, name: &str) -> Result<usize> {
    let rank = usize::try_from(number).ok().filter(|rank| *rank < communicator.ranks());
    rank.ok_or_else(|| {
        Error::argument(format!(
            "{name} is not a rank of the communicator, which has {} ranks",
            communicator.ranks()
        ))
    })
}

/// Enqueues a collective operation, or adds it to the current group.
fn collective(
    kind: NcclCollective,
    (send, receive): (*const c_void, *mut c_void),
    count: usize,
    number: c_int,
    (op, root): (u32, c_int),
    comm: Handle,
    stream: usize,
) -> Result {
    let communicator = find(comm)?;
    communicator.check()?;
    group::add_call(&communicator, stream, || {
        let data_type = data_type(number)?;
        let reduction = communicator.reduction(op)?;
        let root = checked_rank(&communicator, root, "root")?;
        let parameters = CollectiveParameters {
            kind,
            data_type,
            count: count as u64,
            reduction: op.min(FIRST_CUSTOM_OP),
            root: root as u32,
        };
        let (send, receive) = (send as u64, receive as u64);
        let collective = Collective { parameters, reduction, send, receive };
        let (sends, receives) = collective.counts(communicator.ranks(), communicator.rank());
        driver::with_context(communicator.context, || {
            check_buffer(send, sends, data_type, "sendbuff")?;
            check_buffer(receive, receives, data_type, "recvbuff")
        })?;
        Ok(GroupCall::Collective(collective))
    })
}

fn transfer(
    sends: bool,
    address: u64,
    count: usize,
    number: c_int,
    peer: c_int,
    comm: Handle,
    stream: usize,
) -> Result {
    let communicator = find(comm)?;
    communicator.check()?;
    group::add_call(&communicator, stream, || {
        let data_type = data_type(number)?;
        let count = count as u64;
        let peer = checked_rank(&communicator, peer, "peer")?;
        driver::with_context(communicator.context, || {
            check_buffer(address, count, data_type, "the buffer")
        })?;
        Ok(GroupCall::Transfer(Transfer { sends, peer, address, count, data_type }))
    })
}

/// Creates a communicator from an id, together with the other ranks.
///
/// # Safety
/// `comm` is writable until the group ends.
unsafe fn join(comm: Out<'_, Handle>, ranks: c_int, id: UniqueId, rank: c_int) -> Result {
    comm.require_as("comm")?;
    let ranks = check_ranks(ranks, rank)?;
    let place = driver::current()?;
    comm.set_as(0, "comm")?;
    let start =
        NewCommunicator { creation: Creation::Join { id, ranks, place }, out: comm.as_ptr() };
    group::create(vec![start])
}

fn close(comm: Handle, abort: bool) -> Result {
    // As in NCCL, destroying a null communicator is a no-op.
    if comm != 0 {
        find(comm)?.release(abort);
    }
    Ok(())
}

export! {
    /// Returns the version, encoded as `NCCL_VERSION` does.
    fn ncclGetVersion / pncclGetVersion(version: Out<'_, c_int>) {
        version.set_as(VERSION, "version")
    }

    /// Creates a new id, which the caller sends to the other ranks.
    fn ncclGetUniqueId / pncclGetUniqueId(id: Out<'_, UniqueId>) {
        id.set_as(UniqueId::new()?, "uniqueId")
    }

    /// Creates a communicator from an id, together with the other ranks.
    fn ncclCommInitRank / pncclCommInitRank(comm: Out<'_, Handle>, ranks: c_int, id: UniqueId, rank: c_int) {
        join(comm, ranks, id, rank)
    }

    /// Like `ncclCommInitRank`, with a configuration.
    fn ncclCommInitRankConfig / pncclCommInitRankConfig(
        comm: Out<'_, Handle>, ranks: c_int, id: UniqueId, rank: c_int, config: In<'_, Config>
    ) {
        check_config(config)?;
        join(comm, ranks, id, rank)
    }

    /// Like `ncclCommInitRankConfig`, with several ids, of which only the first is used.
    fn ncclCommInitRankScalable / pncclCommInitRankScalable(
        comm: Out<'_, Handle>, ranks: c_int, rank: c_int, count: c_int, ids: In<'_, UniqueId>,
        config: In<'_, Config>
    ) {
        ids.require_as("commIds")?;
        if count < 1 {
            return Err(Error::argument(format!("nId is {count}: at least one id is needed")));
        }
        check_config(config)?;
        join(comm, ranks, ids.get()?, rank)
    }

    /// Creates one communicator per device, all in this process.
    fn ncclCommInitAll / pncclCommInitAll(comms: Out<'_, Handle>, count: c_int, devices: In<'_, c_int>) {
        comms.require_as("comm")?;
        let (ranks, _) = check_ranks(count, 0)?;
        let list: Vec<c_int> = if devices.is_null() {
            (0..ranks as c_int).collect()
        } else {
            devices.elements(ranks)?.collect()
        };
        let device_count = driver::devices()?;
        if let Some(wrong) = list.iter().find(|device| !(0..device_count).contains(*device)) {
            return Err(Error::argument(format!(
                "device {wrong} does not exist: there are {device_count} (set by EMULATED_GPU_DEVICES)"
            )));
        }
        let id = UniqueId::new()?;
        let mut starts = Vec::new();
        for (rank, &device) in list.iter().enumerate() {
            let place = (driver::primary(device)?, device);
            let out = comms.offset(rank).as_ptr();
            starts.push(NewCommunicator { creation: Creation::Join { id, ranks: (ranks, rank), place }, out });
        }
        group::create(starts)
    }

    /// Creates a communicator of the ranks that pass the same colour.
    fn ncclCommSplit / pncclCommSplit(
        comm: Handle, color: c_int, key: c_int, out: Out<'_, Handle>, config: In<'_, Config>
    ) {
        out.require_as("newcomm")?;
        check_config(config)?;
        out.set_as(0, "newcomm")?;
        let whole = find(comm)?;
        whole.check()?;
        group::create(vec![NewCommunicator { creation: Creation::Split { whole, color, key }, out: out.as_ptr() }])
    }

    /// Refuses further calls; work that is already in streams continues.
    fn ncclCommFinalize / pncclCommFinalize(comm: Handle) {
        let communicator = find(comm)?;
        communicator.check()?;
        communicator.finalize();
        Ok(())
    }

    /// Destroys a communicator; work that is already in streams continues.
    fn ncclCommDestroy / pncclCommDestroy(comm: Handle) {
        close(comm, false)
    }

    /// Aborts a communicator, including its work in streams.
    fn ncclCommAbort / pncclCommAbort(comm: Handle) {
        close(comm, true)
    }

    /// Returns the error of work that failed after its call had returned, if there was one.
    fn ncclCommGetAsyncError / pncclCommGetAsyncError(comm: Handle, error: Out<'_, c_int>) {
        let code = find(comm)?.error().map_or(Code::Success, |error| error.code);
        error.set_as(code as c_int, "asyncError")
    }

    /// Returns the number of ranks.
    fn ncclCommCount / pncclCommCount(comm: Handle, count: Out<'_, c_int>) {
        count.set_as(find(comm)?.ranks() as c_int, "count")
    }

    /// Returns this rank's device.
    fn ncclCommCuDevice / pncclCommCuDevice(comm: Handle, device: Out<'_, c_int>) {
        device.set_as(find(comm)?.device, "device")
    }

    /// Returns this rank's number.
    fn ncclCommUserRank / pncclCommUserRank(comm: Handle, rank: Out<'_, c_int>) {
        rank.set_as(find(comm)?.rank() as c_int, "rank")
    }

    /// Registers a buffer. The buffer is only checked, because registration has no effect here.
    fn ncclCommRegister / pncclCommRegister(
        comm: Handle, buffer: *mut c_void, size: usize, handle: Out<'_, *mut c_void>
    ) {
        let communicator = find(comm)?;
        communicator.check()?;
        driver::with_context(communicator.context, || check_buffer(buffer as u64, size as u64, DataType::Uint8, "buff"))?;
        handle.set_as(buffer, "handle")
    }

    /// Undoes `ncclCommRegister`.
    fn ncclCommDeregister / pncclCommDeregister(comm: Handle, handle: *mut c_void) {
        find(comm)?;
        if handle.is_null() { Err(Fault::Null("handle").into()) } else { Ok(()) }
    }

    /// Allocates device memory.
    fn ncclMemAlloc / pncclMemAlloc(pointer: Out<'_, *mut c_void>, size: usize) {
        pointer.require_as("ptr")?;
        driver::current()?;
        pointer.set_as(driver::allocate(size)? as *mut c_void, "ptr")
    }

    /// Frees memory from `ncclMemAlloc`.
    fn ncclMemFree / pncclMemFree(pointer: *mut c_void) {
        driver::free(pointer)
    }

    /// Creates a reduction that multiplies by a factor and then adds.
    fn ncclRedOpCreatePreMulSum / pncclRedOpCreatePreMulSum(
        op: Out<'_, u32>, scalar: In<'_, u8>, number: c_int, residence: c_int, comm: Handle
    ) {
        op.require_as("op")?;
        scalar.require_as("scalar")?;
        let communicator = find(comm)?;
        let data_type = data_type(number)?;
        let factor = match residence {
            0 => {
                driver::with_context(communicator.context, || check_buffer(scalar.address() as u64, 1, data_type, "scalar"))?;
                Factor::At(scalar.address() as u64)
            }
            1 => {
                let mut bytes = [0; 8];
                let element = scalar.elements(data_type.size())?;
                bytes.iter_mut().zip(element).for_each(|(to, from)| *to = from);
                Factor::Known(bytes)
            }
            _ => return Err(Error::argument(format!("residence is {residence}: it must be 0 or 1"))),
        };
        op.set_as(communicator.add_reduction(factor), "op")
    }

    /// Destroys a reduction; work that is already in streams keeps using it.
    fn ncclRedOpDestroy / pncclRedOpDestroy(op: u32, comm: Handle) {
        find(comm)?.remove_reduction(op)
    }

    /// Reduces the elements of all ranks; every rank receives the result.
    fn ncclAllReduce / pncclAllReduce(
        send: *const c_void, receive: *mut c_void, count: usize, number: c_int, op: u32, comm: Handle,
        stream: usize
    ) {
        collective(NcclCollective::AllReduce, (send, receive), count, number, (op, 0), comm, stream)
    }

    /// Reduces the elements of all ranks; only the root receives the result.
    fn ncclReduce / pncclReduce(
        send: *const c_void, receive: *mut c_void, count: usize, number: c_int, op: u32, root: c_int,
        comm: Handle, stream: usize
    ) {
        collective(NcclCollective::Reduce, (send, receive), count, number, (op, root), comm, stream)
    }

    /// Sends the root's elements to every rank.
    fn ncclBroadcast / pncclBroadcast(
        send: *const c_void, receive: *mut c_void, count: usize, number: c_int, root: c_int,
        comm: Handle, stream: usize
    ) {
        collective(NcclCollective::Broadcast, (send, receive), count, number, (0, root), comm, stream)
    }

    /// In-place `ncclBroadcast`.
    fn ncclBcast / pncclBcast(
        buffer: *mut c_void, count: usize, number: c_int, root: c_int, comm: Handle, stream: usize
    ) {
        collective(NcclCollective::Broadcast, (buffer, buffer), count, number, (0, root), comm, stream)
    }

    /// Sends the elements of every rank to all ranks, concatenated in rank order.
    fn ncclAllGather / pncclAllGather(
        send: *const c_void, receive: *mut c_void, count: usize, number: c_int, comm: Handle, stream: usize
    ) {
        collective(NcclCollective::AllGather, (send, receive), count, number, (0, 0), comm, stream)
    }

    /// Reduces the elements of all ranks; each rank receives its own part of the result.
    fn ncclReduceScatter / pncclReduceScatter(
        send: *const c_void, receive: *mut c_void, count: usize, number: c_int, op: u32, comm: Handle,
        stream: usize
    ) {
        collective(NcclCollective::ReduceScatter, (send, receive), count, number, (op, 0), comm, stream)
    }

    /// Sends elements to a rank.
    fn ncclSend / pncclSend(
        buffer: *const c_void, count: usize, number: c_int, peer: c_int, comm: Handle, stream: usize
    ) {
        transfer(true, buffer as u64, count, number, peer, comm, stream)
    }

    /// Receives elements from a rank.
    fn ncclRecv / pncclRecv(
        buffer: *mut c_void, count: usize, number: c_int, peer: c_int, comm: Handle, stream: usize
    ) {
        transfer(false, buffer as u64, count, number, peer, comm, stream)
    }

    /// Begins a group of calls.
    fn ncclGroupStart / pncclGroupStart() {
        group::start();
        Ok(())
    }

    /// Ends a group. Ending the outermost group starts all calls that were made in it.
    fn ncclGroupEnd / pncclGroupEnd() {
        group::end()
    }
}
