/* diag.c - fills a nay_diag. */
#include "base/base.h"

void nay__diag_set(nay_diag *diag, const char *what, uint64_t offset) {
  *diag = (nay_diag){.what = what, .offset = offset};
}
