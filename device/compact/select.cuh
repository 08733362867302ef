/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device select: cub::DeviceSelect over the elements of a source, read one by one, written within
 * the capacity. CUB brings kernels and temporary memory of its own.
 */
#ifndef NACRE_DEVICE_COMPACT_SELECT_CUH
#define NACRE_DEVICE_COMPACT_SELECT_CUH

#include <cub/device/device_select.cuh>

#include "device/compact/tile.cuh"

namespace nacrei_select
{

template <typename Source>
struct element {
    typename Source::first_type first;
    typename Source::second_type second;
    bool kept;
};

template <typename Source>
struct input {
    typedef ptrdiff_t difference_type;
    typedef element<Source> value_type;
    typedef element<Source> *pointer;
    typedef element<Source> reference;
    typedef std::random_access_iterator_tag iterator_category;

    typename Source::parameters from;
    uint64_t at;

    __device__ element<Source> operator[](ptrdiff_t i) const
    {
        element<Source> result{};
        result.kept = Source::element(from, at + (uint64_t)i, &result.first, &result.second);
        return result;
    }
    __device__ element<Source> operator*() const
    {
        return (*this)[0];
    }
    __host__ __device__ input operator+(ptrdiff_t i) const
    {
        return input{from, at + (uint64_t)i};
    }
};

template <typename Source>
struct place {
    nacrei_target target;
    uint64_t at;

    __device__ const place &operator=(const element<Source> &element) const
    {
        if (at < target.capacity) {
            if (target.first != nullptr) {
                *((typename Source::first_type *)target.first + at) = element.first;
            }
            if (Source::has_second && target.second != nullptr) {
                *((typename Source::second_type *)target.second + at) = element.second;
            }
        }
        return *this;
    }
};

template <typename Source>
struct output {
    typedef ptrdiff_t difference_type;
    typedef element<Source> value_type;
    typedef void pointer;
    typedef place<Source> reference;
    typedef std::random_access_iterator_tag iterator_category;

    nacrei_target target;
    uint64_t at;

    __device__ place<Source> operator[](ptrdiff_t i) const
    {
        return place<Source>{target, at + (uint64_t)i};
    }
    __device__ place<Source> operator*() const
    {
        return (*this)[0];
    }
    __host__ __device__ output operator+(ptrdiff_t i) const
    {
        return output{target, at + (uint64_t)i};
    }
};

struct is_kept {
    template <typename Element>
    __device__ bool operator()(const Element &element) const
    {
        return element.kept;
    }
};

} // namespace nacrei_select

template <typename Source>
static cudaError_t nacrei_device_select(const typename Source::parameters &from, uint64_t count,
                                        const nacrei_target &target,
                                        const nacrei_compact_launch *launch)
{
    size_t bytes = launch->temporary != nullptr ? (size_t)*launch->temporary_bytes : 0;
    const nacrei_select::input<Source> in{from, 0};
    const nacrei_select::output<Source> out{target, 0};
    const cudaError_t error =
        nacrei_wrapped::cub::DeviceSelect::If(launch->temporary, bytes, in, out, target.needed,
                                              (int)count, nacrei_select::is_kept{}, launch->stream);
    *launch->temporary_bytes = bytes;
    return error;
}

#endif
