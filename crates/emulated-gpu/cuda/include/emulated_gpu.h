/* What the emulated CUDA driver exports beyond cuda.h. A library finds the functions with dlsym, on
 * the handle of the loaded driver: where they are missing, the driver is NVIDIA's. */

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

/* `height` rows of `width` bytes, whose beginnings lie `pitch` bytes apart; what lies between the
 * rows is not accessed. A contiguous range has height 1. Column-major matrices have their columns
 * here for rows. */
typedef struct EmulatedGpuRange {
    CUdeviceptr address;
    uint64_t width;
    uint64_t height;
    uint64_t pitch;
    uint32_t access; /* EMULATED_GPU_READ, EMULATED_GPU_WRITE, or both */
    uint32_t alignment; /* what the address has to be a multiple of, in bytes; 0: any will do */
} EmulatedGpuRange;

/* What a library asks for device memory while its work runs. */
typedef struct EmulatedGpuDoor EmulatedGpuDoor;

/* Does the work. What it returns, unless CUDA_SUCCESS, ends the context as a kernel's fault does. It
 * may call nothing of the driver's but emulatedGpuAccess. */
typedef CUresult (*EmulatedGpuWork)(void *data, const EmulatedGpuDoor *door);

/* Gives `data` back. May call nothing of the driver's. */
typedef void (*EmulatedGpuRelease)(void *data);

/* A host library puts work into a stream. When its turn has come, `work` is called, which asks
 * emulatedGpuAccess for every range of device memory before it touches it: also for what it reads
 * the address of from device memory. What it was given stays where it is until `work` returns, even
 * when the program frees it meanwhile. In a stream that is captured, the work becomes one node of
 * the graph, and `work` is called in each launch of it.
 *
 * `release`, unless it is null, is called once, when neither stream nor graph will call `work` any
 * longer, perhaps before this function returns. When this function fails, `data` stays the caller's.
 *
 * `operation` names the operation in reports, such as "cublasSgemm_v2".
 *
 * CUDA_ERROR_INVALID_VALUE: `operation` or `work` is null. Others as of cuLaunchHostFunc. */
CUresult emulatedGpuLaunchWork(CUstream stream, const char *operation, EmulatedGpuWork work,
                               void *data, EmulatedGpuRelease release);

/* The same, where stream 0 is the calling thread's own. */
CUresult emulatedGpuLaunchWork_ptsz(CUstream stream, const char *operation, EmulatedGpuWork work,
                                    void *data, EmulatedGpuRelease release);

/* Asks for device memory, in a function of the type EmulatedGpuWork that has not returned, in any
 * thread. Each range has to lie inside one living allocation, and with
 * EMULATED_GPU_CHECKS=initialisation what is read has to have been written; what is written counts
 * as written from then on. Unless this returns CUDA_SUCCESS nothing may be accessed, the report
 * goes to standard error, and the context is left with the code that was returned.
 *
 * CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_LAUNCH_FAILED for what was
 * never written, CUDA_ERROR_INVALID_VALUE for an access that is none of the three. */
CUresult emulatedGpuAccess(const EmulatedGpuDoor *door, const EmulatedGpuRange *ranges,
                           size_t count);

/* For libraries that put their work into a stream with cuLaunchHostFunc, and see to it that the
 * memory stays: such a library says which device memory its next host function in this stream reads and writes;
 * it calls this before cuLaunchHostFunc, with the same stream. The ranges are copied. They are
 * checked when their turn in the stream has come: each has to lie inside one living allocation, and
 * with EMULATED_GPU_CHECKS=initialisation what is read has to have been written. When one is wrong,
 * the report goes to standard error, the context is left with CUDA_ERROR_ILLEGAL_ADDRESS or
 * CUDA_ERROR_LAUNCH_FAILED, and the host function is not called. What is written counts as written
 * from then on. In a stream that is captured it becomes a node of the graph.
 *
 * `operation` names the operation in reports, such as "cublasSgemm_v2".
 *
 * CUDA_ERROR_INVALID_VALUE: an access that is none of the three, or null pointers. */
CUresult emulatedGpuDeclareAccess(CUstream stream, const char *operation,
                                  const EmulatedGpuRange *ranges, size_t count);

/* The same, where stream 0 is the calling thread's own. */
CUresult emulatedGpuDeclareAccess_ptsz(CUstream stream, const char *operation,
                                       const EmulatedGpuRange *ranges, size_t count);

/* How many cards there are to be, from 1 to 64, where the environment (EMULATED_GPU_DEVICES) does not
 * say it. To be called before cuInit.
 *
 * CUDA_ERROR_INVALID_VALUE: another number. CUDA_ERROR_NOT_PERMITTED: after cuInit, unless there are
 * as many. */
CUresult emulatedGpuSetDevices(unsigned int count);

/* A card: what cuDevice... says of it, and what this process has of it now. */
typedef struct EmulatedGpuCard {
    char name[64];           /* ends in NUL; says that it is emulated */
    unsigned char uuid[16];
    uint32_t domain;         /* where it would be on a PCI bus */
    uint32_t bus;
    uint32_t device;
    uint32_t major;          /* compute capability */
    uint32_t minor;
    uint32_t contexts;       /* how many this process has on it */
    uint64_t memory;         /* bytes */
    uint64_t used;           /* bytes of it that this process uses */
} EmulatedGpuCard;

/* How many cards there are. For libraries that only look at cards: neither this function nor the next one
 * needs cuInit, or does what it does, so that a process may still be forked. Until cuInit they say
 * what it would find.
 *
 * CUDA_ERROR_INVALID_VALUE: a null pointer, or a variable of the environment that can't be understood. */
CUresult emulatedGpuGetCardCount(unsigned int *count);

/* A card by its number, which is its CUdevice. `size` is sizeof(EmulatedGpuCard) as the caller knows it:
 * no more than that is written, and what the driver does not know stays as it is.
 *
 * CUDA_ERROR_INVALID_DEVICE: there are not so many. CUDA_ERROR_INVALID_VALUE: as above. */
CUresult emulatedGpuGetCard(unsigned int number, EmulatedGpuCard *card, size_t size);

/* Sums over the launches of one kernel. The fields after `nanoseconds` are counted only while
 * emulatedGpuSetCounting is on. */
typedef struct EmulatedGpuCounts {
    uint64_t launches;
    uint64_t blocks;
    uint64_t warps;
    uint64_t warp_instructions;   /* one for up to 32 lanes */
    uint64_t thread_instructions; /* the same, times the lanes */
    uint64_t nanoseconds;         /* on the host; says nothing about hardware */
    uint64_t divergent_branches;  /* branches that sent a warp two ways */
    uint64_t global_requests;     /* instructions of warps that accessed global memory */
    uint64_t global_sectors;      /* sectors of 32 bytes that they touched */
    uint64_t shared_requests;     /* instructions of warps that accessed shared memory */
    uint64_t shared_passes;       /* passes that they took: more where banks conflict */
    uint64_t global_written_sectors; /* those of global_sectors that were written to */
    /* Floating-point multiply-adds of lanes that took part: of fma and mad, two where two numbers are
     * packed into one; */
    uint64_t fma_multiply_adds;
    uint64_t tensor_multiply_adds; /* of mma and wmma, m * n * k each, also of integers; */
    uint64_t other_multiply_adds;  /* of both, those that are not of f32, or of tf32 in mma and wmma. */
    uint64_t single_operations;    /* add, sub and mul of floats that are no part of these */
} EmulatedGpuCounts;

/* Whether each instruction is counted in launches that begin from now on; off at first, unless
 * EMULATED_GPU_STATISTICS names a file. Kernels run slower while it is on. */
CUresult emulatedGpuSetCounting(int on);

/* The counts of a kernel since it was loaded or since the last reset. Launches that still stand in
 * streams are not among them: synchronise first. `size` is sizeof(EmulatedGpuCounts) as the caller
 * knows it, so that the structure may grow at its end: no more than that is written, and what the
 * driver does not know stays as it is. */
CUresult emulatedGpuGetCounts(CUfunction function, EmulatedGpuCounts *counts, size_t size);

/* All counts of all kernels begin anew. */
CUresult emulatedGpuResetCounts(void);

#ifdef __cplusplus
}
#endif

#endif
