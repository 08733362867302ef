/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: the host's part. A view that changes the map has counters of its own in device memory, and
 * ends as a batch with a number, which tells what its kernels did. While it is open its new keys
 * count as elements in flight, so that insertions beside it know their room.
 *
 * A view in a capture finds its room at the replay. All such views of a map share one set of
 * counters: a capture outlives everything the host knows, and replays are the caller's to order.
 */
#include <string.h>

#include "device/call.h"
#include "device/map.h"

static const uint32_t class_of_access[] = {
    [NACRE_ACCESS_READ] = NACREI_CLASS_READ,
    [NACRE_ACCESS_INSERT] = NACREI_CLASS_INSERT,
    [NACRE_ACCESS_ERASE] = NACREI_CLASS_EXCLUSIVE,
};

uint32_t nacrei_map_views_open(const nacrei_cuda_map *map)
{
    uint32_t open = 0;
    for (uint32_t c = 0; c < NACREI_CLASSES; c++) {
        open += map->views_open[c];
    }
    return open;
}

/*
 * Room for `new_keys`. *alone: the host does not know that it is there; the device will give what
 * it has, and is asked when nothing else runs.
 */
static nacre_status make_room(nacrei_map_call *self, uint64_t new_keys, uint32_t *alone)
{
    nacrei_cuda_map *map = self->map;
    const uint32_t growth = map->head.config.growth;
    nacre_status status = NACRE_OK;
    uint32_t refused = 0;
    nacrei_map_retire(map);
    *alone = map->replays && growth != NACRE_GROWTH_WAIT;
    if (growth == NACRE_GROWTH_FIXED) {
        *alone |= new_keys > nacrei_map_room(map);
        return NACRE_OK;
    }
    if (self->capturing) {
        if (new_keys <= nacrei_map_room(map)) {
            return NACRE_OK;
        }
        return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                           "%s: new_keys is %llu; allowed: up to %llu, for which there is room, "
                           "in a capture",
                           self->call, (unsigned long long)new_keys,
                           (unsigned long long)nacrei_map_room(map));
    }
    if (growth == NACRE_GROWTH_WAIT && (map->replays || new_keys > nacrei_map_room(map))) {
        NACREI_TRY(nacrei_map_settle(self, 0));
        if (map->replays) {
            NACREI_TRY(nacrei_map_size_read(self, &map->size_finished));
            map->pinned->hints.size = map->size_finished; /* exact now */
        }
    }
    if (new_keys > nacrei_map_room(map)) {
        const uint64_t keys = nacrei_map_size_known(map) + map->inserting + new_keys;
        /* All or nothing: the memory comes first. */
        NACREI_TRY(nacrei_map_back_submaps(
            self, "new_keys", new_keys,
            nacrei_table_submaps(keys, map->submap_slots, map->head.config.load_max)));
        NACREI_TRY(nacrei_map_grow(self, keys, &refused));
        if (refused || new_keys > nacrei_map_room(map)) {
            status = nacrei_fail(self->error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                                 "%s: new_keys is %llu; memory for them was refused, there is "
                                 "room for %llu",
                                 self->call, (unsigned long long)new_keys,
                                 (unsigned long long)nacrei_map_room(map));
        }
    }
cleanup:
    return status;
}

/* Counters that no view uses, by *number. Waits only where all belong to views just ended. */
static nacre_status find_counts(nacrei_map_call *self, uint32_t *number)
{
    nacrei_cuda_map *map = self->map;
    uint32_t oldest = NACREI_VIEWS + 1;
    *number = NACREI_VIEWS;
    if (self->capturing) {
        if (!map->views[NACREI_VIEWS].open) {
            return NACRE_OK;
        }
        return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                           "%s: another view that changes the map is open in a capture; allowed: "
                           "after nacre_map_view_end",
                           self->call);
    }
    nacrei_map_retire(map);
    for (uint32_t i = 0; i < NACREI_VIEWS; i++) {
        if (!map->views[i].open &&
            (oldest > NACREI_VIEWS || map->views[i].ended < map->views[oldest].ended)) {
            oldest = i;
        }
    }
    if (oldest > NACREI_VIEWS) {
        return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                           "%s: %d views that change the map are open; allowed: fewer", self->call,
                           NACREI_VIEWS);
    }
    *number = oldest;
    return map->views[oldest].ended <= map->retired
               ? NACRE_OK
               : nacrei_map_settle(self, map->issued - map->views[oldest].ended);
}

nacre_status nacrei_cuda_map_view_begin(nacre_map *head, uint32_t access, uint64_t new_keys,
                                        nacrei_view *view, nacre_error *error, nacre_stream stream)
{
    static const char call[] = "nacre_map_view_begin";
    const uint32_t class_of = class_of_access[access];
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, stream);
    nacrei_cuda_device *device = self.device;
    nacrei_cuda_map *map = self.map;
    uint32_t number = 0, alone = 0;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    if (access == NACRE_ACCESS_INSERT && map->code.two_step) {
        status = nacrei_fail(
            error, NACRE_ERROR_UNSUPPORTED, 0,
            "%s: access is INSERT; allowed: READ, ERASE for pairs of %u + %u bytes in code for "
            "GPUs below compute capability 9.0, which claims slots in two steps",
            call, head->config.key_bytes, head->config.value_bytes);
        goto cleanup;
    }
    if (access == NACRE_ACCESS_INSERT) {
        NACREI_TRY(make_room(&self, new_keys, &alone));
    }
    if (access != NACRE_ACCESS_READ) {
        NACREI_TRY(find_counts(&self, &number));
    }
    NACREI_TRY(nacrei_map_order_begin(&self, alone ? NACREI_CLASS_EXCLUSIVE : class_of));
    if (access == NACRE_ACCESS_INSERT) {
        NACREI_CUDA(
            nacrei_view_begin(&map->table, &map->block->views[number], new_keys, self.stream));
    }
    memset(view, 0, sizeof *view);
    view->table = map->table;
    view->table.submap_count = self.capturing ? 0 : map->submap_count;
    view->access = access;
    view->captured = self.capturing;
    view->open = 1;
    if (access != NACRE_ACCESS_READ) {
        view->counts = &map->block->views[number];
        view->number = number;
        map->views[number].open = 1;
        map->views[number].new_keys = new_keys;
        map->replays |= self.capturing;
    }
    if (!self.capturing) { /* the order within a capture is the capture's own */
        map->views_open[class_of]++;
        map->inserting += new_keys;
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}

/* The end of a view that changes the map: a batch that says what it did. */
static nacre_status end_batch(nacrei_map_call *self, const nacrei_view *view, uint32_t class_of)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    const uint32_t number = view->number;
    nacrei_elements elements;
    nacre_status status;
    uint32_t numbered = 0;
    memset(&elements, 0, sizeof elements);
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_TRY(nacrei_map_number_batch(self, &elements, map->views[number].new_keys));
    numbered = 1;
    NACREI_CUDA(nacrei_view_end(&map->table, &map->block->views[number], &elements,
                                view->access == NACRE_ACCESS_ERASE ? -1 : 1, self->stream));
    numbered = 0;
    map->views[number].ended = map->issued;
    NACREI_TRY(nacrei_map_order_end(self, class_of));
    status = nacrei_map_maintain_worn(self);
cleanup:
    if (numbered) {
        nacrei_map_forget_batch(self);
    }
    return status;
}

/* The view is this map's and open, and ends where it began: in a capture, or outside. */
static nacre_status check_open(const nacrei_map_call *self, nacrei_view *view)
{
    nacrei_cuda_map *map = self->map;
    const uint32_t changes = view->access != NACRE_ACCESS_READ;
    if (view->open != 1 || view->table.control != map->table.control ||
        (changes && !map->views[view->number].open) ||
        (!view->captured && map->views_open[class_of_access[view->access]] == 0)) {
        return nacrei_fail(self->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: view is not open; allowed: one that nacre_map_view_begin has "
                           "begun on this map",
                           self->call);
    }
    if (view->captured != self->capturing) {
        if (view->captured) {
            view->open = 0;
            map->views[view->number].open &= !changes;
        }
        return nacrei_fail(self->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: view was begun %s a capture and the stream is %scapturing; "
                           "allowed: both in one capture, or neither",
                           self->call, view->captured ? "in" : "outside of",
                           self->capturing ? "" : "not ");
    }
    return NACRE_OK;
}

nacre_status nacrei_cuda_map_view_end(nacre_map *head, nacrei_view *view, nacre_error *error,
                                      nacre_stream stream)
{
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, "nacre_map_view_end", error, stream);
    nacrei_cuda_map *map = self.map;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(check_open(&self, view));
    const uint32_t class_of = class_of_access[view->access];
    view->open = 0;
    if (!view->captured) {
        map->views_open[class_of]--;
    }
    if (view->access != NACRE_ACCESS_READ) {
        map->views[view->number].open = 0;
        map->inserting -= view->captured ? 0 : map->views[view->number].new_keys;
        status = end_batch(&self, view, class_of);
    } else {
        NACREI_TRY(nacrei_map_order_begin(&self, class_of));
        status = nacrei_map_order_end(&self, class_of);
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
