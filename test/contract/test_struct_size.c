/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: structs of older and newer headers are understood: a smaller one gets defaults, a larger
 * one is accepted when its unknown bytes are zero, a size that no struct has is refused, and no
 * byte beyond struct_size is read or written. Method: each in a buffer of known bytes, in many
 * sizes.
 */
#include <stddef.h>

#include "contract/refused.h"
#include "support/array.h"

enum { FILL = 0xA5, BUFFER_BYTES = 1024 };

/* Room for a struct of any size, with known bytes behind it. */
typedef union buffer {
    uint64_t aligned;
    uint32_t struct_size;
    unsigned char bytes[BUFFER_BYTES];
    nacre_error error;
    nacre_options options;
    nacre_device_config device_config;
    nacre_map_config map_config;
    nacre_map_info info;
    nacre_map_statistics statistics;
    nacre_select select;
    nacre_compaction compaction;
} buffer;

static void check_untouched(test *t, const char *what, const buffer *b, uint32_t from)
{
    for (uint32_t i = from; i < BUFFER_BYTES; i++) {
        CHECK(t, b->bytes[i] == FILL, "%s of %u bytes: byte %u was written", what, from, i);
    }
}

#define INIT(name) static void init_##name(buffer *b, uint32_t size)
INIT(error)
{
    nacre_error_init(&b->error, size);
}
INIT(options)
{
    nacre_options_init(&b->options, size);
}
INIT(device_config)
{
    nacre_device_config_init(&b->device_config, size);
}
INIT(map_config)
{
    nacre_map_config_init(&b->map_config, size);
}
INIT(info)
{
    nacre_map_info_init(&b->info, size);
}
INIT(statistics)
{
    nacre_map_statistics_init(&b->statistics, size);
}
INIT(select)
{
    nacre_select_init(&b->select, size);
}
INIT(compaction)
{
    nacre_compaction_init(&b->compaction, size);
}
#undef INIT

NACRE_CONTRACT_TEST_ONCE(struct_size, init_writes_as_far_as_it_reaches)
{
    static const struct {
        const char *name;
        void (*init)(buffer *b, uint32_t size);
        uint32_t bytes;
    } structs[] = {
        {"nacre_error_init", init_error, sizeof(nacre_error)},
        {"nacre_options_init", init_options, sizeof(nacre_options)},
        {"nacre_device_config_init", init_device_config, sizeof(nacre_device_config)},
        {"nacre_map_config_init", init_map_config, sizeof(nacre_map_config)},
        {"nacre_map_info_init", init_info, sizeof(nacre_map_info)},
        {"nacre_map_statistics_init", init_statistics, sizeof(nacre_map_statistics)},
        {"nacre_select_init", init_select, sizeof(nacre_select)},
        {"nacre_compaction_init", init_compaction, sizeof(nacre_compaction)},
    };
    for (uint32_t s = 0; s < sizeof structs / sizeof structs[0]; s++) {
        for (uint32_t size = 0; size <= structs[s].bytes + 64; size++) {
            buffer b;
            memset(&b, FILL, sizeof b);
            structs[s].init(&b, size);
            check_untouched(t, structs[s].name, &b, size < sizeof size ? 0 : size);
            CHECK(t, size < sizeof size || b.struct_size == size, "%s of %u bytes says %u",
                  structs[s].name, size, b.struct_size);
            for (uint32_t i = structs[s].bytes; i < size; i++) {
                CHECK(t, b.bytes[i] == 0, "%s of %u bytes: byte %u is not 0", structs[s].name, size,
                      i);
            }
        }
    }
    nacre_error_init(NULL, sizeof(nacre_error));
    nacre_map_config_init(NULL, sizeof(nacre_map_config));
}

/* Sizes that no struct has. */
static const uint32_t nonsense[] = {0, 1, 4, 7, 9, 12, 63, 65544, UINT32_MAX};
enum { NONSENSE = sizeof nonsense / sizeof nonsense[0] };

NACRE_CONTRACT_TEST_ONCE(struct_size, of_a_device_config)
{
    nacre_device *device = NULL;
    buffer b;
    nacre_device_config_init(&b.device_config, sizeof b);
    b.device_config.backend = t->backend;
    b.device_config.error = &t->error;
    b.device_config.threads = 1;
    OK(t, nacre_device_open(&b.device_config, &device));
    nacre_device_close(device);
    b.bytes[BUFFER_BYTES - 1] = 9;
    BAD(t, nacre_device_open(&b.device_config, &device),
        "nacre_device_open: byte 1023 of nacre_device_config is 9");
    for (uint32_t i = 0; i < NONSENSE; i++) {
        b.struct_size = nonsense[i];
        SILENT(t, nacre_device_open(&b.device_config, &device));
    }
    /* Everything behind `backend` is beyond the struct, and no pointer there may be followed. */
    memset(&b, FILL, sizeof b);
    b.struct_size = 8;
    b.device_config.backend = t->backend;
    OK(t, nacre_device_open(&b.device_config, &device));
    nacre_device_close(device);
    check_untouched(t, "nacre_device_config", &b, 8);
}

NACRE_CONTRACT_TEST_ONCE(struct_size, of_a_map_config)
{
    nacre_map *map = NULL;
    buffer b;
    nacre_map_config_init(&b.map_config, sizeof b);
    b.map_config.error = &t->error;
    OK(t, nacre_map_create(t->device, &b.map_config, &map));
    nacre_map_destroy(map);
    b.bytes[sizeof(nacre_map_config)] = 200;
    BAD(t, nacre_map_create(t->device, &b.map_config, &map),
        "nacre_map_create: byte %zu of nacre_map_config is 200", sizeof(nacre_map_config));
    for (uint32_t i = 0; i < NONSENSE; i++) {
        b.struct_size = nonsense[i];
        SILENT(t, nacre_map_create(t->device, &b.map_config, &map));
    }
    /* A struct that ends in front of capacity_keys gets the default of each field behind. */
    uint64_t bytes = 0, bytes_default = 1;
    memset(&b, FILL, sizeof b);
    b.struct_size = offsetof(nacre_map_config, capacity_keys);
    b.map_config.key_bytes = b.map_config.value_bytes = 8;
    b.map_config.growth = NACRE_GROWTH_WAIT;
    OK(t, nacre_map_estimate(t->device, &b.map_config, 1000, &bytes));
    OK(t, nacre_map_estimate(t->device, NULL, 1000, &bytes_default));
    CHECK(t, bytes == bytes_default, "%llu bytes instead of %llu", (unsigned long long)bytes,
          (unsigned long long)bytes_default);
    OK(t, nacre_map_create(t->device, &b.map_config, &map));
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_ONCE(struct_size, of_outputs)
{
    /* Goal: info and statistics are filled as far as the caller's struct reaches. */
    nacre_map *map = test_map_new(t, 1000);
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    OK(t, nacre_map_info_get(map, &info, &t->error));
    CHECK(t, info.capacity_keys >= 1000, "capacity %llu", (unsigned long long)info.capacity_keys);
    for (uint32_t size = 8; size <= sizeof info + 64; size += 8) {
        buffer b;
        memset(&b, FILL, sizeof b);
        nacre_map_info_init(&b.info, size);
        OK(t, nacre_map_info_get(map, &b.info, &t->error));
        check_untouched(t, "nacre_map_info", &b, size);
        CHECK(t, b.struct_size == size, "struct_size %u became %u", size, b.struct_size);
        CHECK(t, b.info.key_bytes == 8, "key_bytes %u", b.info.key_bytes);
        CHECK(t, size < 24 || b.info.capacity_keys == info.capacity_keys, "no capacity at %u",
              size);
    }
    for (uint32_t size = 8; size <= sizeof(nacre_map_statistics) + 64; size += 8) {
        buffer b;
        memset(&b, FILL, sizeof b);
        nacre_map_statistics_init(&b.statistics, size);
        OK(t, nacre_map_statistics_get(map, &b.statistics, &t->error, t->stream));
        check_untouched(t, "nacre_map_statistics", &b, size);
        CHECK(t, b.struct_size == size, "struct_size %u became %u", size, b.struct_size);
    }
    for (uint32_t i = 0; i < NONSENSE; i++) {
        buffer b;
        b.struct_size = nonsense[i];
        BAD(t, nacre_map_info_get(map, &b.info, &t->error),
            "nacre_map_info_get: struct_size of nacre_map_info is %u", nonsense[i]);
        BAD(t, nacre_map_statistics_get(map, &b.statistics, &t->error, t->stream),
            "nacre_map_statistics_get: struct_size of nacre_map_statistics is %u", nonsense[i]);
    }
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_ONCE(struct_size, of_options)
{
    nacre_map *map = test_map_new(t, 0);
    uint64_t key = 5;
    test_array keys = test_array_of_numbers(t, &key, 1, 8);
    test_array contained = test_array_new(t, 1, 1);
    buffer b;
    nacre_options_init(&b.options, sizeof b);
    b.options.error = &t->error;
    OK(t, nacre_map_contains(map, keys.data, 1, contained.data, &b.options, t->stream));
    b.bytes[500] = 1;
    BAD(t, nacre_map_contains(map, keys.data, 1, contained.data, &b.options, t->stream),
        "nacre_map_contains: byte 500 of nacre_options is 1");
    /* Behind `flags` everything is garbage, and must not be looked at. */
    memset(&b, FILL, sizeof b);
    b.struct_size = 8;
    b.options.flags = 0;
    OK(t, nacre_map_contains(map, keys.data, 1, contained.data, &b.options, t->stream));
    test_array_free(t, &keys);
    test_array_free(t, &contained);
    nacre_map_destroy(map);
}

NACRE_CONTRACT_TEST_ONCE(struct_size, of_an_error)
{
    /* Goal: a failure writes as much as fits, with the message's zero; a success nothing. */
    uint64_t size_of_map;
    nacre_map *map = test_map_new(t, 0);
    for (uint32_t size = 0; size <= sizeof(nacre_error) + 16; size++) {
        buffer b;
        memset(&b, FILL, sizeof b);
        b.struct_size = size;
        STATUS(t, NACRE_OK, nacre_map_size(map, &size_of_map, &b.error, t->stream));
        check_untouched(t, "nacre_error", &b, sizeof size);
        STATUS(t, NACRE_ERROR_ARGUMENT, nacre_map_size(map, NULL, &b.error, t->stream));
        uint32_t end = size < sizeof b.error ? size : (uint32_t)sizeof b.error;
        check_untouched(t, "nacre_error", &b, end < sizeof size ? (uint32_t)sizeof size : end);
        CHECK(t, b.struct_size == size, "struct_size %u became %u", size, b.struct_size);
        CHECK(t, size < 8 || b.error.status == NACRE_ERROR_ARGUMENT, "status %d", b.error.status);
        uint32_t start = offsetof(nacre_error, message);
        CHECK(t, end <= start || memchr(b.bytes + start, 0, end - start) != NULL,
              "the message of %u bytes has no end", size);
    }
    STATUS(t, NACRE_ERROR_ARGUMENT, nacre_map_size(map, NULL, NULL, t->stream));
    nacre_map_destroy(map);
}
