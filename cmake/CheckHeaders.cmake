# Target check_headers: compiles every header by itself, without the precompiled one, so that each names what it uses. A step of
# deploy/test, not part of `all`: it takes some minutes the first time.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include/*.h ${CMAKE_SOURCE_DIR}/support/*.h ${CMAKE_SOURCE_DIR}/runtime/*.h ${CMAKE_SOURCE_DIR}/runner/*.h
     ${CMAKE_SOURCE_DIR}/compiler/*.h ${CMAKE_SOURCE_DIR}/tracker/*.h ${CMAKE_SOURCE_DIR}/rpc/*.h ${CMAKE_SOURCE_DIR}/tuner/*.h
     ${CMAKE_SOURCE_DIR}/cli/*.h ${CMAKE_SOURCE_DIR}/deploy/*.h)
set(sources)
foreach(header IN LISTS headers)
  set(source ${CMAKE_BINARY_DIR}/check_headers/${header}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()
add_library(check_headers OBJECT EXCLUDE_FROM_ALL ${sources})
target_include_directories(check_headers PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(check_headers SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_options(check_headers PRIVATE -O0 -g0)
target_link_libraries(check_headers PRIVATE lathe_cli lathe_codegen_llvm lathe_demo lathe_proto_grpc)
