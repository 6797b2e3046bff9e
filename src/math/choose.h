/* choose.h - which family to take when the user does not say. */
#ifndef NAY_CHOOSE_H
#define NAY_CHOOSE_H

#include "base/base.h"

/* nay__choose: the kind for params whose kind is NAY_AUTO, among those that take adds. */
nay_kind nay__choose(const nay_params *params);

#endif /* NAY_CHOOSE_H */
