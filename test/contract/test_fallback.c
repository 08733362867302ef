/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUTO where CUDA cannot be used. The linker turns access(2), by which the library asks whether the
 * machine has an NVIDIA device, into the function below (test/CMakeLists.txt).
 */
#include <unistd.h>

#include "support/harness.h"

static const char node[] = "/dev/nvidiactl";
static bool present; /* a device that cannot be used, also where there is none */

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    return present && strcmp(path, node) == 0 ? 0 : __real_access(path, mode);
}

typedef struct logged {
    uint64_t warnings;
    char text[640];
} logged;

static void log_line(void *user, uint32_t level, const char *text)
{
    logged *l = user;
    l->warnings += level == NACRE_LOG_WARNING;
    snprintf(l->text, sizeof l->text, "%s", text);
}

NACRE_CONTRACT_TEST_ONCE(fallback, idle_device_is_not_told)
{
    /* Goal: where AUTO takes the CPU the description says why not CUDA, and a warning is logged if
       and only if the machine has an NVIDIA device. Method: a machine that seems to have one and
       this machine as it is; an ordinal that no machine has, so that CUDA is passed by also where
       it works. */
    static const char begin[] = "this machine's NVIDIA device is not used: cpu, ";
    if (t->backend != NACRE_BACKEND_CPU) {
        return;
    }
    for (uint32_t pretend = 0; pretend < 2; pretend++) {
        test_note(t, "pretend %u", pretend);
        logged l = {.warnings = 0};
        uint32_t backend = NACRE_BACKEND_AUTO;
        char text[512], why[320];
        nacre_device *device = NULL;
        nacre_device_config config;
        nacre_device_config_init(&config, sizeof config);
        config.ordinal = 4711;
        config.log = log_line;
        config.log_user = &l;
        config.error = &t->error;
        present = pretend != 0;
        OK(t, nacre_device_open(&config, &device));
        present = false;
        OK(t, nacre_device_describe(device, &backend, NULL, text, sizeof text));
        CHECK(t, backend == NACRE_BACKEND_CPU && strstr(text, "; not cuda: ") != NULL,
              "backend %u, \"%s\"", backend, text);
        const bool idle = pretend != 0 || __real_access(node, F_OK) == 0 ||
                          test_backend_usable(NACRE_BACKEND_CUDA, why, sizeof why);
        CHECK(t, l.warnings == idle, "%llu warnings, the device is %s", LL(l.warnings),
              idle ? "there" : "not there");
        CHECK(t,
              !idle || (strncmp(l.text, begin, strlen(begin)) == 0 &&
                        strcmp(l.text + strlen(begin) - strlen("cpu, "), text) == 0),
              "\"%s\" is logged of \"%s\"", l.text, text);
        nacre_device_close(device);
    }
}
