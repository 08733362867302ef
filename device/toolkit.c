/* SPDX-License-Identifier: Apache-2.0 */
#include "device/toolkit.h"

#include <string.h>

_Static_assert((int)cudaErrorMemoryAllocation == (int)CUDA_ERROR_OUT_OF_MEMORY &&
                   (int)cudaErrorIllegalAddress == (int)CUDA_ERROR_ILLEGAL_ADDRESS,
               "errors of the driver and of the runtime have the same numbers");

#if CUDART_VERSION < 12040
#error \
    "Nacre needs CUDA 12.4 or newer: 128-bit loads and compare-and-swap in PTX, and stream numbers"
#endif

static void *driver_entry(const char *name)
{
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t result =
        cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
    cudaError_t result = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
    if (result != cudaSuccess || found != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return entry;
}

static CUmemAllocationProp memory_of(int ordinal)
{
    CUmemAllocationProp memory;
    memset(&memory, 0, sizeof memory);
    memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    memory.location.id = ordinal;
    return memory;
}

/* An entry point is a data pointer that is a function; ISO C has no cast for that, POSIX has. */
#define FIND(field, name)                             \
    do {                                              \
        void *entry = driver_entry(name);             \
        memcpy(&ranges->field, &entry, sizeof entry); \
        complete = complete && entry != NULL;         \
    } while (0)

void nacrei_ranges_find(nacrei_ranges *ranges, int ordinal)
{
    int complete = 1;
    memset(ranges, 0, sizeof *ranges);
    FIND(reserve, "cuMemAddressReserve");
    FIND(free, "cuMemAddressFree");
    FIND(create, "cuMemCreate");
    FIND(release, "cuMemRelease");
    FIND(map, "cuMemMap");
    FIND(unmap, "cuMemUnmap");
    FIND(access, "cuMemSetAccess");
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *,
                            CUmemAllocationGranularity_flags);
    void *entry = driver_entry("cuMemGetAllocationGranularity");
    memcpy(&granularity, &entry, sizeof entry);
    size_t bytes = 0;
    CUmemAllocationProp memory = memory_of(ordinal);
    if (!complete || granularity == NULL ||
        granularity(&bytes, &memory, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS) {
        return;
    }
    ranges->granularity_bytes = bytes;
    ranges->ordinal = ordinal;
    ranges->usable = bytes != 0;
}

cudaError_t nacrei_ranges_map(const nacrei_ranges *ranges, char *address, uint64_t bytes)
{
    CUmemAllocationProp memory = memory_of(ranges->ordinal);
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location = memory.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)address;
    CUmemGenericAllocationHandle handle;
    CUresult result = ranges->create(&handle, (size_t)bytes, &memory, 0);
    if (result == CUDA_SUCCESS) {
        result = ranges->map(at, (size_t)bytes, 0, handle, 0);
        ranges->release(handle); /* a mapping keeps the memory */
    }
    if (result == CUDA_SUCCESS) {
        result = ranges->access(at, (size_t)bytes, &access, 1);
        if (result != CUDA_SUCCESS) {
            ranges->unmap(at, (size_t)bytes);
        }
    }
    return (cudaError_t)result; /* the runtime has the driver's numbers */
}

void nacrei_ranges_unmap(const nacrei_ranges *ranges, char *address, uint64_t bytes)
{
    ranges->unmap((CUdeviceptr)(uintptr_t)address, (size_t)bytes);
}

cudaError_t nacrei_stream_number(cudaStream_t stream, uint64_t *number)
{
    unsigned long long id = 0;
    cudaError_t result = cudaStreamGetId(stream, &id);
    *number = id;
    return result;
}
