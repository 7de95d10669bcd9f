# What runs on boards, and nothing else: lathe-runner, and lathe-device where the libraries that it needs are in LATHE_BOARD_ROOT. Included instead
# of the rest of the tree with -DLATHE_BOARD=ON (deploy/board-packages).
add_compile_definitions(LATHE_STATIC)
foreach(folder runtime runner)
  add_subdirectory(${folder})
endforeach()
if(LATHE_BOARD_ARCH STREQUAL riscv64)  # Debian 12 has a compiler for it and no libraries.
  return()
endif()
add_library(fmt::fmt INTERFACE IMPORTED)  # Debian has no static library of it.
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_include_directories(fmt::fmt SYSTEM INTERFACE ${LATHE_BOARD_ROOT}/usr/include)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)
find_program(Protobuf_PROTOC_EXECUTABLE protoc REQUIRED)
foreach(folder support proto rpc)
  add_subdirectory(${folder})
endforeach()
