/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls as NVTX ranges. The headers load a profiler's library where one is attached. */
#include <nvtx3/nvToolsExt.h>

#include "lib/check.h"

void nacrei_range_begin(const nacrei_call *call)
{
    nvtxRangePushA(call->name);
}

void nacrei_range_end(nacrei_call *call)
{
    (void)call;
    nvtxRangePop();
}
