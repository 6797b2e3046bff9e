/* commands_bf.h - what the commands BF.* and their data type know of each other. */
#ifndef NAY_REDIS_COMMANDS_BF_H
#define NAY_REDIS_COMMANDS_BF_H

#include "module.h"

/* Set when the type MBbloom-- is registered. */
extern redis_type *bf_type;
extern redis_type_methods bf_methods;

/* bf_memory: what all values of the type hold. */
extern memory_use bf_memory;

#endif /* NAY_REDIS_COMMANDS_BF_H */
