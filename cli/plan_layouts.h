/* plan_layouts.h - nay plan --format: other systems' layouts for a number of keys. */
#ifndef NAY_PLAN_LAYOUTS_H
#define NAY_PLAN_LAYOUTS_H

#include "options.h"

/* plan_layouts: the layouts of --format, in a table or as JSON; returns the exit status. */
int plan_layouts(const options *o);

/* layouts_params: what the sizing options ask of a layout; exits when one is for families alone. */
nay_params layouts_params(const options *o);

#endif /* NAY_PLAN_LAYOUTS_H */
