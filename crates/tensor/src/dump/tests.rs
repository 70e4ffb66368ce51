//! Tests that dumps are read back as they were written, and that other files are refused.

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::packed::read_unpacked;
use super::*;

fn header(dtype: Dtype) -> Header {
    Header {
        level: "level1-cpu".into(),
        device: "cpu".into(),
        preset: "softmax".into(),
        loss: Some(Loss::CrossEntropy),
        dtype,
        seed: 1,
        learning_rate: 0.1,
        ..Header::default()
    }
}

fn round_trip(dump: &Dump, name: &str) -> Dump {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    dump.write(&path).unwrap();
    Dump::read(&path).unwrap()
}

proptest! {
    /// Every finite f32, including subnormals and −0, is read back with the same bits.
    #[test]
    fn finite_f32_round_trips(bits in prop::collection::vec(any::<u32>(), 1..200)) {
        let values: Vec<f32> =
            bits.into_iter().map(f32::from_bits).filter(|value| value.is_finite()).collect();
        let mut dump = Dump::new(header(Dtype::F32));
        dump.push(TensorName::X, &Tensor::new([values.len()], values.clone()).unwrap());
        let back = round_trip(&dump, "a.json");
        let bits = |data: &[f64]| data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back.tensors[0].data), bits(&dump.tensors[0].data));
    }
}

#[test]
fn non_finite_values_are_words() {
    let mut dump = Dump::new(header(Dtype::F32));
    let values = vec![0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    dump.push(TensorName::Loss, &Tensor::new([2, 2], values).unwrap());
    let mut json = Vec::new();
    dump.to_json(&mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(json.contains(r#""data":[0.0,"NaN","Infinity","-Infinity"]"#), "{json}");
    assert!(json.starts_with(r#"{"format":"four-levels-dump","version":1,"level":"#), "{json}");
    let back = round_trip(&dump, "a.json.gz");
    assert!(back.tensors[0].data[1].is_nan());
    assert_eq!(back.tensors[0].data[2..], [f64::INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn double_precision_keeps_all_its_digits() {
    let mut dump = Dump::new(header(Dtype::F64));
    let data = vec![1.0 / 3.0, 5e-324, f64::MAX];
    dump.tensors.push(DumpedTensor { name: TensorName::P, shape: vec![3], data });
    assert_eq!(round_trip(&dump, "a.json"), dump);
}

/// The dump has no optional fields such as the loss, and some of its numbers are written without a decimal point.
#[test]
fn a_dump_written_by_hand_is_read() {
    let json = br#"{"format": "four-levels-dump", "version": 1, "level": "me", "device": "cpu",
        "preset": "softmax", "dtype": "f32", "seed": 1, "step": 0, "learning_rate": 0.1,
        "tensors": [{"name": "x", "shape": [1, 3], "data": [0, -1, "NaN"]}]}"#;
    let dump = Dump::from_json(json, Path::new("hand.json")).unwrap();
    assert_eq!(dump.header.loss, None);
    assert_eq!(dump.tensors[0].data[..2], [0.0, -1.0]);
}

#[test]
fn a_preset_is_read_by_its_former_name() {
    let named = |preset: &str| {
        let mut dump = Dump::new(header(Dtype::F32));
        dump.header.preset = preset.into();
        round_trip(&dump, "a.json")
    };
    for (former, current) in crate::FORMER_PRESET_NAMES {
        assert_eq!(named(former).header.preset, current);
        assert_eq!(named(former), named(current));
    }
    assert_eq!(named("softmax").header.preset, "softmax");
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let tensor = |tensors: &str| {
        format!(
            r#"{{"format": "four-levels-dump", "version": 1, "level": "l", "device": "d",
            "preset": "p", "dtype": "f32", "seed": 1, "step": 0, "learning_rate": 0.1,
            "tensors": [{tensors}]}}"#
        )
    };
    let cases = [
        ("not json".into(), "is not a dump (expected ident"),
        (String::new(), "is not a dump: the file is empty; name a file that `dump` wrote"),
        (r#"{"format": "#.into(), "is not a dump: the file is truncated (EOF while parsing"),
        ("[1, 2]".into(), "is not a dump"),
        ("{}".into(), r#"it says it is "" version 0"#),
        (r#"{"format": "four-levels-dump", "version": 2}"#.into(), "version 2"),
        (r#"{"format": "four-levels-dump", "version": 1}"#.into(), "missing field"),
        (tensor(r#"{"name": "q", "shape": [1], "data": [1]}"#), "\"q\" is not the name"),
        (tensor(r#"{"name": "x", "shape": [2], "data": [1]}"#), "x: the shape [2] does not hold 1"),
        (tensor(r#"{"name": "x", "shape": [1], "data": ["nan"]}"#), "invalid value"),
        (
            tensor(
                r#"{"name": "p", "shape": [], "data": [1]},
                   {"name": "p", "shape": [], "data": [1]}"#,
            ),
            "there are two tensors p",
        ),
        (
            tensor(r#"{"name": "x", "shape": [18446744073709551615, 2], "data": [1]}"#),
            "does not hold 1",
        ),
    ];
    for (json, reason) in cases {
        let error = Dump::from_json(json.as_bytes(), Path::new("bad.json")).unwrap_err();
        assert!(error.to_string().contains(reason), "{json}\ngave: {error}");
    }
}

/// A gzipped file that unpacks to a thousand times its size is refused before it is unpacked to its end.
#[test]
fn a_file_that_unpacks_beyond_the_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json.gz");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut json = b"{\"a\": \"".to_vec();
    json.resize(1 << 24, b'x');
    encoder.write_all(&json).unwrap();
    let packed = encoder.finish().unwrap();
    std::fs::write(&path, &packed).unwrap();
    assert!(packed.len() < 1 << 16);
    assert_eq!(read_unpacked(&path, 1 << 24).unwrap().len(), 1 << 24);
    let error = read_unpacked(&path, (1 << 24) - 1).unwrap_err();
    assert_eq!(error.to_string(), "unpacked, it has more than 16777215 bytes, the limit");
    std::fs::write(&path, &json[..1 << 17]).unwrap();
    let error = read_unpacked(&path, 1 << 16).unwrap_err().to_string();
    assert!(error.starts_with("it has more than 65536 bytes"), "{error}");
}

/// An endless device, and a gzipped file that is not a dump, are refused because of their first bytes.
#[cfg(unix)]
#[test]
fn other_text_than_json_is_not_read_to_its_end() {
    assert_eq!(read_unpacked(Path::new("/dev/zero"), 1 << 30).unwrap().len(), 1 << 16);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.json.gz");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&vec![0; 1 << 24]).unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    assert_eq!(read_unpacked(&path, 1 << 30).unwrap().len(), 1 << 16);
    assert!(Dump::read(&path).unwrap_err().to_string().contains("is not a dump"));
}

/// A truncated dump, gzipped or not, is never mistaken for a shorter dump.
#[test]
fn a_dump_that_is_cut_off_at_any_byte_is_refused() {
    let mut dump = Dump::new(header(Dtype::F32));
    dump.push(TensorName::X, &Tensor::new([2, 2], vec![1.0, 2.5, f32::NAN, -0.0]).unwrap());
    dump.push(TensorName::Loss, &Tensor::scalar(0.25));
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.json", "a.json.gz"] {
        let path = folder.path().join(name);
        dump.write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // The line break at the end may be missing.
        for length in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..length]).unwrap();
            let said = Dump::read(&path).expect_err("it is cut off").to_string();
            assert!(said.contains(name), "{said}");
        }
    }
}

/// An unknown field may have any size; the number of tensors is limited.
#[test]
fn unknown_fields_are_skipped_and_too_many_tensors_are_refused() {
    let mut json = Vec::new();
    Dump::new(header(Dtype::F32)).to_json(&mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    let other = json.replacen('{', &format!("{{\"other\":[{}0],", "[0],".repeat(1000)), 1);
    assert!(Dump::from_json(other.as_bytes(), Path::new("a")).unwrap().tensors.is_empty());
    let tensor = |layer: usize| format!("{{\"name\":\"w{layer}\",\"shape\":[0],\"data\":[]}}");
    let many: Vec<String> = (1..=MAX_TENSORS + 1).map(tensor).collect();
    let (start, end) = json.split_at(json.rfind("\n]}").unwrap());
    let read = |tensors: &[String]| {
        let json = format!("{start}{}{end}", tensors.join(","));
        Dump::from_json(json.as_bytes(), Path::new("a"))
    };
    assert_eq!(read(&many[1..]).unwrap().tensors.len(), MAX_TENSORS);
    let said = read(&many).unwrap_err().to_string();
    assert!(said.ends_with("it has 10001 tensors, and at most 10000 are read"), "{said}");
}
