#include "c_program.h"

#include <lathe/runtime.h>
#include <string.h>

static const char* run(LatheNetwork* network, float* input, float* output, size_t num_output) {
  LatheTensor x, y;
  if (lathe_network_num_inputs(network) != 1) return "one input expected";
  if (lathe_network_input(network, 0, &x) != LATHE_OK) return lathe_last_error();
  x.data = input;
  if (lathe_network_bind_input(network, 0, &x) != LATHE_OK) return lathe_last_error();
  if (lathe_network_run(network) != LATHE_OK) return lathe_last_error();
  if (lathe_network_output(network, 0, &y) != LATHE_OK) return lathe_last_error();
  if (y.dtype.code != LATHE_DTYPE_FLOAT || lathe_tensor_bytes(&y) != num_output * sizeof(float))
    return "another output expected";
  memcpy(output, y.data, lathe_tensor_bytes(&y));
  return NULL;
}

const char* run_network_in_c(const char* path, float* input, float* output, size_t num_output) {
  LatheNetwork* network = NULL;
  const char* error;
  if (lathe_network_load(path, 1, &network) != LATHE_OK) return lathe_last_error();
  error = run(network, input, output, num_output);
  lathe_network_free(network);
  return error;
}
