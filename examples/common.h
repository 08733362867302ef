/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share: the error that calls fill, and opening the device that --device names.
 */
#ifndef NACRE_EXAMPLES_COMMON_H
#define NACRE_EXAMPLES_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/nacre.h"

/* The exit status after a mistake on the command line. */
enum { EXIT_USAGE = 2 };

/* Given to every call that takes one; the examples call from one thread. */
static nacre_error error = {sizeof(nacre_error), NACRE_OK, 0, 0, 0, ""};

/* An example ends where a call fails, and prints why. A library would hand the status on. */
#define CHECK(call)                                                                        \
    do {                                                                                   \
        nacre_status status_ = (call);                                                     \
        if (status_ != NACRE_OK) {                                                         \
            fprintf(stderr, "%s: %s\n", nacre_status_name(status_),                        \
                    error.status == status_ ? error.message : nacre_status_text(status_)); \
            exit(EXIT_FAILURE);                                                            \
        }                                                                                  \
    } while (0)

/* NACRE_BACKEND_... by its name. */
static inline uint32_t backend_named(const char *name)
{
    static const char *const names[] = {"auto", "cpu", "cuda"}; /* in the order of the constants */
    for (uint32_t backend = NACRE_BACKEND_AUTO; backend <= NACRE_BACKEND_CUDA; backend++) {
        if (strcmp(name, names[backend]) == 0) {
            return backend;
        }
    }
    fprintf(stderr, "unknown device \"%s\": allowed are auto, cpu and cuda\n", name);
    exit(EXIT_USAGE);
}

/* For a program whose only argument is [--device NAME]. */
static inline uint32_t device_argument(int argc, char **argv)
{
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--device") != 0)) {
        fprintf(stderr, "usage: %s [--device auto|cpu|cuda]\n", argv[0]);
        exit(EXIT_USAGE);
    }
    return backend_named(argc == 1 ? "auto" : argv[2]);
}

/* Opens a device and says which one it is and why, before anything is computed on it. */
static inline nacre_device *device_opened(uint32_t backend, FILE *out)
{
    nacre_device *device;
    nacre_device_config config;
    char text[256];
    nacre_device_config_init(&config, sizeof config);
    config.backend = backend;
    config.error = &error;
    CHECK(nacre_device_open(&config, &device));
    CHECK(nacre_device_describe(device, NULL, NULL, text, sizeof text));
    fprintf(out, "device: %s\n", text);
    return device;
}

#endif
