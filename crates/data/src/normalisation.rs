//! The normalisation of pixels.

use crate::written_by_name;

/// How a pixel from 0 to 255 is converted to an input of a network. Each step is rounded to
/// `f32`, as in PyTorch and NumPy, so the three agree to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// `x/255`: from 0 to 1.
    Unit,
    /// `(x/255 − 0.1307)/0.3081`. 0.1307 and 0.3081 are the mean and the standard deviation of `x/255` over
    /// MNIST's training images, so that the result has mean 0 and standard deviation 1.
    MeanStd,
}

impl Normalisation {
    // ANCHOR: apply
    /// The normalised value of a pixel.
    #[must_use]
    pub fn apply(self, pixel: u8) -> f32 {
        let x = f32::from(pixel) / 255.0;
        match self {
            Self::Unit => x,
            Self::MeanStd => (x - 0.1307) / 0.3081,
        }
    }
    // ANCHOR_END: apply

    /// The normalised values of all 256 pixel values.
    #[must_use]
    pub fn table(self) -> [f32; 256] {
        let mut table = [0.0; 256];
        for (value, pixel) in table.iter_mut().zip(0..=255) {
            *value = self.apply(pixel);
        }
        table
    }
}

written_by_name!(Normalisation, "normalisation", Unit: "unit", MeanStd: "mean-std");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_normalised_as_in_pytorch() {
        // The bits of PyTorch's torch.tensor([0, 1, 127, 255]).float().div(255).sub(0.1307).div(0.3081).
        let bits = |pixel| Normalisation::MeanStd.apply(pixel).to_bits();
        let pytorch = [0xbed9_3271, 0xbed2_ae20, 0x3f98_9c64, 0x4034_933d];
        assert_eq!([0, 1, 127, 255].map(bits), pytorch);
        assert_eq!(Normalisation::Unit.apply(255), 1.0);
        assert_eq!(Normalisation::Unit.table()[51], 0.2);
    }

    #[test]
    fn written_names_are_read_back() {
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
