//! What becomes of a pixel before a network sees it.

use std::fmt;
use std::str::FromStr;

use crate::UnknownName;

/// How a pixel from 0 to 255 becomes the number that a network is given. Each step is rounded to
/// `f32`, as in PyTorch and NumPy, so the three agree to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// `x/255`: from 0 to 1.
    Unit,
    /// `(x/255 − 0.1307)/0.3081`: mean 0 and standard deviation 1 over MNIST's training images,
    /// of which 0.1307 and 0.3081 are mean and standard deviation.
    MeanStd,
}

impl Normalisation {
    /// Every normalisation there is.
    pub const ALL: [Self; 2] = [Self::Unit, Self::MeanStd];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::MeanStd => "mean-std",
        }
    }

    // ANCHOR: apply
    /// The number that a pixel becomes.
    #[must_use]
    pub fn apply(self, pixel: u8) -> f32 {
        let x = f32::from(pixel) / 255.0;
        match self {
            Self::Unit => x,
            Self::MeanStd => (x - 0.1307) / 0.3081,
        }
    }
    // ANCHOR_END: apply

    /// What each of the 256 pixel values becomes.
    #[must_use]
    pub fn table(self) -> [f32; 256] {
        let mut table = [0.0; 256];
        for (value, pixel) in table.iter_mut().zip(0..=255) {
            *value = self.apply(pixel);
        }
        table
    }
}

impl fmt::Display for Normalisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

// Not clap's `ValueEnum`: this crate knows of no command line, and a page in the browser uses it too.
impl FromStr for Normalisation {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|how| how.name() == text).ok_or_else(|| UnknownName {
            what: "normalisation",
            given: text.into(),
            known: "unit, mean-std",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_become_what_pytorch_makes_of_them() {
        // torch.tensor([0, 1, 127, 255]).float().div(255).sub(0.1307).div(0.3081), as bits.
        let bits = |pixel| Normalisation::MeanStd.apply(pixel).to_bits();
        let pytorch = [0xbed9_3271, 0xbed2_ae20, 0x3f98_9c64, 0x4034_933d];
        assert_eq!([0, 1, 127, 255].map(bits), pytorch);
        assert_eq!(Normalisation::Unit.apply(255), 1.0);
        assert_eq!(Normalisation::Unit.table()[51], 0.2);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for how in Normalisation::ALL {
            assert_eq!(how.to_string().parse(), Ok(how));
        }
        let error = "meanstd".parse::<Normalisation>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"meanstd\" is not a normalisation: choose one of unit, mean-std"
        );
    }
}
