/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/options.h"

#include <string.h>

#include "lib/structs.h"

static const nacre_options defaults = {.struct_size = sizeof defaults, .mask_bits = 255};

void nacre_options_init(nacre_options *options, uint32_t struct_size)
{
    nacrei_struct_init(options, struct_size, &defaults, sizeof defaults);
}

nacre_status nacrei_options_read(nacrei_call *call, const nacre_options *given,
                                 nacre_options *complete)
{
    *complete = defaults;
    return nacrei_struct_read(call, "nacre_options", given, complete, sizeof *complete,
                              &complete->error);
}

nacre_status nacrei_options_check_algorithm(const nacrei_call *call, const char *parameter,
                                            uint32_t algorithm)
{
    return nacrei_check_range(call, parameter, algorithm, NACRE_COMPACT_STABLE,
                              "0 (auto) to 10 (stable)");
}

/* Fields that the call does not take: each has its default. */
static nacre_status check_untaken(const nacrei_call *call, const nacre_options *options,
                                  uint32_t takes)
{
    static const char null[] = "NULL, because the call cannot honour it";
    static const char zero[] = "0, because the call cannot honour it";
    const struct {
        uint32_t needs;
        const char *parameter;
        const void *pointer;
    } pointers[] = {
        {NACREI_TAKES_ELEMENTS, "options.count_device", options->count_device},
        {NACREI_TAKES_ELEMENTS, "options.mask", options->mask},
        {NACREI_TAKES_OUTCOMES, "options.outcomes", options->outcomes},
        {NACREI_TAKES_COUNTS, "options.counts", options->counts},
    };
    for (uint32_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        if ((takes & pointers[i].needs) == 0 && pointers[i].pointer != NULL) {
            return nacrei_bad_pointer(call, pointers[i].parameter, pointers[i].pointer, null);
        }
    }
    if ((takes & NACREI_TAKES_ALGORITHM) == 0) {
        NACREI_TRY(nacrei_check_range(call, "options.algorithm", options->algorithm, 0, zero));
    }
    if ((takes & NACREI_TAKES_ELEMENTS) == 0) {
        NACREI_TRY(nacrei_check_range(call, "options.mask_kind", options->mask_kind, 0, zero));
        NACREI_TRY(nacrei_check_range(call, "options.mask_offset", options->mask_offset, 0, zero));
        if (options->mask_bits != defaults.mask_bits) {
            return nacrei_bad_number(call, "options.mask_bits", options->mask_bits,
                                     "255, because the call cannot honour it");
        }
    }
    return NACRE_OK;
}

static nacre_status check_mask(const nacrei_call *call, const nacre_options *options,
                               uint64_t count)
{
    NACREI_TRY(nacrei_check_range(call, "options.mask_kind", options->mask_kind, NACRE_MASK_BYTES,
                                  "0 (none), 1 (bits), 2 (bytes)"));
    if (options->mask_bits == 0 || options->mask_bits > 255) {
        return nacrei_bad_number(call, "options.mask_bits", options->mask_bits, "1 to 255");
    }
    if (options->mask_kind == NACRE_MASK_NONE) {
        if (options->mask != NULL) {
            return nacrei_bad_pointer(call, "options.mask", options->mask,
                                      "NULL, because options.mask_kind is 0 (none)");
        }
        if (options->mask_offset != 0) {
            return nacrei_bad_number(call, "options.mask_offset", options->mask_offset,
                                     "0, because options.mask_kind is 0 (none)");
        }
        if (options->mask_bits != defaults.mask_bits) {
            return nacrei_bad_number(call, "options.mask_bits", options->mask_bits,
                                     "255, because options.mask_kind is 0 (none)");
        }
    } else if (options->mask == NULL && count > 0) {
        return nacrei_bad_pointer(call, "options.mask", NULL,
                                  "not NULL, because options.mask_kind is not 0 (none)");
    }
    NACREI_TRY(nacrei_check_range(call, "options.mask_offset", options->mask_offset,
                                  (uint64_t)1 << 62, "up to 2^62"));
    return nacrei_check_memory(call, "options.mask", options->mask, 1);
}

nacre_status nacrei_options_check(const nacrei_call *call, const nacre_options *options,
                                  uint32_t takes, uint64_t count)
{
    if ((options->flags & ~(uint32_t)NACRE_OPTION_NEVER_WAIT) != 0) {
        return nacrei_bad_number(call, "options.flags", options->flags,
                                 "0, 1 (NACRE_OPTION_NEVER_WAIT)");
    }
    NACREI_TRY(nacrei_check_reserved(call, "options.reserved", options->reserved));
    NACREI_TRY(check_untaken(call, options, takes));
    NACREI_TRY(nacrei_options_check_algorithm(call, "options.algorithm", options->algorithm));
    NACREI_TRY(check_mask(call, options, count));
    NACREI_TRY(nacrei_check_memory(call, "options.count_device", options->count_device, 8));
    NACREI_TRY(nacrei_check_memory(call, "options.outcomes", options->outcomes, 1));
    return nacrei_check_memory(call, "options.counts", options->counts, 8);
}
