/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: the library is usable by dlopen, with nothing linked, and can be unloaded. Method: a map is
 * created and used through pointers that dlsym returned. Usage: dlopen_smoke LIBRARY
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <nacre/nacre.h>

static void *library;

static void *symbol(const char *name)
{
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "dlsym: %s\n", dlerror());
        exit(1);
    }
    return address;
}

/* A variable named like the function; ISO C has no cast from an object pointer to a function's. */
#define LOAD(name)             \
    __typeof__(&name) name##_; \
    *(void **)&name##_ = symbol(#name)

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: dlopen_smoke LIBRARY\n");
        return 2;
    }
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "dlopen: %s\n", dlerror());
        return 1;
    }
    LOAD(nacre_version);
    LOAD(nacre_device_config_init);
    LOAD(nacre_device_open);
    LOAD(nacre_device_close);
    LOAD(nacre_map_create);
    LOAD(nacre_map_insert);
    LOAD(nacre_map_find);
    LOAD(nacre_map_destroy);

    nacre_device_config config;
    nacre_device_config_init_(&config, sizeof config);
    config.backend = NACRE_BACKEND_CPU;
    nacre_device *device = NULL;
    nacre_map *map = NULL;
    const uint64_t keys[2] = {UINT64_MAX, 5};
    const uint64_t values[2] = {10, 20};
    uint64_t found[2] = {0, 0};
    int passed = nacre_device_open_(&config, &device) == NACRE_OK &&
                 nacre_map_create_(device, NULL, &map) == NACRE_OK &&
                 nacre_map_insert_(map, keys, values, 2, NULL, NULL) == NACRE_OK &&
                 nacre_map_find_(map, keys, 2, found, NULL, NULL) == NACRE_OK && found[0] == 10 &&
                 found[1] == 20;
    nacre_map_destroy_(map);
    nacre_device_close_(device);
    uint32_t version = nacre_version_();
    passed = dlclose(library) == 0 && passed;
    printf("version %u: %s\n", (unsigned)version, passed ? "OK" : "failed");
    return passed ? 0 : 1;
}
