/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam: what a backend is to the public functions. lib/cpu fills one such table, device/
 * another; neither includes the other. Public functions (lib/device.c, lib/map.c) validate their
 * arguments and forward here; they hold no policy. A backend may rely on what the front has
 * checked: complete structs, known constants, supported widths, non-NULL aligned pointers, sizes
 * that do not overflow. On success it leaves an error alone; a failure goes through nacrei_fail.
 *
 * Plain C that also compiles in .cu files.
 */
#ifndef NACRE_LIB_BACKEND_H
#define NACRE_LIB_BACKEND_H

#include "lib/error.h"
#include "nacre/compact.h"
#include "nacre/core/condition.h"
#include "nacre/cuda/table.h"
#include "nacre/device.h"
#include "nacre/map.h"
#include "nacre/map_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nacrei_backend nacrei_backend;

/* The head of every device; a backend's own device struct begins with it. */
struct nacre_device {
    const nacrei_backend *backend;
    uint32_t references; /* the caller's and one per object; __atomic builtins only */
    int32_t ordinal;     /* -1 on the CPU */
    uint32_t threads;
    uint32_t checks;
    nacre_allocator allocator; /* both functions NULL: the system's */
    void (*log)(void *user, uint32_t level, const char *text);
    void *log_user;
    char description[512];
    struct nacrei_ledger *ledger; /* the front's (lib/ledger.h) */
};

/* The head of every map; a backend's own map struct begins with it. */
struct nacre_map {
    nacre_device *device;
    nacre_map_config config; /* complete and valid; `error` is NULL; never changes */
};

enum {
    NACREI_INSERT,
    NACREI_INSERT_OR_ASSIGN,
    NACREI_INSERT_OR_APPLY,
    NACREI_FIND_OR_INSERT,
    NACREI_ASSIGN,
    NACREI_FIND,
    NACREI_CONTAINS,
    NACREI_ERASE,
    NACREI_OPERATIONS
};

/* One batch call on a map, whichever it is. What does not belong to the operation is NULL or 0. */
typedef struct nacrei_batch {
    const char *call; /* "nacre_map_insert", for messages */
    uint32_t operation;
    uint32_t reduction; /* INSERT_OR_APPLY */
    uint32_t type;      /* INSERT_OR_APPLY */
    uint32_t reserved;
    const void *keys;
    const void *values; /* NULL: a set, or the number 1 of `type` */
    uint64_t count;     /* 0 only with options.counts, which gets zeros; arrays may be NULL then */
    void *values_out;   /* FIND, FIND_OR_INSERT */
    uint8_t *contained; /* CONTAINS */
    nacre_options options;  /* a complete copy; defaults where the caller gave none */
    uint64_t missing_value; /* *options.missing_value, zero-extended; counts if that is not NULL */
    nacre_stream stream;
} nacrei_batch;

/* A call on selected keys of a map: retrieval, counting (without outputs), erasure. */
typedef struct nacrei_selection {
    const char *call;
    nacrei_condition condition;
    uint32_t field;
    uint32_t algorithm;  /* retrieval */
    uint64_t first_slot; /* of the walk: the stash's slots, the submaps', the side slots */
    uint64_t slot_count; /* 0: all that follow */
    uint64_t layout;     /* 0: any */
    void *keys_out;      /* both NULL: only counts */
    void *values_out;
    uint64_t capacity;
    uint64_t *needed;     /* retrieval and counting */
    nacre_counts *counts; /* erasure; may be NULL */
    nacre_stream stream;
} nacrei_selection;

/* The outputs of nacre_map_match; the rest is a nacrei_batch. */
typedef struct nacrei_matches {
    void *indices;
    void *values;
    uint64_t capacity;
    uint64_t *needed;
    uint32_t index_bytes;
    uint32_t reserved;
} nacrei_matches;

/* nacre_compact; `count` may be 0, and the arrays NULL then. */
typedef struct nacrei_compact {
    nacre_compaction what;
    nacre_options options;
    nacrei_condition condition;
    uint64_t count;
    nacre_stream stream;
} nacrei_compact;

struct nacrei_backend {
    uint32_t kind; /* NACRE_BACKEND_CPU or _CUDA */
    const char *name;

    /* 1 if this build has the widths. */
    uint32_t (*supports)(uint32_t key_bytes, uint32_t value_bytes);

    /*
     * Opens a device; `config` is complete and valid. Fills everything of the head but `references`
     * and `ledger`. On NO_DEVICE, *present says whether the machine has hardware for this backend
     * that cannot be used.
     */
    nacre_status (*device_open)(const nacre_device_config *config, nacre_device **device,
                                uint32_t *present, nacre_error *error);
    void (*device_free)(nacre_device *device); /* the last reference is gone */

    nacre_status (*stream_create)(nacre_device *, nacre_stream *, nacre_error *);
    nacre_status (*stream_destroy)(nacre_device *, nacre_stream, nacre_error *);
    nacre_status (*stream_wait)(nacre_device *, nacre_stream, nacre_error *);
    nacre_status (*memory_allocate)(nacre_device *, uint64_t bytes, uint32_t space, void **,
                                    nacre_error *);
    /* `bytes` and `space` as allocated: the front keeps a ledger. */
    void (*memory_release)(nacre_device *, void *, uint64_t bytes, uint32_t space);
    nacre_status (*memory_copy)(nacre_device *, const void *from, uint64_t bytes, void *to,
                                nacre_error *, nacre_stream);
    nacre_status (*memory_fill)(nacre_device *, void *, uint64_t bytes, uint32_t byte,
                                nacre_error *, nacre_stream);

    /* NULL if the device can read (and write) memory at `pointer`, else why not, in a few words. */
    const char *(*memory_unreachable)(nacre_device *, const void *pointer);

    /*
     * Bytes of a map of this config with room for `keys`, at least as created; UINT64_MAX: beyond
     * any machine. The front refuses a map whose estimate for capacity_keys exceeds
     * memory_limit_bytes; in reserve the limit is the backend's to check.
     */
    uint64_t (*map_estimate)(const nacre_device *, const nacre_map_config *, uint64_t keys);
    nacre_status (*map_create)(nacre_device *, const nacre_map_config *, nacre_map **,
                               nacre_error *);
    void (*map_destroy)(nacre_map *); /* the front gives up the device's reference afterwards */
    nacre_status (*map_clear)(nacre_map *, nacre_error *, nacre_stream);
    nacre_status (*map_reserve)(nacre_map *, uint64_t keys, nacre_error *, nacre_stream);
    nacre_status (*map_maintain)(nacre_map *, nacre_error *, nacre_stream);
    nacre_status (*map_shrink)(nacre_map *, nacre_error *, nacre_stream);
    void (*map_info)(nacre_map *,
                     nacre_map_info *); /* but widths and growth, which the front knows */
    nacre_status (*map_size)(nacre_map *, uint64_t *, nacre_error *, nacre_stream);
    nacre_status (*map_size_async)(nacre_map *, uint64_t *, nacre_error *, nacre_stream);
    uint32_t (*map_faults)(nacre_map *, uint32_t clear);
    nacre_status (*map_statistics)(nacre_map *, nacre_map_statistics *, nacre_error *,
                                   nacre_stream);
    nacre_status (*map_check)(nacre_map *, nacre_error *, nacre_stream);
    nacre_status (*map_batch)(nacre_map *, const nacrei_batch *, nacre_error *);
    /* batch->count may be 0; the operation is FIND or, of a set or without values, CONTAINS. */
    nacre_status (*map_match)(nacre_map *, const nacrei_batch *, const nacrei_matches *,
                              nacre_error *);
    nacre_status (*map_retrieve)(nacre_map *, const nacrei_selection *, nacre_error *);
    nacre_status (*map_erase_if)(nacre_map *, const nacrei_selection *, nacre_error *);

    nacre_status (*compact)(nacre_device *, const nacrei_compact *, nacre_error *);
    nacre_status (*compact_workspace)(const nacre_device *, uint64_t count, uint32_t algorithm,
                                      uint64_t *bytes, nacre_error *);
    /* Both NULL: a backend without kernels of the program's own. */
    nacre_status (*map_view_begin)(nacre_map *, uint32_t access, uint64_t new_keys, nacrei_view *,
                                   nacre_error *, nacre_stream);
    nacre_status (*map_view_end)(nacre_map *, nacrei_view *, nacre_error *, nacre_stream);
};

extern const nacrei_backend nacrei_cpu_backend;
#if NACRE_HAVE_CUDA
extern const nacrei_backend nacrei_cuda_backend;
#endif

/* Tells the device's log, if there is one. */
void nacrei_log(const nacre_device *device, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A batch call whose map, of `size` keys now, was refused memory for growth: a warning in the log,
 * and, because a DEFERRED map goes on, the status: OUT_OF_MEMORY of a WAIT map, whose call left out
 * `left_out` elements for that; else OK.
 */
nacre_status nacrei_growth_refused(const nacre_map *map, const char *call, uint64_t size,
                                   uint64_t left_out, nacre_error *error);

#ifdef __cplusplus
}
#endif
#endif
