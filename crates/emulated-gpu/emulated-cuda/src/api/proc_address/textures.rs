//! Those that are about arrays, textures and surfaces.

use std::ffi::c_void;

use crate::api::{array, texture, texture_reference};

use super::{Entry, table};

table! {
    /// The functions of arrays, textures and surfaces.
    rows:
    "cuArray3DCreate" 3020 array::cuArray3DCreate_v2;
    "cuArray3DGetDescriptor" 3020 array::cuArray3DGetDescriptor_v2;
    "cuArrayCreate" 3020 array::cuArrayCreate_v2;
    "cuArrayDestroy" 2000 array::cuArrayDestroy;
    "cuArrayGetDescriptor" 3020 array::cuArrayGetDescriptor_v2;
    "cuDeviceGetTexture1DLinearMaxWidth" 11010 array::cuDeviceGetTexture1DLinearMaxWidth;
    "cuMemcpyAtoA" 3020 array::cuMemcpyAtoA_v2, array::cuMemcpyAtoA_v2_ptds;
    "cuMemcpyAtoD" 3020 array::cuMemcpyAtoD_v2, array::cuMemcpyAtoD_v2_ptds;
    "cuMemcpyAtoH" 3020 array::cuMemcpyAtoH_v2, array::cuMemcpyAtoH_v2_ptds;
    "cuMemcpyAtoHAsync" 3020 array::cuMemcpyAtoHAsync_v2, array::cuMemcpyAtoHAsync_v2_ptsz;
    "cuMemcpyDtoA" 3020 array::cuMemcpyDtoA_v2, array::cuMemcpyDtoA_v2_ptds;
    "cuMemcpyHtoA" 3020 array::cuMemcpyHtoA_v2, array::cuMemcpyHtoA_v2_ptds;
    "cuMemcpyHtoAAsync" 3020 array::cuMemcpyHtoAAsync_v2, array::cuMemcpyHtoAAsync_v2_ptsz;
    "cuModuleGetSurfRef" 3000 texture_reference::cuModuleGetSurfRef;
    "cuModuleGetTexRef" 2000 texture_reference::cuModuleGetTexRef;
    "cuSurfObjectCreate" 5000 texture::cuSurfObjectCreate;
    "cuSurfObjectDestroy" 5000 texture::cuSurfObjectDestroy;
    "cuSurfObjectGetResourceDesc" 5000 texture::cuSurfObjectGetResourceDesc;
    "cuSurfRefGetArray" 3000 texture_reference::cuSurfRefGetArray;
    "cuSurfRefSetArray" 3000 texture_reference::cuSurfRefSetArray;
    "cuTexObjectCreate" 5000 texture::cuTexObjectCreate;
    "cuTexObjectDestroy" 5000 texture::cuTexObjectDestroy;
    "cuTexObjectGetResourceDesc" 5000 texture::cuTexObjectGetResourceDesc;
    "cuTexObjectGetResourceViewDesc" 5000 texture::cuTexObjectGetResourceViewDesc;
    "cuTexObjectGetTextureDesc" 5000 texture::cuTexObjectGetTextureDesc;
    "cuTexRefCreate" 2000 texture_reference::cuTexRefCreate;
    "cuTexRefDestroy" 2000 texture_reference::cuTexRefDestroy;
    "cuTexRefGetAddress" 3020 texture_reference::cuTexRefGetAddress_v2;
    "cuTexRefGetAddressMode" 2000 texture_reference::cuTexRefGetAddressMode;
    "cuTexRefGetArray" 2000 texture_reference::cuTexRefGetArray;
    "cuTexRefGetBorderColor" 8000 texture_reference::cuTexRefGetBorderColor;
    "cuTexRefGetFilterMode" 2000 texture_reference::cuTexRefGetFilterMode;
    "cuTexRefGetFlags" 2000 texture_reference::cuTexRefGetFlags;
    "cuTexRefGetFormat" 2000 texture_reference::cuTexRefGetFormat;
    "cuTexRefGetMaxAnisotropy" 5000 texture_reference::cuTexRefGetMaxAnisotropy;
    "cuTexRefSetAddress" 3020 texture_reference::cuTexRefSetAddress_v2;
    "cuTexRefSetAddress2D" 4010 texture_reference::cuTexRefSetAddress2D_v3;
    "cuTexRefSetAddressMode" 2000 texture_reference::cuTexRefSetAddressMode;
    "cuTexRefSetArray" 2000 texture_reference::cuTexRefSetArray;
    "cuTexRefSetBorderColor" 8000 texture_reference::cuTexRefSetBorderColor;
    "cuTexRefSetFilterMode" 2000 texture_reference::cuTexRefSetFilterMode;
    "cuTexRefSetFlags" 2000 texture_reference::cuTexRefSetFlags;
    "cuTexRefSetFormat" 2000 texture_reference::cuTexRefSetFormat;
    "cuTexRefSetMaxAnisotropy" 5000 texture_reference::cuTexRefSetMaxAnisotropy;
}
