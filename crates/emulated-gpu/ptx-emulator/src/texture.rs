//! Textures and surfaces as data. Their texels are in ordinary memory, row after row, and each
//! access to them goes through the table of allocations.
//!
//! `footprint` turns coordinates into texels, `cube` turns directions into coordinates, `format`
//! converts texels to channels, and [`Bindings`] maps handles to textures. The rules follow the
//! CUDA C++ Programming Guide, "Texture Fetching", and the PTX ISA, "Texture Instructions" and
//! "Surface Instructions".

pub(crate) mod cube;
pub(crate) mod footprint;
pub(crate) mod format;
mod table;

pub(crate) use table::HandleLookup;
pub use table::{Bindings, NotBound};

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names give the types: unsigned, signed, floating-point")]
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
    /// The size of a texel in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether the type is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// Whether integers of this type can be read as normalised fractions (8 or 16 bits).
    #[must_use]
    pub const fn is_scalable(self) -> bool {
        !self.is_float() && self.bytes() < 4
    }
}

/// The format of a texel: 1, 2 or 4 channels of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The type of each channel.
    pub channel: Channel,
    /// The number of channels: 1, 2 or 4.
    pub channels: u32,
}

impl Format {
    /// The size of a texel in bytes: 1 to 16.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.channel.bytes() * self.channels as u64
    }
}

/// The memory layout of a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// The address of the first texel; a multiple of a texel's size.
    pub base: u64,
    /// The format of each texel.
    pub format: Format,
    /// Texels per row, at least 1.
    pub width: u64,
    /// Rows; 0 for one dimension.
    pub height: u64,
    /// Slices; 0 for fewer than three dimensions.
    pub depth: u64,
    /// Layers, each with the dimensions above; 0 if not layered. A layered texture has no depth.
    pub layers: u64,
    /// Bytes from one row to the next; a multiple of a texel's size.
    pub pitch: u64,
    /// Bytes from one slice or layer to the next; a multiple of a texel's size.
    pub slice: u64,
    /// Whether the texture is a one-dimensional array in linear memory: addressed by integers
    /// only, never filtered, and 0 outside.
    pub linear: bool,
    /// Whether the layers are the faces of one or more cubes, in the order +x, −x, +y, −y, +z, −z;
    /// all of them are squares.
    pub cube: bool,
}

impl Texels {
    /// The number of texels along x, y and z, at least one each.
    #[must_use]
    pub fn lengths(&self) -> [u64; 3] {
        [self.width, self.height, self.depth].map(|length| length.max(1))
    }

    /// The address of a texel, which must be inside.
    #[must_use]
    pub fn address(&self, [x, y, z]: [u64; 3], layer: u64) -> u64 {
        let row = y.wrapping_mul(self.pitch);
        let slice = (z + layer).wrapping_mul(self.slice);
        let column = x.wrapping_mul(self.format.bytes());
        self.base.wrapping_add(column).wrapping_add(row).wrapping_add(slice)
    }

    /// Bytes from the first texel to the end of the last, or `None` on overflow.
    #[must_use]
    pub fn reach(&self) -> Option<u64> {
        let [width, height, depth] = self.lengths();
        let slices = depth.checked_mul(self.layers.max(1))?;
        let row = width.checked_mul(self.format.bytes())?;
        let rows = (height - 1).checked_mul(self.pitch)?;
        (slices - 1).checked_mul(self.slice)?.checked_add(rows)?.checked_add(row)
    }
}

/// How coordinates outside of the texture are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// Repeat the texture; only for normalised coordinates.
    Wrap,
    /// The coordinate is moved to the nearest texel.
    #[default]
    Clamp,
    /// Repeat the texture, with every other copy mirrored; only for normalised coordinates.
    Mirror,
    /// Use the border colour.
    Border,
}

/// How values between texel centres are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The texel that contains the coordinates.
    #[default]
    Point,
    /// Linear interpolation of the nearest two, four or eight texels.
    Linear,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// The address modes along x, y and z.
    pub address: [AddressMode; 3],
    /// The filter; ignored for integers that are not [`scaled`](Self::scaled).
    pub filter: Filter,
    /// Whether coordinates go from 0 to 1, instead of from 0 to the number of texels.
    pub normalised: bool,
    /// Whether integers of 8 and 16 bits are read as fractions: unsigned integers from 0 to 1,
    /// signed integers from −1 to 1.
    pub scaled: bool,
    /// The border colour; for integers that are not scaled, their bits.
    pub border: [f32; 4],
    /// Whether filtering at the edge of a cube map's face includes texels of the adjacent face.
    pub seamless: bool,
}

impl Sampling {
    /// The effective address mode of an axis: without normalised coordinates, the repeating modes
    /// become [`AddressMode::Clamp`].
    #[must_use]
    pub fn mode(&self, axis: usize) -> AddressMode {
        match self.address[axis] {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalised => AddressMode::Clamp,
            mode => mode,
        }
    }
}

/// The object that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resource {
    /// Texels that are read, and how they are sampled.
    Texture(Texels, Sampling),
    /// Texels that are read and written, with byte coordinates.
    Surface(Texels),
}

/// The kinds of opaque variables (PTX ISA, "Texture, Sampler and Surface Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opaque {
    /// `.texref`
    Texture,
    /// `.surfref`
    Surface,
}

impl Resource {
    /// The texels of the resource.
    #[must_use]
    pub fn texels(&self) -> &Texels {
        match self {
            Self::Texture(texels, _) | Self::Surface(texels) => texels,
        }
    }

    /// The kind of variable that can refer to the object.
    #[must_use]
    pub fn kind(&self) -> Opaque {
        match self {
            Self::Texture(..) => Opaque::Texture,
            Self::Surface(_) => Opaque::Surface,
        }
    }
}
