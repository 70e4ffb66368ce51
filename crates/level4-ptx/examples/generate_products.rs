//! Generates the PTX of the three rungs on tensor cores from the template `ptx/products.jinja`.
//!
//!     cargo run -p level4-ptx --example generate_products

use std::error::Error;
use std::path::Path;

#[path = "../tests/support/products.rs"]
mod products;

fn main() -> Result<(), Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (rung, text) in products::generated()? {
        let path = repository.join(rung.row().file);
        host::file::write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}
