/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA rows of an executable, as one Criterion test: see harness.h. */
#include "support/harness.h"

Test(cuda, every_row)
{
    char reason[320];
    uint32_t ran = 0;
    if (!test_backend_usable(NACRE_BACKEND_CUDA, reason, sizeof reason)) {
        printf("SKIPPED cuda: %s\n", reason);
        fflush(stdout);
        cr_assert(test_setting("NACRE_TEST_REQUIRE_CUDA", 0) == 0, "no CUDA device: %s", reason);
        cr_skip_test("no CUDA device: %s", reason);
    }
    uint32_t failures = test_rows_run(NACRE_BACKEND_CUDA, &ran);
    cr_assert(failures == 0, "%u rows and widths failed, see above", failures);
}
