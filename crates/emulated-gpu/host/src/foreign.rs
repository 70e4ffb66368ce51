//! Recognition of files in a format other than the expected one.

/// A format often found in place of the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The format as a noun with an article, such as `a JPEG picture`.
    pub name: &'static str,
    /// Advice that applies whatever format was expected, or an empty string.
    advice: &'static str,
}

impl Foreign {
    /// Detects the format from the first bytes of a file; `None` if it is not one of these formats.
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        // An HTML page may start with a byte order mark and blank lines.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        let begins = |tag: &str| {
            text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
        };
        if ["<!doctype html", "<html", "<head"].into_iter().any(begins) {
            let advice = "a server sends one in place of a missing file, so fetch the file again";
            return Some(Self { name: "an HTML page", advice });
        }
        let found = FORMATS
            .iter()
            .find(|(at, magic, ..)| bytes.get(*at..).is_some_and(|bytes| bytes.starts_with(magic)));
        found.map(|&(_, _, name, advice)| Self { name, advice })
    }

    /// Describes in a sentence what the file is, what it should be, and what to do about it: this format's advice, or
    /// else `advice`, such as "save it as PNG".
    #[must_use]
    pub fn instead_of(self, expected: &str, advice: &str) -> String {
        let Self { name, advice: own } = self;
        let advice = if own.is_empty() { advice } else { own };
        let colon = if advice.is_empty() { "" } else { ": " };
        format!("it is {name}, not {expected}{colon}{advice}")
    }
}

/// Offset of the signature, signature, name, advice. WebP and HEIC come first, because other formats could match them
/// as well.
const FORMATS: &[(usize, &[u8], &str, &str)] = &[
    (
        0,
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "`git lfs pull` fetches the file that it stands for",
    ),
    (8, b"WEBP", "a WebP picture", ""),
    (4, b"ftypavif", "an AVIF picture", ""),
    (4, b"ftyphe", "a HEIC picture", ""),
    (4, b"ftypmif1", "a HEIC picture", ""),
    (0, b"\xff\xd8\xff", "a JPEG picture", ""),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture", ""),
    (0, b"GIF87a", "a GIF picture", ""),
    (0, b"GIF89a", "a GIF picture", ""),
    (0, b"II*\0", "a TIFF picture", ""),
    (0, b"MM\0*", "a TIFF picture", ""),
    (0, b"BM", "a BMP picture", ""),
    (0, b"<svg", "an SVG drawing", ""),
    (0, b"<?xml", "an XML document", ""),
    (0, b"%PDF-", "a PDF document", ""),
    (0, b"PK\x03\x04", "a ZIP archive", ""),
    (0, b"\x1f\x8b", "a gzip archive", ""),
    (0, b"\x80\x02", "a Python pickle", ""),
    (0, b"\x80\x03", "a Python pickle", ""),
    (0, b"\x80\x04", "a Python pickle", ""),
    (0, b"\x80\x05", "a Python pickle", ""),
    (0, b"\x93NUMPY", "a NumPy array", ""),
    (0, b"\x89HDF\r\n", "an HDF5 file", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
        let cases: &[(&[u8], &str)] = &[
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:0f\n", "a Git LFS pointer"),
            (b"\xef\xbb\xbf\n <!DOCTYPE HTML><title>", "an HTML page"),
            (b"<html lang=\"en\">", "an HTML page"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP picture"),
            (b"\0\0\0\x18ftypheic", "a HEIC picture"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG picture"),
            (b"GIF89a\x01", "a GIF picture"),
            (b"PK\x03\x04", "a ZIP archive"),
        ];
        for (bytes, name) in cases {
            assert_eq!(Foreign::detect(bytes).map(|found| found.name), Some(*name));
        }
        for other in [&b""[..], b"<", b"{\"format\"", b"\0\0\x08\x03", b"version 1", b"RIFFWEBP"] {
            assert_eq!(Foreign::detect(other), None, "{other:?}");
        }
        let pointer = Foreign::detect(b"version https://git-lfs.github.com/spec/v1").unwrap();
        assert_eq!(
            pointer.instead_of("a PNG picture", "save it as PNG"),
            "it is a Git LFS pointer, not a PNG picture: `git lfs pull` fetches the file that it \
             stands for"
        );
        let photo = Foreign::detect(b"\xff\xd8\xff").unwrap();
        let expected = "it is a JPEG picture, not a PNG picture";
        assert_eq!(photo.instead_of("a PNG picture", ""), expected);
        let expected = "it is a JPEG picture, not a PNG picture: save it as PNG";
        assert_eq!(photo.instead_of("a PNG picture", "save it as PNG"), expected);
    }
}
