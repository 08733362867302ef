/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics and check: what the inspection kernel found, in the caller's words. */
#include <string.h>

#include "device/call.h"
#include "device/map.h"

/* Runs the inspection and waits for its result. */
static nacre_status inspect(nacre_map *head, const char *call, nacrei_inspection *inspection,
                            nacre_error *error, nacre_stream stream)
{
    nacrei_map_call self;
    uint32_t locked = 1;
    pthread_mutex_lock(&((nacrei_cuda_map *)head)->inspect_lock);
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, stream);
    nacrei_cuda_device *device = self.device;
    nacrei_cuda_map *map = self.map;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    if (self.capturing) {
        status = nacrei_cuda_fail_capturing(error, NACRE_ERROR_WOULD_WAIT, call);
        goto cleanup;
    }
    /* Beside nothing: an insertion halfway would look like a broken table. */
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_EXCLUSIVE));
    NACREI_CUDA(map->kernels->inspect(&device->gpu, &map->table, &map->block->inspection, stream));
    NACREI_CUDA(cudaMemcpyAsync(&map->block->inspection.size, &map->table.control->size,
                                sizeof inspection->size, cudaMemcpyDeviceToDevice, stream));
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_EXCLUSIVE));
    /* Others go on while this thread waits: the stream may wait for what they enqueue. */
    pthread_mutex_unlock(&map->lock);
    locked = 0;
    NACREI_CUDA(cudaMemcpyAsync(inspection, &map->block->inspection, sizeof *inspection,
                                cudaMemcpyDeviceToHost, stream));
    NACREI_CUDA(cudaStreamSynchronize(stream));
cleanup:
    nacrei_cuda_leave(&self.current);
    if (locked) {
        pthread_mutex_unlock(&map->lock);
    }
    pthread_mutex_unlock(&map->inspect_lock);
    return status;
}

nacre_status nacrei_cuda_map_statistics(nacre_map *head, nacre_map_statistics *statistics,
                                        nacre_error *error, nacre_stream stream)
{
    nacrei_inspection found;
    nacre_status status = inspect(head, "nacre_map_statistics_get", &found, error, stream);
    if (status != NACRE_OK) {
        return status;
    }
    statistics->size = found.keys;
    statistics->probe_length_max = found.probe_length_max;
    memcpy(statistics->probe_lengths, found.probe_lengths, sizeof statistics->probe_lengths);
    statistics->stash_keys = found.stash_keys;
    statistics->probe_length_mean_hit =
        found.keys != 0 ? (double)found.hit_pairs / (double)found.keys : 0.0;
    statistics->probe_length_mean_missing =
        (double)found.missing_pairs / (double)found.missing_lookups;
    return NACRE_OK;
}

nacre_status nacrei_cuda_map_check(nacre_map *head, nacre_error *error, nacre_stream stream)
{
    static const char call[] = "nacre_map_check";
    static const char *const broken[] = {
        "", "a key lies in another submap than its own",
        "a lookup of the key in this slot does not end here: it is out of reach, or there twice",
        "the signature in an empty slot is not its bucket's", "a side slot holds another key"};
    nacrei_inspection found;
    nacre_status status = inspect(head, call, &found, error, stream);
    if (status != NACRE_OK) {
        return status;
    }
    if (found.broken != NACREI_BROKEN_NOTHING) {
        return nacrei_fail(error, NACRE_ERROR_INTERNAL, 0, "%s: submap %llu, slot %llu: %s", call,
                           (unsigned long long)found.broken_submap,
                           (unsigned long long)found.broken_slot, broken[found.broken]);
    }
    if (found.keys != found.size) {
        return nacrei_fail(error, NACRE_ERROR_INTERNAL, 0,
                           "%s: the table holds %llu keys, the size says %llu", call,
                           (unsigned long long)found.keys, (unsigned long long)found.size);
    }
    return NACRE_OK;
}
