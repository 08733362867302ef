/* SPDX-License-Identifier: Apache-2.0 */
/* The launchers of each width, put into one table. */
#include "device/kernels_internal.cuh"

template <typename Width>
static cudaError_t prepare(const nacrei_gpu *gpu, nacrei_code *code)
{
    cudaError_t error = nacrei_apply_prepare<Width>(code);
    cudaError_t (*const each[])(void) = {nacrei_clear_prepare,
                                         nacrei_view_prepare,
                                         nacrei_insert_prepare<Width>,
                                         nacrei_lookup_prepare<Width>,
                                         nacrei_erase_prepare<Width>,
                                         nacrei_retrieve_prepare<Width>,
                                         nacrei_partition_prepare<Width>,
                                         nacrei_erase_if_prepare<Width>,
                                         nacrei_match_prepare<Width>,
                                         nacrei_inspect_prepare<Width>};
    for (unsigned i = 0; i < sizeof each / sizeof each[0] && error == cudaSuccess; i++) {
        error = each[i]();
    }
    return error == cudaSuccess ? nacrei_grow_prepare<Width>(gpu) : error;
}

template <typename Width>
static constexpr nacrei_map_kernels table_of()
{
    return nacrei_map_kernels{prepare<Width>,
                              nacrei_insert<Width>,
                              nacrei_apply<Width>,
                              nacrei_lookup<Width>,
                              nacrei_probe_batch<Width>,
                              nacrei_erase<Width>,
                              nacrei_partition_batch<Width>,
                              nacrei_split<Width>,
                              nacrei_end_growth<Width>,
                              nacrei_fullest_pair<Width>,
                              nacrei_merge<Width>,
                              nacrei_maintain<Width>,
                              nacrei_clear,
                              nacrei_retrieve<Width>,
                              nacrei_erase_if<Width>,
                              nacrei_match<Width>,
                              nacrei_inspect<Width>};
}

#if NACRE_WIDTHS_8X8
#define NACREI_TABLE_8X8 table_of<nacrei_width<8, 8>>()
#else
#define NACREI_TABLE_8X8 \
    {                    \
    }
#endif
#if NACRE_WIDTHS_8X4
#define NACREI_TABLE_8X4 table_of<nacrei_width<8, 4>>()
#else
#define NACREI_TABLE_8X4 \
    {                    \
    }
#endif
#if NACRE_WIDTHS_8X0
#define NACREI_TABLE_8X0 table_of<nacrei_width<8, 0>>()
#else
#define NACREI_TABLE_8X0 \
    {                    \
    }
#endif
#if NACRE_WIDTHS_4X8
#define NACREI_TABLE_4X8 table_of<nacrei_width<4, 8>>()
#else
#define NACREI_TABLE_4X8 \
    {                    \
    }
#endif
#if NACRE_WIDTHS_4X4
#define NACREI_TABLE_4X4 table_of<nacrei_width<4, 4>>()
#else
#define NACREI_TABLE_4X4 \
    {                    \
    }
#endif
#if NACRE_WIDTHS_4X0
#define NACREI_TABLE_4X0 table_of<nacrei_width<4, 0>>()
#else
#define NACREI_TABLE_4X0 \
    {                    \
    }
#endif

extern "C" const nacrei_map_kernels nacrei_map_kernels_of[NACREI_WIDTHS_COUNT] = {
    NACREI_TABLE_8X8, NACREI_TABLE_8X4, NACREI_TABLE_8X0,
    NACREI_TABLE_4X8, NACREI_TABLE_4X4, NACREI_TABLE_4X0};
