/* SPDX-License-Identifier: Apache-2.0 */
/* A map from creation to retrieval, on a GPU or the CPU: quickstart [--device auto|cpu|cuda] */
#include "common.h"

enum { FEW = 1000, HALF = 500000, ALL = 1000000 };

/* One lies in host memory, one on the device; of the latter the host knows addresses only. */
static struct batch {
    uint64_t keys[ALL], values[ALL], count;
} here;

static void expect(const char *what, uint64_t answer, uint64_t right)
{
    printf("%-32s %7llu%s\n", what, (unsigned long long)answer, answer == right ? "" : " WRONG");
    if (answer != right) {
        exit(EXIT_FAILURE);
    }
}

/* How many of the first `count` pairs are a square and its root, and that one not below `least`. */
static uint64_t right_pairs(uint64_t count, uint64_t least)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < count; i++) {
        right += here.values[i] >= least && here.keys[i] == here.values[i] * here.values[i];
    }
    return right;
}

int main(int argc, char **argv)
{
    nacre_device *device = device_opened(device_argument(argc, argv), stdout);
    nacre_stream stream;
    void *memory;
    CHECK(nacre_stream_create(device, &stream, &error));
    CHECK(nacre_memory_allocate(device, sizeof here, NACRE_SPACE_DEVICE, &memory, &error));
    struct batch *there = memory;
    for (uint64_t i = 0; i < ALL; i++) {
        here.keys[i] = i * i;
        here.values[i] = i;
    }
    CHECK(nacre_memory_copy(device, &here, sizeof here, there, &error, stream));

    nacre_map *map;
    uint64_t size;
    nacre_map_info info;
    nacre_options options; /* only to be told why a batch call fails */
    nacre_map_info_init(&info, sizeof info);
    nacre_options_init(&options, sizeof options);
    options.error = &error;
    CHECK(nacre_map_create(device, NULL, &map));
    CHECK(nacre_map_insert(map, there->keys, there->values, FEW, &options, stream));
    CHECK(nacre_map_size(map, &size, &error, stream)); /* waits for the stream */
    expect("insert: keys in the map", size, FEW);

    CHECK(nacre_map_insert(map, there->keys, there->values, ALL, &options, stream));
    CHECK(nacre_map_size(map, &size, &error, stream));
    CHECK(nacre_map_info_get(map, &info, &error));
    expect("grow: keys in the map", size, ALL);
    expect("grow: 1 if the table grew", info.growths != 0, 1);

    CHECK(nacre_memory_fill(device, there->values, sizeof here.values, 0xff, &error, stream));
    CHECK(nacre_map_find(map, there->keys, ALL, there->values, &options, stream));
    CHECK(nacre_memory_copy(device, there, sizeof here, &here, &error, stream));
    CHECK(nacre_stream_wait(device, stream, &error));
    expect("find: values right", right_pairs(ALL, 0), ALL);

    CHECK(nacre_map_erase(map, there->keys, HALF, &options, stream));
    CHECK(nacre_map_retrieve(map, there->keys, there->values, ALL, &there->count, NULL, stream));
    CHECK(nacre_memory_copy(device, there, sizeof here, &here, &error, stream));
    CHECK(nacre_stream_wait(device, stream, &error));
    expect("erase: keys left", here.count, ALL - HALF);
    expect("retrieve: pairs right", right_pairs(here.count, HALF), ALL - HALF);

    nacre_map_destroy(map);
    CHECK(nacre_memory_release(device, memory, &error));
    CHECK(nacre_stream_destroy(device, stream, &error));
    nacre_device_close(device);
    return EXIT_SUCCESS;
}
