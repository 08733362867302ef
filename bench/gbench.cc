/* SPDX-License-Identifier: Apache-2.0 */
/* The one C++ file of the suite: what gbench.h says, by Google Benchmark 1.6 or newer. */
#include "gbench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

struct gbench_state {
    benchmark::State *state;
    uint64_t rounds, round;      /* wanted, begun since the warm-up */
    std::vector<double> seconds; /* of each */
    std::string summary;
    bool warm;     /* the warm-up has begun */
    bool counting; /* it is over */
    bool ended;    /* skipped or failed */
    bool failed;
    std::chrono::steady_clock::time_point begun;
};

namespace
{

struct entry {
    std::string name;
    uint64_t rounds;
    gbench_function function;
    const void *argument;
};

std::vector<entry> entries;
std::string filter = ".";
size_t chosen, begun, skipped, failed;

/* Each case prints its own line as it ends, so there is nothing left to say. */
class silent : public benchmark::BenchmarkReporter
{
  public:
    bool ReportContext(const Context &) override
    {
        return true;
    }
    void ReportRuns(const std::vector<Run> &) override
    {
    }
};

double quantile(std::vector<double> values, double which)
{
    if (values.empty()) {
        return 0;
    }
    std::sort(values.begin(), values.end());
    double at = which * (double)(values.size() - 1);
    size_t below = (size_t)at, above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - (double)below) * (values[above] - values[below]);
}

void run(benchmark::State &state, const entry &entry)
{
    gbench_state own = {&state, entry.rounds, 0, {}, "", false, false, false, false, {}};
    std::printf("[%3zu/%zu] %-58s ", ++begun, chosen, entry.name.c_str());
    std::fflush(stdout);
    while (state.KeepRunning()) {
        entry.function(&own, entry.argument);
        state.SetIterationTime(gbench_median(&own));
    }
    failed += own.failed;
    skipped += own.ended && !own.failed;
    if (!own.ended) {
        double median = quantile(own.seconds, 0.5);
        double spread = quantile(own.seconds, 0.75) - quantile(own.seconds, 0.25);
        state.counters["seconds"] = median;
        state.counters["spread"] = median > 0 ? spread / median : 0;
        state.counters["rounds"] = (double)own.seconds.size();
    }
    std::printf("%s\n", own.summary.c_str());
    std::fflush(stdout);
}

void end(gbench_state *own, const std::string &text)
{
    if (!own->ended) {
        own->ended = true;
        own->summary = text;
        own->state->SkipWithError(text.c_str());
    }
}

} // namespace

void gbench_init(int *argc, char **argv)
{
    /* The filter is applied here, so that the number of cases is known beforehand. */
    static const char flag[] = "--benchmark_filter=";
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (std::strncmp(argv[i], flag, sizeof flag - 1) == 0) {
            filter = argv[i] + sizeof flag - 1;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    benchmark::Initialize(argc, argv);
}

void gbench_context(const char *name, const char *value)
{
    benchmark::AddCustomContext(name, value);
}

void gbench_add(const char *name, uint64_t rounds, gbench_function function, const void *argument)
{
    entries.push_back({name, rounds, function, argument});
}

int gbench_run(void)
{
    std::regex wanted;
    try {
        wanted.assign(filter, std::regex::extended);
    } catch (const std::regex_error &error) {
        std::fprintf(stderr, "%s is not a regular expression: %s\n", filter.c_str(), error.what());
        return 1;
    }
    for (const entry &entry : entries) {
        if (!std::regex_search(entry.name, wanted)) {
            continue;
        }
        chosen++;
        benchmark::RegisterBenchmark(entry.name.c_str(),
                                     [&entry](benchmark::State &state) { run(state, entry); })
            ->Iterations(1)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
    if (chosen == 0) {
        std::fprintf(stderr, "no case has a name that matches %s\n", filter.c_str());
        return 1;
    }
    silent reporter;
    const auto before = std::chrono::steady_clock::now();
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::Shutdown();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    std::printf("%zu cases in %.0f s: %zu failed, %zu skipped\n", chosen, took.count(), failed,
                skipped);
    return failed > 0 ? 1 : 0;
}

int gbench_next(gbench_state *state)
{
    if (state->ended) {
        return 0;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!state->warm) {
        state->warm = true;
        state->begun = now;
        return 1;
    }
    const std::chrono::duration<double> so_far = now - state->begun;
    if (!state->counting) {
        if (so_far.count() < GBENCH_WARM_SECONDS) {
            return 1;
        }
        state->counting = true;
        state->begun = now;
    } else if (state->round >= GBENCH_ROUNDS_MIN && so_far.count() > GBENCH_LONG_SECONDS) {
        return 0;
    }
    return state->round++ < state->rounds ? 1 : 0;
}

void gbench_seconds(gbench_state *state, double seconds)
{
    if (state->counting) {
        state->seconds.push_back(seconds);
    }
}

double gbench_median(const gbench_state *state)
{
    return quantile(state->seconds, 0.5);
}

void gbench_counter(gbench_state *state, const char *name, double value)
{
    state->state->counters[name] = value;
}

void gbench_summary(gbench_state *state, const char *text)
{
    if (!state->ended) {
        state->summary = text;
    }
}

void gbench_skip(gbench_state *state, const char *why)
{
    end(state, std::string("SKIPPED: ") + why);
}

void gbench_fail(gbench_state *state, const char *why)
{
    state->failed = true;
    end(state, std::string("FAILED: ") + why);
}
