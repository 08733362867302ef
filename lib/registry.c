/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/registry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order in which AUTO tries them. */
static const nacrei_backend *const backends[] = {
#if NACRE_HAVE_CUDA
    &nacrei_cuda_backend,
#endif
    &nacrei_cpu_backend,
};
#define BACKENDS (sizeof backends / sizeof backends[0])

uint32_t nacre_build_supports(uint32_t backend, uint32_t key_bytes, uint32_t value_bytes)
{
    if ((key_bytes != 4 && key_bytes != 8) ||
        (value_bytes != 0 && value_bytes != 4 && value_bytes != 8)) {
        return 0;
    }
    for (size_t i = 0; i < BACKENDS; i++) {
        if ((backend == NACRE_BACKEND_AUTO || backend == backends[i]->kind) &&
            backends[i]->supports(key_bytes, value_bytes)) {
            return 1;
        }
    }
    return 0;
}

/* A message without the name of the call that every message begins with. */
static const char *reason_of(const nacrei_call *call, const char *message)
{
    size_t length = strlen(call->name);
    if (strncmp(message, call->name, length) == 0 && strncmp(message + length, ": ", 2) == 0) {
        return message + length + 2;
    }
    return message;
}

/* Why AUTO passed by a backend, for the description of the device that it took instead. */
typedef struct passed_by {
    char text[384]; /* "; not cuda: REASON" */
    uint32_t present;
} passed_by;

static void pass_by(passed_by *passed, const char *name, const char *reason, uint32_t present)
{
    size_t length = strlen(passed->text);
    snprintf(passed->text + length, sizeof passed->text - length, "; not %s: %s", name, reason);
    passed->present |= present;
}

static void tell(nacre_device *device, const passed_by *passed)
{
    size_t length = strlen(device->description);
    snprintf(device->description + length, sizeof device->description - length, "%s", passed->text);
    if (passed->present) {
        nacrei_log(device, NACRE_LOG_WARNING, "this machine's NVIDIA device is not used: %s",
                   device->description);
    }
}

static nacre_status open_auto(const nacrei_call *call, const nacre_device_config *config,
                              nacre_device **device)
{
    passed_by passed = {.text = ""};
#if !NACRE_HAVE_CUDA
    /* Without CUDA nobody else can look for hardware; the driver's control node tells. */
    pass_by(&passed, "cuda", "this build has no CUDA backend", access("/dev/nvidiactl", F_OK) == 0);
#endif
    nacre_error why;
    nacre_status status = NACRE_ERROR_NO_DEVICE;
    for (size_t i = 0; i < BACKENDS; i++) {
        uint32_t present = 0;
        nacre_error_init(&why, sizeof why);
        status = backends[i]->device_open(config, device, &present, &why);
        if (status == NACRE_OK) {
            tell(*device, &passed);
            return status;
        }
        /* What is there but fails in another way than NO_DEVICE is hardware that lies idle, too. */
        pass_by(&passed, backends[i]->name, reason_of(call, why.message),
                present || status != NACRE_ERROR_NO_DEVICE);
    }
    return nacrei_fail(call->error, status, why.system_code, "%s: backend is 0 (auto)%s",
                       call->name, passed.text);
}

nacre_status nacrei_registry_open(const nacrei_call *call, const nacre_device_config *config,
                                  nacre_device **device)
{
    if (config->backend == NACRE_BACKEND_AUTO) {
        return open_auto(call, config, device);
    }
    for (size_t i = 0; i < BACKENDS; i++) {
        if (backends[i]->kind == config->backend) {
            uint32_t present = 0;
            return backends[i]->device_open(config, device, &present, call->error);
        }
    }
    return nacrei_fail(call->error, NACRE_ERROR_UNSUPPORTED, 0,
                       "%s: backend is %u (cuda), which this build does not have; "
                       "allowed: 0 (auto), 1 (cpu)",
                       call->name, (unsigned)config->backend);
}
