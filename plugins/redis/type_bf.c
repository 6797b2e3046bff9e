/* type_bf.c - the data type MBbloom--. */
#include "commands_bf.h"

redis_type *bf_type;
memory_use bf_memory;
redis_type_methods bf_methods = {.version = REDIS_TYPE_METHODS_VERSION};
