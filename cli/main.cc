// lathe: tunes tensor programs, remembers the results, compiles with them.
#include "cli/lathe.h"

int main(int argc, char** argv) { return lathe::RunLathe(argc, argv); }
