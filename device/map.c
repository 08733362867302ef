/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA map: creation, destruction, information. Batches are in map_batch.c, growth in
 * map_growth.c.
 */
#include "device/map.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/call.h"

void nacrei_map_fault(nacrei_cuda_map *map, uint32_t bits)
{
    __atomic_fetch_or(&map->faults, bits, __ATOMIC_RELAXED); /* flags; nothing hangs on them */
}

uint64_t nacrei_map_size_known(const nacrei_cuda_map *map)
{
    return map->replays ? ((volatile nacrei_hints *)&map->pinned->hints)->size : map->size_finished;
}

/* What a finished batch that was not cleared away since has changed. */
static void account(nacrei_cuda_map *map, const nacrei_report *report, uint64_t place)
{
    map->inserting -= map->batches[place].inserting;
    map->size_finished = map->replays ? report->size : map->size_finished + (uint64_t)report->delta;
    map->refused_unserved += report->refused;
    if (report->delta < 0) {
        const double size = (double)map->size_finished - (double)report->delta;
        map->worn_submaps -= NACREI_WEAR * (double)report->delta / size * (double)map->submap_count;
    }
    if (map->batches[place].elements != 0) {
        map->fresh_last =
            (uint64_t)report->delta + (map->batches[place].goes_on ? map->fresh_last : 0);
        map->fresh_share = (double)report->delta / (double)map->batches[place].elements;
    }
}

void nacrei_map_retire(nacrei_cuda_map *map)
{
    while (map->retired < map->issued) {
        const uint64_t place = map->retired % NACREI_RING;
        const nacrei_report *report = &map->pinned->reports[place];
        /* Acquire: pairs with the fence before the device wrote `sequence`. */
        if (__atomic_load_n(&report->sequence, __ATOMIC_ACQUIRE) != map->retired + 1) {
            return;
        }
        map->last = *report;
        if (!map->batches[place].probe && map->retired >= map->counted_from) {
            account(map, report, place);
        }
        map->retired++;
    }
}

void nacrei_map_show(nacrei_cuda_map *map)
{
    pthread_mutex_lock(&map->shown_lock);
    map->shown.capacity_keys = map->capacity_keys;
    map->shown.capacity_slots = map->submap_count * map->submap_slots;
    map->shown.submaps = map->submap_count;
    map->shown.memory_bytes = map->memory_bytes;
    map->shown.memory_peak_bytes = map->memory_peak_bytes;
    map->shown.size_last_known = nacrei_map_size_known(map);
    map->shown.load = (double)map->shown.size_last_known / (double)map->shown.capacity_slots;
    map->shown.growths = map->growths;
    map->shown.layout = map->layout;
    map->shown.walk_slots = nacrei_map_walk_slots(map);
    pthread_mutex_unlock(&map->shown_lock);
}

nacre_status nacrei_map_settle(nacrei_map_call *self, uint64_t in_flight)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacrei_cuda_map *map = self->map;
    nacre_status status = NACRE_OK;
    nacrei_map_show(map);
    for (uint32_t polls = 1;; polls++) {
        nacrei_map_retire(map);
        if (map->issued - map->retired <= in_flight) {
            break;
        }
        /* A batch that died never reports: the event, long over, returns the context's error. */
        if (polls % 4096 == 0) {
            NACREI_CUDA(cudaEventQuery(map->created));
        }
    }
cleanup:
    return status;
}

nacre_status nacrei_map_size_read(nacrei_map_call *self, uint64_t *size)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    NACREI_CUDA(cudaMemcpyAsync(size, &self->map->table.control->size, sizeof *size,
                                cudaMemcpyDeviceToHost, self->stream));
    NACREI_CUDA(cudaStreamSynchronize(self->stream));
cleanup:
    return status;
}

nacre_status nacrei_map_number_batch(nacrei_map_call *self, nacrei_elements *elements,
                                     uint64_t inserting)
{
    nacrei_cuda_map *map = self->map;
    if (self->capturing) { /* nobody waits for a replay */
        map->replays = 1;
        return NACRE_OK;
    }
    nacrei_map_retire(map);
    if (map->issued - map->retired == NACREI_RING) {
        nacre_status status = nacrei_map_settle(self, NACREI_RING - 1);
        if (status != NACRE_OK) {
            return status;
        }
    }
    const uint64_t place = map->issued % NACREI_RING;
    elements->tally = &map->block->tallies[place];
    elements->report = &map->pinned->reports[place];
    elements->sequence = map->issued + 1;
    map->batches[place].elements = inserting != 0 ? elements->count : 0;
    map->batches[place].inserting = inserting;
    map->batches[place].probe = 0;
    map->batches[place].scratch_bytes = 0;
    map->batches[place].goes_on = elements->first != 0;
    map->inserting += inserting;
    map->issued++;
    return NACRE_OK;
}

void nacrei_map_forget_batch(nacrei_map_call *self)
{
    nacrei_cuda_map *map = self->map;
    if (!self->capturing) {
        map->issued--;
        map->inserting -= map->batches[map->issued % NACREI_RING].inserting;
    }
}

uint64_t nacrei_map_room(const nacrei_cuda_map *map)
{
    const uint64_t used = nacrei_map_size_known(map) + map->inserting;
    return used < map->capacity_keys ? map->capacity_keys - used : 0;
}

static uint64_t fixed_bytes(void)
{
    return sizeof(nacrei_device_block) + sizeof(nacrei_pinned_block);
}

uint64_t nacrei_cuda_map_estimate(const nacre_device *head, const nacre_map_config *config,
                                  uint64_t keys)
{
    const nacrei_cuda_device *device = (const nacrei_cuda_device *)head;
    const uint32_t buckets = nacrei_buckets_per_submap(&device->gpu);
    const uint32_t slots =
        buckets * nacrei_slots_per_bucket(config->key_bytes, config->value_bytes);
    const uint64_t submaps = nacrei_table_submaps_reserved(keys, slots, config->load_max);
    if (submaps >= NACREI_SUBMAPS_MAX) {
        return UINT64_MAX;
    }
    return fixed_bytes() + nacrei_region_bytes(device, nacrei_submap_bytes(buckets), submaps + 1);
}

/* Never more than there is: so many addresses are reserved. */
static uint64_t table_bytes_max(const nacrei_cuda_map *map)
{
    const uint64_t all = ((const nacrei_cuda_device *)map->head.device)->memory_total_bytes;
    const uint64_t limit = map->head.config.memory_limit_bytes;
    if (limit == 0 || limit > all) {
        return all;
    }
    return limit > fixed_bytes() ? limit - fixed_bytes() : 0;
}

void nacrei_map_count_scratch(nacrei_map_call *self, uint64_t bytes)
{
    nacrei_cuda_map *map = self->map;
    const uint64_t place = (map->issued - 1) % NACREI_RING;
    map->batches[place].scratch_bytes = bytes;
    map->batches[place].stream = (uint32_t)(self->own - map->order.streams);
    nacrei_map_count_memory(map);
}

void nacrei_map_count_memory(nacrei_cuda_map *map)
{
    map->memory_bytes = fixed_bytes() + map->region.bytes;
    const uint64_t now = map->memory_bytes + nacrei_map_scratch_bytes(map);
    map->memory_peak_bytes = now > map->memory_peak_bytes ? now : map->memory_peak_bytes;
}

/*
 * The table's memory, zeroed: an empty table. On a stream of its own, so that no stream of the
 * program is waited for.
 */
static cudaError_t create_table(nacrei_cuda_device *device, nacrei_cuda_map *map, uint64_t submaps)
{
    cudaStream_t stream = NULL;
    const uint64_t bytes = nacrei_submap_bytes(map->table.bucket_mask + 1);
    nacrei_region_open(device, &map->region, bytes, table_bytes_max(map));
    cudaError_t result =
        nacrei_region_ensure(device, &map->region, submaps + 1, table_bytes_max(map));
    map->table.base = map->region.base;
    if (result == cudaSuccess) {
        result = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    if (result == cudaSuccess && map->region.base != NULL) {
        result = cudaMemsetAsync(map->region.base, 0, (submaps + 1) * bytes, stream);
    }
    for (uint32_t i = 0; result == cudaSuccess && i < map->region.segment_count; i++) {
        result =
            cudaMemsetAsync(map->region.segments[i], 0, ((uint64_t)1 << i / 4) * bytes, stream);
    }
    if (result == cudaSuccess) {
        result = cudaMemsetAsync(map->block, 0, sizeof *map->block, stream);
    }
    if (result == cudaSuccess) {
        nacrei_control control;
        memset(&control, 0, sizeof control);
        memcpy(control.segments, map->region.segments, sizeof control.segments);
        control.submap_count = submaps;
        control.capacity_keys = map->capacity_keys;
        result = cudaMemcpyAsync(&map->block->control, &control, sizeof control,
                                 cudaMemcpyHostToDevice, stream);
    }
    if (result == cudaSuccess) {
        result = cudaEventRecord(map->created, stream);
    }
    if (result == cudaSuccess) {
        result = cudaStreamSynchronize(stream);
    }
    if (stream != NULL) {
        (void)cudaStreamDestroy(stream);
    }
    map->submap_count = submaps;
    map->segments_told = map->region.segment_count;
    nacrei_map_count_memory(map);
    return result;
}

static void free_map(nacrei_cuda_device *device, nacrei_cuda_map *map)
{
    nacrei_order_close(&map->order);
    if (map->created != NULL) {
        (void)cudaEventDestroy(map->created);
    }
    nacrei_region_close(device, &map->region);
    nacrei_cuda_release(device, map->block, sizeof *map->block, NACRE_SPACE_DEVICE);
    nacrei_cuda_release(device, map->pinned, sizeof *map->pinned, NACRE_SPACE_PINNED);
    pthread_mutex_destroy(&map->lock);
    pthread_mutex_destroy(&map->shown_lock);
    pthread_mutex_destroy(&map->inspect_lock);
    free(map);
    (void)cudaGetLastError();
}

nacre_status nacrei_cuda_map_create(nacre_device *head, const nacre_map_config *config,
                                    nacre_map **created, nacre_error *error)
{
    static const char call[] = "nacre_map_create";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    const uint32_t width = nacrei_width_index(config->key_bytes, config->value_bytes);
    nacrei_current current;
    nacre_status status;
    nacrei_cuda_map *map = NULL;
    void *pointer;
    *created = NULL;
    const uint32_t buckets = nacrei_buckets_per_submap(&device->gpu);
    const uint32_t slots =
        buckets * nacrei_slots_per_bucket(config->key_bytes, config->value_bytes);
    const uint64_t submaps =
        nacrei_table_submaps_reserved(config->capacity_keys, slots, config->load_max);
    if (nacrei_cuda_map_estimate(head, config, config->capacity_keys) >
        device->memory_total_bytes) {
        return nacrei_fail_capacity(error, call, "capacity_keys", config->capacity_keys,
                                    device->memory_total_bytes, "the device's memory");
    }
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));

    map = (nacrei_cuda_map *)calloc(1, sizeof *map);
    if (map == NULL) {
        status = nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0, "%s: no host memory for the map",
                             call);
        goto cleanup;
    }
    pthread_mutex_init(&map->lock, NULL);
    pthread_mutex_init(&map->shown_lock, NULL);
    pthread_mutex_init(&map->inspect_lock, NULL);
    map->head.device = head;
    map->head.config = *config;
    map->kernels = &nacrei_map_kernels_of[width];
    map->submap_slots = slots;
    map->reserved_keys = config->capacity_keys;
    map->submap_count = submaps;
    map->capacity_keys = nacrei_map_capacity_of(map, submaps);
    map->fresh_share = 1.0;
    map->layout = 1;
    NACREI_CUDA(nacrei_cuda_prepare(device, width));
    map->code = device->code[width];
    NACREI_CUDA(cudaEventCreateWithFlags(&map->created, cudaEventDisableTiming));
    NACREI_CUDA(nacrei_cuda_allocate(device, sizeof *map->block, NACRE_SPACE_DEVICE, &pointer));
    map->block = (nacrei_device_block *)pointer;
    NACREI_CUDA(nacrei_cuda_allocate(device, sizeof *map->pinned, NACRE_SPACE_PINNED, &pointer));
    map->pinned = (nacrei_pinned_block *)pointer;
    memset(map->pinned, 0, sizeof *map->pinned);
    map->table.control = &map->block->control;
    map->table.hints = &map->pinned->hints;
    map->table.seed = config->seed;
    map->table.bucket_mask = buckets - 1;
    map->table.submap_bytes = (uint32_t)nacrei_submap_bytes(buckets);
    NACREI_CUDA(create_table(device, map, submaps));
    nacrei_map_show(map);
    *created = &map->head;
    map = NULL;
cleanup:
    if (map != NULL) {
        free_map(device, map);
    }
    nacrei_cuda_leave(&current);
    return status;
}

void nacrei_cuda_map_destroy(nacre_map *head)
{
    nacrei_cuda_map *map = (nacrei_cuda_map *)head;
    nacrei_cuda_device *device = (nacrei_cuda_device *)head->device;
    nacrei_current current;
    /*
     * Errors have no one to go to: a dead context or a driver that is gone has freed everything
     * itself.
     */
    (void)nacrei_cuda_enter(device, NULL, "nacre_map_destroy", &current);
    (void)nacrei_order_wait(&map->order);
    free_map(device, map);
    nacrei_cuda_leave(&current);
}

nacre_status nacrei_cuda_map_clear(nacre_map *head, nacre_error *error, nacre_stream stream)
{
    static const char call[] = "nacre_map_clear";
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, stream);
    nacrei_cuda_device *device = self.device;
    nacrei_cuda_map *map = self.map;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_EXCLUSIVE));
    NACREI_CUDA(map->kernels->clear(&device->gpu, &map->table, stream));
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_EXCLUSIVE));
    if (!self.capturing) {
        map->counted_from = map->issued;
        map->size_finished = 0;
        map->inserting = 0;
        map->refused_unserved = 0;
        map->fresh_last = 0;
        map->worn_submaps = 0.0;
    } else {
        map->replays = 1;
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}

void nacrei_cuda_map_info(nacre_map *head, nacre_map_info *info)
{
    nacrei_cuda_map *map = (nacrei_cuda_map *)head;
    /* A call that holds the lock, and may wait, has shown what was known before. */
    if (pthread_mutex_trylock(&map->lock) == 0) {
        nacrei_map_retire(map);
        nacrei_map_show(map);
        pthread_mutex_unlock(&map->lock);
    }
    pthread_mutex_lock(&map->shown_lock);
    info->capacity_keys = map->shown.capacity_keys;
    info->capacity_slots = map->shown.capacity_slots;
    info->submaps = map->shown.submaps;
    info->memory_bytes = map->shown.memory_bytes;
    info->memory_peak_bytes = map->shown.memory_peak_bytes;
    info->size_last_known = map->shown.size_last_known;
    info->load = map->shown.load;
    info->growths = map->shown.growths;
    info->layout = map->shown.layout;
    info->walk_slots = map->shown.walk_slots;
    pthread_mutex_unlock(&map->shown_lock);
    info->faults = nacrei_cuda_map_faults(head, 0);
}

/* A place in pinned->sizes of the caller's own; the lock is held by all who take one. */
static uint32_t take_size_place(nacrei_cuda_map *map)
{
    uint32_t place = 0;
    /* Acquire: who gave a place back has read what it held. */
    uint64_t taken = __atomic_load_n(&map->sizes_taken, __ATOMIC_ACQUIRE);
    while (taken == UINT64_MAX) { /* by as many threads that wait */
        sched_yield();
        taken = __atomic_load_n(&map->sizes_taken, __ATOMIC_ACQUIRE);
    }
    while ((taken >> place & 1) != 0) {
        place++;
    }
    __atomic_fetch_or(&map->sizes_taken, (uint64_t)1 << place, __ATOMIC_RELAXED);
    return place;
}

nacre_status nacrei_cuda_map_size(nacre_map *head, uint64_t *size, nacre_error *error,
                                  nacre_stream stream)
{
    static const char call[] = "nacre_map_size";
    nacrei_map_call self;
    uint32_t locked = 1, place = NACREI_SIZES;
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
    place = take_size_place(map);
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_READ));
    NACREI_CUDA(cudaMemcpyAsync(&map->pinned->sizes[place], &map->table.control->size, sizeof *size,
                                cudaMemcpyDeviceToHost, stream));
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_READ));
    /* Others go on while this thread waits: the stream may wait for what they enqueue. */
    pthread_mutex_unlock(&map->lock);
    locked = 0;
    NACREI_CUDA(cudaStreamSynchronize(stream));
    *size = map->pinned->sizes[place];
cleanup:
    if (place != NACREI_SIZES) {
        __atomic_fetch_and(&map->sizes_taken, ~((uint64_t)1 << place), __ATOMIC_RELEASE);
    }
    nacrei_cuda_leave(&self.current);
    if (locked) {
        pthread_mutex_unlock(&map->lock);
    }
    return status;
}

nacre_status nacrei_cuda_map_size_async(nacre_map *head, uint64_t *size, nacre_error *error,
                                        nacre_stream stream)
{
    static const char call[] = "nacre_map_size_async";
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, stream);
    nacrei_cuda_device *device = self.device;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_READ));
    NACREI_CUDA(cudaMemcpyAsync(size, &self.map->table.control->size, sizeof *size,
                                cudaMemcpyDefault, stream));
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_READ));
cleanup:
    nacrei_map_call_end(&self);
    return status;
}

uint32_t nacrei_cuda_map_faults(nacre_map *head, uint32_t clear)
{
    nacrei_cuda_map *map = (nacrei_cuda_map *)head;
    nacrei_cuda_device *device = (nacrei_cuda_device *)head->device;
    /* Relaxed: flags of their own, set by any batch at any time. */
    uint32_t bits, full;
    if (clear) {
        bits = __atomic_exchange_n(&map->faults, 0u, __ATOMIC_RELAXED);
        full = __atomic_exchange_n(&map->pinned->hints.full, 0u, __ATOMIC_RELAXED);
    } else {
        bits = __atomic_load_n(&map->faults, __ATOMIC_RELAXED);
        full = __atomic_load_n(&map->pinned->hints.full, __ATOMIC_RELAXED);
    }
    bits |= full != 0 ? NACRE_FAULT_FULL : 0;
    bits |= __atomic_load_n(&device->lost, __ATOMIC_RELAXED) != 0 ? NACRE_FAULT_DEVICE : 0;
    return bits;
}
