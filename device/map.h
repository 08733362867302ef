/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA map, as the host sees it. All host state is guarded by one lock; the device's is in
 * nacrei_control.
 *
 * What the host knows of the size, without waiting: each batch that may insert or erase has a
 * number and an entry in a ring in pinned memory, where its last block writes what it did. The host
 * adds up the entries of finished batches, and counts every element of an unfinished insertion as a
 * new key: that bounds the size from above.
 */
#ifndef NACRE_DEVICE_MAP_H
#define NACRE_DEVICE_MAP_H

#include <pthread.h>

#include "device/device.h"
#include "device/order.h"
#include "device/region.h"

/* Batches in flight; a launch queue of CUDA's holds about as many. */
#define NACREI_RING 1024

/*
 * Submaps rebuilt per submap's worth of keys erased: a round that erases a tenth of the keys has
 * half of the submaps rebuilt. Less lets lookups age (README.md, "Maintenance").
 */
#define NACREI_WEAR 5.0

/* Views that change the map, open or not known to have finished; one more for all in captures. */
#define NACREI_VIEWS 8
#define NACREI_SIZES 64

/* In device memory, one allocation. */
typedef struct nacrei_device_block {
    nacrei_control control;
    nacrei_inspection inspection;
    nacrei_tally tallies[NACREI_RING];
    nacrei_view_counts views[NACREI_VIEWS + 1];
    uint32_t bits[NACREI_CHUNK_ELEMENTS / 32]; /* of a probe, then of elements left out */
    uint32_t fullest;                          /* keys of two submaps that are to be merged */
    nacrei_stable_scratch stable;
} nacrei_device_block;

/* In pinned memory, one allocation. */
typedef struct nacrei_pinned_block {
    nacrei_hints hints;
    nacrei_report reports[NACREI_RING];
    uint64_t sizes[NACREI_SIZES]; /* each for a thread that waits for one */
} nacrei_pinned_block;

typedef struct nacrei_cuda_map {
    struct nacre_map head;
    pthread_mutex_t lock;
    const nacrei_map_kernels *kernels;
    nacrei_table table;
    nacrei_region region;
    nacrei_order order;
    nacrei_device_block *block;
    nacrei_pinned_block *pinned;
    cudaEvent_t created; /* asked for errors while the host waits */

    uint32_t submap_slots;
    nacrei_code code; /* two_step: insertions run beside nothing */
    uint64_t submap_count;
    uint64_t reserved_keys;
    uint64_t capacity_keys; /* keys that fit without growth */

    /* Accounting: batches `retired` .. `issued` - 1 are in flight. */
    uint64_t issued, retired;
    uint64_t counted_from; /* batches before this one were cleared away and count for nothing */
    uint64_t size_finished;
    uint64_t inserting; /* elements of insertions in flight */
    struct {
        uint64_t elements;      /* 0: an erasure or a probe */
        uint64_t inserting;     /* of them at most so many are new keys */
        uint32_t probe;         /* changes nothing, tells how many keys are missing */
        uint32_t goes_on;       /* with a call whose first elements were another batch */
        uint64_t scratch_bytes; /* borrowed until it has finished */
        uint32_t stream;        /* by its place in `order` */
    } batches[NACREI_RING];
    nacrei_report last;        /* of the last retired batch */
    uint64_t refused_unserved; /* refused since the last growth */
    uint64_t fresh_last;       /* keys that the last call brought, as far as it is retired */
    double fresh_share;        /* share of new keys in the last insertion or probe */
    double worn_submaps;       /* that maintenance owes a rebuild */
    uint64_t maintained;       /* the next submap to be rebuilt, from 0 */
    uint32_t replays;          /* captured batches change the size behind the host's back */

    uint32_t views_open[NACREI_CLASSES];
    struct {
        uint32_t open;
        uint32_t reserved;
        uint64_t new_keys;
        uint64_t ended; /* number of the batch that it ended as */
    } views[NACREI_VIEWS + 1];

    uint32_t segments_told; /* to the device */
    uint32_t faults;        /* those the host found; by __atomic */
    uint64_t growths;
    uint64_t layout; /* counts the times that keys moved; the first table is 1 */
    uint64_t memory_bytes, memory_peak_bytes;

    uint64_t sizes_taken; /* bits: places in pinned->sizes; by __atomic */

    /* What info shows: `lock` may be held by a call that waits for the device. */
    pthread_mutex_t shown_lock;
    nacre_map_info shown;
    pthread_mutex_t inspect_lock; /* guards block->inspection */
} nacrei_cuda_map;

uint64_t nacrei_cuda_map_estimate(const nacre_device *device, const nacre_map_config *config,
                                  uint64_t keys);
nacre_status nacrei_cuda_map_create(nacre_device *device, const nacre_map_config *config,
                                    nacre_map **map, nacre_error *error);
void nacrei_cuda_map_destroy(nacre_map *map);
nacre_status nacrei_cuda_map_clear(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_maintain(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_shrink(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_reserve(nacre_map *map, uint64_t keys, nacre_error *error,
                                     nacre_stream stream);
void nacrei_cuda_map_info(nacre_map *map, nacre_map_info *info);
nacre_status nacrei_cuda_map_size(nacre_map *map, uint64_t *size, nacre_error *error,
                                  nacre_stream stream);
nacre_status nacrei_cuda_map_size_async(nacre_map *map, uint64_t *size, nacre_error *error,
                                        nacre_stream stream);
uint32_t nacrei_cuda_map_faults(nacre_map *map, uint32_t clear);
nacre_status nacrei_cuda_map_statistics(nacre_map *map, nacre_map_statistics *statistics,
                                        nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_check(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_batch(nacre_map *map, const nacrei_batch *batch, nacre_error *error);
nacre_status nacrei_cuda_map_match(nacre_map *map, const nacrei_batch *batch,
                                   const nacrei_matches *matches, nacre_error *error);
nacre_status nacrei_cuda_map_retrieve(nacre_map *map, const nacrei_selection *selection,
                                      nacre_error *error);
nacre_status nacrei_cuda_map_erase_if(nacre_map *map, const nacrei_selection *selection,
                                      nacre_error *error);

/* Slots that a cursor walks through: those of all submaps, the stash first, and the side slots. */
static inline uint64_t nacrei_map_walk_slots(const nacrei_cuda_map *map)
{
    return (map->submap_count + 1) * map->submap_slots + NACREI_SIDE_SLOTS_MAX;
}

nacre_status nacrei_cuda_map_view_begin(nacre_map *map, uint32_t access, uint64_t new_keys,
                                        nacrei_view *view, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cuda_map_view_end(nacre_map *map, nacrei_view *view, nacre_error *error,
                                      nacre_stream stream);

uint64_t nacrei_map_capacity_of(const nacrei_cuda_map *map, uint64_t submaps);
void nacrei_map_count_memory(nacrei_cuda_map *map);

/* ---- between the files map*.c; the lock is held ---- */

/* One call on a map: what NACREI_CUDA expects, and the stream. */
typedef struct nacrei_map_call {
    nacrei_cuda_device *device;
    nacrei_cuda_map *map;
    const char *call;
    nacre_error *error;
    cudaStream_t stream;
    uint32_t capturing;
    nacrei_current current;
    nacrei_order_stream *own; /* between order_begin and order_end */
    nacre_counts *counts;     /* still to be cleared */
    uint64_t left_out;        /* elements that found no room for want of memory */
} nacrei_map_call;

/*
 * Takes the lock, makes the device current, asks whether the stream is capturing. Always to be
 * ended.
 */
nacre_status nacrei_map_call_begin(nacrei_map_call *self, nacre_map *map, const char *call,
                                   nacre_error *error, nacre_stream stream);
void nacrei_map_call_end(nacrei_map_call *self);

/* Order between streams around the launches of a batch; nothing in a capture. */
nacre_status nacrei_map_order_begin(nacrei_map_call *self, uint32_t class_of);
nacre_status nacrei_map_order_end(nacrei_map_call *self, uint32_t class_of);

static inline uint64_t nacrei_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The elements of a batch as kernels take them, and first .. first + count - 1 of them. */
nacrei_elements nacrei_map_elements_of(const nacrei_cuda_map *map, const nacrei_batch *batch);
nacrei_elements nacrei_map_part_of(const nacrei_elements *all, const nacre_map_config *config,
                                   uint64_t first, uint64_t count);

/* The table for a launch; a captured one reads the number of submaps when it is replayed. */
nacrei_table nacrei_map_table_of(const nacrei_map_call *self);

/* Counts start from zero, before the first launch of a call and after all that may refuse it. */
nacre_status nacrei_map_clear_counts(nacrei_map_call *self);

/*
 * Enqueue a batch in its order; one that inserts or erases is partitioned where that pays.
 * `inserting`: elements that may be new keys, at most. `metered`: they may not fit
 * (nacre/cuda/claim.cuh).
 */
nacre_status nacrei_map_launch_lookup(nacrei_map_call *self, const nacrei_batch *batch,
                                      const nacrei_elements *elements);
nacre_status nacrei_map_launch_change(nacrei_map_call *self, const nacrei_elements *elements,
                                      uint64_t inserting, uint32_t operation, uint32_t metered);

/* Not 0 where a second kernel reads or combines the values, after elements->last. */
uint32_t nacrei_map_has_second_step(const nacrei_cuda_map *map, uint32_t operation);

/* Keys in the map, as far as is known without a wait. */
uint64_t nacrei_map_size_known(const nacrei_cuda_map *map);

/* Sets fault bits that the host found out. */
void nacrei_map_fault(nacrei_cuda_map *map, uint32_t bits);

/* What info shows from now on. */
void nacrei_map_show(nacrei_cuda_map *map);

/* Looks which batches have finished. */
void nacrei_map_retire(nacrei_cuda_map *map);

/*
 * Gives the batch about to be launched a number and a place in the ring. `inserting`: elements that
 * may be new keys, at most. In a capture it gets none. The other takes it back: the batch was not
 * launched, and would be waited for in vain.
 */
nacre_status nacrei_map_number_batch(nacrei_map_call *self, nacrei_elements *elements,
                                     uint64_t inserting);
void nacrei_map_forget_batch(nacrei_map_call *self);

/* New keys that fit for certain, as far as is known without a wait. */
uint64_t nacrei_map_room(const nacrei_cuda_map *map);

/* Not 0 while a view is open: the table must not grow. */
uint32_t nacrei_map_views_open(const nacrei_cuda_map *map);

/* The host waits until at most `in_flight` batches with a number have not finished. */
nacre_status nacrei_map_settle(nacrei_map_call *self, uint64_t in_flight);

/* The size as the device has it, in the stream's order; waits for the stream. */
nacre_status nacrei_map_size_read(nacrei_map_call *self, uint64_t *size);

/*
 * Grows to room for `keys` keys, or as far as there is memory, on the stream, without waiting.
 * *refused: there was none at all; the map is as it was, and the status OK, because it may have
 * room for what is needed.
 */
nacre_status nacrei_map_grow(nacrei_map_call *self, uint64_t keys, uint32_t *refused);

/*
 * Memory for so many submaps, all or nothing; the table does not grow. CAPACITY, OUT_OF_MEMORY: the
 * message says that `parameter` is `keys`.
 */
nacre_status nacrei_map_back_submaps(nacrei_map_call *self, const char *parameter, uint64_t keys,
                                     uint64_t submaps);

/* The same, if it can be had. */
void nacrei_map_reserve_memory(nacrei_map_call *self, uint64_t submaps);

/* Rebuilds what erasures known to have finished have worn, on the stream, without waiting. */
nacre_status nacrei_map_maintain_worn(nacrei_map_call *self);

/*
 * Elements of a batch that are partitioned at a time before they change the table; 0: it goes as it
 * is. `inserting`: those that may be new keys, at most.
 */
uint64_t nacrei_map_partition_part(const nacrei_map_call *self, const nacrei_elements *elements,
                                   uint64_t inserting);

/*
 * Makes *elements the partitioned copy of itself, in scratch memory that nacrei_map_partition_end
 * gives back behind the kernel that reads it. *scratch NULL: no memory, or none within the map's
 * limit, and *elements as it was.
 */
nacre_status nacrei_map_partition_begin(nacrei_map_call *self, nacrei_elements *elements,
                                        void **scratch, uint64_t *scratch_bytes);
void nacrei_map_partition_end(nacrei_map_call *self, void *scratch);

/* Notes that the batch numbered last has borrowed memory; what batches in flight have borrowed. */
void nacrei_map_count_scratch(nacrei_map_call *self, uint64_t bytes);
uint64_t nacrei_map_scratch_bytes(const nacrei_cuda_map *map);

#endif
