/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: a map inside of the program's own CUDA kernels.
 *
 * MODEL. Between nacre_map_view_begin and nacre_map_view_end, kernels of the program's own take a
 * copy of a view as a parameter and call find, insert and the rest, one key per thread and call.
 * The class with these operations is in cuda/map_view.cuh, for nvcc; it calls the two
 * functions below, and so can any language that passes a view's bytes to a kernel.
 *
 * - ACCESS. READ: find, contains. INSERT: these, and insert, insert_or_assign, insert_or_apply,
 *   find_or_insert. ERASE: lookups, and erase. Every access may go through the slots. Below compute
 *   capability 9.0 there is no INSERT for pairs of 8 + 8, 8 + 4 and 4 + 8 bytes: such kernels do
 *   not compile, and the view is UNSUPPORTED.
 * - ROOM. `new_keys` says how many new keys the kernels may insert together. begin makes room for
 *   so many, or fails; a FIXED map gives what it has left, up to so many. Exactly as many fit: an
 *   insertion beyond reports FULL, changes nothing, and sets NACRE_FAULT_FULL. The table does not
 *   grow while a view is open.
 * - SIZE. What the kernels inserted or erased is in size, exactly, from view_end on, without a wait
 *   of the host. retrieve and lookups see keys of a view's kernels as of any earlier batch's.
 * - ORDER. A view takes part in the order of the map's calls (map.h, STREAMS) with its access: READ
 *   as find, INSERT as insert, ERASE as erase, from begin to end. Calls that must not run beside it
 *   and follow view_end wait on the device as usual. Made while the view is open they return
 *   WOULD_WAIT, nothing issued: erase, erase_if, clear, maintain, shrink, check, statistics, stable
 *   retrieval, a reserve or insertion that would have to grow the table, and an insertion that may
 *   not fit or is exclusive; beside an ERASE view every call but info and faults. A map is
 *   destroyed with no view open.
 * - CAPTURE. Both calls may be captured, with the kernels between them, in one capture. A replay
 *   takes the room that it finds, up to `new_keys`, and reports FULL beyond. It stays valid when
 *   the map grows, shrinks or is cleared later, and is ordered by the caller, against other
 *   replayed views and, where it inserts, against all insertions, those of the same graph too.
 */
#ifndef NACRE_MAP_VIEW_H
#define NACRE_MAP_VIEW_H

#include <stdint.h>

#include "nacre/export.h"
#include "nacre/map.h"
#include "nacre/status.h"
#include "nacre/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NACRE_ACCESS_READ = 0, NACRE_ACCESS_INSERT = 1, NACRE_ACCESS_ERASE = 2 };

/*
 * Begins a view: fills `view` [view_bytes], host memory that the caller copies into kernel
 * parameters, aligned to 8; view_bytes is sizeof of the class, 72 in this version. `access` is
 * NACRE_ACCESS_...; `new_keys` counts for INSERT and is 0 otherwise. key_bytes and value_bytes are
 * those that the kernels were compiled for.
 *
 * ARGUMENT: widths that are not the map's, an unknown access, new_keys for another access than
 * INSERT, view_bytes of another version. UNSUPPORTED: the map's device is the CPU, or INSERT where
 * the GPU does not have it. CAPACITY: new_keys beyond any memory, or beyond memory_limit_bytes.
 * OUT_OF_MEMORY: no memory for new_keys now; the map is as it was. WOULD_WAIT: another open view is
 * in the way, 8 views that change the map are open (in captures: one), or the stream is capturing
 * and there is no room for new_keys. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued, but waits for the map's work
 * where a WAIT map has no room for new_keys or had changes captured, and for the oldest of 8 ended
 * views that have not finished; kernels with the view follow on this stream, or are ordered after
 * it; may be captured. **Allocates** nothing, but for growth. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_view_begin(nacre_map *map, uint32_t access, uint64_t new_keys,
                                            uint32_t key_bytes, uint32_t value_bytes, void *view,
                                            uint64_t view_bytes, nacre_error *error,
                                            nacre_stream stream);

/*
 * Ends a view, whose kernels have been enqueued on this stream or are ordered before it: none may
 * use a copy of the view afterwards, replays of captured kernels excepted.
 *
 * ARGUMENT: not an open view of this map; or the view was begun in a capture and the stream is not
 * capturing (the view is ended, the graph must not be used), or the other way round (the view stays
 * open). DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued; may be captured. **Allocates**
 * nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_map_view_end(nacre_map *map, void *view, uint64_t view_bytes,
                                          nacre_error *error, nacre_stream stream);

#ifdef __cplusplus
}
#endif
#endif
