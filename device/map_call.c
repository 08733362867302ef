/* SPDX-License-Identifier: Apache-2.0 */
/* What every call on a map begins and ends with: lock, device, and order between streams. */
#include "device/call.h"
#include "device/map.h"

nacre_status nacrei_map_call_begin(nacrei_map_call *self, nacre_map *map, const char *call,
                                   nacre_error *error, nacre_stream stream)
{
    nacrei_cuda_device *device = (nacrei_cuda_device *)map->device;
    nacre_status status;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    self->device = device;
    self->map = (nacrei_cuda_map *)map;
    self->call = call;
    self->error = error;
    self->stream = stream;
    self->capturing = 0;
    self->counts = NULL;
    self->left_out = 0;
    pthread_mutex_lock(&self->map->lock);
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &self->current));
    NACREI_CUDA(cudaStreamIsCapturing(stream, &capture));
    self->capturing = capture != cudaStreamCaptureStatusNone;
cleanup:
    return status;
}

void nacrei_map_call_end(nacrei_map_call *self)
{
    nacrei_map_show(self->map);
    nacrei_cuda_leave(&self->current);
    pthread_mutex_unlock(&self->map->lock);
}

nacrei_table nacrei_map_table_of(const nacrei_map_call *self)
{
    nacrei_table table = self->map->table;
    table.submap_count = self->capturing ? 0 : self->map->submap_count;
    return table;
}

/* An open view has left no event yet that others could wait for. */
static nacre_status check_views(const nacrei_map_call *self, uint32_t class_of)
{
    for (uint32_t c = 0; c < NACREI_CLASSES; c++) {
        if (self->map->views_open[c] != 0 && nacrei_order_conflicts(c, class_of)) {
            return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                               "%s: a view of the map is open beside which this cannot run; "
                               "allowed: after nacre_map_view_end",
                               self->call);
        }
    }
    return NACRE_OK;
}

nacre_status nacrei_map_order_begin(nacrei_map_call *self, uint32_t class_of)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    if (self->capturing) {
        return NACRE_OK;
    }
    NACREI_TRY(check_views(self, class_of));
    NACREI_CUDA(nacrei_order_stream_of(&self->map->order, self->stream, &self->own));
    if (self->map->head.config.order == NACRE_ORDER_LIBRARY) {
        NACREI_CUDA(nacrei_order_begin(&self->map->order, self->own, self->stream, class_of));
    }
cleanup:
    return status;
}

nacre_status nacrei_map_order_end(nacrei_map_call *self, uint32_t class_of)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    /* With the caller's order too: destroy waits for the events. */
    if (!self->capturing) {
        NACREI_CUDA(nacrei_order_end(&self->map->order, self->own, self->stream, class_of,
                                     self->map->head.config.order == NACRE_ORDER_LIBRARY));
    }
cleanup:
    return status;
}
