/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA only: what other threads do while one captures (case 41). Nothing on other backends. */
#include "support/array.h"
#include "support/batch.h"

#if NACRE_HAVE_CUDA
#include <pthread.h>

#include "support/cuda.h"

enum { COUNT = 50000 };

/* Another thread's, and what it said last. */
typedef struct other {
    nacre_device *device; /* closed by it, before its map */
    nacre_map *map;       /* with work in flight */
    uint32_t backend;
    nacre_error error;
    nacre_status status;
} other;

/* A device, a map that grows, memory: all of it made and destroyed. */
static nacre_status live_and_die(other *o)
{
    nacre_device *device = NULL;
    nacre_map *map = NULL;
    nacre_stream stream = NULL;
    void *memory = NULL;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = o->backend;
    config.error = &o->error;
    nacre_map_config map_config;
    nacre_map_config_init(&map_config, sizeof map_config);
    map_config.error = &o->error;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &o->error;
    nacre_status status = nacre_device_open(&config, &device);
    if (status == NACRE_OK) {
        status = nacre_stream_create(device, &stream, &o->error);
    }
    if (status == NACRE_OK) {
        status = nacre_memory_allocate(device, COUNT * 8, NACRE_SPACE_PINNED, &memory, &o->error);
    }
    if (status == NACRE_OK) {
        status = nacre_map_create(device, &map_config, &map);
    }
    for (uint64_t i = 0; i < COUNT && status == NACRE_OK; i++) {
        ((uint64_t *)memory)[i] = test_mix(i);
    }
    if (status == NACRE_OK) {
        status = nacre_map_insert(map, memory, memory, COUNT, &options, stream);
    }
    if (status == NACRE_OK) {
        status = nacre_map_check(map, &o->error, stream);
    }
    if (status == NACRE_OK) {
        status = nacre_map_reserve(map, 10 * COUNT, &o->error, stream);
    }
    nacre_map_destroy(map);
    if (device != NULL) {
        nacre_memory_release(device, memory, NULL);
        nacre_stream_destroy(device, stream, NULL);
        nacre_device_close(device);
    }
    return status;
}

static void *live(void *argument)
{
    other *o = argument;
    nacre_error_init(&o->error, sizeof o->error);
    nacre_device_close(o->device);
    nacre_map_destroy(o->map);
    o->status = live_and_die(o);
    return NULL;
}

NACRE_CONTRACT_TEST_ONCE(capture, other_threads_objects_break_it)
{
    /* Goal: a capture of the strictest kind goes on and ends well while another thread destroys a
       map that has work in flight and closes its device, opens and creates others, uses and
       destroys them. Method: so, in each of the three kinds of capture, and what was captured is
       replayed. */
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    uint64_t *keys = test_keys(t, 0, COUNT), *values = test_values(t, keys, COUNT);
    uint64_t *found = test_host(t, COUNT * 8);
    test_array keys_on = test_array_of_numbers(t, keys, COUNT, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, COUNT, t->value_bytes);
    test_array found_on = test_array_new(t, COUNT * (uint64_t)t->value_bytes, t->value_bytes);
    for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        test_note(t, "mode %u", i);
        other o = {.device = test_device_open(t, NULL), .backend = t->backend};
        nacre_map_config config = test_map_config(t);
        nacre_stream beside = NULL;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        pthread_t thread;
        nacre_map *map = test_map_new(t, COUNT);
        OK(t, nacre_map_create(o.device, &config, &o.map));
        OK(t, nacre_stream_create(t->device, &beside, &t->error));
        test_wait(t);
        OK(t, nacre_map_insert(o.map, keys_on.data, values_on.data, COUNT, NULL, beside));
        OK(t, nacre_map_erase(o.map, keys_on.data, COUNT, NULL, beside));
        CUDA(t, cudaStreamBeginCapture(t->stream, modes[i]));
        OK(t, nacre_map_insert(map, keys_on.data, values_on.data, COUNT, NULL, t->stream));
        const int started = pthread_create(&thread, NULL, live, &o);
        if (started == 0) {
            pthread_join(thread, NULL);
        }
        OK(t, nacre_map_find(map, keys_on.data, COUNT, found_on.data, NULL, t->stream));
        CUDA(t, cudaStreamEndCapture(t->stream, &graph));
        CHECK(t, started == 0 && o.status == NACRE_OK, "the other thread: %s: %s",
              nacre_status_name(o.status), o.error.message);
        CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        test_array_read_numbers(t, &found_on, found, COUNT, t->value_bytes);
        CHECK(t, memcmp(found, values, COUNT * 8) == 0, "the replay found other values");
        CUDA(t, cudaGraphExecDestroy(exec));
        CUDA(t, cudaGraphDestroy(graph));
        OK(t, nacre_stream_destroy(t->device, beside, &t->error));
        nacre_map_destroy(map);
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &found_on);
    free(keys);
    free(values);
    free(found);
}

#else

NACRE_CONTRACT_TEST_ONCE(capture, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED capture on %s: this build has no CUDA\n", t->backend_name);
}

#endif
