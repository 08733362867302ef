/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/map_config.h"

#include <sys/random.h>
#include <time.h>

#include "lib/structs.h"
#include "nacre/core/hash.h"

#define LOAD_MAX_LEAST 0.10
#define LOAD_MAX_MOST  0.95

/* Keys that collide under one seed do not under another, and nobody can know this one. */
static uint64_t fresh_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) {
        return seed;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return nacrei_hash((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                       (uint64_t)(uintptr_t)&now);
}

static nacre_map_config fresh_defaults(void)
{
    nacre_map_config config = {
        .struct_size = sizeof config,
        .key_bytes = 8,
        .value_bytes = 8,
        .growth = NACRE_GROWTH_WAIT,
        .seed = fresh_seed(),
        .load_max = 0.92,
        .order = NACRE_ORDER_LIBRARY,
    };
    return config;
}

void nacre_map_config_init(nacre_map_config *config, uint32_t struct_size)
{
    nacre_map_config defaults = fresh_defaults();
    nacrei_struct_init(config, struct_size, &defaults, sizeof defaults);
}

nacre_status nacrei_map_config_read(nacrei_call *call, const nacre_map_config *given,
                                    nacre_map_config *complete)
{
    *complete = fresh_defaults();
    NACREI_TRY(nacrei_struct_read(call, "nacre_map_config", given, complete, sizeof *complete,
                                  &complete->error));
    complete->error = NULL;
    return NACRE_OK;
}

nacre_status nacrei_map_config_check(const nacrei_call *call, const nacre_map_config *config)
{
    uint32_t key_bytes = config->key_bytes;
    uint32_t value_bytes = config->value_bytes;
    if (key_bytes != 4 && key_bytes != 8) {
        return nacrei_bad_number(call, "key_bytes", key_bytes, "4, 8");
    }
    if (value_bytes != 0 && value_bytes != 4 && value_bytes != 8) {
        return nacrei_bad_number(call, "value_bytes", value_bytes, "0 (a set), 4, 8");
    }
    NACREI_TRY(nacrei_check_range(call, "growth", config->growth, NACRE_GROWTH_FIXED,
                                  "0 (wait), 1 (deferred), 2 (fixed)"));
    /* Written so that NaN fails it. */
    if (!(config->load_max >= LOAD_MAX_LEAST && config->load_max <= LOAD_MAX_MOST)) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: load_max is %g; allowed: 0.10 to 0.95", call->name,
                           config->load_max);
    }
    NACREI_TRY(nacrei_check_range(call, "order", config->order, NACRE_ORDER_CALLER,
                                  "0 (library), 1 (caller)"));
    NACREI_TRY(nacrei_check_reserved(call, "reserved", config->reserved));
    if (!call->device->backend->supports(key_bytes, value_bytes)) {
        return nacrei_fail(call->error, NACRE_ERROR_UNSUPPORTED, 0,
                           "%s: key_bytes is %u and value_bytes is %u, which this build lacks on "
                           "the %s backend; allowed: what nacre_build_supports says",
                           call->name, (unsigned)key_bytes, (unsigned)value_bytes,
                           call->device->backend->name);
    }
    return nacrei_check_keys(call, "capacity_keys", config->capacity_keys);
}
