/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: opening, describing, memory, streams, threads, lifetimes. */
#include "support/allocator.h"
#include "support/batch.h"

#if NACRE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

NACRE_CONTRACT_TEST_ONCE(device, description_overruns_or_says_another_backend)
{
    /* Goal: describe tells backend, ordinal and a line of text, cut where the room ends; every
       output may be left out. Method: rooms of 0 to 600 bytes with a guard behind. */
    uint32_t backend = 99;
    int32_t ordinal = 99;
    char text[600], whole[600];
    OK(t, nacre_device_describe(t->device, &backend, &ordinal, whole, sizeof whole));
    CHECK(t, backend == t->backend, "backend %u", backend);
    CHECK(t, t->backend == NACRE_BACKEND_CPU ? ordinal == -1 : ordinal == 0, "ordinal %d", ordinal);
    CHECK(t, strncmp(whole, t->backend_name, strlen(t->backend_name)) == 0, "the text is \"%s\"",
          whole);
    CHECK(t, strchr(whole, '\n') == NULL, "more than one line");
    printf("%s\n", whole);
    OK(t, nacre_device_describe(t->device, NULL, NULL, NULL, 0));
    for (uint64_t bytes = 1; bytes < sizeof text; bytes++) {
        memset(text, 'x', sizeof text);
        OK(t, nacre_device_describe(t->device, NULL, NULL, text, bytes));
        uint64_t length = strlen(whole) < bytes ? strlen(whole) : bytes - 1;
        CHECK(t, memchr(text, 0, bytes) == text + length && memcmp(text, whole, length) == 0,
              "not cut to %llu bytes", (unsigned long long)bytes);
        CHECK(t, text[bytes] == 'x', "written behind %llu bytes", (unsigned long long)bytes);
    }
    CHECK(t, nacre_device_describe(NULL, &backend, NULL, NULL, 0) == NACRE_ERROR_ARGUMENT,
          "no device was accepted");
}

NACRE_CONTRACT_TEST_ONCE(device, memory_copies_go_astray)
{
    /* Goal: allocate, fill, copy between all spaces and release work, aligned to 256, 0 bytes give
       NULL. Method: a round trip host, device, pinned, device, host of odd sizes. */
    for (uint64_t bytes = 0; bytes < 3000000; bytes = bytes * 7 + 3) {
        unsigned char *from = test_host(t, bytes), *to = test_host(t, bytes);
        void *memory[3];
        for (uint64_t i = 0; i < bytes; i++) {
            from[i] = (unsigned char)test_random(&t->random);
            to[i] = 0;
        }
        for (uint32_t space = 0; space < 3; space++) {
            OK(t, nacre_memory_allocate(t->device, bytes, space, &memory[space], &t->error));
            CHECK(t, (uintptr_t)memory[space] % 256 == 0, "aligned badly");
            CHECK(t, (memory[space] == NULL) == (bytes == 0), "%llu bytes",
                  (unsigned long long)bytes);
        }
        if (bytes != 0) {
            OK(t, nacre_memory_fill(t->device, memory[0], bytes, 0xAB, &t->error, t->stream));
            OK(t, nacre_memory_copy(t->device, memory[0], bytes, to, &t->error, t->stream));
            test_wait(t);
            for (uint64_t i = 0; i < bytes; i++) {
                CHECK(t, to[i] == 0xAB, "byte %llu was not filled", (unsigned long long)i);
            }
            OK(t, nacre_memory_copy(t->device, from, bytes, memory[0], &t->error, t->stream));
            OK(t, nacre_memory_copy(t->device, memory[0], bytes, memory[1], &t->error, t->stream));
            OK(t, nacre_memory_fill(t->device, memory[0], bytes, 0, &t->error, t->stream));
            OK(t, nacre_memory_copy(t->device, memory[1], bytes, memory[0], &t->error, t->stream));
            OK(t, nacre_memory_copy(t->device, memory[0], bytes, memory[2], &t->error, t->stream));
            OK(t, nacre_memory_copy(t->device, memory[2], bytes, to, &t->error, t->stream));
            test_wait(t);
            CHECK(t, memcmp(from, to, bytes) == 0, "%llu bytes came back changed",
                  (unsigned long long)bytes);
        }
        for (uint32_t space = 0; space < 3; space++) {
            OK(t, nacre_memory_release(t->device, memory[space], &t->error));
        }
        free(from);
        free(to);
    }
    void *none = t;
    OK(t, nacre_memory_copy(t->device, NULL, 0, NULL, &t->error, t->stream));
    OK(t, nacre_memory_release(t->device, NULL, &t->error));
    STATUS(
        t, NACRE_ERROR_OUT_OF_MEMORY,
        nacre_memory_allocate(t->device, (uint64_t)1 << 50, NACRE_SPACE_DEVICE, &none, &t->error));
    CHECK(t, none == NULL, "refused memory has an address");
}

NACRE_CONTRACT_TEST(device, object_dies_with_the_closed_device)
{
    /* Goal: a map lives on when its device is closed first, and the device is freed with it (case
       41). Method: close, use the map on the default stream, destroy; the allocator counts what is
       left. */
    test_allocator *a = test_allocator_new(t->backend);
    nacre_device *device = test_device_open(t, &a->callbacks), *row_device = t->device;
    nacre_map_config config = test_map_config(t);
    nacre_map *map = NULL;
    OK(t, nacre_map_create(device, &config, &map));
    nacre_device_close(device);
    oracle o;
    oracle_init(&o);
    uint64_t *keys = test_keys(t, 0, 20000), *values = test_values(t, keys, 20000);
    test_do(t, map, &o, NACREI_INSERT, keys, values, 20000);
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    CHECK(t, t->device == row_device && a->live == 0, "%llu allocations are left",
          (unsigned long long)a->live);
    CHECK(t, a->misuse[0] == 0, "the allocator: %s", a->misuse);
    test_allocator_free(a);
    oracle_free(&o);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(device, two_maps_of_a_device_meet)
{
    /* Goal: maps, also of different devices, have nothing to do with each other. Method: four maps
       on two devices, random batches in turn. */
    nacre_device *other = test_device_open(t, NULL);
    nacre_map *maps[4];
    oracle oracles[4];
    for (int i = 0; i < 4; i++) {
        nacre_map_config config = test_map_config(t);
        OK(t, nacre_map_create(i % 2 == 0 ? t->device : other, &config, &maps[i]));
        oracle_init(&oracles[i]);
    }
    for (uint64_t round = 0; round < 24; round++) {
        uint64_t n = 1500;
        uint64_t *keys = test_keys(t, test_random_below(&t->random, 3000), n),
                 *values = test_values(t, keys, n);
        test_do(t, maps[round % 4], &oracles[round % 4],
                round % 3 == 2 ? NACREI_ERASE : NACREI_INSERT_OR_ASSIGN, keys, values, n);
        free(keys);
        free(values);
    }
    for (int i = 0; i < 4; i++) {
        test_compare(t, maps[i], &oracles[i], 100);
        nacre_map_destroy(maps[i]);
        oracle_free(&oracles[i]);
    }
    nacre_device_close(other);
}

NACRE_CONTRACT_TEST_ONCE(device, thread_count_changes_the_result)
{
    /* Goal: 1, 2 or 7 threads give the same contents. Method: the same large batches on each; on
       CUDA the number has no meaning and must do no harm. */
    uint64_t n = 200000;
    uint64_t *keys = test_host(t, n * 8);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = test_key(t, test_random_below(&t->random, n));
    }
    uint64_t *values = test_values(t, keys, n);
    for (uint32_t threads = 1; threads <= 7; threads += threads) {
        nacre_device_config config;
        nacre_device_config_init(&config, sizeof config);
        config.backend = t->backend;
        config.threads = threads == 4 ? 7 : threads;
        config.error = &t->error;
        nacre_device *device = NULL;
        OK(t, nacre_device_open(&config, &device));
        nacre_map_config map_config = test_map_config(t);
        nacre_map *map = NULL;
        OK(t, nacre_map_create(device, &map_config, &map));
        nacre_device_close(device);
        oracle o;
        oracle_init(&o);
        test_do(t, map, &o, NACREI_INSERT_OR_APPLY, keys, values, n);
        test_do(t, map, &o, NACREI_ERASE, keys, NULL, n / 3);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(device, seed_zero_is_a_default)
{
    /* Goal: seed 0 and the default, random one make maps like any other, and two defaults differ
       (case 44). Method: the seeds of two configs; a map of each. */
    nacre_map_config config, other;
    nacre_map_config_init(&config, sizeof config);
    nacre_map_config_init(&other, sizeof other);
    CHECK(t, config.seed != other.seed, "two configs with seed 0x%llx",
          (unsigned long long)config.seed);
    for (int i = 0; i < 2; i++) {
        oracle o;
        oracle_init(&o);
        config.key_bytes = t->key_bytes;
        config.value_bytes = t->value_bytes;
        config.error = &t->error;
        config.seed = i == 0 ? 0 : other.seed;
        nacre_map *map = test_map_create(t, &config);
        uint64_t *keys = test_keys(t, 0, 8000), *values = test_values(t, keys, 8000);
        for (uint64_t k = 0; k < 4000; k++) {
            keys[k] = k;
        }
        test_do(t, map, &o, NACREI_INSERT, keys, values, 8000);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST_ONCE(device, absent_device_opens)
{
    /* Goal: what is not there is refused with a reason: a far ordinal on CUDA, any other stream on
       the CPU. Method: open, wait. */
    nacre_device_config config;
    nacre_device *device = NULL;
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CUDA;
    config.ordinal = 4711;
    config.error = &t->error;
    nacre_status status = nacre_device_open(&config, &device);
    CHECK(t, status == NACRE_ERROR_NO_DEVICE || status == NACRE_ERROR_UNSUPPORTED, "%s",
          nacre_status_name(status));
    CHECK(t, device == NULL && t->error.status == status && t->error.message[0] != 0,
          "no reason given");
    if (t->backend == NACRE_BACKEND_CPU) {
        STATUS(t, NACRE_ERROR_ARGUMENT,
               nacre_stream_wait(t->device, (nacre_stream)(uintptr_t)0x1000, &t->error));
        CHECK(t, t->stream == NULL, "a stream on the CPU");
    }
    nacre_device_config_init(&config, sizeof config); /* AUTO always opens */
    OK(t, nacre_device_open(&config, &device));
    nacre_device_close(device);
    OK(t, nacre_device_open(NULL, &device));
    nacre_device_close(device);
    nacre_device_close(NULL);
    nacre_map_destroy(NULL);
}

NACRE_CONTRACT_TEST_ONCE(device, status_has_no_name)
{
    /* Goal: every status has its name and a text, other numbers too; the version is that of the
       headers. Method: the X-macro list. */
#define NAMED(name, value, text)                                              \
    CHECK(t, strcmp(nacre_status_name(value), #name) == 0, "%d is %s", value, \
          nacre_status_name(value));                                          \
    CHECK(t, nacre_status_text(value)[0] != 0, "%d has no text", value);
    NACRE_STATUS_LIST(NAMED)
#undef NAMED
    CHECK(t, strcmp(nacre_status_name(-1), "unknown status") == 0, "%s", nacre_status_name(-1));
    CHECK(t, nacre_status_text(4711) != NULL && nacre_status_name(4711) != NULL, "NULL");
    CHECK(t,
          nacre_version() ==
              10000 * NACRE_VERSION_MAJOR + 100 * NACRE_VERSION_MINOR + NACRE_VERSION_PATCH,
          "version %u", nacre_version());
    CHECK(t,
          nacre_build_supports(t->backend, 3, 8) == 0 &&
              nacre_build_supports(t->backend, 8, 16) == 0 && nacre_build_supports(77, 8, 8) == 0,
          "impossible widths are supported");
    CHECK(t,
          nacre_build_supports(t->backend, 8, 8) == nacre_build_supports(NACRE_BACKEND_AUTO, 8, 8),
          "(8,8) is in one backend only");
}

#if NACRE_HAVE_CUDA
#define KEEPS(call)                                                                               \
    do {                                                                                          \
        int now = -1;                                                                             \
        OK(t, call);                                                                              \
        CHECK(t, cudaGetDevice(&now) == cudaSuccess && now == mine, "device %d is current", now); \
    } while (0)

NACRE_CONTRACT_TEST_ONCE(device, current_device_is_another_after_a_call)
{
    /* Goal: every call leaves the thread's current device as it was. Method: the last device of the
       machine is current while the first is used; they are the same where there is only one. */
    enum { N = 20000 };
    int mine = 0;
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    CHECK(t, cudaGetDeviceCount(&mine) == cudaSuccess, "no count");
    mine--;
    CHECK(t, cudaSetDevice(mine) == cudaSuccess, "no device %d", mine);
    nacre_error *e = &t->error;
    nacre_device *d = NULL;
    nacre_map *map = NULL;
    nacre_stream s = NULL;
    void *memory = NULL;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CUDA;
    config.error = e;
    KEEPS(nacre_device_open(&config, &d));
    KEEPS(nacre_stream_create(d, &s, e));
    KEEPS(nacre_memory_allocate(d, 3 * N * 8, NACRE_SPACE_DEVICE, &memory, e));
    KEEPS(nacre_memory_fill(d, memory, 3 * N * 8, 7, e, s));
    uint64_t *keys = test_keys(t, 0, N), *on = memory, *values = on + N, *out = on + 2 * N, size;
    nacre_map_statistics statistics;
    uint32_t faults;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    KEEPS(nacre_memory_copy(d, keys, N * 8, on, e, s));
    KEEPS(nacre_stream_wait(d, s, e));
    KEEPS(nacre_map_create(d, NULL, &map));
    KEEPS(nacre_map_insert(map, on, values, N, NULL, s));
    KEEPS(nacre_map_reserve(map, 10 * N, e, s));
    KEEPS(nacre_map_find(map, on, N, out, NULL, s));
    KEEPS(nacre_map_match(map, on, N, NULL, 8, NULL, 0, out, NULL, s));
    KEEPS(nacre_map_count_if(map, NULL, out, NULL, s));
    KEEPS(nacre_map_retrieve(map, NULL, NULL, 0, out, NULL, s));
    KEEPS(nacre_map_size(map, &size, e, s));
    KEEPS(nacre_map_size_async(map, out, e, s));
    KEEPS(nacre_map_check(map, e, s));
    KEEPS(nacre_map_statistics_get(map, &statistics, e, s));
    KEEPS(nacre_map_faults(map, &faults, 1, e));
    KEEPS(nacre_map_erase(map, on, N / 2, NULL, s));
    KEEPS(nacre_map_erase_if(map, NULL, NULL, s));
    KEEPS(nacre_map_maintain(map, e, s));
    KEEPS(nacre_map_shrink(map, e, s));
    KEEPS(nacre_map_clear(map, e, s));
    CHECK(t, size == N, "size %llu", (unsigned long long)size);
    KEEPS((nacre_map_destroy(map), NACRE_OK));
    KEEPS(nacre_memory_release(d, memory, e));
    KEEPS(nacre_stream_destroy(d, s, e));
    KEEPS((nacre_device_close(d), NACRE_OK));
    CHECK(t, cudaSetDevice(0) == cudaSuccess, "device 0 is gone");
    free(keys);
}
#endif
