//! Listing cards without initialising the driver (`emulated_gpu.h`).

use crate::support::{allocate, code, context, cu, in_child, ok, output, returns};

/// `EmulatedGpuCard`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Card {
    name: [u8; 64],
    uuid: [u8; 16],
    /// The PCI address: domain, bus and device.
    place: [u32; 3],
    /// The compute capability: major and minor.
    capability: [u32; 2],
    contexts: u32,
    memory: u64,
    used: u64,
}

const BLANK: Card = Card {
    name: [7; 64],
    uuid: [7; 16],
    place: [7; 3],
    capability: [7; 2],
    contexts: 7,
    memory: 7,
    used: 7,
};

fn card(number: u32) -> Card {
    let mut card = BLANK;
    let size = size_of::<Card>();
    ok!(emulatedGpuGetCard(number, &raw mut card => *mut Card, size));
    card
}

#[test]
fn cards_can_be_listed_before_and_after_init() {
    let variables = [
        ("EMULATED_GPU_DEVICES", "2"),
        ("EMULATED_GPU_MEMORY", "256M"),
        ("EMULATED_GPU_CAPABILITY", "8.6"),
    ];
    in_child!(&variables);
    let mut count = output!(emulatedGpuGetCardCount(-> u32));
    assert_eq!(count, 2);
    let before = [card(0), card(1)];
    returns!(code::NOT_INITIALIZED, cuDeviceGetCount(&raw mut count));
    ok!(cuInit(0u32));
    assert_eq!([card(0), card(1)], before);

    let second = before[1];
    let (mut name, mut uuid) = ([0u8; 64], [0u8; 16]);
    ok!(cuDeviceGetName(name.as_mut_ptr(), 64 => i32, 1 => i32));
    ok!(cuDeviceGetUuid(&raw mut uuid, 1 => i32));
    assert_eq!((second.name, second.uuid), (name, uuid));
    assert_ne!(second.uuid, before[0].uuid);
    let attribute = |which: i32| output!(cuDeviceGetAttribute(-> u32, which => i32, 1 => i32));
    // The attributes are CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, …_BUS_ID, …_DEVICE_ID,
    // …_COMPUTE_CAPABILITY_MAJOR, …_MINOR
    assert_eq!(second.place, [50, 33, 34].map(attribute));
    assert_eq!(second.capability, [75, 76].map(attribute));
    let total = output!(cuDeviceTotalMem_v2(-> u64, 1 => i32));
    assert_eq!((second.memory, second.used, second.contexts), (total, 0, 0));

    // The context is on the first card.
    let context = context();
    allocate(3 << 20);
    assert_eq!(card(0), Card { used: 3 << 20, contexts: 1, ..before[0] });
    assert_eq!(card(1), second);
    ok!(cuCtxDestroy_v2(context));
    assert_eq!(card(0), before[0]);
}

#[test]
fn a_card_is_found_by_any_form_of_its_pci_address() {
    in_child!(&[("EMULATED_GPU_DEVICES", "12")]);
    ok!(cuInit(0u32));
    let find = |address: &str| {
        let (text, mut device) = (std::ffi::CString::new(address).unwrap(), -1);
        let code = cu!(cuDeviceGetByPCIBusId(&raw mut device => *mut i32, text.as_ptr()));
        (code, device)
    };
    // Find the card by NVML's form of the address, and by forms without the domain, the leading
    // zeros or the function.
    for same in ["00000000:0B:00.0", "0000:0b:00.0", "0:b:0", "0b:00.0", "b:0", " 0000:0b:00\n"] {
        assert_eq!(find(same), (0, 11), "{same:?}");
    }
    for none in [
        "",
        ":",
        "0",
        "0b",
        "b:0.",
        "0b:00.1",
        "0b:01.0",
        "0001:0b:00.0",
        "0:0:b:0",
        "+b:0",
        "c:0",
        "bus",
    ] {
        assert_eq!(find(none), (code::INVALID_DEVICE, -1), "{none:?}");
    }
}

#[test]
fn short_structures_are_truncated_and_unknown_cards_rejected() {
    let mut short = BLANK;
    ok!(emulatedGpuGetCard(0u32, &raw mut short => *mut Card, 80usize));
    assert_eq!(short, Card { name: card(0).name, uuid: card(0).uuid, ..BLANK });
    let size = size_of::<Card>();
    let null = std::ptr::null_mut::<Card>();
    returns!(code::INVALID_VALUE, emulatedGpuGetCard(0u32, null => *mut Card, size));
    returns!(code::INVALID_VALUE, emulatedGpuGetCardCount(null => *mut Card));
    for none in [64, u32::MAX] {
        let status = cu!(emulatedGpuGetCard(none, &raw mut short => *mut Card, size));
        assert_eq!(status, code::INVALID_DEVICE);
    }
}

#[test]
fn invalid_settings_are_an_error() {
    in_child!(&[("EMULATED_GPU_MEMORY", "much")]);
    let mut count = 0u32;
    returns!(code::INVALID_VALUE, emulatedGpuGetCardCount(&raw mut count));
}
