/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that differ between toolkits, or that only the driver has: all of them stand in
 * toolkit.c. The driver is never linked; its entry points are asked for at run time.
 */
#ifndef NACRE_DEVICE_TOOLKIT_H
#define NACRE_DEVICE_TOOLKIT_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

/* Reserving addresses and mapping memory into them. */
typedef struct nacrei_ranges {
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*free)(CUdeviceptr, size_t);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    uint64_t granularity_bytes;
    int ordinal;
    uint32_t usable;
} nacrei_ranges;

/*
 * Fills *ranges for a device that is current; usable stays 0 where the driver or the device lacks
 * them.
 */
void nacrei_ranges_find(nacrei_ranges *ranges, int ordinal);

/*
 * Backs [address, address + bytes) of a reserved range with new memory of the device, zeroed by
 * nobody.
 */
cudaError_t nacrei_ranges_map(const nacrei_ranges *ranges, char *address, uint64_t bytes);
void nacrei_ranges_unmap(const nacrei_ranges *ranges, char *address, uint64_t bytes);

/* A number that no other stream of the process ever has. */
cudaError_t nacrei_stream_number(cudaStream_t stream, uint64_t *number);

#endif
