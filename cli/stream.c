/*
 * stream.c - see stream.h.
 *
 * A ring of batches. The producer (the second thread, or stream_next itself when there is only one)
 * fills them in order, the consumer uses them in order. A batch owns its bytes, so keys are views;
 * the unfinished record at the end of a batch is copied to the front of the next one.
 */
#include "stream.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"

#define RING 6u

struct key_stream {
  key_reader reader;
  source_use use;
  const char *const *paths;
  size_t npaths, next_path;
  bool wants_header; /* of each file */
  source *source;
  const char *name;
  bool last;                  /* the source has ended */
  uint8_t *carry;             /* unfinished bytes for the next batch: in the batch before it */
  size_t carry_len, searched; /* `searched` bytes of them hold no terminator */
  uint64_t position;          /* of the files that are closed */
  const nay_filter *hash_with;
  bool wide_hash, ended, had_header;
  uint64_t nkeys;

  key_batch ring[RING];
  /* with a second thread: */
  bool threaded, stopping, finished;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, used; /* counters: filled - used batches are ready or held */
  bool holding;          /* the consumer uses ring[used] */
  /* of the consumer: */
  bool skips_bad_files; /* status: of those that were skipped */
  int status;
  bool all_end_in_cr;       /* all keys so far */
  _Atomic uint64_t skipped; /* no more keys of files up to this number */
  uint8_t *args;            /* keys that are arguments, or NULL */
  uint8_t args_terminator;  /* what ends them when they are printed */
};

/* ---- the producer ---- */

static bool stream_fail(key_batch *b, const source_failure *why) {
  b->fail = must_alloc(sizeof *b->fail);
  *b->fail = *why;
  return false;
}

static void stream_close_source(key_stream *s) {
  if (s->source != NULL) s->position += source_position(s->source);
  source_close(s->source);
  s->source = NULL;
}

/* The next file, or the end. */
static bool stream_next_source(key_stream *s, key_batch *b) {
  source_failure fail;
  stream_close_source(s);
  if (s->next_path == s->npaths || stop_requested()) {
    s->ended = true;
    return true;
  }
  s->name = s->paths[s->next_path++];
  if (!source_open(s->name, &s->use, &s->source, &fail)) return stream_fail(b, &fail);
  s->last = false;
  s->reader.wants_header = s->wants_header;
  s->reader.nrecords = s->reader.ninner = 0;
  return true;
}

/* The common case: lines as they are. Returns how many bytes were used. */
static size_t stream_frame_plain(key_stream *s, key_batch *b, size_t searched) {
  const uint8_t *start = b->memory->bytes, *p = start, *end = start + b->memory->len;
  const uint8_t *from = start + searched;
  while (b->n < BATCH_KEYS && p < end) {
    const uint8_t *stop = memchr(from, s->reader.terminator, (size_t)(end - from));
    if (stop == NULL) {
      if (!s->last) break;
      stop = end; /* stream_fill has put a terminator there */
    }
    b->keys[b->n] = p;
    b->lens[b->n] = (size_t)(stop - p);
    b->n += stop != p || !s->reader.skip_empty;
    s->reader.nrecords++;
    from = p = stop + 1;
  }
  return p < end ? (size_t)(p - start) : b->memory->len;
}

static const char *stream_name(const key_stream *s) {
  return strcmp(s->name, "-") == 0 ? "standard input" : s->name;
}

/* Where the last record is: "FILE: line 7", "argument 7". */
static void stream_place(const key_stream *s, char *text, size_t cap) {
  char place[64];
  if (s->args != NULL) {
    snprintf(text, cap, "argument %llu", (unsigned long long)s->reader.nrecords);
  } else {
    snprintf(text, cap, "%s: %s", stream_name(s), key_reader_place(&s->reader, place));
  }
}

static bool stream_bad_record(key_stream *s, key_batch *b, const key_record *record,
                              const key_failure *why) {
  source_failure fail;
  char place[384], text[80], at[32] = "";
  const char *cr = "";
  stream_place(s, place, sizeof place);
  if (!why->is_value) {
    source_fail(&fail, EXIT_TROUBLE, "%s: %s", place, why->what);
    return stream_fail(b, &fail);
  }
  size_t len = record->text_len;
  bool ends_in_cr = len > 0 && record->text[len - 1] == '\r';
  if (len > 0) snprintf(at, sizeof at, " (at byte %llu)", (unsigned long long)why->offset);
  if (ends_in_cr && key_reader_keeps_cr(&s->reader)) cr = "; --crlf drops the carriage return";
  source_fail(&fail, EXIT_TROUBLE, "%s: '%s' is not of type %s: %s%s%s", place,
              escape_text(record->text, len, text, sizeof text), nay_key_type_name(s->reader.type),
              why->what, at, cr);
  return stream_fail(b, &fail);
}

/* UTF-16 has line ends inside its characters: its lines would not be the keys that an editor shows.
 */
static bool stream_text_ok(key_stream *s, key_batch *b) {
  bool checks = s->use.decompress && s->reader.nrecords == 0;
  if (!checks || !key_reader_is_utf16(&s->reader, b->memory->bytes, b->memory->len)) return true;
  source_failure fail;
  source_fail(&fail, EXIT_TROUBLE, "%s is UTF-16: iconv -f UTF-16 -t UTF-8 FILE | nay ...%s",
              stream_name(s),
              s->use.has_no_decompress ? ", or --no-decompress to read its bytes as keys" : "");
  return stream_fail(b, &fail);
}

/* Every other case. */
static bool stream_frame(key_stream *s, key_batch *b, size_t *used) {
  struct batch_memory *m = b->memory;
  const uint8_t *start = m->bytes, *p = start, *end = start + m->len;
  batch_scratch(m, &s->reader);
  uint8_t *scratch = m->scratch;
  while (b->n < BATCH_KEYS && p < end && batch_scratch_left(b, &s->reader, p, scratch)) {
    key_record record;
    key_failure why;
    key_result got = key_next(&s->reader, p, end, s->last, scratch, &record, &why);
    if (got == KEY_BAD) return stream_bad_record(s, b, &record, &why);
    if (got == KEY_MORE) break;
    if (!record.skip) {
      batch_add(b, p, &record);
      scratch += record.scratch_used;
    } else if (record.header && !s->had_header) {
      s->had_header = true;
      b->header = p;
      b->header_len = record.len;
    }
    p += record.len;
  }
  *used = p < end ? (size_t)(p - start) : m->len;
  return true;
}

/* Reads once more into the batch; at the end of a source the last record gets its terminator. */
static bool stream_read(key_stream *s, key_batch *b) {
  struct batch_memory *m = b->memory;
  source_failure fail;
  if (m->len == m->cap) batch_grow(m);
  size_t room = m->cap - m->len;
  ssize_t n = source_read(s->source, m->bytes + m->len, room, &fail);
  if (n <= 0 && stop_requested()) { /* in the middle of a record: it is not one */
    m->len = s->carry_len = 0;
    s->ended = true;
    return true;
  }
  if (n < 0) return stream_fail(b, &fail);
  m->len += (size_t)n;
  s->last = n == 0;
  b->idle = n >= 0 && (size_t)n < room;
  if (s->last) m->bytes[m->len] = s->reader.terminator;
  return true;
}

static bool stream_take(key_stream *s, key_batch *b, size_t *searched) {
  size_t used = 0;
  if (!stream_text_ok(s, b)) return false;
  if (b->plain) {
    used = stream_frame_plain(s, b, *searched);
  } else if (!stream_frame(s, b, &used)) {
    return false;
  }
  s->carry = b->memory->bytes + used;
  s->carry_len = b->memory->len - used;
  /* bytes left because the batch is full may hold terminators; an incomplete record does not */
  *searched = b->plain && b->n < BATCH_KEYS ? s->carry_len : 0;
  return true;
}

/* A file that failed ends where it failed, without its unfinished record; the next one follows. */
static void stream_abandon(key_stream *s) {
  stream_close_source(s);
  s->last = false;
  s->carry_len = s->searched = 0;
}

/* Fills b with at least one key, unless the input has ended or a file failed. */
static void stream_fill(key_stream *s, key_batch *b) {
  struct batch_memory *m = b->memory;
  b->n = 0;
  b->header = NULL;
  b->idle = false;
  b->hashed = NAY_OK;
  if (s->source != NULL && atomic_load(&s->skipped) >= s->next_path) stream_abandon(s);
  m->len = s->carry_len;
  while (m->len > m->cap) batch_grow(m);
  if (m->len > 0) memcpy(m->bytes, s->carry, m->len);
  if (m->len > 0 && s->last) m->bytes[m->len] = s->reader.terminator;
  size_t searched = s->searched;
  s->carry = m->bytes;
  bool ok = true;
  while (ok && b->n == 0 && !s->ended) {
    if (m->len > searched || s->last) ok = stream_take(s, b, &searched);
    if (!ok || b->n > 0 || b->header != NULL) break;
    memmove(m->bytes, s->carry, s->carry_len); /* skipped records may stand before it */
    m->len = s->carry_len;
    if (s->source == NULL || (s->last && m->len == 0)) {
      ok = stream_next_source(s, b);
      searched = 0;
    } else {
      ok = stream_read(s, b);
    }
  }
  s->searched = searched;
  b->file = s->next_path;
  if (!ok) stream_abandon(s);
  if (s->args != NULL) batch_end_records(b, s->args_terminator);
  if (b->n > 0 && s->hash_with != NULL) { /* also the keys before a failure */
    b->hashed = nay_filter_hash_many(s->hash_with, b->keys, b->lens, b->n, b->lo, b->hi);
  }
  b->position = s->position + (s->source != NULL ? source_position(s->source) : 0);
}

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

static void stream_hint(const key_stream *s) {
  bool from_stdin = false;
  for (size_t i = 0; i < s->npaths; i++) from_stdin |= strcmp(s->paths[i], "-") == 0;
  if (from_stdin && isatty(STDIN_FILENO) == 1) {
    message("reading keys from the terminal, one per line; end with Ctrl-D");
  }
}

static uint64_t stream_total(const key_stream *s) {
  uint64_t total = 0;
  for (size_t i = 0; i < s->npaths; i++) {
    struct stat st;
    bool is_stdin = strcmp(s->paths[i], "-") == 0;
    int got = is_stdin ? fstat(STDIN_FILENO, &st) : stat(s->paths[i], &st);
    if (got != 0 || !S_ISREG(st.st_mode)) return 0;
    total += (uint64_t)st.st_size;
  }
  return total;
}

/* Some foreign layouts have 128-bit hashes: hashing one key shows which. */
static bool stream_wide_hash(const nay_filter *f) {
  uint64_t lo;
  const void *key = "";
  size_t len = 0;
  return f != NULL && nay_filter_hash_many(f, &key, &len, 1, &lo, NULL) == NAY_EINVAL;
}

/* Zero bytes end the arguments, for no argument has one inside. They are read already. */
static void stream_take_args(key_stream *s, const key_style *style) {
  size_t len = 0;
  for (size_t i = 0; i < style->args.n; i++) len += strlen(style->args.at[i]) + 1;
  s->args = must_alloc(len);
  s->args_terminator = style->null ? '\0' : '\n';
  for (size_t i = 0; i < style->args.n; i++) {
    size_t n = strlen(style->args.at[i]) + 1;
    memcpy(s->args + s->carry_len, style->args.at[i], n);
    s->carry_len += n;
  }
  s->carry = s->args;
  s->last = true;
  s->npaths = 0;
}

static const char *const stream_stdin[] = {"-"};

key_stream *stream_open(const options *o, const char *const *paths, size_t n,
                        const nay_filter *hash_with) {
  key_stream *s = must_alloc(sizeof *s);
  *s = (key_stream){
      .reader = key_reader_new(&o->keys),
      .use = {"keys", !o->keys.no_decompress, option_is_taken(o->command, "no-decompress")},
      .paths = n > 0 ? paths : stream_stdin,
      .npaths = n > 0 ? n : 1,
      .hash_with = hash_with,
      .wide_hash = stream_wide_hash(hash_with)};
  s->wants_header = s->reader.wants_header;
  s->all_end_in_cr = key_reader_keeps_cr(&s->reader) && s->reader.type == NAY_KEY_TEXT;
  for (unsigned i = 0; i < RING; i++) {
    batch_new(&s->ring[i], &s->reader, o->keys.line_number, hash_with != NULL, s->wide_hash);
  }
  if (o->keys.args.n > 0) stream_take_args(s, &o->keys);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  progress_mode mode = (progress_mode)o->progress;
  if (o->quiet && mode == PROGRESS_AUTO) mode = PROGRESS_NEVER;
  progress_begin(mode, stream_total(s));
  stream_hint(s);
  /* the first batch is filled here: most inputs are small, and need no thread */
  stream_fill(s, &s->ring[s->filled++]);
  if (!s->ended && o->threads != 1) stream_start(s);
  return s;
}

void stream_skip_bad_files(key_stream *s) { s->skips_bad_files = true; }

int stream_status(const key_stream *s) { return s->status; }

/* After the keys before the failure: what was printed of them comes first. */
static void stream_tell_failure(key_stream *s, key_batch *b) {
  if (!s->skips_bad_files) die(b->fail->status, "%s", b->fail->text);
  out_flush();
  message_error("%s", b->fail->text);
  s->status = exit_worse(s->status, b->fail->status);
  free(b->fail);
  b->fail = NULL;
}

static void batch_forget(key_batch *b) {
  b->n = 0;
  b->header = NULL;
  free(b->fail);
  b->fail = NULL;
}

/* What comes after in the file was not read, nor what is wrong with it. */
void stream_skip_file(key_stream *s) {
  key_batch *held = &s->ring[s->used % RING];
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
    key_batch *held = s->holding ? &s->ring[s->used % RING] : NULL;
    if (held != NULL && held->fail != NULL) stream_tell_failure(s, held);
    uint64_t skipped = s->skipped;
    if (skipped != 0 && skipped == s->npaths) break; /* no waiting for the rest of the last one */
    key_batch *b = s->threaded ? stream_wait(s) : stream_serve(s);
    if (b == NULL) break;
    if (skipped != 0 && b->file <= skipped) batch_forget(b);
    if (b->hashed != NAY_OK) die(EXIT_TROUBLE, "cannot hash: %s", nay_status_text(b->hashed));
    s->nkeys += b->n;
    stream_check_cr(s, b);
    progress_update(b->position, s->nkeys);
    if (b->n > 0 || b->header != NULL) return b;
  }
  progress_clear();
  stream_tell_cr(s);
  return NULL;
}

uint64_t stream_nkeys(const key_stream *s) { return s->nkeys; }

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
  if (s->threaded) stream_stop(s);
  for (unsigned i = 0; i < RING; i++) batch_free(&s->ring[i]);
  source_close(s->source);
  progress_clear();
  free(s->args);
  free(s);
}

/* Neighbouring records are copied together: most of the time a whole batch is one piece. */
void batch_print(const key_batch *b, size_t w, uint64_t word) {
  const uint8_t *from = NULL;
  size_t run = 0;
  while (word != 0) {
    size_t len, i = 64 * w + (size_t)__builtin_ctzll(word);
    const uint8_t *record = batch_record(b, i, &len);
    if (from == NULL || from + run != record || out_is_terminal()) {
      if (run > 0) out_record(from, run);
      from = record;
      run = 0;
    }
    run += len;
    word &= word - 1;
  }
  if (run > 0) out_record(from, run);
}
