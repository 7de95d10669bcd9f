/* A shared object, but not an artifact. */
int nothing(void) { return 0; }
