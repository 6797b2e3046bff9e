/* descriptors.c - see descriptors.h. */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static bool descriptors_closed[3];

/*
 * /dev/null, opened the wrong way round: reading standard input and writing standard output fail
 * with EBADF, as they do when these are closed. Messages go nowhere, which is no error.
 */
void descriptors_begin(void) {
  static const int modes[3] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd < 3; fd++) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    descriptors_closed[fd] = true;
    if (open("/dev/null", modes[fd]) != fd) die(EXIT_TROUBLE, "cannot open /dev/null");
  }
}

const char *descriptor_error(int fd, int error) {
  if (fd >= 0 && fd < 3 && descriptors_closed[fd] && error == EBADF) return "it is closed";
  return strerror(error);
}
