/* plan_layouts.h - other systems' layouts for a number of keys: --format of plan, bench and plot.
 */
#ifndef NAY_PLAN_LAYOUTS_H
#define NAY_PLAN_LAYOUTS_H

#include "options.h"

/* layouts_params: what the sizing options ask of a layout; exits when one is for families alone. */
#define LAYOUTS_EXCLUDE_KINDS "-t and --format are mutually exclusive: a layout has its own family"
nay_params layouts_params(const size_options *size);

#endif /* NAY_PLAN_LAYOUTS_H */
