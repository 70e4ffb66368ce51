//! Tests of plans for devices that can hold many blocks, and for devices that can hold few.

use level4_ptx::{Plan, Rung};
use tensor::{Loss, Network};

/// The plan for a network on a device that holds `room` blocks.
fn plan_for(rung: Rung, sizes: &[usize], batch: usize, shared: usize, room: usize) -> Option<Plan> {
    let network = Network { sizes: sizes.into(), loss: Loss::CrossEntropy };
    Plan::new(rung, &network, batch, shared, &mut |_| room)
}

#[test]
fn the_default_network_is_split_in_both_directions() {
    let plan = plan_for(Rung::OneLaunch, &[784, 30, 10], 256, 48 << 10, 1000).unwrap();
    assert_eq!((plan.chunks, plan.groups, plan.blocks()), (8, 8, 64));
    assert_eq!((&plan.per[..], plan.on_chip), (&[4, 4][..], true));
    assert_eq!(plan.shared, 4 * (4 * 784 + 4 * 32));
}

#[test]
fn a_device_with_little_room_gets_fewer_and_larger_blocks() {
    let plan = |room| plan_for(Rung::OneLaunch, &[784, 1024, 10], 32, 48 << 10, room).unwrap();
    assert_eq!((plan(1000).groups, plan(1000).on_chip), (256, true));
    assert_eq!((plan(100).groups, plan(100).per[0], plan(100).on_chip), (86, 12, true));
    assert_eq!((plan(8).blocks(), plan(8).per[0], plan(8).on_chip), (8, 128, false));
    assert_eq!(plan_for(Rung::OneLaunch, &[784, 30, 10], 256, 48 << 10, 0), None);
    assert_eq!(plan_for(Rung::OneLaunch, &[784, 30, 10], 256, 64, 9), None);
}

#[test]
fn partial_sums_are_no_more_than_the_kernel_counts() {
    let plan = |batch| plan_for(Rung::OneLaunch, &[784, 50_000, 10], batch, 1 << 40, 1 << 40);
    // 16 chunks have 785 * 50,000 * 16 elements, which is below 2^30; 32 chunks would exceed it.
    assert_eq!(plan(512).unwrap().chunks, 16);
    assert_eq!(plan(1024).unwrap().chunks, 16);
    assert_eq!(plan(4096).unwrap().chunks, 16);
}

#[test]
fn an_epoch_keeps_all_weights_on_chip_or_is_not_planned() {
    let plan = |sizes: &[usize], room| plan_for(Rung::WholeEpoch, sizes, 64, 100 << 10, room);
    let roomy = plan(&[784, 128, 10], 132).unwrap();
    assert_eq!((roomy.chunks, roomy.groups, &roomy.per[..]), (1, 32, &[4, 4][..]));
    assert_eq!(roomy.shared, 4 * (4 * 784 + 4 * 64 + 64));
    let tight = plan(&[784, 128, 10], 8).unwrap();
    assert_eq!((tight.groups, &tight.per[..]), (8, &[16, 4][..]));
    // The weights of four units with 784 inputs take 12.5 kB, and a block has 100 kB.
    assert_eq!(plan(&[784, 1024, 10], 8), None);
    assert_eq!(plan(&[784, 1024, 10], 132).unwrap().groups, 128);
}

#[test]
fn a_single_layer_is_split_by_its_outputs() {
    let plan = plan_for(Rung::OneLaunch, &[784, 10], 64, 48 << 10, 1000).unwrap();
    assert_eq!((plan.chunks, plan.groups, plan.per[0]), (2, 3, 4));
    assert_eq!(plan.shared, 4 * 4 * 32);
}
