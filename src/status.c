/* status.c - the names and texts of nay_status, and the version. */
#include "base/base.h"

#define STATUS_STR2(x) #x
#define STATUS_STR(x) STATUS_STR2(x)

const char *nay_version(void) {
  return STATUS_STR(NAY_VERSION_MAJOR) "." STATUS_STR(NAY_VERSION_MINOR) "." STATUS_STR(
      NAY_VERSION_PATCH);
}

const char *nay_status_text(nay_status status) {
  switch (status) {
#define X(name, value, text) \
  case NAY_##name: return text;
    NAY_STATUS_MAP(X)
#undef X
  }
  return "unknown status";
}

const char *nay_status_name(nay_status status) {
  switch (status) {
#define X(name, value, text) \
  case NAY_##name: return "NAY_" #name;
    NAY_STATUS_MAP(X)
#undef X
  }
  return NULL;
}
