# LATHE_ONNX_NODE_TESTS: the folder of ONNX's node tests, empty if they are not installed. lathe_onnx_node_tests(TARGET) tells it to a test.
include_guard(GLOBAL)
find_path(LATHE_ONNX_NODE_TESTS test_conv_with_autopad_same/model.onnx PATH_SUFFIXES libonnx-testdata/data/node
          HINTS /usr/share /usr/local/share)
if(NOT LATHE_ONNX_NODE_TESTS)
  message(STATUS "No ONNX node tests found, tests skip them; apt-get install libonnx-testdata")
endif()
function(lathe_onnx_node_tests target)
  target_compile_definitions(${target} PRIVATE LATHE_ONNX_NODE_TESTS="$<$<BOOL:${LATHE_ONNX_NODE_TESTS}>:${LATHE_ONNX_NODE_TESTS}>")
endfunction()
