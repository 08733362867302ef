/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: calls one upon another on a stream, with no wait between them and nothing else. On a GPU
 * the kernel of each may be there before that of the one before it has ended.
 */
#include "support/array.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"
#endif

/* Of a chain: insert, contains, match, erase, contains, match. */
enum { ROUNDS = 16, ANSWERS = 2 * ROUNDS };

typedef struct chain {
    test_array keys, values, contained, needed;
    uint64_t n;
} chain;

static void enqueue(test *t, nacre_map *map, const chain *c)
{
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &t->error;
    const void *keys = c->keys.data;
    uint8_t *contained = c->contained.data;
    uint64_t *needed = c->needed.data;
    for (int answer = 0; answer < ANSWERS; answer++, contained += c->n, needed++) {
        if (answer % 2 == 0) {
            OK(t, nacre_map_insert(map, keys, c->values.data, c->n, &options, t->stream));
        } else {
            OK(t, nacre_map_erase(map, keys, c->n, &options, t->stream));
        }
        OK(t, nacre_map_contains(map, keys, c->n, contained, &options, t->stream));
        OK(t, nacre_map_match(map, keys, c->n, NULL, 8, NULL, 0, needed, &options, t->stream));
    }
}

static void check(test *t, const chain *c)
{
    uint8_t *contained = test_host(t, ANSWERS * c->n);
    uint64_t needed[ANSWERS];
    test_array_read(t, &c->contained, contained);
    test_array_read(t, &c->needed, needed);
    for (uint64_t i = 0; i < ANSWERS * c->n; i++) {
        const uint64_t answer = i / c->n;
        CHECK(t, contained[i] == (answer % 2 == 0), "key %llu of %llu contained: %u in answer %llu",
              LL(i % c->n), LL(c->n), contained[i], LL(answer));
    }
    for (uint64_t answer = 0; answer < ANSWERS; answer++) {
        const uint64_t wanted = answer % 2 == 0 ? c->n : 0;
        CHECK(t, needed[answer] == wanted, "%llu matches instead of %llu in answer %llu",
              LL(needed[answer]), LL(wanted), LL(answer));
    }
    free(contained);
}

/* Enqueues a chain `times` times, as it is or as a graph, and looks at what it told each time. */
static void run(test *t, nacre_map *map, const chain *c, int times, int captured)
{
    if (!captured) {
        for (int i = 0; i < times; i++) {
            enqueue(t, map, c);
            check(t, c);
        }
        return;
    }
#if NACRE_HAVE_CUDA
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    test_wait(t);
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    enqueue(t, map, c);
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++) {
        CUDA(t, cudaGraphLaunch(exec, t->stream));
        check(t, c);
    }
    CUDA(t, cudaGraphExecDestroy(exec));
    CUDA(t, cudaGraphDestroy(graph));
#endif
}

NACRE_CONTRACT_TEST(chain, call_sees_a_table_before_the_last_call)
{
    /* Goal: each call sees what those before it did, also where its kernel, and what the caches
       hold, are older. Method: the same keys inserted and erased in turn, and looked for after each
       in two ways; with few keys, which several threads look for, and with many; in a full map and
       in a roomy one. */
    const uint64_t sizes[] = {50, 3000, test_scale(t, 5000, 100000)};
    for (int which = 0; which < 12; which++) {
        const int captured = which / 6, roomy = which / 3 % 2;
        const uint64_t n = sizes[which % 3];
        if (captured && t->backend != NACRE_BACKEND_CUDA) {
            break;
        }
        nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, roomy ? 4 * n : n);
        uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
        chain c = {.n = n,
                   .keys = test_array_of_numbers(t, keys, n, t->key_bytes),
                   .values = test_array_of_numbers(t, values, n, t->value_bytes),
                   .contained = test_array_new(t, ANSWERS * n, 1),
                   .needed = test_array_new(t, ANSWERS * sizeof(uint64_t), 8)};
        run(t, map, &c, (int)test_scale(t, 1, 4), captured);
        test_array_free(t, &c.keys);
        test_array_free(t, &c.values);
        test_array_free(t, &c.contained);
        test_array_free(t, &c.needed);
        nacre_map_destroy(map);
        free(keys);
        free(values);
    }
}
