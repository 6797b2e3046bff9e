// inline_probes.cpp - the probes from C++.
#include "inline_probes.c"
