/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A join in kernels of the program's own: orders with their customers, through a map. The first
 * kernel picks the active customers and inserts them, the second looks up each order's customer and
 * adds the order to the sales of his country. Neither writes an array in between.
 */
#include "common.h"
#include "nacre/cuda/map_view.cuh"

enum { CUSTOMERS = 1000000, ORDERS = 4000000, COUNTRIES = 20, THREADS = 256 };

struct customer {
    uint32_t id;
    uint32_t country;
    uint32_t active;
};

struct order {
    uint32_t customer;
    uint64_t amount;
};

static struct data {
    customer customers[CUSTOMERS];
    order orders[ORDERS];
    uint64_t sales[COUNTRIES], unmatched;
} here;

/* Pairs of 4 + 4 bytes are inserted by kernels for every GPU, wider ones from sm_90 on. */
typedef nacre_map_view<4, 4, NACRE_ACCESS_INSERT> builder;
typedef nacre_map_view<4, 4, NACRE_ACCESS_READ> prober;

static __global__ void build(builder view, const data *there)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < CUSTOMERS && there->customers[i].active) {
        view.insert(there->customers[i].id, there->customers[i].country);
    }
}

static __global__ void join(prober view, data *there)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < ORDERS) {
        const order one = there->orders[i];
        uint32_t country;
        uint64_t *sum =
            view.find(one.customer, &country) ? &there->sales[country] : &there->unmatched;
        atomicAdd((unsigned long long *)sum, (unsigned long long)one.amount);
    }
}

/* Ids without a pattern; two of three customers are active. */
static void make_data(void)
{
    for (uint32_t i = 0; i < CUSTOMERS; i++) {
        here.customers[i] = {i * 0x9E3779B9u, i % 7 * (i % 3), i % 3 != 0};
    }
    for (uint32_t i = 0; i < ORDERS; i++) {
        const uint32_t which = (uint32_t)(i * UINT64_C(48271) % (CUSTOMERS + CUSTOMERS / 10));
        here.orders[i] = {which * 0x9E3779B9u, i % 1000}; /* some of nobody */
    }
}

/* The same sums on the host, where a customer's number is known. */
static int right(const data *answer)
{
    static uint64_t sales[COUNTRIES], unmatched;
    for (uint32_t i = 0; i < ORDERS; i++) {
        const uint32_t which = (uint32_t)(i * UINT64_C(48271) % (CUSTOMERS + CUSTOMERS / 10));
        const bool known = which < CUSTOMERS && here.customers[which].active;
        *(known ? &sales[here.customers[which].country] : &unmatched) += i % 1000;
    }
    return memcmp(sales, answer->sales, sizeof sales) == 0 && unmatched == answer->unmatched;
}

int main(void)
{
    nacre_device *device = device_opened(NACRE_BACKEND_CUDA, stdout);
    nacre_stream stream;
    nacre_map *map;
    nacre_map_config config;
    void *memory;
    uint64_t size;
    make_data();
    CHECK(nacre_stream_create(device, &stream, &error));
    CHECK(nacre_memory_allocate(device, sizeof here, NACRE_SPACE_DEVICE, &memory, &error));
    data *there = (data *)memory;
    CHECK(nacre_memory_copy(device, &here, sizeof here, there, &error, stream));
    nacre_map_config_init(&config, sizeof config);
    config.key_bytes = 4;
    config.value_bytes = 4;
    config.error = &error;
    CHECK(nacre_map_create(device, &config, &map));

    builder inserting;
    CHECK(inserting.begin(map, CUSTOMERS, &error, stream)); /* room for so many new keys */
    build<<<(CUSTOMERS + THREADS - 1) / THREADS, THREADS, 0, stream>>>(inserting, there);
    CHECK(inserting.end(map, &error, stream));

    prober looking;
    CHECK(looking.begin(map, 0, &error, stream));
    join<<<(ORDERS + THREADS - 1) / THREADS, THREADS, 0, stream>>>(looking, there);
    CHECK(looking.end(map, &error, stream));

    CHECK(nacre_map_size(map, &size, &error, stream));
    CHECK(nacre_memory_copy(device, there->sales, sizeof here.sales + sizeof here.unmatched,
                            here.sales, &error, stream));
    CHECK(nacre_stream_wait(device, stream, &error));
    printf("%llu active customers\n", (unsigned long long)size);
    for (uint32_t i = 0; i < COUNTRIES; i++) {
        if (here.sales[i] != 0) {
            printf("country %2u: %12llu\n", i, (unsigned long long)here.sales[i]);
        }
    }
    printf("no active customer: %llu\n", (unsigned long long)here.unmatched);
    if (!right(&here)) {
        printf("WRONG\n");
        return EXIT_FAILURE;
    }

    nacre_map_destroy(map);
    CHECK(nacre_memory_release(device, memory, &error));
    CHECK(nacre_stream_destroy(device, stream, &error));
    nacre_device_close(device);
    return EXIT_SUCCESS;
}
