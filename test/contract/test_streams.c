/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA only: calls run on the caller's stream and nowhere else, so that on a non-blocking stream
 * they have nothing to do with the default stream (case 25). Nothing on other backends.
 */
#include "support/array.h"
#include "support/batch.h"

#if NACRE_HAVE_CUDA
#include <pthread.h>
#include <time.h>

#include "support/cuda.h"

enum { COUNT = 100000, GATE_SECONDS = 20 };

/* Work that a stream does not get past before the test opens it, or time is over. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    bool late; /* nobody came in time */
} gate;

static void CUDART_CB wait_at(void *argument)
{
    gate *g = argument;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += GATE_SECONDS;
    pthread_mutex_lock(&g->lock);
    while (!g->open && !g->late) {
        g->late = pthread_cond_timedwait(&g->changed, &g->lock, &end) != 0 && !g->open;
    }
    pthread_mutex_unlock(&g->lock);
}

static void gate_close(test *t, gate *g, cudaStream_t stream)
{
    g->open = g->late = false;
    CUDA(t, cudaLaunchHostFunc(stream, wait_at, g));
}

/* Lets the work go on; true if it was still waiting. */
static bool gate_open(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    const bool waited = !g->late;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return waited;
}

/* A map and the arrays of its calls, which are there before a gate is closed: to allocate waits. */
typedef struct work {
    nacre_map *map;
    uint64_t *keys, *values;
    test_array keys_on, values_on, found, contained, all, needed, counted, size, kept;
} work;

static work work_begin(test *t, uint64_t capacity_keys)
{
    work w = {.map = test_map_new(t, capacity_keys), .keys = test_keys(t, 0, COUNT)};
    w.values = test_values(t, w.keys, COUNT);
    w.keys_on = test_array_of_numbers(t, w.keys, COUNT, t->key_bytes);
    w.values_on = test_array_of_numbers(t, w.values, COUNT, t->value_bytes);
    w.found = test_array_new(t, COUNT * (uint64_t)t->value_bytes, t->value_bytes);
    w.contained = test_array_new(t, COUNT, 1);
    w.all = test_array_new(t, COUNT * (uint64_t)t->key_bytes, t->key_bytes);
    w.needed = test_array_new(t, 8, 8);
    w.counted = test_array_new(t, 8, 8);
    w.size = test_array_new(t, 8, 8);
    w.kept = test_array_new(t, 8, 8);
    test_wait(t);
    return w;
}

static void work_end(test *t, work *w)
{
    test_array *const arrays[] = {&w->keys_on, &w->values_on, &w->found, &w->contained, &w->all,
                                  &w->needed,  &w->counted,   &w->size,  &w->kept};
    for (uint32_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        test_array_free(t, arrays[i]);
    }
    free(w->keys);
    free(w->values);
    nacre_map_destroy(w->map);
}

/* Calls that return when enqueued, for `count` keys of an empty map that has room for them. */
static void enqueue(test *t, work *w, uint64_t count)
{
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &t->error;
    options.algorithm = NACRE_COMPACT_STABLE;
    nacre_compaction what;
    nacre_compaction_init(&what, sizeof what);
    what.item_bytes = t->key_bytes;
    what.items = w->keys_on.data;
    what.needed = w->kept.data;
    void *keys = w->keys_on.data, *values = w->values_on.data;
    OK(t, nacre_map_insert(w->map, keys, values, count, NULL, t->stream));
    OK(t, nacre_map_find(w->map, keys, count, w->found.data, NULL, t->stream));
    OK(t, nacre_map_erase(w->map, keys, count / 2, NULL, t->stream));
    OK(t, nacre_map_contains(w->map, keys, count, w->contained.data, NULL, t->stream));
    OK(t,
       nacre_map_retrieve(w->map, w->all.data, NULL, COUNT, w->needed.data, &options, t->stream));
    OK(t, nacre_map_count_if(w->map, NULL, w->counted.data, NULL, t->stream));
    OK(t, nacre_map_size_async(w->map, w->size.data, &t->error, t->stream));
    OK(t, nacre_compact(t->device, &what, count, NULL, t->stream));
    OK(t, nacre_map_clear(w->map, &t->error, t->stream));
}

/* What the calls of enqueue have written. */
static void judge(test *t, work *w, uint64_t count)
{
    uint64_t *found = test_host(t, COUNT * 8), numbers[4];
    uint8_t *contained = test_host(t, COUNT);
    const test_array *const on[] = {&w->needed, &w->counted, &w->size, &w->kept};
    test_array_read_numbers(t, &w->found, found, COUNT, t->value_bytes);
    test_array_read(t, &w->contained, contained);
    for (uint32_t i = 0; i < 4; i++) {
        test_array_read(t, on[i], &numbers[i]);
        const uint64_t wanted = i < 3 ? count - count / 2 : count;
        CHECK(t, numbers[i] == wanted, "number %u is %llu instead of %llu", i, LL(numbers[i]),
              LL(wanted));
    }
    for (uint64_t i = 0; i < count; i++) {
        CHECK(t, found[i] == w->values[i] && contained[i] == (i >= count / 2), "key %llu", LL(i));
    }
    free(found);
    free(contained);
}

/* Calls that wait for what they are told, or to grow. */
static void wait_for_answers(test *t, work *w, uint64_t count)
{
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    OK(t, nacre_map_insert(w->map, w->keys_on.data, w->values_on.data, count, NULL, t->stream));
    OK(t, nacre_map_maintain(w->map, &t->error, t->stream));
    OK(t, nacre_map_check(w->map, &t->error, t->stream));
    OK(t, nacre_map_statistics_get(w->map, &statistics, &t->error, t->stream));
    const uint64_t size = test_size(t, w->map);
    CHECK(t, size == count && statistics.size == count, "size %llu of %llu", LL(size), LL(count));
    OK(t, nacre_map_clear(w->map, &t->error, t->stream));
}

static bool skipped(const test *t)
{
    if (t->backend != NACRE_BACKEND_CUDA) {
        return true;
    }
    if (t->allocator != NULL || test_short()) {
        printf("SKIPPED %s on %s: the allocator, or a sanitizer, waits for all streams\n", t->name,
               t->backend_name);
        return true;
    }
    return false;
}

NACRE_CONTRACT_TEST_ONCE(streams, default_stream_holds_a_map_up)
{
    /* Goal: nothing is enqueued on the legacy default stream, nor waited for there. Method: that
       stream is stopped while a map grows and answers on a non-blocking one; once without, so that
       all is loaded, and with less keys, so that it grows the second time. */
    if (skipped(t)) {
        return;
    }
    static gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    work w = work_begin(t, 0);
    for (uint64_t round = 0; round < 2; round++) {
        const uint64_t count = round == 0 ? COUNT / 4 : COUNT;
        if (round == 1) {
            gate_close(t, &g, NULL);
        }
        const uint64_t growths = test_info(t, w.map).growths;
        wait_for_answers(t, &w, count);
        CHECK(t, test_info(t, w.map).growths > growths, "it did not grow");
        enqueue(t, &w, count);
        judge(t, &w, count);
    }
    CHECK(t, gate_open(&g), "a call waited for the default stream");
    CUDA(t, cudaStreamSynchronize(NULL));
    work_end(t, &w);
}

NACRE_CONTRACT_TEST_ONCE(streams, map_holds_the_default_stream_up)
{
    /* Goal: the same from the other side. Method: a non-blocking stream is stopped and then given
       all that returns when enqueued; meanwhile work of the legacy default stream ends. */
    if (skipped(t)) {
        return;
    }
    static gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    work w = work_begin(t, COUNT);
    test_array other = test_array_new(t, 4096, 8);
    enqueue(t, &w, COUNT);
    test_wait(t);
    gate_close(t, &g, t->stream);
    enqueue(t, &w, COUNT);
    CUDA(t, cudaMemsetAsync(other.data, 1, 4096, NULL));
    CUDA(t, cudaStreamSynchronize(NULL));
    CHECK(t, gate_open(&g), "the default stream waited for the map's");
    judge(t, &w, COUNT);
    test_array_free(t, &other);
    work_end(t, &w);
}

#else

NACRE_CONTRACT_TEST_ONCE(streams, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED streams on %s: this build has no CUDA\n", t->backend_name);
}

#endif
