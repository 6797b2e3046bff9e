/*
 * replay.c - runs a fuzz target on every file of some directories, without libFuzzer: what was
 * found once is tried in every build. Also on every prefix of each file, and with each byte
 * inverted.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_ROOM (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(const char *path, uint8_t *buffer) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  size_t len = fread(buffer, 1, REPLAY_ROOM, file);
  fclose(file);
  LLVMFuzzerTestOneInput(buffer, len);
  if (len > 4096) return;
  for (size_t i = 0; i < len; i++) {
    LLVMFuzzerTestOneInput(buffer, i);
    buffer[i] ^= 0xff;
    LLVMFuzzerTestOneInput(buffer, len);
    buffer[i] ^= 0xff;
  }
}

int main(int argc, char **argv) {
  uint8_t *buffer = malloc(REPLAY_ROOM);
  int tests = 0, failed = 0;
  for (int i = 1; i < argc; i++) {
    unsigned n = 0;
    DIR *dir = opendir(argv[i]);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
      char path[4096];
      if (e->d_name[0] == '.') continue;
      snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
      replay_file(path, buffer);
      n++;
    }
    if (dir != NULL) closedir(dir);
    failed += n == 0;
    printf("%s %d - %s: %u inputs\n", n != 0 ? "ok" : "not ok", ++tests, argv[i], n);
  }
  printf("1..%d\n", tests);
  free(buffer);
  return failed != 0;
}
