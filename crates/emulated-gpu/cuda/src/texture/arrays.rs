//! The registries of arrays and mipmapped arrays.

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
    /// Creates an array on the context's device.
    ///
    /// # Errors
    /// The errors of [`Array::new`].
    pub(crate) fn create(
        &self,
        context: &Context,
        description: Array3dDescription,
    ) -> Result<Arc<Array>> {
        let array = Arc::new(Array::new(context, description)?);
        self.arrays.insert(array.handle, Arc::clone(&array));
        Ok(array)
    }

    /// Creates a mipmapped array. The number of levels is clamped to the possible range.
    ///
    /// # Errors
    /// The errors of [`Array::new`].
    pub(crate) fn create_mipmap(
        &self,
        context: &Context,
        description: Array3dDescription,
        wanted: u32,
    ) -> Result<Handle> {
        let mut created: Vec<Arc<Array>> = Vec::new();
        for description in levels(&description, wanted) {
            match self.create(context, description) {
                Ok(array) => created.push(array),
                Err(error) => {
                    created.iter().try_for_each(|array| self.destroy(array))?;
                    return Err(error);
                }
            }
        }
        let mipmap = Mipmap::new(context.handle, created);
        let handle = mipmap.handle;
        self.mipmaps.insert(handle, Arc::new(mipmap));
        Ok(handle)
    }

    /// The array with this handle.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if the handle is unknown.
    pub(crate) fn array(&self, handle: Handle) -> Result<Arc<Array>> {
        self.arrays.find(handle, Code::INVALID_HANDLE, "array")
    }

    /// The mipmapped array with this handle.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if the handle is unknown.
    pub(crate) fn mipmap(&self, handle: Handle) -> Result<Arc<Mipmap>> {
        self.mipmaps.find(handle, Code::INVALID_HANDLE, "mipmapped array")
    }

    /// Whether an array is a level of a mipmapped array, which owns it.
    pub(crate) fn is_level(&self, array: &Array) -> bool {
        let has =
            |mipmap: &Arc<Mipmap>| mipmap.levels.iter().any(|level| level.handle == array.handle);
        self.mipmaps.all().iter().any(has)
    }

    /// Removes an array and frees its memory.
    ///
    /// # Errors
    /// The errors of [`Array::destroy`].
    pub(crate) fn destroy(&self, array: &Array) -> Result {
        self.arrays.remove(array.handle);
        array.destroy()
    }

    /// Removes a mipmapped array and frees all its levels.
    ///
    /// # Errors
    /// The errors of [`Array::destroy`].
    pub(crate) fn destroy_mipmap(&self, mipmap: &Mipmap) -> Result {
        self.mipmaps.remove(mipmap.handle);
        mipmap.levels.iter().try_for_each(|array| self.destroy(array))
    }

    /// Removes the arrays of a destroyed context; their memory is freed together with it.
    pub(crate) fn remove_context(&self, context: Handle) {
        self.mipmaps.retain(|mipmap| mipmap.context != context);
        self.arrays.retain(|array| array.context != context);
    }
}
