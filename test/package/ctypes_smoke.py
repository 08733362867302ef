# SPDX-License-Identifier: Apache-2.0
"""Goal: the interface is usable from Python's ctypes with nothing but the shared library.

Method: the structs are declared here once more, their sizes compared with the "name size" lines of
struct_sizes.c, and a map is opened, created, filled, searched and destroyed.

Usage: ctypes_smoke.py LIBRARY < SIZES
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_double, c_int32, c_uint32, c_uint64, c_void_p, sizeof

BACKEND_CPU = 1
OUTCOME_FOUND = 1
OUTCOME_MISSING = 16


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Error = struct(
    "nacre_error",
    ("struct_size", c_uint32),
    ("status", c_int32),
    ("system_code", c_int32),
    ("reserved", c_int32),
    ("offset", c_uint64),
    ("message", c_char * 256),
)
Counts = struct(
    "nacre_counts", ("done", c_uint64), ("refused", c_uint64), ("skipped", c_uint64)
)
Options = struct(
    "nacre_options",
    ("struct_size", c_uint32),
    ("flags", c_uint32),
    ("count_device", c_void_p),
    ("mask", c_void_p),
    ("mask_offset", c_uint64),
    ("mask_kind", c_uint32),
    ("algorithm", c_uint32),
    ("outcomes", c_void_p),
    ("counts", POINTER(Counts)),
    ("missing_value", c_void_p),
    ("error", POINTER(Error)),
    ("mask_bits", c_uint32),
    ("reserved", c_uint32),
)
Allocator = struct(
    "nacre_allocator", ("user", c_void_p), ("allocate", c_void_p), ("release", c_void_p)
)
DeviceConfig = struct(
    "nacre_device_config",
    ("struct_size", c_uint32),
    ("backend", c_uint32),
    ("ordinal", c_int32),
    ("threads", c_uint32),
    ("checks", c_uint32),
    ("reserved", c_uint32),
    ("allocator", Allocator),
    ("log", c_void_p),
    ("log_user", c_void_p),
    ("error", POINTER(Error)),
)
MapConfig = struct(
    "nacre_map_config",
    ("struct_size", c_uint32),
    ("key_bytes", c_uint32),
    ("value_bytes", c_uint32),
    ("growth", c_uint32),
    ("capacity_keys", c_uint64),
    ("memory_limit_bytes", c_uint64),
    ("seed", c_uint64),
    ("load_max", c_double),
    ("order", c_uint32),
    ("reserved", c_uint32),
    ("error", POINTER(Error)),
)
MapInfo = struct(
    "nacre_map_info",
    ("struct_size", c_uint32),
    ("key_bytes", c_uint32),
    ("value_bytes", c_uint32),
    ("growth", c_uint32),
    ("capacity_keys", c_uint64),
    ("capacity_slots", c_uint64),
    ("submaps", c_uint64),
    ("memory_bytes", c_uint64),
    ("memory_peak_bytes", c_uint64),
    ("size_last_known", c_uint64),
    ("load", c_double),
    ("growths", c_uint64),
    ("faults", c_uint32),
    ("reserved", c_uint32),
    ("layout", c_uint64),
    ("walk_slots", c_uint64),
)
MapStatistics = struct(
    "nacre_map_statistics",
    ("struct_size", c_uint32),
    ("probe_length_max", c_uint32),
    ("size", c_uint64),
    ("probe_lengths", c_uint64 * 16),
    ("stash_keys", c_uint64),
    ("probe_length_mean_hit", c_double),
    ("probe_length_mean_missing", c_double),
)
STRUCTS = [Error, Counts, Options, Allocator, DeviceConfig, MapConfig, MapInfo, MapStatistics]


def check_sizes(lines):
    told = dict(line.split() for line in lines)
    here = {cls.__name__: str(sizeof(cls)) for cls in STRUCTS}
    assert told == here, f"struct sizes: C says {told}, Python says {here}"


def prototypes(nacre):
    for name, arguments in {
        "nacre_error_init": [c_void_p, c_uint32],
        "nacre_device_config_init": [c_void_p, c_uint32],
        "nacre_map_config_init": [c_void_p, c_uint32],
        "nacre_options_init": [c_void_p, c_uint32],
        "nacre_map_destroy": [c_void_p],
        "nacre_device_close": [c_void_p],
    }.items():
        getattr(nacre, name).argtypes = arguments
        getattr(nacre, name).restype = None
    for name, arguments in {
        "nacre_device_open": [c_void_p, c_void_p],
        "nacre_map_create": [c_void_p, c_void_p, c_void_p],
        "nacre_map_insert": [c_void_p, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p],
        "nacre_map_find": [c_void_p, c_void_p, c_uint64, c_void_p, c_void_p, c_void_p],
        "nacre_map_size": [c_void_p, c_void_p, c_void_p, c_void_p],
    }.items():
        getattr(nacre, name).argtypes = arguments
        getattr(nacre, name).restype = c_int32


def initialized(init, cls, error=None):
    value = cls()
    init(byref(value), sizeof(value))
    if error is not None:
        value.error = ctypes.pointer(error)
    return value


def use_map(nacre):
    error = initialized(nacre.nacre_error_init, Error)

    def call(function, *arguments):
        status = function(*arguments)
        assert status == 0, f"{function.__name__}: status {status}: {error.message.decode()}"

    device_config = initialized(nacre.nacre_device_config_init, DeviceConfig, error)
    device_config.backend = BACKEND_CPU
    device = c_void_p()
    call(nacre.nacre_device_open, byref(device_config), byref(device))

    map_config = initialized(nacre.nacre_map_config_init, MapConfig, error)
    assert (map_config.key_bytes, map_config.value_bytes) == (8, 8)
    table = c_void_p()
    call(nacre.nacre_map_create, device, byref(map_config), byref(table))

    keys = (c_uint64 * 3)(0, 2**64 - 1, 42)
    values = (c_uint64 * 3)(1000, 2000, 3000)
    options = initialized(nacre.nacre_options_init, Options, error)
    call(nacre.nacre_map_insert, table, keys, values, 3, byref(options), None)

    lookups = (c_uint64 * 4)(42, 43, 2**64 - 1, 0)
    found = (c_uint64 * 4)()
    outcomes = (ctypes.c_uint8 * 4)()
    missing = c_uint64(7)
    counts = Counts()
    options.outcomes = ctypes.addressof(outcomes)
    options.missing_value = ctypes.addressof(missing)
    options.counts = ctypes.pointer(counts)
    call(nacre.nacre_map_find, table, lookups, 4, found, byref(options), None)
    assert list(found) == [3000, 7, 2000, 1000], list(found)
    assert list(outcomes) == [OUTCOME_FOUND, OUTCOME_MISSING, OUTCOME_FOUND, OUTCOME_FOUND]
    assert (counts.done, counts.refused, counts.skipped) == (3, 0, 0)

    size = c_uint64()
    call(nacre.nacre_map_size, table, byref(size), byref(error), None)
    assert size.value == 3, size.value

    nacre.nacre_map_destroy(table)
    nacre.nacre_device_close(device)


def main():
    nacre = ctypes.CDLL(sys.argv[1])
    check_sizes(sys.stdin)
    prototypes(nacre)
    use_map(nacre)
    print("OK")


if __name__ == "__main__":
    main()
