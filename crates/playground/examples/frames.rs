//! Program that draws the pictures of warps that `book/page/warps.txt` lists, into `book/warps`:
//!
//! ```text
//! cargo run -p playground --example frames
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use playground::frame::Frame;

fn main() -> Result<(), Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = repository.join("book/warps");
    fs::create_dir_all(&folder)?;
    for frame in Frame::list(&fs::read_to_string(repository.join("book/page/warps.txt"))?)? {
        let file = frame.file().ok_or("a launch has to name a .ptx file")?;
        let html = frame.draw(file, &fs::read_to_string(repository.join(file))?)?;
        fs::write(folder.join(format!("{}.html", frame.name)), html)?;
    }
    Ok(())
}
