/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: a program outside of the project builds, links and runs. Method: the smallest complete use
 * of a map, on the CPU; every way of consuming the library compiles this same file.
 */
#include <inttypes.h>
#include <stdio.h>

#include <nacre/nacre.h>

static int fail(const char *call, nacre_status status, const nacre_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", call, nacre_status_name(status), error->message);
    return 1;
}

static int use_map(nacre_map *map, nacre_error *error)
{
    const uint64_t keys[3] = {0, UINT64_MAX, 42};
    const uint64_t values[3] = {1000, 2000, 3000};
    const uint64_t lookups[4] = {42, 43, 0, UINT64_MAX};
    const uint64_t expected[4] = {3000, 7, 1000, 2000};
    const uint64_t missing = 7;
    uint64_t found[4] = {0};
    uint64_t size = 0;
    nacre_status status;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.missing_value = &missing;
    options.error = error;

    status = nacre_map_insert(map, keys, values, 3, &options, NULL);
    if (status != NACRE_OK) {
        return fail("nacre_map_insert", status, error);
    }
    status = nacre_map_find(map, lookups, 4, found, &options, NULL);
    if (status != NACRE_OK) {
        return fail("nacre_map_find", status, error);
    }
    for (int i = 0; i < 4; ++i) {
        if (found[i] != expected[i]) {
            fprintf(stderr, "lookup %d gave %" PRIu64 "\n", i, found[i]);
            return 1;
        }
    }
    status = nacre_map_size(map, &size, error, NULL);
    if (status != NACRE_OK || size != 3) {
        fprintf(stderr, "the size is %" PRIu64 "\n", size);
        return fail("nacre_map_size", status, error);
    }
    return 0;
}

int main(void)
{
    nacre_error error;
    nacre_error_init(&error, sizeof error);
    nacre_device_config device_config;
    nacre_device_config_init(&device_config, sizeof device_config);
    device_config.backend = NACRE_BACKEND_CPU;
    device_config.error = &error;
    nacre_device *device = NULL;
    nacre_status status = nacre_device_open(&device_config, &device);
    if (status != NACRE_OK) {
        return fail("nacre_device_open", status, &error);
    }

    nacre_map_config map_config;
    nacre_map_config_init(&map_config, sizeof map_config);
    map_config.error = &error;
    nacre_map *map = NULL;
    status = nacre_map_create(device, &map_config, &map);
    int result =
        status == NACRE_OK ? use_map(map, &error) : fail("nacre_map_create", status, &error);

    nacre_map_destroy(map);
    nacre_device_close(device);
    if (result == 0) {
        printf("OK\n");
    }
    return result;
}
