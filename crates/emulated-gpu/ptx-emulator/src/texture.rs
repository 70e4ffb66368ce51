//! Textures and surfaces: what a kernel reads by coordinates, as data. Their texels lie in memory like
//! anything else, row behind row, and each access to them asks the table of allocations.
//!
//! What comes of coordinates is in `footprint`, what of directions in `cube`, what a texel means in
//! `format`, and which handle stands for what in [`Bindings`]. The rules are those of the CUDA C++ Programming Guide, "Texture
//! Fetching", and of the PTX ISA, "Texture Instructions" and "Surface Instructions".

pub(crate) mod cube;
pub(crate) mod footprint;
pub(crate) mod format;
mod table;

pub(crate) use table::Wanted;
pub use table::{Bindings, NotBound};

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the type of that name: unsigned, signed, floating-point")]
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl Channel {
    /// Its width in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether it is a floating-point number.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// Whether it is an integer that can be read as a fraction of the largest one: of 8 or 16 bits.
    #[must_use]
    pub const fn is_scalable(self) -> bool {
        !self.is_float() && self.bytes() < 4
    }
}

/// What a texel is: 1, 2 or 4 channels of a type, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The type of each.
    pub channel: Channel,
    /// How many: 1, 2 or 4.
    pub channels: u32,
}

impl Format {
    /// The bytes of a texel: 1 to 16.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.channel.bytes() * self.channels as u64
    }
}

/// Where texels lie, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// The address of the first one; a multiple of a texel's bytes.
    pub base: u64,
    /// What one is.
    pub format: Format,
    /// Texels of a row, at least 1.
    pub width: u64,
    /// Rows; 0 where there is one dimension only.
    pub height: u64,
    /// Slices; 0 where there are two dimensions at most.
    pub depth: u64,
    /// Layers, each of the dimensions above; 0 where it is not layered. There is no depth then.
    pub layers: u64,
    /// Bytes from one row to the next; a multiple of a texel's.
    pub pitch: u64,
    /// Bytes from one slice, or layer, to the next; likewise.
    pub slice: u64,
    /// It is an array of one dimension in plain memory: addressed by integers alone, never filtered,
    /// and 0 outside.
    pub linear: bool,
    /// Its layers are the sides of a cube, or of several: +x, −x, +y, −y, +z, −z of each, all of them
    /// squares.
    pub cube: bool,
}

impl Texels {
    /// Texels along x, y and z: at least one along each.
    #[must_use]
    pub fn lengths(&self) -> [u64; 3] {
        [self.width, self.height, self.depth].map(|length| length.max(1))
    }

    /// The address of a texel that is inside, of a layer.
    #[must_use]
    pub fn address(&self, [x, y, z]: [u64; 3], layer: u64) -> u64 {
        let row = y.wrapping_mul(self.pitch);
        let slice = (z + layer).wrapping_mul(self.slice);
        let column = x.wrapping_mul(self.format.bytes());
        self.base.wrapping_add(column).wrapping_add(row).wrapping_add(slice)
    }

    /// Bytes from the first texel to the end of the last, unless there are too many to count.
    #[must_use]
    pub fn reach(&self) -> Option<u64> {
        let [width, height, depth] = self.lengths();
        let slices = depth.checked_mul(self.layers.max(1))?;
        let row = width.checked_mul(self.format.bytes())?;
        let rows = (height - 1).checked_mul(self.pitch)?;
        (slices - 1).checked_mul(self.slice)?.checked_add(rows)?.checked_add(row)
    }
}

/// What stands for a coordinate outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture again and again: of normalised coordinates only.
    Wrap,
    /// Its nearest texel.
    #[default]
    Clamp,
    /// The texture, every other time the other way round: of normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

/// What is read between the middles of texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The texel that the coordinates are in.
    #[default]
    Point,
    /// A mixture of the nearest two, four or eight.
    Linear,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// For x, y and z.
    pub address: [AddressMode; 3],
    /// Has no effect on integers that are not [`scaled`](Self::scaled).
    pub filter: Filter,
    /// Coordinates go from 0 to 1, not from 0 to the number of texels.
    pub normalised: bool,
    /// Integers of 8 and 16 bits are read as fractions: unsigned ones from 0 to 1, signed ones from −1
    /// to 1.
    pub scaled: bool,
    /// The border's colour; for integers that are not scaled, their bits.
    pub border: [f32; 4],
    /// Of a cube map: what is filtered at the edge of a side is mixed with the texels of the next one.
    pub seamless: bool,
}

impl Sampling {
    /// The mode of an axis, as it holds: what repeats a texture needs normalised coordinates, and is
    /// [`AddressMode::Clamp`] without.
    #[must_use]
    pub fn mode(&self, axis: usize) -> AddressMode {
        match self.address[axis] {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalised => AddressMode::Clamp,
            mode => mode,
        }
    }
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resource {
    /// Texels that are read, and how.
    Texture(Texels, Sampling),
    /// Texels that are read and written, by bytes.
    Surface(Texels),
}

/// The kinds of variables that stand for something else (PTX ISA, "Texture, Sampler and Surface Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opaque {
    /// `.texref`
    Texture,
    /// `.surfref`
    Surface,
}

impl Resource {
    /// Its texels.
    #[must_use]
    pub fn texels(&self) -> &Texels {
        match self {
            Self::Texture(texels, _) | Self::Surface(texels) => texels,
        }
    }

    /// Which kind of variable stands for such a one.
    #[must_use]
    pub fn kind(&self) -> Opaque {
        match self {
            Self::Texture(..) => Opaque::Texture,
            Self::Surface(_) => Opaque::Surface,
        }
    }
}
