/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map: keys of 4 or 8 bytes to values of 0 (a set), 4 or 8 bytes.
 *
 * MODEL. A map is given batches: arrays of keys, of values, and a count. A call enqueues its batch
 * on a stream and returns; on the CPU it has finished by then. Keys and values are bits: signed
 * keys and floating-point values are stored like any other. Arrays lie in memory that the map's
 * device reads and writes, and need only the element's own alignment. Outputs do not overlap
 * inputs, except where a call says so.
 *
 *     nacre_device *device;
 *     nacre_map *map;
 *     uint64_t keys[3] = {7, 8, 9}, values[3] = {70, 80, 90}, found[3];
 *     nacre_device_config on_cpu;
 *     nacre_device_config_init(&on_cpu, sizeof on_cpu);
 *     on_cpu.backend = NACRE_BACKEND_CPU;
 *     nacre_device_open(&on_cpu, &device);
 *     nacre_map_create(device, NULL, &map);
 *     nacre_map_insert(map, keys, values, 3, NULL, NULL);
 *     nacre_map_find(map, keys, 3, found, NULL, NULL);     // found is 70, 80, 90
 *     nacre_map_destroy(map);
 *     nacre_device_close(device);
 *
 * (On a GPU the arrays are device memory: see examples/quickstart.c, which runs on both.)
 *
 * PROMISES
 * - Any key, any value: no pattern is reserved.
 * - Capacity is in keys: a map created or reserved for n keys takes any n distinct keys.
 * - Growth follows keys, not batch lengths: repeating keys that are there never grows a map.
 * - Nothing is lost: exactly the elements whose outcome is FULL were not applied; they can be given
 *   again as they are. A table that is full reports; it never hangs.
 * - Equal keys in a batch: exactly one element reports INSERTED, any of them. Values are whole.
 *   Which of several assigned values stays is unspecified; insert keeps the value of the element
 *   that reported INSERTED.
 * - Erasing frees room at once and leaves no tombstones.
 *
 * GROWTH, chosen at creation. WAIT (the default): when a batch may not fit, the host waits for the
 * map's own work, grows the table, and goes on. DEFERRED: no call waits for growth; the table grows
 * at a later call, by what finished batches have shown; a key that finds no room reports FULL, and
 * one new key that does so many times in a batch may double the table, as many keys would. FIXED:
 * the map takes exactly capacity_keys keys until nacre_map_reserve raises that. If memory is
 * refused while a WAIT map grows, the batch is applied as far as there is room, elements left out
 * report FULL, and the call returns OUT_OF_MEMORY. In all other cases a full map is told by
 * outcomes, counts.refused and NACRE_FAULT_FULL, and the call returns OK.
 *
 * STREAMS. Batches of one map on one stream run in the stream's order. Across streams the library
 * keeps order (config.order): read {find, contains, match, retrieve, retrieve_if, count_if, size}
 * runs beside read; insert {insert, insert_or_assign, insert_or_apply, find_or_insert, assign}
 * beside insert and read; exclusive {erase, erase_if, clear, reserve, maintain, shrink, statistics,
 * check, stable retrieval} beside nothing. An insertion that may not fit, grows, or maintains the
 * table does that part exclusively. On GPUs below compute capability 9.0, which cannot claim a slot
 * of 16 bytes in one step, all of insert but assign is exclusive for pairs of 8 + 8, 8 + 4 and
 * 4 + 8 bytes. With NACRE_ORDER_CALLER nothing is ordered: the caller then keeps every call but
 * assign and those of class read apart from all others. The library keeps track of 1024 batches in
 * flight and of 64 streams with work of one map; a call beyond that waits for the oldest, whatever
 * the map's growth. Beside an open view of the map (map_view.h) a call that must not run there
 * returns WOULD_WAIT. From compute capability 9.0 on a batch's kernel may be launched while what
 * comes before it in the stream ends, and waits for that by itself. A kernel of the caller's that
 * is launched so between calls has to wait, too (cudaGridDependencySynchronize), even where it
 * needs nothing of what comes before: the kernel after it waits for it alone.
 *
 * THREADS. Any call on one map may be made from any thread at any time, destroy excepted, which is
 * the last. Different maps have nothing to do with each other. A call that waits for growth, or
 * for DEVICE_SELECT, keeps other calls on its map waiting, info and faults excepted.
 *
 * CAPTURE. Batch calls, selections, views, clear and size_async may be captured in a CUDA graph. A
 * call that would have to wait or allocate returns WOULD_WAIT, and one that cannot be captured at
 * all UNSUPPORTED (maintain, DEVICE_SELECT, selections by slots), before anything is issued; the
 * capture is intact. A captured batch stays valid when the map grows, shrinks or is cleared later,
 * takes the size that the map has at the replay, and reports FULL where it finds no room then,
 * whatever the map's growth. So: nacre_map_reserve and nacre_map_size first (elements in flight
 * count as keys), then the capture; between replays reserve makes room, and outcomes, counts or
 * nacre_map_faults tell FULL. The library does not see replays: the caller orders each of them
 * against every call, view and replay beside which its calls may not run (STREAMS), and, where it
 * inserts, against all other insertions, those of the same graph too: between streams of one
 * capture it orders nothing. Once a call that changes the map has been captured, each insertion
 * into a WAIT map outside of a graph waits for its stream to learn the size (with
 * NACRE_OPTION_NEVER_WAIT it goes by the last size known).
 */
#ifndef NACRE_MAP_H
#define NACRE_MAP_H

#include <stdint.h>

#include "nacre/device.h"
#include "nacre/export.h"
#include "nacre/status.h"
#include "nacre/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nacre_map nacre_map;

typedef struct nacre_map_config {
    uint32_t struct_size;
    uint32_t key_bytes;     /* 4 or 8; default 8 */
    uint32_t value_bytes;   /* 0, 4 or 8; default 8 */
    uint32_t growth;        /* NACRE_GROWTH_...; default WAIT */
    uint64_t capacity_keys; /* any so many distinct keys fit from the start; default 0 */
    /* The map's memory never exceeds it; 0 (default) or more than there is: no limit. */
    uint64_t memory_limit_bytes;
    /* Of the hash; the default is a fresh random number. Keys chosen by somebody who knows the seed
       can make a map slow, and in the end FULL, not wrong. */
    uint64_t seed;
    /* Mean share of occupied slots at which parts of the table are split; 0.10 to 0.95, default
       0.92. */
    double load_max;
    uint32_t order; /* NACRE_ORDER_...; default LIBRARY */
    uint32_t reserved;
    nacre_error *error; /* filled when creation fails; may be NULL */
} nacre_map_config;

typedef struct nacre_map_info {
    uint32_t struct_size;
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t growth;
    uint64_t capacity_keys;     /* so many distinct keys fit without growth */
    uint64_t capacity_slots;    /* of the whole table; information only */
    uint64_t submaps;           /* parts that the table is split into; a lookup probes one */
    uint64_t memory_bytes;      /* held now, on the device and pinned */
    uint64_t memory_peak_bytes; /* the most ever held, copies of a batch included */
    uint64_t size_last_known;   /* keys after the last batch known to have finished */
    double load;                /* size_last_known / capacity_slots */
    uint64_t growths;           /* times that the table grew, each time by one submap or more */
    uint32_t faults;            /* NACRE_FAULT_... not cleared yet */
    uint32_t reserved;
    uint64_t layout;     /* another number whenever keys may have moved to other slots; not 0 */
    uint64_t walk_slots; /* that a cursor walks through: more than capacity_slots (nacre_select) */
} nacre_map_info;

/*
 * Which keys of a map: those whose key or value meets a condition and that lie in a range of slots.
 * Zeroed but for struct_size, it selects everything.
 *
 * A range of slots makes a cursor: for first_slot = 0, slot_count, 2 * slot_count, ... up to
 * walk_slots of nacre_map_info, the calls together select each key that is in the map throughout
 * exactly once. That holds while `layout` stays what it was: give the one that nacre_map_info told
 * at the beginning, and a call after keys may have moved returns CHANGED: the map grew, shrank, or
 * was maintained, as insertions and erasures do as they go. nacre_map_erase_if with that `layout`
 * moves no keys: one cursor may retrieve a range, erase it, and go on. Keys inserted meanwhile may
 * be missed, and one erased and inserted again may come twice.
 */
typedef struct nacre_select {
    uint32_t struct_size;
    uint32_t field;            /* NACRE_FIELD_...: what the condition is about */
    nacre_condition condition; /* of a type as wide as the field */
    uint64_t first_slot;
    uint64_t slot_count; /* 0: all that follow */
    uint64_t layout;     /* 0: any */
} nacre_select;

/* How far keys lie from home, in pairs of buckets: 64 bytes, which a lookup reads at once. */
typedef struct nacre_map_statistics {
    uint32_t struct_size;
    uint32_t probe_length_max;  /* the longest probe of a key that is present, in pairs */
    uint64_t size;              /* keys present */
    uint64_t probe_lengths[16]; /* [i]: keys found in pair i of their path; [15]: 15 and beyond */
    uint64_t stash_keys;        /* keys that found no slot in their submap */
    /* Pairs read by a lookup, averaged over keys present, and over random ones that are not. */
    double probe_length_mean_hit;
    double probe_length_mean_missing;
} nacre_map_statistics;

/*
 * Makes a struct ready: a config with the defaults named at its fields and a fresh random seed, a
 * selection of everything, info and statistics to be filled.
 *
 * **Thread safety** the struct is the caller's. **Allocates** nothing. **Since** 0.1
 */
NACRE_API void nacre_map_config_init(nacre_map_config *config, uint32_t struct_size);
NACRE_API void nacre_map_info_init(nacre_map_info *info, uint32_t struct_size);
NACRE_API void nacre_map_statistics_init(nacre_map_statistics *statistics, uint32_t struct_size);
NACRE_API void nacre_select_init(nacre_select *select, uint32_t struct_size);

/*
 * Tells in *bytes how much memory a map of this config holds that has room for `keys` distinct keys
 * reserved, and in how little it takes them: one that grows to them by itself may hold twice that,
 * where memory_limit_bytes allows it. `config` NULL means every default.
 *
 * ARGUMENT, UNSUPPORTED: as nacre_map_create. CAPACITY: no machine has so much. The reason goes to
 * config->error.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_estimate(const nacre_device *device,
                                          const nacre_map_config *config, uint64_t keys,
                                          uint64_t *bytes);

/*
 * Creates a map. `config` NULL means every default. *map is owned by the caller, and holds a
 * reference to the device; on failure it is NULL.
 *
 * ARGUMENT: a field out of range. UNSUPPORTED: widths that this build lacks (nacre_build_supports).
 * CAPACITY: capacity_keys beyond any memory, or beyond memory_limit_bytes. OUT_OF_MEMORY.
 * DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** ready for every stream at return. **Allocates** the
 * whole of the table for capacity_keys. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_create(nacre_device *device, const nacre_map_config *config,
                                        nacre_map **map);

/*
 * Destroys a map. No captured graph with the map's calls may be running, or run later. Waits for
 * the map's own work, breaks no capture of other threads, and is quiet where the driver is gone
 * already, at the exit of a process. NULL is allowed.
 *
 * **Thread safety** any thread; no other call on the map may be running or follow. **Since** 0.1
 */
NACRE_API void nacre_map_destroy(nacre_map *map);

/*
 * Erases every key; the capacity stays.
 *
 * ARGUMENT. WOULD_WAIT: a view is open. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued; exclusive; may be captured.
 * **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_clear(nacre_map *map, nacre_error *error, nacre_stream stream);

/*
 * Makes room for `keys` distinct keys in all: from then on no call waits, takes memory for the map
 * or reports FULL while size plus elements in flight stays within `keys`. On failure nothing is
 * lost, and the map takes no fewer keys than before. Never shrinks. A FIXED map takes up to `keys`
 * keys afterwards.
 *
 * ARGUMENT. CAPACITY: beyond any memory, or beyond memory_limit_bytes. OUT_OF_MEMORY. WOULD_WAIT:
 * the map would have to grow, and the stream is capturing or a view is open. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued; exclusive. **Allocates** what is
 * missing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_reserve(nacre_map *map, uint64_t keys, nacre_error *error,
                                         nacre_stream stream);

/*
 * Rebuilds every submap, each as good as new: a full pass of the maintenance that insertions and
 * erasures do a share of as they go (on CUDA not with NACRE_ORDER_CALLER, nor in captures or beside
 * a view: maps that live so age, and are to be maintained now and then). Lookups are fastest after
 * it. Contents stay.
 *
 * ARGUMENT. UNSUPPORTED: the stream is capturing. WOULD_WAIT: a view is open. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued; exclusive. **Allocates** nothing.
 * **Since** 0.1
 */
NACRE_API nacre_status nacre_map_maintain(nacre_map *map, nacre_error *error, nacre_stream stream);

/*
 * Gives back memory that the keys do not need: merges submaps until the table is as small as that
 * of a new map that took the keys, as far as they fit, and returns to the system what that frees.
 * Room that create or reserve made is given up: a FIXED map then takes as many keys as it holds,
 * until reserve raises that. Contents stay, and captured batches stay valid. Waits for the map's
 * own work and for the stream.
 *
 * ARGUMENT. WOULD_WAIT: the stream is capturing, or a view is open. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** waits for it; exclusive. **Allocates** nothing.
 * **Since** 0.1
 */
NACRE_API nacre_status nacre_map_shrink(nacre_map *map, nacre_error *error, nacre_stream stream);

/*
 * Fills *info. Never waits: numbers of batches still running are not in it.
 *
 * ARGUMENT.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_info_get(const nacre_map *map, nacre_map_info *info,
                                          nacre_error *error);

/*
 * The exact number of keys, after everything enqueued on the stream so far: *size in host memory,
 * with a wait; *size_device in memory that the device can write, without.
 *
 * ARGUMENT. WOULD_WAIT: an ERASE view is open, or nacre_map_size in a capture. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** nacre_map_size waits for it, the other returns when
 * enqueued and may be captured; read. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_size(const nacre_map *map, uint64_t *size, nacre_error *error,
                                      nacre_stream stream);
NACRE_API nacre_status nacre_map_size_async(const nacre_map *map, uint64_t *size_device,
                                            nacre_error *error, nacre_stream stream);

/*
 * Reads the fault bits (NACRE_FAULT_...) of batches known to have finished into *bits, and clears
 * those read where `clear` is not 0. Never waits.
 *
 * ARGUMENT.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_faults(nacre_map *map, uint32_t *bits, uint32_t clear,
                                        nacre_error *error);

/*
 * Fills *statistics. Waits for the stream.
 *
 * ARGUMENT, WOULD_WAIT (capturing, or a view is open), DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** waits for it; exclusive. **Allocates** nothing.
 * **Since** 0.1
 */
NACRE_API nacre_status nacre_map_statistics_get(const nacre_map *map,
                                                nacre_map_statistics *statistics,
                                                nacre_error *error, nacre_stream stream);

/*
 * Checks every invariant of the table, for tests and debugging: each key is where a lookup finds
 * it, none is there twice, signatures tell the truth, the size is exact. Waits for the stream.
 *
 * INTERNAL: one is broken; the message says which and where. ARGUMENT, WOULD_WAIT (capturing, or a
 * view is open), DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** waits for it; exclusive. **Allocates** nothing.
 * **Since** 0.1
 */
NACRE_API nacre_status nacre_map_check(const nacre_map *map, nacre_error *error,
                                       nacre_stream stream);

/*
 * BATCH CALLS. Common to all of them: `keys` [count] of key_bytes each, `values` [count] of
 * value_bytes each (NULL for a set); all arrays are the caller's, read or written in stream order.
 * count 0 is legal, with NULL arrays too. `options` may be NULL.
 *
 * ARGUMENT: NULL or misaligned pointers, unknown constants, a bad struct_size, options that the
 * call does not take (types.h), a count beyond 2^60; with `checks` also memory that the device
 * cannot reach. WOULD_WAIT: an open view is in the way (map_view.h). UNSUPPORTED: on the CPU, a
 * large batch (but for match) in a process that was forked after the device started its threads.
 * DEVICE_LOST.
 * Insertions of a WAIT map also: OUT_OF_MEMORY (see GROWTH above), WOULD_WAIT (capturing, or
 * NACRE_OPTION_NEVER_WAIT, and the batch may not fit).
 *
 * **Thread safety** any thread. **Stream** returns when enqueued, but for an insertion that may not
 * fit a WAIT map (GROWTH), or follows a capture (CAPTURE); may be captured. **Allocates** nothing,
 * but for growth; on the CPU a change that goes beyond reserved room, of 1024 elements or more for
 * each submap (info.submaps), or of 64 where map and batch have keys for 1200 submaps, for its own
 * length also copies of them: key, value and up to 6 bytes more, of at most 4096 elements for each
 * submap at a time, and buffers of 1.2 MB, up to 44 MB with many threads; on CUDA an insertion or
 * erasure of a tenth of the table's slots or more (a quarter in one below 16 times the L2 cache)
 * that asks for nothing about its elements (no option of them, no values_out) also copies, of at
 * most half as many elements as slots at a time, beyond reserved room a tenth, in memory borrowed in the stream's order from a pool of the device
 * object's own; it keeps up to a 64th of the device's memory until it is closed or memory is
 * refused, and has none with a caller's allocator. Copies count as the map's memory. Where they are
 * refused, or memory_limit_bytes leaves no room for them, the call does without. **Since** 0.1
 */

/*
 * Inserts keys that are not there; keys that are keep their values. Outcomes INSERTED, FOUND, FULL.
 * Stream class: insert.
 */
NACRE_API nacre_status nacre_map_insert(nacre_map *map, const void *keys, const void *values,
                                        uint64_t count, const nacre_options *options,
                                        nacre_stream stream);

/*
 * Inserts keys that are not there, overwrites the values of those that are. Outcomes INSERTED,
 * ASSIGNED, FULL. Stream class: insert.
 */
NACRE_API nacre_status nacre_map_insert_or_assign(nacre_map *map, const void *keys,
                                                  const void *values, uint64_t count,
                                                  const nacre_options *options,
                                                  nacre_stream stream);

/*
 * Inserts keys that are not there with their value, combines the value of those that are: old = old
 * (reduction) value, once per element, so that equal keys of a batch add up. `values` NULL means 1
 * for each element: a count. `reduction` is NACRE_REDUCTION_..., `type` NACRE_TYPE_... of
 * value_bytes; AND, OR, XOR need an integer type. Integers wrap around. MIN and MAX of
 * floating-point values take the number where one side is NaN. The order of additions is
 * unspecified, so floating-point sums may differ in their last bits from run to run. On CUDA
 * sums of f32 may take subnormal numbers, terms or results, for zero; the CPU does not. Outcomes
 * INSERTED, ASSIGNED, FULL. Stream class: insert.
 */
NACRE_API nacre_status nacre_map_insert_or_apply(nacre_map *map, const void *keys,
                                                 const void *values, uint64_t count,
                                                 uint32_t reduction, uint32_t type,
                                                 const nacre_options *options, nacre_stream stream);

/*
 * Inserts keys that are not there, and writes to values_out [count] the value that each key has
 * now: its own where it was inserted, the present one where it was found, `missing_value` (or
 * nothing) where it is FULL. values_out may be `values` itself. Outcomes INSERTED, FOUND, FULL.
 * UNSUPPORTED for a set. Stream class: insert.
 */
NACRE_API nacre_status nacre_map_find_or_insert(nacre_map *map, const void *keys,
                                                const void *values, uint64_t count,
                                                void *values_out, const nacre_options *options,
                                                nacre_stream stream);

/*
 * Overwrites the values of keys that are there; inserts nothing. Outcomes ASSIGNED, MISSING.
 * UNSUPPORTED for a set. Stream class: insert.
 */
NACRE_API nacre_status nacre_map_assign(nacre_map *map, const void *keys, const void *values,
                                        uint64_t count, const nacre_options *options,
                                        nacre_stream stream);

/*
 * Writes the value of each key that is there to values_out [count], and for each that is not
 * `missing_value`, where one is given; elements that the mask leaves out are not written. Outcomes
 * FOUND, MISSING. UNSUPPORTED for a set: use contains. Stream class: read.
 */
NACRE_API nacre_status nacre_map_find(const nacre_map *map, const void *keys, uint64_t count,
                                      void *values_out, const nacre_options *options,
                                      nacre_stream stream);

/*
 * Writes 1 to contained [count] for each key that is there, 0 for each that is not; elements that
 * the mask leaves out are not written. Outcomes FOUND, MISSING. Stream class: read.
 */
NACRE_API nacre_status nacre_map_contains(const nacre_map *map, const void *keys, uint64_t count,
                                          uint8_t *contained, const nacre_options *options,
                                          nacre_stream stream);

/*
 * Erases keys. Of equal keys in a batch one element reports ERASED, the others MISSING. Stream
 * class: exclusive.
 */
NACRE_API nacre_status nacre_map_erase(nacre_map *map, const void *keys, uint64_t count,
                                       const nacre_options *options, nacre_stream stream);

/*
 * Writes a pair for each key that is there, densely: its index in `keys` to indices_out, its value
 * to values_out. That is the gather map of a join. index_bytes is 4 or 8; either output may be
 * NULL, and values_out is NULL for a set. `capacity` pairs fit: more are never written, and the
 * call returns OK. *needed, in memory that the device can write, gets the number of keys found.
 * Pairs come in no particular order. Outcomes FOUND, MISSING. Stream class: read.
 *
 * Also ARGUMENT: `needed` NULL; index_bytes 4 with a count beyond 2^32; values_out for a set.
 */
NACRE_API nacre_status nacre_map_match(const nacre_map *map, const void *keys, uint64_t count,
                                       void *indices_out, uint32_t index_bytes, void *values_out,
                                       uint64_t capacity, uint64_t *needed,
                                       const nacre_options *options, nacre_stream stream);

/*
 * SELECTIONS. Calls on the keys that a nacre_select selects; NULL selects everything.
 *
 * ARGUMENT: a constant out of range, a type or a mask not as wide as the field, bits outside of the
 * mask, a condition on the value of a set, a NULL or misaligned pointer, options that the call does
 * not take (types.h). CHANGED: select->layout is not the map's any more. UNSUPPORTED: a range of
 * slots in a capturing stream, which would not know of a later growth. WOULD_WAIT: an open view is
 * in the way (map_view.h). DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued; may be captured. **Allocates**
 * nothing, but for DEVICE_SELECT. **Since** 0.1
 */

/*
 * Writes every key, and its value, densely to keys_out and values_out; either may be NULL.
 * `capacity` elements fit there (UINT64_MAX: all that come): more are never written, and the call
 * returns OK. *needed, in memory that the device can write, gets the number of keys in the map;
 * with both arrays NULL that is all. options->algorithm: in no particular order, or with STABLE in
 * the order of slots, the same bytes each time while nothing changes. GLOBAL_ATOMIC to
 * DEVICE_SELECT need slots of 8 or 16 bytes; DEVICE_SELECT takes less than 2^31 slots, allocates
 * for the call, and waits for the stream.
 *
 * Also UNSUPPORTED: an algorithm on widths that lack it; DEVICE_SELECT in a capture, or beyond its
 * size. OUT_OF_MEMORY: DEVICE_SELECT. Stream class: read; STABLE, which has scratch of the map's,
 * is exclusive.
 */
NACRE_API nacre_status nacre_map_retrieve(const nacre_map *map, void *keys_out, void *values_out,
                                          uint64_t capacity, uint64_t *needed,
                                          const nacre_options *options, nacre_stream stream);

/* The same of selected keys; *needed gets their number. */
NACRE_API nacre_status nacre_map_retrieve_if(const nacre_map *map, const nacre_select *select,
                                             void *keys_out, void *values_out, uint64_t capacity,
                                             uint64_t *needed, const nacre_options *options,
                                             nacre_stream stream);

/*
 * Writes the number of selected keys to *count, in memory that the device can write. Stream class:
 * read.
 */
NACRE_API nacre_status nacre_map_count_if(const nacre_map *map, const nacre_select *select,
                                          uint64_t *count, const nacre_options *options,
                                          nacre_stream stream);

/*
 * Erases the selected keys; options->counts.done says how many. With select->layout it moves no
 * keys, so that a cursor goes on: maintenance waits for a later call. Stream class: exclusive.
 */
NACRE_API nacre_status nacre_map_erase_if(nacre_map *map, const nacre_select *select,
                                          const nacre_options *options, nacre_stream stream);

#ifdef __cplusplus
}
#endif
#endif
