/*
 * descriptors.h - standard input, output and error may be closed when the program starts. The next
 * file it opens would then become one of them, and messages would be written into it.
 */
#ifndef NAY_DESCRIPTORS_H
#define NAY_DESCRIPTORS_H

/* descriptors_begin: fills those of 0, 1, 2 that are closed. Before anything is opened. */
void descriptors_begin(void);

/* descriptor_error: the text for an error of read or write: "it is closed" if it was. */
const char *descriptor_error(int fd, int error);

#endif /* NAY_DESCRIPTORS_H */
