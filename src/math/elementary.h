/*
 * elementary.h - ln, exp and square roots from + - * / alone.
 *
 * Sizes are part of the promise "same keys, same bytes everywhere", and libm may differ in the last
 * bit from one system to the next. IEEE 754 fixes the four operations, so these do not. They also
 * spare the library a dependency on libm, which the browser build does not have.
 */
#ifndef NAY_ELEMENTARY_H
#define NAY_ELEMENTARY_H

#include "base/base.h"

#define NAY_LN2 0.693147180559945309417232121458

double nay__ln(double x);               /* x > 0, finite; within 3 ulp; ln(0) is -infinity */
double nay__ln1p(double x);             /* ln(1 + x), x > -1; within 2 ulp below 1e-4, else 1e-12 */
double nay__exp(double x);              /* 0 below -700 and infinity above 700 */
double nay__expm1(double x);            /* e^x - 1 without cancellation; within 3 ulp, x <= 700 */
double nay__sqrt(double x);             /* 0, or normal and finite; within 1 ulp */
double nay__ipow(double x, uint64_t n); /* x to a whole power, by squaring */

/* nay__ln_nearest: ln of a finite x > 0, rounded to the nearest double. Slow: for layouts that
 * store it. */
double nay__ln_nearest(double x);

#endif /* NAY_ELEMENTARY_H */
