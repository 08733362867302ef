#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: the example with kernels of its own gets its sums right. Method: it compares them itself;
# skipped where there is no CUDA device.
#
#   test_device_view.sh PROGRAM
status=0
output=$("$1" 2>&1) || status=$?
echo "$output"
case $output in
    *NACRE_ERROR_NO_DEVICE*) [ -n "${NACRE_TEST_REQUIRE_CUDA:-}" ] || exit 77 ;;
esac
exit $status
