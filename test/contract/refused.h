/* SPDX-License-Identifier: Apache-2.0 */
/* How tests of bad input say what they expect of a call, its status and its message. */
#ifndef NACRE_TEST_REFUSED_H
#define NACRE_TEST_REFUSED_H

#include <stdarg.h>

#include "support/harness.h"

/* The call returned `wanted`, and its message begins with "call: parameter is value". */
__attribute__((format(printf, 7, 8))) static inline void
refused(test *t, const char *file, int line, const char *call, nacre_status wanted,
        nacre_status got, const char *format, ...)
{
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    test_status(t, file, line, call, wanted, got);
    const char *message = t->error.message;
    if (t->error.status != wanted || strncmp(message, words, strlen(words)) != 0 ||
        strstr(message, "; allowed: ") == NULL) {
        test_fail(t, file, line, call,
                  "error.status %d, message \"%s\" instead of \"%s...; "
                  "allowed: ...\"",
                  t->error.status, message, words);
    }
    nacre_error_init(&t->error, sizeof t->error);
}

#define REFUSED(t, wanted, call, ...) \
    refused(t, __FILE__, __LINE__, #call, wanted, (call), __VA_ARGS__)
#define BAD(t, call, ...) REFUSED(t, NACRE_ERROR_ARGUMENT, call, __VA_ARGS__)

/* The status of a call that has no error to write to, or cannot trust the one it was given. */
#define SILENT(t, call)                                                                            \
    do {                                                                                           \
        nacre_error_init(&t->error, sizeof t->error);                                              \
        STATUS(t, NACRE_ERROR_ARGUMENT, call);                                                     \
        CHECK(t, t->error.status == NACRE_OK && t->error.message[0] == 0, "the error says \"%s\"", \
              t->error.message);                                                                   \
    } while (0)

#endif
