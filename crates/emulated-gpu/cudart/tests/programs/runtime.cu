// A program of the CUDA runtime, built by nvcc. Each failed check prints its source, and the last line prints the
// number of failures. The host computes the expected values.

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

// -DNVIDIAS=1 if NVIDIA's runtime library is linked in, -DNVIDIAS=0 for the emulated one.

static int checks = 0, wrong = 0;

#define CHECK(condition)                                                   \
    do {                                                                   \
        checks++;                                                          \
        if (!(condition)) {                                                \
            wrong++;                                                       \
            printf("line %d: %s\n", __LINE__, #condition);                 \
        }                                                                  \
    } while (0)
#define OK(call)                                                           \
    do {                                                                   \
        cudaError_t code = (call);                                         \
        checks++;                                                          \
        if (code != cudaSuccess) {                                         \
            wrong++;                                                       \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code)); \
        }                                                                  \
    } while (0)

__constant__ float factors[4] = {1, 2, 3, 4};
__device__ unsigned counter;
__device__ int table[3] = {5, 6, 7};
__managed__ int shared_with_host = 11;

struct Pair {
    float a;
    double b;
};

// Template instances, a structure passed by value, and constant memory.
template <typename T>
__global__ void scale(T *data, int n, Pair pair) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = T(data[i] * factors[i % 4] + pair.a * pair.b);
        atomicAdd(&counter, 1u);
    }
}

// Uses dynamic shared memory.
__global__ void reverse(int *data) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void add_managed(int value) { shared_with_host += value; }

__global__ void no_arguments() { atomicAdd(&counter, 100u); }

template <typename T>
static void scales() {
    const int n = 100;
    std::vector<T> host(n), back(n);
    for (int i = 0; i < n; i++) host[i] = T(i);
    T *device;
    OK(cudaMalloc(&device, n * sizeof(T)));
    OK(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    unsigned zero = 0, count;
    OK(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    scale<<<4, 32>>>(device, n, Pair{2.0f, 0.5});
    OK(cudaGetLastError());
    OK(cudaMemcpy(back.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == unsigned(n));
    for (int i = 0; i < n; i++) CHECK(back[i] == T(i * (i % 4 + 1) + 1));
    OK(cudaFree(device));
}

static void symbols() {
    float other[4] = {10, 20, 30, 40};
    OK(cudaMemcpyToSymbol(factors, other + 1, 8, 4));
    float back[4];
    OK(cudaMemcpyFromSymbol(back, factors, sizeof back));
    CHECK(back[0] == 1 && back[1] == 20 && back[2] == 30 && back[3] == 4);
    float first[4] = {1, 2, 3, 4};
    OK(cudaMemcpyToSymbol(factors, first, sizeof first));
    int *address;
    size_t size;
    OK(cudaGetSymbolAddress((void **)&address, table));
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == 12);
    int values[3];
    OK(cudaMemcpy(values, address, 12, cudaMemcpyDefault));
    CHECK(values[0] == 5 && values[1] == 6 && values[2] == 7);
}

static void streams_and_graphs() {
    cudaStream_t stream;
    cudaEvent_t from, to;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    int host[8] = {0, 1, 2, 3, 4, 5, 6, 7}, *device, *pinned;
    OK(cudaMallocAsync(&device, sizeof host, stream));
    OK(cudaMallocHost(&pinned, sizeof host));
    memcpy(pinned, host, sizeof host);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(device, pinned, sizeof host, cudaMemcpyHostToDevice, stream));
    reverse<<<1, 8, sizeof host, stream>>>(device);
    OK(cudaMemcpyAsync(pinned, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaEventRecord(from, stream));
    for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(ready, stream));
    OK(cudaEventRecord(to, stream));
    OK(cudaEventSynchronize(to));
    for (int i = 0; i < 8; i++) CHECK(pinned[i] == 7 - i);
    float time = -1;
    OK(cudaEventElapsedTime(&time, from, to));
    CHECK(time >= 0);
    size_t nodes = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 3);
    int called = 0;
    OK(cudaLaunchHostFunc(stream, [](void *data) { *(int *)data = 1; }, &called));
    OK(cudaFreeAsync(device, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(called == 1);
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(pinned));
    OK(cudaEventDestroy(from));
    OK(cudaEventDestroy(to));
    OK(cudaStreamDestroy(stream));
}

static void functions() {
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, reverse));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.sharedSizeBytes == 0);
    OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    OK(cudaFuncGetAttributes(&attributes, reverse));
    CHECK(attributes.maxDynamicSharedSizeBytes == 65536);
    int grid = 0, block = 0, blocks = 0;
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale<float>));
    CHECK(grid > 0 && block > 0 && block % 32 == 0);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale<float>, block, 0));
    CHECK(blocks > 0);
    void *arguments[] = {nullptr};
    unsigned zero = 0, count;
    OK(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    OK(cudaLaunchCooperativeKernel((void *)no_arguments, dim3(2), dim3(4), arguments, 0, nullptr));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1, 2, 1);
    config.blockDim = dim3(3);
    OK(cudaLaunchKernelEx(&config, no_arguments));
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == 1400);
}

static void errors() {
    reverse<<<1, 4096>>>(nullptr);
    // NVIDIA's runtime of CUDA 13 leaves the check to the driver, which returns this code.
    cudaError_t too_large = NVIDIAS ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
    CHECK(cudaPeekAtLastError() == too_large);
    CHECK(cudaGetLastError() == too_large);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaSetDevice(1000) == cudaErrorInvalidDevice);
    CHECK(cudaMalloc((void **)nullptr, 4) == cudaErrorInvalidValue);
    cudaMipmappedArray_t levels;
    cudaArray_t level;
    cudaExtent extent;
    cudaArrayMemoryRequirements requirements;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    CHECK(channels.x == 32 && channels.f == cudaChannelFormatKindFloat);
    OK(cudaMallocMipmappedArray(&levels, &channels, make_cudaExtent(4, 4, 0), 2));
    OK(cudaGetMipmappedArrayLevel(&level, levels, 1));
    OK(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    CHECK(extent.width == 2 && extent.height == 2);
    CHECK(cudaGetMipmappedArrayLevel(&level, levels, 2) == cudaErrorInvalidValue);
    CHECK(cudaMipmappedArrayGetMemoryRequirements(&requirements, levels, 0) == cudaErrorNotSupported);
    OK(cudaFreeMipmappedArray(levels));
    CHECK(strcmp(cudaGetErrorString(cudaGetLastError()), "operation not supported") == 0);
}

static void devices() {
    int count = 0, device = -1, warp = 0, version = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count >= 1);
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    OK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
    CHECK(warp == 32 && properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
    CHECK(strncmp(properties.name, "Emulated GPU", 12) == 0);
    CHECK(properties.multiProcessorCount > 0 && properties.unifiedAddressing == 1);
    CHECK(properties.maxThreadsPerMultiProcessor >= 1024 && properties.cooperativeLaunch == 1);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version >= 12000);
    std::thread([&] { OK(cudaGetDevice(&device)); }).join();
    CHECK(device == 0);
    size_t free = 0, total = 0;
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free > 0 && free <= total);
}

static void memory() {
    int *managed;
    OK(cudaMallocManaged(&managed, 8 * sizeof(int)));
    for (int i = 0; i < 8; i++) managed[i] = i;
    reverse<<<1, 8, 8 * sizeof(int)>>>(managed);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++) CHECK(managed[i] == 7 - i);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == managed);
    OK(cudaFree(managed));
    CHECK(shared_with_host == 11);
    add_managed<<<1, 1>>>(31);
    OK(cudaDeviceSynchronize());
    CHECK(shared_with_host == 42);
    cudaPitchedPtr volume;
    cudaExtent extent = make_cudaExtent(5, 3, 2);
    OK(cudaMalloc3D(&volume, extent));
    OK(cudaMemset3D(volume, 9, extent));
    unsigned char back[30] = {0};
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = volume;
    copy.dstPtr = make_cudaPitchedPtr(back, 5, 5, 3);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (unsigned char byte : back) CHECK(byte == 9);
    OK(cudaFree(volume.ptr));
}

// Reads a texture between its texels and writes to a surface.
__global__ void paint(cudaTextureObject_t picture, cudaTextureObject_t line, cudaSurfaceObject_t drawn, float *out) {
    int x = threadIdx.x, y = threadIdx.y;
    float mixed = tex2D<float>(picture, x + 1.0f, y + 0.5f);
    out[8 * y + x] = mixed + 1000 * tex1Dfetch<float>(line, x - 1);
    surf2Dwrite(make_float2(x, y), drawn, x * sizeof(float2), y);
}

__global__ void depths(cudaTextureObject_t volume, cudaTextureObject_t colours, float *out) {
    int i = threadIdx.x;
    out[i] = tex3D<float>(volume, i % 2 + 0.5f, i / 2 % 2 + 0.5f, i / 4 + 0.5f);
    float4 colour = tex2D<float4>(colours, (i + 0.5f) / 8, 0.5f);
    out[8 + i] = colour.x + 10 * colour.w;
}

static void textures() {
    const int width = 8, height = 4;
    std::vector<float> values(width * height);
    for (int i = 0; i < width * height; i++) values[i] = i;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray_t picture, drawn;
    OK(cudaMallocArray(&picture, &floats, width, height));
    OK(cudaMemcpy2DToArray(picture, 0, 0, values.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>();
    OK(cudaMallocArray(&drawn, &pairs, width, height, cudaArraySurfaceLoadStore));
    cudaChannelFormatDesc format;
    cudaExtent size;
    unsigned flags;
    OK(cudaArrayGetInfo(&format, &size, &flags, drawn));
    CHECK(format.x == 32 && format.y == 32 && format.z == 0 && format.f == cudaChannelFormatKindFloat);
    CHECK(size.width == width && size.height == height && size.depth == 0 && flags == cudaArraySurfaceLoadStore);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = picture;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = description.addressMode[2] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t mixed, line, volume, colours;
    OK(cudaCreateTextureObject(&mixed, &resource, &description, nullptr));
    cudaTextureDesc again;
    OK(cudaGetTextureObjectTextureDesc(&again, mixed));
    CHECK(memcmp(&again, &description, sizeof description) == 0);
    cudaResourceDesc same;
    OK(cudaGetTextureObjectResourceDesc(&same, mixed));
    CHECK(same.resType == cudaResourceTypeArray && same.res.array.array == picture);
    CHECK(cudaCreateSurfaceObject(&line, &resource) == cudaErrorInvalidValue);
    cudaGetLastError();
    resource.res.array.array = drawn;
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    float *memory, *out;
    OK(cudaMalloc(&memory, width * 4));
    OK(cudaMemcpy(memory, values.data(), width * 4, cudaMemcpyHostToDevice));
    OK(cudaMalloc(&out, width * height * 4));
    cudaResourceDesc plain = {};
    plain.resType = cudaResourceTypeLinear;
    plain.res.linear.devPtr = memory;
    plain.res.linear.desc = floats;
    plain.res.linear.sizeInBytes = width * 4;
    cudaTextureDesc point = {};
    OK(cudaCreateTextureObject(&line, &plain, &point, nullptr));
    paint<<<1, dim3(width, height)>>>(mixed, line, surface, out);
    std::vector<float> found(width * height);
    OK(cudaMemcpy(found.data(), out, found.size() * 4, cudaMemcpyDeviceToHost));
    std::vector<float2> pixels(width * height);
    OK(cudaMemcpy2DFromArray(pixels.data(), width * 8, drawn, 0, 0, width * 8, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float next = x + 1 < width ? 0.5f : 0.0f, before = x > 0 ? x - 1 : 0;
            CHECK(found[y * width + x] == width * y + x + next + 1000 * before);
            CHECK(pixels[y * width + x].x == x && pixels[y * width + x].y == y);
        }

    // For array copies, the extent is counted in texels.
    cudaExtent extent = make_cudaExtent(2, 2, 2);
    cudaArray_t deep, bytes;
    OK(cudaMalloc3DArray(&deep, &floats, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), 8, 2, 2);
    copy.dstArray = deep;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    resource.res.array.array = deep;
    OK(cudaCreateTextureObject(&volume, &resource, &point, nullptr));
    uchar4 colour[width];
    for (int i = 0; i < width; i++) colour[i] = make_uchar4(i * 10, 0, 0, 255);
    cudaChannelFormatDesc uchars = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&bytes, &uchars, width, 1));
    OK(cudaMemcpy2DToArray(bytes, 0, 0, colour, sizeof colour, sizeof colour, 1, cudaMemcpyHostToDevice));
    resource.res.array.array = bytes;
    point.readMode = cudaReadModeNormalizedFloat;
    point.normalizedCoords = 1;
    OK(cudaCreateTextureObject(&colours, &resource, &point, nullptr));
    depths<<<1, 8>>>(volume, colours, out);
    OK(cudaMemcpy(found.data(), out, 16 * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) {
        CHECK(found[i] == i);
        CHECK(found[8 + i] == i * 10 / 255.0f + 10);
    }
    cudaArray_t none;
    cudaChannelFormatDesc triple = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
    CHECK(cudaMallocArray(&none, &triple, 4, 4) == cudaErrorInvalidChannelDescriptor);
    cudaGetLastError();
    for (cudaTextureObject_t texture : {mixed, line, volume, colours}) OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    for (cudaArray_t array : {picture, drawn, deep, bytes}) OK(cudaFreeArray(array));
    OK(cudaFree(memory));
    OK(cudaFree(out));
}

int main() {
    devices();
    scales<float>();
    scales<double>();
    scales<int>();
    symbols();
    streams_and_graphs();
    functions();
    memory();
    textures();
    errors();
    OK(cudaDeviceReset());
    scales<float>();
    printf("%d checks, %d wrong\n", checks, wrong);
    return wrong != 0;
}
