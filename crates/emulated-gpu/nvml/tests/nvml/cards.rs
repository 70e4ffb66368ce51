//! NVML's information about cards, compared with the driver's.

use std::ffi::{CString, c_int, c_uint, c_ulong};

use crate::support::{TWO_CARDS, call, device, in_child, ok, output, text, text_of};

fn initialise() {
    crate::support::driver();
    ok!(nvmlInit_v2());
}

/// The driver's value of a device attribute, `CU_DEVICE_ATTRIBUTE_…`.
fn attribute(which: c_int, card: c_int) -> c_int {
    let value = output!(cuDeviceGetAttribute(-> c_int, which => c_int, card => c_int));
    value
}

#[test]
fn identity_and_memory_match_the_driver() {
    in_child!(TWO_CARDS);
    initialise();
    assert_eq!(output!(nvmlDeviceGetCount(-> c_uint)), 2);
    // Queried before and after cuInit; the answers must be equal.
    let query = |number: c_uint| {
        let card = device(number);
        (
            text_of!(nvmlDeviceGetName(card)),
            text_of!(nvmlDeviceGetUUID(card)),
            output!(nvmlDeviceGetMemoryInfo(card, -> [u64; 3])),
            output!(nvmlDeviceGetIndex(card, -> c_uint)),
        )
    };
    let before: Vec<_> = (0..2).map(query).collect();
    ok!(cuInit(0 => c_uint));
    for (number, before) in before.into_iter().enumerate() {
        let (card, driver_device) = (device(number as c_uint), number as c_int);
        assert_eq!(query(number as c_uint), before);
        let (name, uuid, memory, index) = before;
        let named = text(
            |to, len| call!(cuDeviceGetName(to, len as c_int => c_int, driver_device => c_int)),
        );
        assert_eq!(name, named);
        assert!(name.starts_with("Emulated GPU ("), "{name}");
        let mut bytes = [0u8; 16];
        ok!(cuDeviceGetUuid_v2(&raw mut bytes, driver_device => c_int));
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(uuid.replace('-', ""), format!("GPU{digits}"));
        assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [3, 8, 4, 4, 4, 12]);
        let total = output!(cuDeviceTotalMem_v2(-> usize, driver_device => c_int));
        assert_eq!(memory, [total as u64, total as u64, 0]);
        assert_eq!((total, index as usize), (512 << 20, number));
        let (mut major, mut minor) = (0, 0);
        ok!(nvmlDeviceGetCudaComputeCapability(
            card => usize, &raw mut major => *mut c_int, &raw mut minor => *mut c_int
        ));
        assert_eq!((major, minor), (attribute(75, driver_device), attribute(76, driver_device)));
        assert_eq!((major, minor), (8, 6));
        // NVML_DEVICE_ARCH_AMPERE
        assert_eq!(output!(nvmlDeviceGetArchitecture(card, -> c_uint)), 7);
        let expected = attribute(20, driver_device) as c_uint;
        assert_eq!(output!(nvmlDeviceGetComputeMode(card, -> c_uint)), expected);
    }
}

/// The string at the start of a field of fixed length.
fn field(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes.split(|byte| *byte == 0).next().unwrap()).unwrap()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn pci_addresses_match_the_driver() {
    in_child!(TWO_CARDS);
    initialise();
    ok!(cuInit(0 => c_uint));
    let address = text(|to, len| call!(cuDeviceGetPCIBusId(to, len as c_int => c_int, 1 => c_int)));
    let place = [50, 33, 34].map(|which| attribute(which, 1) as u32);
    let card = device(1);
    // The first two functions only write the older, shorter nvmlPciInfo_t, and leave the rest of the structure
    // unchanged.
    let mut first = [0xffu8; 52];
    ok!(nvmlDeviceGetPciInfo(card, &raw mut first));
    let mut second = [0xffu8; 52];
    ok!(nvmlDeviceGetPciInfo_v2(card, &raw mut second));
    assert_eq!(first, second);
    assert_eq!(field(&first[..16]), address);
    assert_eq!(words(&first[16..36]), [place[0], place[1], place[2], 0, 0]);
    assert_eq!(first[36..], [0xff; 16]);
    let mut third = [0u8; 68];
    ok!(nvmlDeviceGetPciInfo_v3(card, &raw mut third));
    assert_eq!(third[..36], first[..36]);
    assert_eq!(field(&third[36..]), format!("0000{address}"));
    let mut newest = [0u32; 16];
    newest[0] = 64 | 1 << 24;
    ok!(nvmlDeviceGetPciInfoExt(card, &raw mut newest));
    assert_eq!(newest[..8], [64 | 1 << 24, place[0], place[1], place[2], 0, 0, 0, 0]);
    let bytes: Vec<u8> = newest[8..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(field(&bytes), format!("0000{address}"));
}

#[test]
fn cards_are_found_by_index_uuid_and_address() {
    in_child!(TWO_CARDS);
    initialise();
    for number in 0..2 {
        let card = device(number);
        assert_eq!(output!(nvmlDeviceGetHandleByIndex(number => c_uint, -> usize)), card);
        let uuid = text_of!(nvmlDeviceGetUUID(card));
        // Looks the card up by its UUID with "GPU-" and without it, as CUDA prints it.
        for form in [&uuid[..], &uuid[4..]] {
            let name = CString::new(form).unwrap();
            let name = name.as_ptr();
            assert_eq!(output!(nvmlDeviceGetHandleByUUID(name, -> usize)), card);
        }
        for form in ["0000:0N:00.0", "00000000:0N:00.0"] {
            let address = CString::new(form.replace('N', &number.to_string())).unwrap();
            let text = address.as_ptr();
            let actual = output!(nvmlDeviceGetHandleByPciBusId(text, -> usize));
            assert_eq!(actual, card);
            let actual = output!(nvmlDeviceGetHandleByPciBusId_v2(text, -> usize));
            assert_eq!(actual, card);
        }
        // nvmlUUID_v1_t: version, type, then text or bytes.
        let mut query = [0u8; 52];
        query[..4].copy_from_slice(&(52u32 | 1 << 24).to_ne_bytes());
        query[4] = 1;
        query[8..8 + uuid.len()].copy_from_slice(uuid.as_bytes());
        assert_eq!(output!(nvmlDeviceGetHandleByUUIDV(&raw const query, -> usize)), card);
        query[4] = 2;
        query[8..].fill(0);
        query[8..24].copy_from_slice(format!("emulated-gpu-00{}", number + 1).as_bytes());
        assert_eq!(output!(nvmlDeviceGetHandleByUUIDV(&raw const query, -> usize)), card);
    }
}

#[test]
fn peer_access_and_processor_affinity() {
    in_child!(TWO_CARDS);
    initialise();
    ok!(cuInit(0 => c_uint));
    let status = |which: c_uint| output!(nvmlDeviceGetP2PStatus(device(0) => usize, device(1) => usize, which => c_uint, -> c_uint));
    let can = output!(cuDeviceCanAccessPeer(-> c_int, 0 => c_int, 1 => c_int));
    assert_eq!(can, 1);
    // Reads, writes and atomics are supported, NVLink and PCI are not.
    assert_eq!([0, 1, 3, 2, 4].map(status), [0, 0, 0, 5, 5]);

    let mut words: [c_ulong; 16] = [c_ulong::MAX; 16];
    ok!(nvmlDeviceGetCpuAffinity(device(1), 16 => c_uint, words.as_mut_ptr() => *mut c_ulong));
    let processors: u32 = words.iter().map(|word| word.count_ones()).sum();
    // Compares the bitmask with the processors that the system lets this process use.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let usable = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap();
    let digits = usable.chars().filter_map(|digit| digit.to_digit(16));
    let usable: u32 = digits.map(u32::count_ones).sum();
    assert!(processors >= usable, "{processors} of at least {usable}");
    ok!(nvmlDeviceSetCpuAffinity(device(0)));
    ok!(nvmlDeviceClearCpuAffinity(device(0)));
    let near = words.iter().position(|word| *word != 0).unwrap();
    let near = near as u32 * c_ulong::BITS + words[near].trailing_zeros();
    let mut count: c_uint = 0;
    let near_to = |processor: u32, count: &mut c_uint, cards: &mut [usize; 2]| {
        call!(nvmlSystemGetTopologyGpuSet(
            processor => c_uint, std::ptr::from_mut(count) => *mut c_uint, cards.as_mut_ptr()
        ))
    };
    let mut cards = [0; 2];
    assert_eq!(near_to(near, &mut count, &mut cards), 0);
    assert_eq!((count, cards), (2, [0; 2]), "the required capacity");
    assert_eq!(near_to(near, &mut count, &mut cards), 0);
    assert_eq!(cards, [device(0), device(1)]);
}

#[test]
fn each_field_value_has_a_status() {
    in_child!(&[]);
    initialise();
    // The words of nvmlFieldValue_t are: field id and scope; time; latency; type and status; value.
    let mut fields = [[0u64; 5]; 2];
    // Asks for the number of links (91) and for a temperature (140).
    (fields[0][0], fields[1][0]) = (91, 140);
    fields[0][4] = u64::MAX;
    ok!(nvmlDeviceGetFieldValues(device(0), 2 => c_int, fields.as_mut_ptr()));
    let status = |field: [u64; 5]| (field[3] >> 32) as c_uint;
    assert_eq!((fields[0][0], status(fields[0]), fields[0][4]), (91, 0, 0));
    assert_eq!((fields[1][0], status(fields[1])), (140, crate::support::NOT_SUPPORTED));
}
