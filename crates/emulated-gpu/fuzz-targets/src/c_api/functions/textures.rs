//! Functions for arrays, mipmapped arrays, textures and surfaces.

/// Functions of `libcuda.so`.
pub(super) const FUNCTIONS: &str = "
cuArrayCreate_v2 +array arraydescription
cuArray3DCreate_v2 +array arraydescription
cuArrayDestroy array
cuArrayGetDescriptor_v2 out array
cuArray3DGetDescriptor_v2 out array
cuDeviceGetTexture1DLinearMaxWidth out int int ordinal
cuModuleGetTexRef +reference module name
cuModuleGetSurfRef +reference module name
cuSurfObjectCreate +texture resourcedescription
cuSurfObjectDestroy texture
cuSurfObjectGetResourceDesc out texture
cuSurfRefGetArray +array reference
cuSurfRefSetArray reference array int
cuTexObjectCreate +texture resourcedescription texturedescription null
cuTexObjectDestroy texture
cuTexObjectGetResourceDesc out texture
cuTexObjectGetResourceViewDesc out texture
cuTexObjectGetTextureDesc out texture
cuTexRefCreate +reference
cuTexRefDestroy reference
cuTexRefGetAddress_v2 out reference
cuTexRefGetAddressMode out reference int
cuTexRefGetArray +array reference
cuTexRefGetFormat out out reference
cuTexRefSetAddress2D_v3 reference arraydescription device size
cuTexRefSetAddressMode reference int int
cuTexRefSetAddress_v2 out reference device size
cuTexRefSetArray reference array int
cuTexRefSetFilterMode reference int
cuTexRefSetFlags reference int
cuTexRefSetFormat reference int int
cuTexRefSetMaxAnisotropy reference int
cuMipmappedArrayCreate +mipmap arraydescription digit
cuMipmappedArrayCreate +mipmap arraydescription one
cuMipmappedArrayDestroy mipmap
cuMipmappedArrayGetLevel +array mipmap digit
cuTexObjectCreate +texture resourcedescription texturedescription view
cuTexRefGetBorderColor out reference
cuTexRefGetFilterMode out reference
cuTexRefGetFlags out reference
cuTexRefGetMaxAnisotropy out reference
cuTexRefSetBorderColor reference value
";
