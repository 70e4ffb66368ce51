/* The emulated CUDA driver's extensions to cuda.h. A library looks the functions up with dlsym, on the
 * handle of the loaded driver: if they are missing, the driver is NVIDIA's. */

#ifndef EMULATED_GPU_H
#define EMULATED_GPU_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EMULATED_GPU_READ = 1,
    EMULATED_GPU_WRITE = 2
};

/* `height` rows of `width` bytes, which begin `pitch` bytes apart; the gaps between the rows are not
 * accessed. A contiguous range has height 1. For a column-major matrix, the rows of this structure are
 * the matrix's columns. */
typedef struct EmulatedGpuRange {
    CUdeviceptr address;
    uint64_t width;
    uint64_t height;
    uint64_t pitch;
    uint32_t access; /* EMULATED_GPU_READ, EMULATED_GPU_WRITE, or both */
    uint32_t alignment; /* required alignment of the address in bytes; 0 for none */
} EmulatedGpuRange;

/* The handle with which a library requests device memory while its work runs. */
typedef struct EmulatedGpuAccessRequester EmulatedGpuAccessRequester;

/* Does the work. Any result other than CUDA_SUCCESS makes the context unusable, like a fault of a kernel.
 * The function must not call the driver, except for emulatedGpuAccess. */
typedef CUresult (*EmulatedGpuWork)(void *data, const EmulatedGpuAccessRequester *requester);

/* Releases `data`. Must not call the driver. */
typedef void (*EmulatedGpuRelease)(void *data);

/* Enqueues work of a host library. When the stream reaches it, `work` is called. It must request every
 * range of device memory with emulatedGpuAccess before accessing it, including ranges whose address it
 * reads from device memory. The memory stays valid until `work` returns, even if the program frees it
 * meanwhile. In a stream that is being captured, the work becomes a node of the graph, and `work` is called
 * in each launch of the graph.
 *
 * `release`, unless it is null, is called once, when neither a stream nor a graph will call `work` any more;
 * this may be before this function returns. If this function fails, `data` still belongs to the caller.
 *
 * `operation` names the operation in reports, such as "cublasSgemm_v2".
 *
 * CUDA_ERROR_INVALID_VALUE if `operation` or `work` is null; otherwise the errors of cuLaunchHostFunc. */
CUresult emulatedGpuLaunchWork(CUstream stream, const char *operation, EmulatedGpuWork work,
                               void *data, EmulatedGpuRelease release);

/* The same, with stream 0 meaning the per-thread default stream. */
CUresult emulatedGpuLaunchWork_ptsz(CUstream stream, const char *operation, EmulatedGpuWork work,
                                    void *data, EmulatedGpuRelease release);

/* Requests device memory, from any thread, before the function of type EmulatedGpuWork returns. Each range
 * must be inside one allocation. With EMULATED_GPU_CHECKS=initialisation, ranges to read must have been
 * written; ranges to write count as written from now on. If this does not return CUDA_SUCCESS, none of the
 * ranges may be accessed, a report is printed to standard error, and the context fails with the returned
 * code.
 *
 * CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_LAUNCH_FAILED for memory that was
 * never written, CUDA_ERROR_INVALID_VALUE for an invalid `access`. */
CUresult emulatedGpuAccess(const EmulatedGpuAccessRequester *requester, const EmulatedGpuRange *ranges,
                           size_t count);

/* For libraries that enqueue their work with cuLaunchHostFunc, and ensure themselves that the memory stays
 * valid: declares which device memory the next host function in this stream reads and writes. Call it
 * before cuLaunchHostFunc, with the same stream. The ranges are copied, and checked when the stream reaches
 * the declaration: each must be inside one allocation, and with EMULATED_GPU_CHECKS=initialisation, ranges
 * to read must have been written. If a range is wrong, a report is printed to standard error, the context
 * fails with CUDA_ERROR_ILLEGAL_ADDRESS or CUDA_ERROR_LAUNCH_FAILED, and the host function is not called.
 * Ranges to write count as written from then on. In a stream that is being captured, the declaration becomes
 * a node of the graph.
 *
 * `operation` names the operation in reports, such as "cublasSgemm_v2".
 *
 * CUDA_ERROR_INVALID_VALUE for an invalid `access`, or null pointers. */
CUresult emulatedGpuDeclareAccess(CUstream stream, const char *operation,
                                  const EmulatedGpuRange *ranges, size_t count);

/* The same, with stream 0 meaning the per-thread default stream. */
CUresult emulatedGpuDeclareAccess_ptsz(CUstream stream, const char *operation,
                                       const EmulatedGpuRange *ranges, size_t count);

/* Sets the number of cards, from 1 to 64. Must be called before cuInit. The environment variable
 * EMULATED_GPU_DEVICES takes precedence.
 *
 * CUDA_ERROR_INVALID_VALUE for another number; CUDA_ERROR_NOT_PERMITTED after cuInit, unless there are
 * exactly that many cards. */
CUresult emulatedGpuSetDevices(unsigned int count);

/* A card: its properties, as cuDevice... functions return them, and its current use by this process. */
typedef struct EmulatedGpuCard {
    char name[64];           /* ends in NUL; shows that the card is emulated */
    unsigned char uuid[16];
    uint32_t domain;         /* PCI address */
    uint32_t bus;
    uint32_t device;
    uint32_t major;          /* compute capability */
    uint32_t minor;
    uint32_t contexts;       /* number of contexts that this process has on it */
    uint64_t memory;         /* bytes */
    uint64_t used;           /* bytes that this process uses */
} EmulatedGpuCard;

/* The number of cards. This function and the next one are for libraries that only list cards: they neither
 * need cuInit nor initialise the driver, so the process can still be forked. Before cuInit they return what
 * it would find.
 *
 * CUDA_ERROR_INVALID_VALUE for a null pointer, or an environment variable with an invalid value. */
CUresult emulatedGpuGetCardCount(unsigned int *count);

/* The properties of a card. `number` is its CUdevice. `size` is the caller's sizeof(EmulatedGpuCard); no more
 * is written, and fields that the driver does not know are left unchanged.
 *
 * CUDA_ERROR_INVALID_DEVICE if there is no such card; CUDA_ERROR_INVALID_VALUE as above. */
CUresult emulatedGpuGetCard(unsigned int number, EmulatedGpuCard *card, size_t size);

/* Sums over the launches of one kernel. The fields after `nanoseconds` are only updated while
 * emulatedGpuSetCounting is on. */
typedef struct EmulatedGpuCounts {
    uint64_t launches;
    uint64_t blocks;
    uint64_t warps;
    uint64_t warp_instructions;   /* one for up to 32 lanes */
    uint64_t thread_instructions; /* multiplied by the active lanes */
    uint64_t nanoseconds;         /* on the host, which tells nothing about hardware */
    uint64_t divergent_branches;  /* branches on which a warp diverged */
    uint64_t global_requests;     /* instructions of warps that accessed global memory */
    uint64_t global_sectors;      /* 32-byte sectors that they touched */
    uint64_t shared_requests;     /* instructions of warps that accessed shared memory */
    uint64_t shared_passes;       /* passes that they took; more if there are bank conflicts */
    uint64_t global_written_sectors; /* sectors among them that were written */
    /* Floating-point multiply-adds of active lanes: fma and mad; a packed instruction for two numbers
     * counts twice. */
    uint64_t fma_multiply_adds;
    uint64_t tensor_multiply_adds; /* of mma and wmma: m * n * k each, including integers */
    uint64_t other_multiply_adds;  /* those among both that are not f32, or tf32 in mma and wmma */
    uint64_t single_operations;    /* floating-point add, sub and mul that are not part of these */
} EmulatedGpuCounts;

/* Switches counting on or off for later launches. It is off at first, unless EMULATED_GPU_STATISTICS names a
 * file. Kernels run slower while it is on. */
CUresult emulatedGpuSetCounting(int on);

/* The counters of a kernel since it was loaded or since the last reset. Pending launches are not included,
 * so synchronise first. `size` is the caller's sizeof(EmulatedGpuCounts), since the structure may grow at its
 * end; no more is written, and fields that the driver does not know are left unchanged. */
CUresult emulatedGpuGetCounts(CUfunction function, EmulatedGpuCounts *counts, size_t size);

/* Sets all counters of all kernels to 0. */
CUresult emulatedGpuResetCounts(void);

#ifdef __cplusplus
}
#endif

#endif
