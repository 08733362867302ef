/* SPDX-License-Identifier: Apache-2.0 */
/* The whole map against the oracle: test_compare, see batch.h. */
#include "support/batch.h"

uint64_t test_size(test *t, nacre_map *map)
{
    uint64_t size = UINT64_MAX, async = UINT64_MAX;
    test_array on = test_array_new(t, 8, 8);
    OK(t, nacre_map_size_async(map, on.data, &t->error, t->stream));
    test_array_read(t, &on, &async);
    test_array_free(t, &on);
    OK(t, nacre_map_size(map, &size, &t->error, t->stream));
    CHECK(t, size == async, "size is %llu, size_async %llu", LL(size), LL(async));
    return size;
}

static void compare_info(test *t, nacre_map *map, const oracle *o)
{
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    OK(t, nacre_map_info_get(map, &info, &t->error));
    CHECK(t, info.size_last_known == o->size, "info says %llu keys instead of %llu",
          LL(info.size_last_known), LL(o->size));
    CHECK(t, info.key_bytes == t->key_bytes && info.value_bytes == t->value_bytes,
          "info says widths (%u,%u)", info.key_bytes, info.value_bytes);
    CHECK(t, info.memory_bytes <= info.memory_peak_bytes, "%llu bytes now, %llu at the peak",
          LL(info.memory_bytes), LL(info.memory_peak_bytes));
    CHECK(t, info.capacity_slots == 0 || info.load == (double)o->size / (double)info.capacity_slots,
          "load is %g, with %llu of %llu slots", info.load, LL(o->size), LL(info.capacity_slots));
    CHECK(t, info.capacity_keys >= o->size || o->may_be_full, "capacity %llu, but %llu keys",
          LL(info.capacity_keys), LL(o->size));
}

static void compare_retrieved(test *t, nacre_map *map, const oracle *o)
{
    uint64_t needed = UINT64_MAX;
    test_array needed_on = test_array_new(t, 8, 8);
    test_array keys_on = test_array_new(t, o->size * t->key_bytes, t->key_bytes);
    test_array values_on =
        test_array_new(t, o->size * t->value_bytes, t->value_bytes != 0 ? t->value_bytes : 1);
    OK(t, nacre_map_retrieve(map, keys_on.data, t->value_bytes != 0 ? values_on.data : NULL,
                             o->size, needed_on.data, NULL, t->stream));
    test_array_read(t, &needed_on, &needed);
    CHECK(t, needed == o->size, "retrieve needs %llu, %llu keys are there", LL(needed),
          LL(o->size));
    uint64_t *keys = test_host(t, o->size * 8), *values = test_host(t, o->size * 8);
    uint8_t *seen = test_host(t, o->places);
    memset(seen, 0, o->places);
    test_array_read_numbers(t, &keys_on, keys, o->size, t->key_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &values_on, values, o->size, t->value_bytes);
    }
    for (uint64_t i = 0; i < o->size; i++) {
        uint64_t place = oracle_place(o, keys[i]);
        CHECK(t, place != UINT64_MAX, "retrieve gives key 0x%llx, which is not there", LL(keys[i]));
        CHECK(t, !seen[place], "retrieve gives key 0x%llx twice", LL(keys[i]));
        seen[place] = 1;
        CHECK(t, t->value_bytes == 0 || values[i] == o->values[place],
              "retrieve gives key 0x%llx the value 0x%llx instead of 0x%llx", LL(keys[i]),
              LL(values[i]), LL(o->values[place]));
    }
    free(keys);
    free(values);
    free(seen);
    test_array_free(t, &needed_on);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
}

void test_compare(test *t, nacre_map *map, const oracle *o, uint64_t misses)
{
    uint64_t size = test_size(t, map);
    CHECK(t, size == o->size, "size is %llu instead of %llu", LL(size), LL(o->size));
    OK(t, nacre_map_check(map, &t->error, t->stream));
    compare_info(t, map, o);
    compare_retrieved(t, map, o);
    uint64_t *keys = realloc(oracle_keys(o), (o->size + misses + 1) * 8);
    CHECK(t, keys != NULL, "no host memory");
    for (uint64_t i = 0; i < misses; i++) {
        keys[o->size + i] = test_cut(test_random(&t->random), t->key_bytes);
    }
    oracle same = *o; /* searches change nothing */
    for (uint32_t operation = NACREI_FIND; operation <= NACREI_CONTAINS; operation++) {
        if (operation == NACREI_CONTAINS || t->value_bytes != 0) {
            test_do(t, map, &same, operation, keys, NULL, o->size + misses);
        }
    }
    free(keys);
}
