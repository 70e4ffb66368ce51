//! The fixtures that every level is compared with: complete, in order, and in agreement with
//! themselves.

use std::path::Path;

use tensor::{Dtype, Dump};
use tensor_diff::{Verdict, compare};

#[test]
fn each_reference_dump_agrees_with_itself() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    for name in ["softmax", "squared-error", "bce", "three-layer", "wide", "single"] {
        let dump = Dump::read(&folder.join(format!("{name}.json"))).unwrap();
        assert_eq!((dump.header.preset.as_str(), dump.header.dtype), (name, Dtype::F64));
        let found = compare(&dump, &dump, 1.0);
        assert!(found.agrees(), "{name}: {:#?}", found.first_divergence);
        assert_eq!(found.count(Verdict::Ok), found.rows.len(), "{name}");
    }
}
