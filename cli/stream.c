/*
 * stream.c - see stream.h.
 *
 * A ring of batches. The producer (the second thread, or stream_next itself when there is only one)
 * fills them in order, the consumer uses them in order.
 */
#include "stream.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hashers.h"
#include "key_files.h"
#include "numbers.h"
#include "stream_state.h"

/* ---- the ring ---- */

static void *stream_produce(void *argument) {
  key_stream *s = argument;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* but where source.c waits for input */
  pthread_mutex_lock(&s->lock);
  while (!s->ended && !s->stopping) {
    if (s->filled - s->used == RING) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    key_batch *b = &s->ring[s->filled % RING];
    pthread_mutex_unlock(&s->lock);
    stream_fill(s, b);
    pthread_mutex_lock(&s->lock);
    s->filled++;
    pthread_cond_signal(&s->changed);
  }
  s->finished = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/*
 * Signals go to the main thread, which may wait for someone to read its output; the reading thread
 * polls five times a second for the request to stop (source_wait).
 */
static void stream_start(key_stream *s) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, &before); /* the new thread inherits it */
  s->threaded = pthread_create(&s->thread, NULL, stream_produce, s) == 0; /* else one will do */
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static key_batch *stream_wait(key_stream *s) {
  key_batch *b = NULL;
  pthread_mutex_lock(&s->lock);
  if (s->holding) {
    s->used++;
    pthread_cond_signal(&s->changed);
  }
  while (s->filled == s->used && !s->finished) pthread_cond_wait(&s->changed, &s->lock);
  s->holding = s->filled != s->used;
  if (s->holding) {
    b = &s->ring[s->used % RING];
    b->idle &= s->filled - s->used == 1;
  }
  pthread_mutex_unlock(&s->lock);
  return b;
}

/* Without a second thread: fill the next one now. */
static key_batch *stream_serve(key_stream *s) {
  if (s->holding) s->used++;
  if (s->filled == s->used && !s->ended) stream_fill(s, &s->ring[s->filled++ % RING]);
  s->holding = s->filled != s->used;
  return s->holding ? &s->ring[s->used % RING] : NULL;
}

/* ---- public ---- */

/* Whether keys are typed. */
static bool stream_is_typed(const key_stream *s) {
  bool from_stdin = false;
  for (size_t i = 0; i < s->npaths; i++) from_stdin |= strcmp(s->paths[i], "-") == 0;
  return from_stdin && isatty(STDIN_FILENO) == 1;
}

/* Between typed lines nobody wants to see progress; there is no rate to show either. */
static void stream_begin_progress(const key_stream *s, const options *o) {
  progress_mode mode = (progress_mode)o->progress;
  bool typed = stream_is_typed(s);
  if ((o->quiet || typed) && mode == PROGRESS_AUTO) mode = PROGRESS_NEVER;
  progress_begin(mode, stream_nbytes(s->paths, s->npaths));
  if (typed) message("reading keys from the terminal, one per line; end with Ctrl-D");
}

/* Some foreign layouts have 128-bit hashes: hashing one key shows which. */
static bool stream_wide_hash(const nay_filter *f) {
  uint64_t lo;
  const void *key = "";
  size_t len = 0;
  if (f == NULL) return false;
  nay_hasher hasher = filter_hasher(f);
  return nay_hasher_hash_many(&hasher, &key, &len, 1, &lo, NULL) == NAY_EINVAL;
}

/* And some filters take no hashes at all. */
static bool stream_takes_keys(const nay_filter *f) {
  uint64_t lo;
  const void *key = "";
  size_t len = 0;
  nay_stats s = {.size = sizeof s};
  if (f == NULL) return false;
  nay_hasher hasher = filter_hasher(f);
  if (nay_hasher_hash_many(&hasher, &key, &len, 1, &lo, NULL) != NAY_ENOTSUP) return false;
  return nay_filter_stats(f, &s) == NAY_OK && s.hash != NAY_HASH_CALLER; /* it counts all bits */
}

/* Zero bytes end the arguments, for no argument has one inside. They are read already. */
static void stream_take_args(key_stream *s, const keys_options *keys) {
  size_t len = 0;
  for (size_t i = 0; i < keys->args.n; i++) len += strlen(keys->args.at[i]) + 1;
  s->args = must_alloc(len);
  s->args_terminator = keys->null ? '\0' : '\n';
  for (size_t i = 0; i < keys->args.n; i++) {
    size_t n = strlen(keys->args.at[i]) + 1;
    memcpy(s->args + s->carry_len, keys->args.at[i], n);
    s->carry_len += n;
  }
  s->carry = s->args;
  s->last = true;
  s->npaths = 0;
}

static const char *const stream_stdin[] = {"-"};

static void stream_begin_bads(key_stream *s, const keys_options *keys, on_bad otherwise) {
  s->mode = keys->on_bad != ON_BAD_DEFAULT ? (on_bad)keys->on_bad : otherwise;
  s->given = keys->on_bad != ON_BAD_DEFAULT;
  s->max_record = keys->max_record;
  if (s->mode == ON_BAD_LINE && s->reader.range_filter != NULL) {
    die(EXIT_TROUBLE, "--on-bad=line: a range has two ends");
  }
  if (s->mode == ON_BAD_LINE) key_reader_check_whole(&s->reader);
  bads_begin(keys, s->mode, s->skips_bad_files);
}

static key_stream *stream_open_as(const options *o, const keys_options *keys,
                                  const char *const *paths, size_t n, const nay_filter *hash_with,
                                  bool answers, on_bad otherwise) {
  key_stream *s = must_alloc(sizeof *s);
  bool listed = keys->listed != NULL && paths == (const char *const *)keys->listed->paths;
  if (stream_takes_keys(hash_with)) hash_with = NULL;
  *s = (key_stream){.reader = key_reader_new(keys),
                    .use = stream_use(o, keys),
                    .paths = n > 0 || listed ? paths : stream_stdin,
                    .npaths = n > 0 || listed ? n : 1,
                    .found = listed ? keys->listed->found : NULL,
                    .hash_with = hash_with,
                    .skips_bad_files = answers,
                    .wide_hash = stream_wide_hash(hash_with)};
  stream_begin_bads(s, keys, otherwise);
  s->unread = must_alloc(s->npaths);
  memset(s->unread, 0, s->npaths);
  if (keys->stats) read_stats_ask(o->json);
  s->wants_header = s->reader.wants_header;
  s->use.skips_mark = keys->args.n == 0 && key_reader_is_text(&s->reader);
  s->use.text = s->use.decompress && s->use.skips_mark;
  s->all_end_in_cr = key_reader_keeps_cr(&s->reader) && s->reader.how.type == NAY_KEY_TEXT;
  for (unsigned i = 0; i < RING; i++) {
    batch_new(&s->ring[i], &s->reader, keys->line_number, hash_with != NULL, s->wide_hash);
    s->ring[i].bads->passes = s->mode == ON_BAD_PASS;
    s->ring[i].named = keys->with_name;
  }
  if (keys->args.n > 0) stream_take_args(s, keys);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  stream_begin_progress(s, o);
  /* the first batch is filled here: most inputs are small, and need no thread */
  stream_fill(s, &s->ring[s->filled++]);
  if (!s->ended && keys->threads != 1) stream_start(s);
  return s;
}

key_stream *stream_open(const options *o, const keys_options *keys, const char *const *paths,
                        size_t n, const nay_filter *hash_with) {
  return stream_open_as(o, keys, paths, n, hash_with, false, ON_BAD_FAIL);
}

key_stream *stream_open_to_answer(const options *o, const keys_options *keys,
                                  const char *const *paths, size_t n, const nay_filter *hash_with,
                                  on_bad otherwise) {
  return stream_open_as(o, keys, paths, n, hash_with, true, otherwise);
}

key_stream *stream_open_whole(const options *o, const keys_options *keys, const char *const *paths,
                              size_t n) {
  return stream_open_as(o, keys, paths, n, NULL, false, ON_BAD_REPORT);
}

/* The bad records of the batch that was used: those that were skipped with a file are gone. */
static void stream_settle(key_stream *s) {
  if (!s->holding) return;
  const key_batch *b = &s->ring[s->used % RING];
  for (size_t i = 0; i < b->bads->n; i++) {
    const bad_record *bad = &b->bads->at[i];
    if (s->mode == ON_BAD_REPORT && bad->why != NULL && s->ntold++ < BADS_TOLD) {
      if (i == 0) out_flush();
      message_error("%s", bad->why);
    }
    if (s->mode == ON_BAD_REPORT) s->status = exit_worse(s->status, EXIT_TROUBLE);
    bads_take(bad, b->name);
  }
  batch_forget_bads(&s->ring[s->used % RING], 0);
}

void stream_bad_key(key_stream *s, const key_batch *b, size_t i, const char *why) {
  key_batch *held = &s->ring[s->used % RING];
  size_t len, at = 0;
  const uint8_t *bytes = batch_record(b, i, &len);
  bad_record bad = *batch_add_bad(held, bytes, len, b->lines != NULL ? b->lines[i] : 0);
  bad_list *l = held->bads;
  while (at + 1 < l->n && l->at[at].before <= i) at++;
  memmove(&l->at[at + 1], &l->at[at], (l->n - 1 - at) * sizeof *l->at);
  bad.before = i;
  bad.why = must_alloc(strlen(why) + 1);
  strcpy(bad.why, why);
  l->at[at] = bad;
}

int stream_status(key_stream *s) {
  stream_settle(s);
  return s->status;
}

/* After the keys before the failure: what was printed of them comes first. */
static void stream_tell_failure(key_stream *s, key_batch *b) {
  if (!s->skips_bad_files) die(b->fail->status, "%s", b->fail->text);
  out_flush();
  message_error("%s", b->fail->text);
  s->status = exit_worse(s->status, b->fail->status);
  if (b->file > 0) s->unread[b->file - 1] = 1;
  free(b->fail);
  b->fail = NULL;
}

static void batch_forget(key_batch *b) {
  b->n = 0;
  b->header = NULL;
  batch_forget_bads(b, 0);
  free(b->fail);
  b->fail = NULL;
}

/* What comes after in the file was not read, nor what is wrong with it. */
void stream_skip_file(key_stream *s, size_t n) {
  key_batch *held = &s->ring[s->used % RING];
  size_t nbads = 0;
  while (nbads < held->bads->n && held->bads->at[nbads].before < n) nbads++;
  batch_forget_bads(held, nbads);
  atomic_store(&s->skipped, held->file);
  free(held->fail);
  held->fail = NULL;
}

/* Files with the line ends of Windows give keys that match no others. */
static void stream_check_cr(key_stream *s, const key_batch *b) {
  for (size_t i = 0; i < b->n && s->all_end_in_cr; i++) {
    const uint8_t *key = b->keys[i];
    s->all_end_in_cr = b->lens[i] > 0 && key[b->lens[i] - 1] == '\r';
  }
}

static void stream_tell_cr(const key_stream *s) {
  if (!s->all_end_in_cr || s->nkeys == 0) return;
  message("every key ends in a carriage return (CR), which is a part of it; --crlf drops it");
}

key_batch *stream_next(key_stream *s) {
  for (;;) {
    stream_settle(s);
    key_batch *held = s->holding ? &s->ring[s->used % RING] : NULL;
    if (held != NULL && held->fail != NULL) stream_tell_failure(s, held);
    uint64_t skipped = s->skipped;
    if (skipped != 0 && skipped == s->npaths) break; /* no waiting for the rest of the last one */
    key_batch *b = s->threaded ? stream_wait(s) : stream_serve(s);
    if (b == NULL) break;
    if (skipped != 0 && b->file <= skipped) batch_forget(b);
    if (b->hashed != NAY_OK) die(EXIT_TROUBLE, "cannot hash: %s", nay_status_text(b->hashed));
    s->nkeys += b->n;
    s->counts.nlines += b->nlines;
    s->counts.nbytes += b->nbytes;
    stream_check_cr(s, b);
    progress_update(b->position, s->nkeys);
    if (b->n > 0 || b->header != NULL || b->bads->n > 0) return b;
  }
  progress_clear();
  stream_tell_cr(s);
  return NULL;
}

uint64_t stream_nkeys(const key_stream *s) { return s->nkeys; }

size_t stream_nfiles(const key_stream *s) { return s->npaths; }

const char *stream_file(const key_stream *s, size_t i) {
  return s->unread[i] != 0 ? NULL : s->paths[i];
}

void stream_print_name(const char *path, const char *end) {
  const char *name = strcmp(path, "-") == 0 ? "(standard input)" : path;
  out_text("%s", paint(PAINT_KEY));
  out_record((const uint8_t *)name, strlen(name));
  out_text("%s%s", paint(PAINT_PLAIN), end);
}

/* What --stats adds up, and the files that gave no keys although nothing failed. */
static void stream_tell(key_stream *s) {
  s->counts.nkeys = s->nkeys;
  s->counts.nskipped = s->nskipped;
  for (size_t i = 0; i < s->npaths; i++) s->counts.nfiles += s->unread[i] == 0;
  read_stats_add(&s->counts);
  if (s->nskipped == 0) return;
  message("%s skipped; the first: %s", COUNTED(s->nskipped, "binary file"), s->skipped_first);
}

/* The consumer may stop while the producer still waits for input: there alone it is cancelled. */
static void stream_stop(key_stream *s) {
  pthread_mutex_lock(&s->lock);
  s->stopping = true;
  bool finished = s->finished;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->lock);
  if (!finished) pthread_cancel(s->thread);
  pthread_join(s->thread, NULL);
}

void stream_close(key_stream *s) {
  stream_settle(s);
  if (s->threaded) stream_stop(s);
  stream_tell(s);
  for (unsigned i = 0; i < RING; i++) batch_free(&s->ring[i]);
  free(s->pending.bytes);
  free(s->skipped_first);
  free(s->unread);
  source_close(s->source);
  progress_clear();
  key_reader_end(&s->reader);
  free(s->args);
  free(s);
}
