/* SPDX-License-Identifier: Apache-2.0 */
/* Every n-th allocation is refused, for every n: a status, nothing lost, nothing leaked, works
   again later (case 17). */
#include "support/allocator.h"
#include "support/batch.h"

/* A small device with a refusing allocator, and the map and oracle of a script. */
typedef struct stage {
    test_allocator *allocator;
    nacre_map *map;
    uint32_t growth;
    oracle o;
} stage;

static bool refusal(nacre_status status)
{
    return status == NACRE_ERROR_OUT_OF_MEMORY;
}

/* One inserting batch: applied as far as there was room, and told; a DEFERRED map says OK. Then
   what was refused is given again, until it was given `attempts` times. */
static void insert_step(test *t, stage *s, uint32_t operation, uint64_t first, uint64_t n,
                        int attempts)
{
    uint64_t *keys = test_keys(t, first, n), *values = test_values(t, keys, n);
    uint64_t count = n;
    const bool deferred = s->growth == NACRE_GROWTH_DEFERRED;
    for (int attempt = 0; attempt < attempts && count != 0; attempt++) {
        test_batch b = test_batch_of(operation, keys, values, count);
        b.type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
        test_batch_call(t, s->map, &b);
        CHECK(t, b.status == NACRE_OK || (refusal(b.status) && !deferred), "%s: %s",
              nacre_status_name(b.status), t->error.message);
        CHECK(t, b.status == NACRE_OK || t->error.message[0] != 0, "no message");
        CHECK(t, b.status != NACRE_OK || b.counts.refused == 0 || deferred,
              "%llu refused, but the status is OK", LL(b.counts.refused));
        CHECK(t, b.status == NACRE_OK || s->allocator->refused != 0,
              "refused, but the allocator did not");
        s->o.may_be_full = b.status != NACRE_OK || deferred;
        test_batch_judge(t, s->map, &b, &s->o);
        count = 0;
        for (uint64_t i = 0; i < b.count; i++) {
            if (b.outcomes[i] == NACRE_OUTCOME_FULL) {
                keys[count] = keys[i];
                values[count++] = values[i];
            }
        }
        test_batch_free(&b);
    }
    free(keys);
    free(values);
}

/* reserve is all or nothing. */
static void reserve_step(test *t, stage *s, uint64_t keys)
{
    nacre_map_info before, after;
    nacre_map_info_init(&before, sizeof before);
    nacre_map_info_init(&after, sizeof after);
    OK(t, nacre_map_info_get(s->map, &before, &t->error));
    nacre_status status = nacre_map_reserve(s->map, keys, &t->error, t->stream);
    CHECK(t, status == NACRE_OK || refusal(status), "%s: %s", nacre_status_name(status),
          t->error.message);
    OK(t, nacre_map_info_get(s->map, &after, &t->error));
    if (status == NACRE_OK) {
        CHECK(t, after.capacity_keys >= keys, "capacity %llu after reserve of %llu",
              LL(after.capacity_keys), LL(keys));
        return;
    }
    CHECK(t,
          after.capacity_keys == before.capacity_keys && after.memory_bytes == before.memory_bytes,
          "a refused reserve left %llu keys, %llu bytes instead of %llu, %llu",
          LL(after.capacity_keys), LL(after.memory_bytes), LL(before.capacity_keys),
          LL(before.memory_bytes));
}

/* check and statistics may be refused their scratch memory, and then say so. */
static void inspect_step(test *t, stage *s)
{
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    nacre_status status = nacre_map_check(s->map, &t->error, t->stream);
    CHECK(t, status == NACRE_OK || refusal(status), "%s: %s", nacre_status_name(status),
          t->error.message);
    status = nacre_map_statistics_get(s->map, &statistics, &t->error, t->stream);
    CHECK(t, status == NACRE_OK || refusal(status), "%s: %s", nacre_status_name(status),
          t->error.message);
    CHECK(t, status != NACRE_OK || statistics.size == s->o.size, "statistics count %llu keys",
          LL(statistics.size));
}

static void erase_step(test *t, stage *s, uint64_t first, uint64_t n)
{
    uint64_t *keys = test_keys(t, first, n);
    test_do(t, s->map, &s->o, NACREI_ERASE, keys, NULL, n);
    free(keys);
}

/* Creates, grows, reserves, erases, inspects, with refusals in between; then all is well, and
   everything is compared. */
static void script(test *t, stage *s, nacre_device *device)
{
    nacre_map_config config = test_map_config(t);
    config.growth = s->growth;
    config.capacity_keys = s->growth == NACRE_GROWTH_FIXED ? 60000 : 10;
    nacre_status status = nacre_map_create(device, &config, &s->map);
    if (status != NACRE_OK) {
        CHECK(t, refusal(status) && s->map == NULL, "%s: %s", nacre_status_name(status),
              t->error.message);
        test_allocator_refuse(s->allocator, 0, false);
        OK(t, nacre_map_create(device, &config, &s->map));
    }
    insert_step(t, s, NACREI_INSERT, 0, 3000, 2);
    insert_step(t, s, NACREI_INSERT_OR_ASSIGN, 1000, 20000, 2);
    inspect_step(t, s);
    reserve_step(t, s, 40000);
    erase_step(t, s, 500, 4000);
    insert_step(t, s, t->value_bytes != 0 ? NACREI_INSERT_OR_APPLY : NACREI_INSERT, 0, 45000, 2);
    inspect_step(t, s);
    reserve_step(t, s, 50000);
    test_allocator_refuse(s->allocator, 0, false);
    /* Works again, and takes what was refused: a DEFERRED map in a few calls. */
    insert_step(t, s, NACREI_INSERT, 0, 55000, 20);
    CHECK(t, s->o.size == 55000, "%llu keys at the end", LL(s->o.size));
    test_compare(t, s->map, &s->o, 1000);
    nacre_map_destroy(s->map);
}

/* Runs the script with the n-th allocation refused (and, with `all`, those after it); true if one
   was. */
static bool run(test *t, uint64_t n, bool all, uint32_t growth)
{
    stage s;
    memset(&s, 0, sizeof s);
    test_note(t, "allocation %llu%s is refused, growth %u", LL(n), all ? " and all later ones" : "",
              growth);
    s.growth = growth;
    oracle_init(&s.o);
    s.o.capacity_keys = growth == NACRE_GROWTH_FIXED ? 60000 : UINT64_MAX;
    s.allocator = test_allocator_new(t->backend);
    test_allocator_refuse(s.allocator, n, all);
    nacre_device *device = NULL, *row_device = t->device;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = t->backend;
    config.threads = 3;
    config.allocator = s.allocator->callbacks;
    config.error = &t->error;
    nacre_status status = nacre_device_open(&config, &device);
    if (status != NACRE_OK) {
        CHECK(t, refusal(status) && s.allocator->refused != 0 && device == NULL, "%s: %s",
              nacre_status_name(status), t->error.message);
    } else {
        script(t, &s, device);
        nacre_device_close(device);
    }
    bool refused = s.allocator->refused_ever != 0;
    CHECK(t, t->device == row_device && s.allocator->live == 0,
          "%llu allocations of %llu bytes are left", LL(s.allocator->live),
          LL(s.allocator->live_bytes));
    CHECK(t, s.allocator->misuse[0] == 0, "the allocator: %s", s.allocator->misuse);
    test_allocator_free(s.allocator);
    oracle_free(&s.o);
    return refused;
}

NACRE_CONTRACT_TEST(fault, refused_allocation_loses_or_leaks)
{
    /* Goal: as the file says. Method: n = 1, 2, 3 ... until no allocation is left to refuse; alone
       and with all later ones; under each kind of growth. */
    for (int all = 0; all < 2; all++) {
        for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
            uint64_t n = 1;
            while (run(t, n, all != 0, growth)) {
                CHECK(t, n++ < 1000, "no end of allocations");
            }
            CHECK(t, n > 1, "no allocation was ever refused");
            if (t->key_bytes == 8 && t->value_bytes == 8) {
                printf("fault %s: growth %u%s: %llu allocations\n", t->backend_name, growth,
                       all ? ", lasting" : "", LL(n - 1));
            }
        }
    }
}

static void count_warnings(void *user, uint32_t level, const char *text)
{
    *(uint64_t *)user += level == NACRE_LOG_WARNING && strstr(text, "memory for growth") != NULL;
}

/* Inserts new keys, 3,000 a call, until a call is refused memory and its keys find no room: told by
   the fault bits and the log, and of a WAIT map by the status. Returns the keys that were given. */
static uint64_t grow_until_refused(test *t, stage *s, const uint64_t *warnings)
{
    const uint32_t wanted = NACRE_FAULT_FULL | NACRE_FAULT_MEMORY;
    uint64_t given = 0;
    uint32_t faults = 0;
    while (given < 300000 && (faults & wanted) != wanted) {
        CHECK(t, (*warnings != 0) == ((faults & NACRE_FAULT_MEMORY) != 0),
              "faults %u, %llu warnings", faults, LL(*warnings));
        insert_step(t, s, NACREI_INSERT, given, 3000, 1);
        given += 3000;
        OK(t, nacre_map_faults(s->map, &faults, 0, &t->error));
    }
    CHECK(t, faults == wanted, "faults %u after %llu keys", faults, LL(given));
    CHECK(t, *warnings == 1 || (*warnings > 1 && s->growth == NACRE_GROWTH_DEFERRED),
          "%llu warnings", LL(*warnings));
    CHECK(t, s->o.size < given && s->allocator->refused != 0, "nothing was refused");
    OK(t, nacre_map_faults(s->map, &faults, 1, &t->error));
    OK(t, nacre_map_faults(s->map, &faults, 1, &t->error));
    CHECK(t, faults == 0, "faults %u after they were cleared", faults);
    return given;
}

NACRE_CONTRACT_TEST(fault, refused_growth_is_not_told)
{
    /* Goal: memory that growth is refused is told by the fault bits and the log, by WAIT and
       DEFERRED maps alike, and the map goes on when there is memory again. Method: every allocation
       after creation is refused, then none. */
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_DEFERRED; growth++) {
        test_note(t, "growth %u", growth);
        uint64_t warnings = 0;
        stage s = {.allocator = test_allocator_new(t->backend), .growth = growth};
        oracle_init(&s.o);
        nacre_device *device = NULL;
        nacre_device_config device_config;
        nacre_device_config_init(&device_config, sizeof device_config);
        device_config.backend = t->backend;
        device_config.allocator = s.allocator->callbacks;
        device_config.log = count_warnings;
        device_config.log_user = &warnings;
        device_config.error = &t->error;
        OK(t, nacre_device_open(&device_config, &device));
        nacre_map_config config = test_map_config(t);
        config.growth = growth;
        OK(t, nacre_map_create(device, &config, &s.map));
        test_allocator_refuse(s.allocator, 1, true);
        const uint64_t given = grow_until_refused(t, &s, &warnings), warned = warnings;
        test_compare(t, s.map, &s.o, 100);
        test_allocator_refuse(s.allocator, 0, false);
        insert_step(t, &s, NACREI_INSERT, 0, given, 20);
        uint32_t faults = 0;
        OK(t, nacre_map_faults(s.map, &faults, 1, &t->error));
        CHECK(t, s.o.size == given && (faults & NACRE_FAULT_MEMORY) == 0 && warnings == warned,
              "%llu of %llu keys, faults %u, %llu warnings", LL(s.o.size), LL(given), faults,
              LL(warnings));
        test_compare(t, s.map, &s.o, 100);
        nacre_map_destroy(s.map);
        nacre_device_close(device);
        test_allocator_free(s.allocator);
        oracle_free(&s.o);
    }
}

NACRE_CONTRACT_TEST(fault, memory_limit_loses_or_leaks)
{
    /* Goal: the same with memory_limit_bytes in the place of the allocator. Method: limits from
       nothing upwards; a map is refused, or created and filled until it is full, then emptied and
       filled again; the allocator counts. */
    nacre_map_config any = test_map_config(t);
    uint64_t least = 0; /* what an empty map holds */
    OK(t, nacre_map_estimate(t->device, &any, 0, &least));
    for (uint64_t limit = 1; limit < least + 6000000; limit = limit * 3 / 2 + 30000) {
        test_note(t, "memory_limit_bytes %llu", LL(limit));
        test_allocator *a = test_allocator_new(t->backend);
        nacre_device *device = test_device_open(t, &a->callbacks);
        nacre_map_config config = test_map_config(t);
        nacre_map *map = NULL;
        config.memory_limit_bytes = limit;
        uint64_t other = a->live_bytes; /* what the device holds for itself */
        nacre_status status = nacre_map_create(device, &config, &map);
        CHECK(t, status == NACRE_OK || status == NACRE_ERROR_CAPACITY, "%s: %s",
              nacre_status_name(status), t->error.message);
        for (int round = 0; round < 2 && status == NACRE_OK; round++) {
            oracle o;
            oracle_init(&o);
            o.may_be_full = true;
            for (uint64_t at = 0; at < 200000; at += 50000) {
                uint64_t *keys = test_keys(t, at, 50000), *values = test_values(t, keys, 50000);
                test_batch b = test_batch_of(NACREI_INSERT, keys, values, 50000);
                test_batch_call(t, map, &b);
                CHECK(t, b.status == (b.counts.refused != 0 ? NACRE_ERROR_OUT_OF_MEMORY : NACRE_OK),
                      "%s with %llu refused", nacre_status_name(b.status), LL(b.counts.refused));
                test_batch_judge(t, map, &b, &o);
                test_batch_free(&b);
                free(keys);
                free(values);
                nacre_map_info info;
                nacre_map_info_init(&info, sizeof info);
                OK(t, nacre_map_info_get(map, &info, &t->error));
                CHECK(t, info.memory_peak_bytes <= limit, "%llu bytes", LL(info.memory_peak_bytes));
                CHECK(t, a->peak_bytes - other <= limit,
                      "info says %llu bytes, the allocator gave %llu", LL(info.memory_bytes),
                      LL(a->peak_bytes - other));
            }
            test_compare(t, map, &o, 100);
            OK(t, nacre_map_clear(map, &t->error, t->stream));
            oracle_free(&o);
        }
        nacre_map_destroy(map);
        nacre_device_close(device);
        CHECK(t, a->live == 0, "%llu allocations are left", LL(a->live));
        CHECK(t, a->misuse[0] == 0, "the allocator: %s", a->misuse);
        test_allocator_free(a);
    }
}
