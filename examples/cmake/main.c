/* Prints what the network says of a picture of cosines: the one in this program, or that of the file named. */
#include <math.h>
#include <stdio.h>

#include "small.h"

static int run(LatheNetwork* network) {
  static float picture[3 * 8 * 8];
  LatheTensor x, y;
  size_t i;
  for (i = 0; i < sizeof(picture) / sizeof(picture[0]); ++i) picture[i] = (float)cos(0.3 * (double)i);
  if (lathe_network_input(network, 0, &x) != LATHE_OK) return 1;
  x.data = picture;
  if (lathe_network_bind_input(network, 0, &x) != LATHE_OK) return 1;
  if (lathe_network_run(network) != LATHE_OK) return 1;
  if (lathe_network_output(network, 0, &y) != LATHE_OK) return 1;
  for (i = 0; i < lathe_tensor_bytes(&y) / sizeof(float); ++i) printf("%.9g\n", (double)((const float*)y.data)[i]);
  return 0;
}

int main(int argc, char** argv) {
  LatheNetwork* network = NULL;
  int failed = (argc > 1 ? lathe_network_load(argv[1], 1, &network) : small_load(1, &network)) != LATHE_OK;
  failed = failed || run(network);
  if (failed) fprintf(stderr, "%s\n", lathe_last_error());
  lathe_network_free(network);
  return failed;
}
