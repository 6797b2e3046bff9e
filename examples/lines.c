/*
 * lines.c - a filter of the lines of a file, of any number: the builder counts them.
 *
 *   $ printf 'to\nbe\nor\nnot\nto\nbe\n' | lines words.nay
 *   6 lines, 4 distinct; 8 bytes of bits, a file of 136
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <inttypes.h>
#include <nay.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  nay_params params = {sizeof params, .fpr = 0.001}; /* nkeys 0: count them */
  nay_builder *builder;
  nay_filter *filter;
  nay_stats stats = {.size = sizeof stats};
  if (argc != 2 || nay_builder_new(&params, NULL, NULL, &builder) != NAY_OK) return 2;

  char *line = NULL;
  size_t cap = 0;
  for (ssize_t len; (len = getline(&line, &cap, stdin)) > 0;) {
    if (line[len - 1] == '\n') len--;
    if (nay_builder_add(builder, line, (size_t)len) != NAY_OK) return 1;
  }
  free(line);

  uint64_t nlines = nay_builder_nkeys(builder);
  if (nay_builder_finish(builder, NULL, &filter) != NAY_OK) return 1;
  if (nay_filter_save(filter, argv[1], NULL) != NAY_OK) return 1;
  if (nay_filter_stats(filter, &stats) != NAY_OK) return 1;
  printf("%" PRIu64 " lines, %" PRIu64 " distinct; %" PRIu64 " bytes of bits, a file of %zu\n",
         nlines, stats.nkeys, stats.nbits / 8, nay_filter_encoded_size(filter));
  nay_filter_free(filter);
  nay_builder_free(builder);
  return 0;
}
