//! The arrays and mipmapped arrays that there are, by their handles.

use std::sync::Arc;

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::registry::Registry;
use crate::abi::texture::Array3dDescription;
use crate::context::Context;
use crate::texture::array::Array;
use crate::texture::mipmap::{Mipmap, levels};

/// The arrays of all contexts.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    arrays: Registry<Array>,
    mipmaps: Registry<Mipmap>,
}

impl Arrays {
    /// Makes an array, on the context's device.
    ///
    /// # Errors
    /// Those of [`Array::new`].
    pub(crate) fn create(
        &self,
        context: &Context,
        description: Array3dDescription,
    ) -> Result<Arc<Array>> {
        let array = Arc::new(Array::new(context, description)?);
        self.arrays.insert(array.handle, Arc::clone(&array));
        Ok(array)
    }

    /// Makes a mipmapped array with this many levels, if it can have them.
    ///
    /// # Errors
    /// Those of [`Array::new`].
    pub(crate) fn create_mipmap(
        &self,
        context: &Context,
        description: Array3dDescription,
        asked: u32,
    ) -> Result<Handle> {
        let mut made: Vec<Arc<Array>> = Vec::new();
        for description in levels(&description, asked) {
            match self.create(context, description) {
                Ok(array) => made.push(array),
                Err(error) => {
                    made.iter().try_for_each(|array| self.destroy(array))?;
                    return Err(error);
                }
            }
        }
        let mipmap = Mipmap::new(context.handle, made);
        let handle = mipmap.handle;
        self.mipmaps.insert(handle, Arc::new(mipmap));
        Ok(handle)
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn array(&self, handle: Handle) -> Result<Arc<Array>> {
        self.arrays.find(handle, Code::INVALID_HANDLE, "array")
    }

    /// The mipmapped array of a handle.
    ///
    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn mipmap(&self, handle: Handle) -> Result<Arc<Mipmap>> {
        self.mipmaps.find(handle, Code::INVALID_HANDLE, "mipmapped array")
    }

    /// Whether an array is the level of a mipmapped one, which goes with it.
    pub(crate) fn is_level(&self, array: &Array) -> bool {
        let has = |mipmap: &Arc<Mipmap>| mipmap.levels.iter().any(|one| one.handle == array.handle);
        self.mipmaps.all().iter().any(has)
    }

    /// Forgets an array and gives its memory back.
    ///
    /// # Errors
    /// Those of [`Array::destroy`].
    pub(crate) fn destroy(&self, array: &Array) -> Result {
        self.arrays.remove(array.handle);
        array.destroy()
    }

    /// The same for a mipmapped array, with all its levels.
    ///
    /// # Errors
    /// Those of [`Array::destroy`].
    pub(crate) fn destroy_mipmap(&self, mipmap: &Mipmap) -> Result {
        self.mipmaps.remove(mipmap.handle);
        mipmap.levels.iter().try_for_each(|array| self.destroy(array))
    }

    /// Forgets those of a context; their memory goes with it.
    pub(crate) fn end_context(&self, context: Handle) {
        self.mipmaps.retain(|mipmap| mipmap.context != context);
        self.arrays.retain(|array| array.context != context);
    }
}
