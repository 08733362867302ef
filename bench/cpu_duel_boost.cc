// SPDX-License-Identifier: Apache-2.0
// The rival, as a program uses it: one call per key. Its hash is boost's own, with the mixing that
// it applies to integers.
#include "cpu_duel.h"

#include <boost/unordered/unordered_flat_map.hpp>

duel_times duel_boost(const duel_workload *workload)
{
    duel_times times = {};
    uint64_t count = workload->count, found = 0, sum = 0;
    boost::unordered_flat_map<uint64_t, uint64_t> map;

    duel_warm_memory(count);
    double start = duel_now();
    for (uint64_t i = 0; i < count; i++) {
        map.emplace(workload->keys[i], workload->values[i]);
    }
    times.insert = times.insert_parts = duel_now() - start;

    start = duel_now();
    for (uint64_t i = 0; i < count; i++) {
        auto place = map.find(workload->hits[i]);
        if (place != map.end()) {
            found++;
            sum += place->second;
        }
    }
    times.hit = duel_now() - start;

    uint64_t wrong = 0;
    start = duel_now();
    for (uint64_t i = 0; i < count; i++) {
        wrong += map.find(workload->misses[i]) != map.end();
    }
    times.miss = duel_now() - start;

    times.load = static_cast<double>(map.load_factor());
    times.correct =
        map.size() == count && found == count && sum == workload->value_sum && wrong == 0;
    return times;
}
