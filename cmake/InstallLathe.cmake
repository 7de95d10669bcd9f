# `cmake --install build/release --prefix P`: the programs, the runtime and client libraries with their headers, and find_package(Lathe). What is installed may be
# moved, for no path of it is written anywhere.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS lathe lathe-builder lathe-runner lathe-evaluate lathe-search lathe-device lathe_runtime_c lathe_client_shared EXPORT LatheTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_SOURCE_DIR}/runtime/kernel_abi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lathe)
install(EXPORT LatheTargets NAMESPACE Lathe:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/LatheConfig.cmake.in ${CMAKE_BINARY_DIR}/package/LatheConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/LatheConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/LatheConfig.cmake ${CMAKE_BINARY_DIR}/package/LatheConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/package/LatheAddModule.cmake ${CMAKE_CURRENT_LIST_DIR}/package/module.c.in
              ${CMAKE_CURRENT_LIST_DIR}/package/module.h.in
        DESTINATION ${package_dir})
