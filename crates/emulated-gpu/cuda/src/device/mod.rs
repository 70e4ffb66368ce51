//! Names, identifiers and bus addresses of the devices.

pub(crate) mod attributes;
pub(crate) mod kernel_counts;
pub(crate) mod limits;
pub(crate) mod settings;
pub(crate) mod texture_limits;

use std::sync::OnceLock;

/// The UUID (`CUuuid`) of a device: "emulated-gpu-001" and so on. It is the same on every machine, and differs from
/// those of real cards.
pub(crate) fn uuid(device: i32) -> [u8; 16] {
    let mut uuid = *b"emulated-gpu-000";
    let number = format!("{:03}", device.saturating_add(1));
    uuid.iter_mut().rev().zip(number.bytes().rev()).for_each(|(byte, digit)| *byte = digit);
    uuid
}

/// The device's PCI address: domain, bus and device number.
pub(crate) fn pci_address(device: i32) -> [i32; 3] {
    [0, device, 0]
}

/// The PCI address as text.
pub(crate) fn pci_bus_id(device: i32) -> String {
    let [domain, bus, slot] = pci_address(device);
    format!("{domain:04x}:{bus:02x}:{slot:02x}.0")
}

/// The name of every device: "Emulated GPU (the processor's name)".
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("model name"));
        let model = line.and_then(|rest| rest.split_once(':')).map(|(_, model)| model.trim());
        let model = model.filter(|model| !model.is_empty()).unwrap_or(std::env::consts::ARCH);
        // Programs pass buffers of 64 to 256 bytes, so the name is kept short.
        let short: String = model.chars().filter(char::is_ascii).take(48).collect();
        format!("Emulated GPU ({})", balanced(&short))
    })
}

/// The part of a text before its first unbalanced bracket. Programs that parse the device's name use the brackets to
/// find its end.
fn balanced(text: &str) -> &str {
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push(at),
            ')' if open.pop().is_none() => return text[..at].trim_end(),
            _ => {}
        }
    }
    text[..open.first().copied().unwrap_or(text.len())].trim_end()
}
