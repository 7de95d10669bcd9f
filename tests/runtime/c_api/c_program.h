/* What a program in C does with a network. */
#ifndef LATHE_TESTS_C_PROGRAM_H_
#define LATHE_TESTS_C_PROGRAM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the network of the file on one input, and writes its first output to `output` (room for `num_output` floats).
 * Returns NULL, or what went wrong. */
const char* run_network_in_c(const char* path, float* input, float* output, size_t num_output);

#ifdef __cplusplus
}
#endif

#endif
