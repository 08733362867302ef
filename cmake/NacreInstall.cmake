# SPDX-License-Identifier: Apache-2.0
# Install rules: libraries, package config for find_package(nacre), nacre.pc. The headers are
# installed where they are listed, in include/.

include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/nacre")
install(TARGETS nacre nacre_static EXPORT nacre-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT nacre-targets NAMESPACE nacre:: DESTINATION "${config_dir}")

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/nacre-config.cmake.in"
    "${PROJECT_BINARY_DIR}/nacre-config.cmake"
    INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/nacre-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/nacre-config.cmake"
    "${PROJECT_BINARY_DIR}/nacre-config-version.cmake"
    DESTINATION "${config_dir}")

# nacre.pc finds its prefix from where it lies, so that an installed tree can be moved.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH NACRE_PC_PREFIX "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" NACRE_PC_PREFIX "${NACRE_PC_PREFIX}")
file(RELATIVE_PATH NACRE_PC_LIBDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH NACRE_PC_INCLUDEDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
set(NACRE_PC_LIBS_PRIVATE "-lpthread -lm")
if(NACRE_CUDA_FOUND)
    string(PREPEND NACRE_PC_LIBS_PRIVATE "${NACRE_CUDART_STATIC} -ldl -lrt ")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/nacre.pc.in" "${PROJECT_BINARY_DIR}/nacre.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/nacre.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
