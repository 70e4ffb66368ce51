//! The driver's description of a card.

use std::fmt::Write;

/// The structure `EmulatedGpuCard` of the driver's `emulated_gpu.h`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Card {
    name: [u8; 64],
    pub(crate) uuid: [u8; 16],
    /// PCI domain, bus and device number.
    pub(crate) place: [u32; 3],
    /// Major and minor number of the compute capability.
    pub(crate) capability: [u32; 2],
    /// The number of this process's contexts on the card.
    pub(crate) contexts: u32,
    /// Memory in bytes.
    pub(crate) memory: u64,
    /// Memory used by this process, in bytes.
    pub(crate) used: u64,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            name: [0; 64],
            uuid: [0; 16],
            place: [0; 3],
            capability: [0; 2],
            contexts: 0,
            memory: 0,
            used: 0,
        }
    }
}

impl Card {
    /// "Emulated GPU (…)"
    pub(crate) fn name(&self) -> String {
        let text = self.name.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// "GPU-" and 32 hexadecimal digits in groups.
    pub(crate) fn uuid(&self) -> String {
        let mut text = "GPU".to_owned();
        for (index, byte) in self.uuid.iter().enumerate() {
            if matches!(index, 0 | 4 | 6 | 8 | 10) {
                text.push('-');
            }
            // Writing to a String can't fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Whether this text is the card's UUID: in NVML's form, or without "GPU-", which is CUDA's form and the form that
    /// NVIDIA's cuda.core passes.
    pub(crate) fn has_uuid(&self, text: &[u8]) -> bool {
        let uuid = self.uuid();
        let digits = uuid.trim_start_matches("GPU-");
        uuid.as_bytes().eq_ignore_ascii_case(text) || digits.as_bytes().eq_ignore_ascii_case(text)
    }

    /// The PCI address with a domain of eight digits: "00000000:01:00.0".
    pub(crate) fn bus(&self) -> String {
        let [domain, bus, device] = self.place;
        format!("{domain:08X}:{bus:02X}:{device:02X}.0")
    }

    /// The PCI address with a domain of four digits, as in NVML's first versions: "0000:01:00.0".
    pub(crate) fn bus_legacy(&self) -> String {
        let [domain, bus, device] = self.place;
        format!("{domain:04X}:{bus:02X}:{device:02X}.0")
    }

    /// Whether an address, such as "0000:01:00.0" or "01:00", is this card's; `None` if it is not an address.
    pub(crate) fn is_at(&self, address: &str) -> Option<bool> {
        let (address, function) = address.split_once('.').unwrap_or((address, "0"));
        let mut fields = address.rsplit(':').map(|field| u32::from_str_radix(field, 16).ok());
        let (device, bus) = (fields.next()??, fields.next()??);
        let domain = fields.next().unwrap_or(Some(0))?;
        let function = u32::from_str_radix(function, 16).ok()?;
        if fields.next().is_some() {
            return None;
        }
        Some([domain, bus, device] == self.place && function == 0)
    }

    /// `NVML_DEVICE_ARCH_…`
    pub(crate) fn architecture(&self) -> u32 {
        match self.capability {
            [5, _] => 3,
            [6, _] => 4,
            [7, 5] => 6,
            [7, _] => 5,
            [8, 9] => 8,
            [8, _] => 7,
            [9, _] => 9,
            [10 | 12, _] => 10,
            _ => u32::MAX,
        }
    }

    /// Free memory in bytes.
    pub(crate) fn free(&self) -> u64 {
        self.memory.saturating_sub(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card { uuid: *b"emulated-gpu-002", place: [0, 1, 0], ..Card::default() }
    }

    #[test]
    fn uuids_have_groups_and_an_optional_prefix() {
        assert_eq!(card().uuid(), "GPU-656d756c-6174-6564-2d67-70752d303032");
        assert!(card().has_uuid(b"gpu-656D756C-6174-6564-2d67-70752d303032"));
        assert!(card().has_uuid(b"656d756c-6174-6564-2d67-70752d303032"));
        assert!(!card().has_uuid(b"656d756c-6174-6564-2d67-70752d30303"));
        assert!(!card().has_uuid(b""));
    }

    #[test]
    fn addresses_have_two_forms_and_more_are_accepted() {
        assert_eq!((&*card().bus(), &*card().bus_legacy()), ("00000000:01:00.0", "0000:01:00.0"));
        for same in ["00000000:01:00.0", "0000:01:00.0", "0:1:0.0", "01:00.0", "01:00"] {
            assert_eq!(card().is_at(same), Some(true), "{same}");
        }
        for other in ["0000:00:00.0", "0001:01:00.0", "0000:01:01.0", "0000:01:00.1"] {
            assert_eq!(card().is_at(other), Some(false), "{other}");
        }
        for none in ["", "01", "0000:01:00.", "0:0000:01:00.0", "0000:bus:00.0", "GPU-1"] {
            assert_eq!(card().is_at(none), None, "{none}");
        }
    }

    #[test]
    fn architectures_follow_from_compute_capabilities() {
        let architecture = |capability| Card { capability, ..card() }.architecture();
        let architectures =
            [[5, 2], [6, 1], [7, 0], [7, 5], [8, 0], [8, 9], [9, 0]].map(architecture);
        assert_eq!(architectures, [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(architecture([99, 0]), u32::MAX);
    }
}
