/* test_shapes_large.c - test_shapes.c with filters larger than the LLC and every width in many
 * shards.
 */
#define SHAPES_LARGE
#include "test_shapes.c"
