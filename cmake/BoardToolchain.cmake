# Toolchain of programs for boards (deploy/board-packages): Debian's cross compilers, static libraries of LATHE_BOARD_ROOT, static programs.
# LATHE_BOARD_ARCH is Debian's name of the architecture: arm64, armhf, amd64, riscv64.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LATHE_BOARD_ARCH LATHE_BOARD_ROOT)
set(triple_arm64 aarch64-linux-gnu)
set(triple_armhf arm-linux-gnueabihf)
set(triple_amd64 x86_64-linux-gnu)
set(triple_riscv64 riscv64-linux-gnu)
set(triple ${triple_${LATHE_BOARD_ARCH}})
if(NOT triple)
  message(FATAL_ERROR "board architecture \"${LATHE_BOARD_ARCH}\": arm64, armhf, amd64 or riscv64 required")
endif()
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${triple})
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_FIND_ROOT_PATH ${LATHE_BOARD_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
# The same bytes from any folder; pages of up to 64 KiB; no more of libraries than is called.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(flags "-ffunction-sections -fdata-sections -ffile-prefix-map=${source}=. -ffile-prefix-map=${LATHE_BOARD_ROOT}=. -isystem ${LATHE_BOARD_ROOT}/usr/include/${triple}")
set(link "-static -Wl,--gc-sections,--build-id=none,-z,max-page-size=65536,-z,noexecstack,-s")
if(LATHE_BOARD_ARCH MATCHES "^(arm64|amd64)$")  # Debian's C library has what a static-pie begins with for these only.
  string(REPLACE "-static " "-static-pie " link "${link}")
endif()
if(LATHE_BOARD_ARCH STREQUAL armhf)  # Debian's armhf is ARMv7; VFPv4 is what measuring its peak needs. Files in 64 bits; time in 32, as
  # in the libcrypto.a of Debian 12, which takes it by value.
  string(APPEND flags " -march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard -D_FILE_OFFSET_BITS=64")
endif()
if(LATHE_BOARD_ARCH STREQUAL riscv64)  # It has no instructions for atomic bytes.
  set(CMAKE_CXX_STANDARD_LIBRARIES "-latomic")
endif()
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${link}")
