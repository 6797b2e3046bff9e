/*
 * stream_fill.c - see stream.h: the producer. A batch owns its bytes, so keys are views; the
 * unfinished record at the end of a batch is copied to the front of the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary.h"
#include "hashers.h"
#include "stream_state.h"

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

/* A binary file that was met in a directory: no keys, and no failure. */
static void stream_skip_binary(key_stream *s) {
  if (s->nskipped++ == 0) {
    s->skipped_first = must_alloc(strlen(s->name) + 1);
    strcpy(s->skipped_first, s->name);
  }
  s->unread[s->next_path - 1] = 1;
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
  bool found = s->found != NULL && s->found[s->next_path - 1];
  s->last = false;
  if (!source_open(s->name, &s->use, &s->source, &fail)) {
    if (!found || !fail.binary) return stream_fail(b, &fail);
    stream_skip_binary(s);
    return true;
  }
  s->checks_binary = found && s->use.text;
  s->reader.wants_header = s->wants_header;
  s->reader.nrecords = s->reader.ninner = 0;
  s->nwhy = 0;
  return true;
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

/* A bad record does not end the file; of a file with zero bytes only when that was asked for. */
static bool stream_goes_on(const key_stream *s) { return s->mode != ON_BAD_FAIL && s->given; }

#define BINARY_START 65536u /* bytes that a file met in a directory is judged by */
#define PENDING_LEAST (2 * (size_t)BATCH_BYTES) /* less is copied from batch to batch */
#define REFRAMED_MOST ((uint64_t)64 << 20)      /* bytes */
#define STREAM_ZERO "the line has a zero byte"

/* What is wrong with the last record. */
static void stream_why(const key_stream *s, const key_record *record, const key_failure *why,
                       source_failure *fail) {
  char place[384], text[80], at[32] = "";
  const char *cr = "";
  stream_place(s, place, sizeof place);
  if (why->is_byte) {
    source_fail(fail, EXIT_TROUBLE, "%s: %s (at byte %llu)", place, why->what,
                (unsigned long long)why->offset);
    return;
  }
  if (!why->is_value) {
    source_fail(fail, EXIT_TROUBLE, "%s: %s", place, why->what);
    return;
  }
  size_t len = record->text_len;
  bool ends_in_cr = len > 0 && record->text[len - 1] == '\r';
  if (len > 0) snprintf(at, sizeof at, " (at byte %llu)", (unsigned long long)why->offset);
  if (ends_in_cr && key_reader_keeps_cr(&s->reader)) cr = "; --crlf drops the carriage return";
  source_fail(
      fail, EXIT_TROUBLE, "%s: '%s' is not of type %s: %s%s%s", place,
      escape_text(record->text, len, text, sizeof text),
      s->reader.check != NULL ? s->reader.check->type : nay_key_type_name(s->reader.how.type),
      why->what, at, cr);
}

static bool stream_bad_record(key_stream *s, key_batch *b, const key_record *record,
                              const key_failure *why) {
  source_failure fail;
  stream_why(s, record, why, &fail);
  return stream_fail(b, &fail);
}

/*
 * Where a bad record ends, so that reading goes on after it: at the end of its line, when its
 * framing did not find the end, or of the input. false: that is not in the batch yet.
 */
static bool stream_bad_extent(const key_stream *s, const uint8_t *p, const uint8_t *end,
                              key_record *record) {
  size_t left = (size_t)(end - p);
  bool text = key_reader_is_text(&s->reader);
  if (record->len == 0 && text) {
    const uint8_t *stop = memchr(p, '\n', left);
    if (stop == NULL && !s->last) return false;
    record->len = stop != NULL ? (size_t)(stop - p) + 1 : left + 1;
  }
  bool ends = record->len != 0 && (s->reader.framing == FRAME_LINES || record->len <= left);
  if (!text && !ends) record->len = left;
  return true;
}

/* The bad record at p, which is the last one: counted, and perhaps a key after all, in *scratch
 * when it is no plain text. */
static void stream_take_bad(key_stream *s, key_batch *b, const uint8_t *p, key_record *record,
                            const key_failure *why, uint8_t **scratch) {
  bad_record *bad = batch_add_bad(b, p, record->len, s->reader.nrecords + s->reader.ninner);
  if (s->nwhy < BADS_TOLD) {
    source_failure fail;
    stream_why(s, record, why, &fail);
    bad->why = must_alloc(strlen(fail.text) + 1);
    strcpy(bad->why, fail.text);
    s->nwhy++;
  }
  if (s->mode == ON_BAD_LINE && key_of_whole(&s->reader, p, *scratch, record)) {
    record->line = bad->line;
    batch_add(b, p, record);
    if (record->scratch_used != 0)
      *scratch += record->scratch_used; /* none: *scratch may be NULL */
  }
  s->reader.ninner += key_reader_lines_inside(&s->reader, p, record->len - 1);
}

/* A line with a zero byte. */
static void stream_take_zero(key_stream *s, key_batch *b, const uint8_t *p, const uint8_t *stop) {
  key_record record = {.len = (size_t)(stop - p) + 1};
  const key_failure why = {.what = STREAM_ZERO};
  uint8_t *scratch = NULL; /* keys of plain lines are the bytes that stand there */
  stream_take_bad(s, b, p, &record, &why, &scratch);
}

static const uint8_t *stream_next_zero(const uint8_t *p, const uint8_t *end) {
  return p < end ? memchr(p, '\0', (size_t)(end - p)) : NULL;
}

/* What messages about the open file say. */
static source_use stream_use_now(const key_stream *s) {
  source_use use = s->use;
  use.unpack = s->source != NULL ? source_unpack_command(s->source) : NULL;
  return use;
}

/* UTF-16 has line ends inside its characters: its lines would not be the keys that an editor shows.
 */
static bool stream_text_ok(key_stream *s, key_batch *b) {
  bool checks = s->use.decompress && s->reader.nrecords == 0;
  if (!checks || !key_reader_is_utf16(&s->reader, b->memory->bytes, b->memory->len)) return true;
  source_failure fail;
  source_use use = stream_use_now(s);
  binary_refuse_utf16(&fail, &use, stream_name(s));
  return stream_fail(b, &fail);
}

static bool stream_not_text(key_stream *s, key_batch *b, const uint8_t *record, uint64_t line) {
  source_failure fail;
  char place[64];
  size_t len = (size_t)(b->memory->bytes + b->memory->len - record);
  snprintf(place, sizeof place, "%s %llu", key_reader_unit(&s->reader), (unsigned long long)line);
  if (s->source == NULL || source_whole(s->source, &fail)) {
    source_use use = stream_use_now(s);
    binary_refuse(&fail, &use, stream_name(s), place, record, line == 1 ? len : 0);
  }
  return stream_fail(b, &fail);
}

/* Lines with no zero byte among them, which are most: from p on, where none ends before `from`.
 * Returns what follows them. */
static const uint8_t *stream_frame_lines(key_stream *s, key_batch *b, const uint8_t *p,
                                         const uint8_t *from, const uint8_t *end) {
  const uint8_t terminator = s->reader.terminator;
  const bool skip_empty = s->reader.skip_empty;
  const void **keys = b->keys;
  size_t *lens = b->lens, n = b->n;
  uint64_t nlines = 0;
  while (n < BATCH_KEYS && p < end) {
    const uint8_t *stop = memchr(from, terminator, (size_t)(end - from));
    if (stop == NULL && !s->last) break;
    if (stop == NULL) stop = end; /* stream_fill has put a terminator there */
    keys[n] = p;
    lens[n] = (size_t)(stop - p);
    n += stop != p || !skip_empty;
    nlines++;
    from = p = stop + 1;
  }
  b->n = n;
  s->reader.nrecords += nlines;
  return p;
}

/* The common case: lines as they are. Returns how many bytes were used. A line with the byte `zero`
 * is left, with *bad set; NULL: there is none. */
static size_t stream_frame_plain(key_stream *s, key_batch *b, size_t searched, const uint8_t *zero,
                                 bool *bad) {
  const uint8_t *start = b->memory->bytes, *p = start, *end = start + b->memory->len;
  const uint8_t *from = start + searched;
  while (zero != NULL && !batch_is_full(b) && p < end) {
    const uint8_t *stop = memchr(from, s->reader.terminator, (size_t)(end - from));
    if (stop == NULL) {
      if (!s->last) break;
      stop = end; /* stream_fill has put a terminator there */
    }
    if (zero < stop) {
      if (!stream_goes_on(s)) break;
      s->reader.nrecords++;
      stream_take_zero(s, b, p, stop);
      zero = stream_next_zero(stop, end);
      from = p = stop + 1;
      continue;
    }
    b->keys[b->n] = p;
    b->lens[b->n] = (size_t)(stop - p);
    b->n += stop != p || !s->reader.skip_empty;
    s->reader.nrecords++;
    from = p = stop + 1;
  }
  if (zero == NULL && !batch_is_full(b)) p = stream_frame_lines(s, b, p, from, end);
  *bad = zero != NULL && !stream_goes_on(s) && !batch_is_full(b);
  return p < end ? (size_t)(p - start) : b->memory->len;
}

/* A record of several keys: all of them, or it is bad. False: it ends the file. */
static bool stream_add_all(key_stream *s, key_batch *b, const uint8_t *p, key_record *record,
                           uint8_t **scratch) {
  size_t before = b->n, grown = 0;
  uint8_t *free_scratch = *scratch;
  key_failure why;
  key_record one = *record;
  for (size_t i = 0;;) {
    if (!one.skip) {
      batch_add(b, p, &one);
      *scratch += one.scratch_used;
      grown += one.key_len > one.text_len ? one.key_len - one.text_len : 0;
    }
    if (++i == record->nkeys) return true;
    why = (key_failure){.what = "the keys of the line have more than 4 MiB"};
    bool fits = s->reader.how.type != NAY_KEY_NUMERIC || grown <= KEYS_GROW;
    if (fits && key_more(&s->reader, i, *scratch, &one, &why) == KEY_OK) continue;
    b->n = before;
    *scratch = free_scratch;
    if (s->mode == ON_BAD_FAIL) return stream_bad_record(s, b, &one, &why);
    stream_take_bad(s, b, p, &one, &why, scratch);
    return true;
  }
}

/* A record that has a key, and is bad all the same. Its place is that of its first line. */
static key_result stream_refuse(key_stream *s, const key_record *record, key_failure *why,
                                const char *what) {
  *why = (key_failure){.what = what};
  s->reader.ninner -= record->ninner;
  return KEY_BAD;
}

static bool stream_is_too_long(const key_stream *s, const key_record *record) {
  bool empty = record->skip && record->nkeys <= 1;
  bool binary = s->reader.framing == FRAME_LENGTH || s->reader.framing == FRAME_FIXED;
  return s->max_record != 0 && !empty && record->len - !binary > s->max_record;
}

/* Every other case. */
static bool stream_frame(key_stream *s, key_batch *b, const uint8_t *zero, size_t *used,
                         bool *more) {
  struct batch_memory *m = b->memory;
  const uint8_t *start = m->bytes, *p = start, *end = start + m->len;
  batch_scratch(m, &s->reader);
  uint8_t *scratch = m->scratch;
  *more = false;
  while (!batch_is_full(b) && p < end && batch_scratch_left(b, &s->reader, p, scratch)) {
    key_record record;
    key_failure why;
    bool header = s->reader.wants_header;
    key_result got = key_next(&s->reader, p, end, s->last, scratch, &record, &why);
    *more = got == KEY_MORE; /* a bad record may have no length: then its line */
    if (zero != NULL &&
        (*more || zero < p + record.len || memchr(p, '\n', (size_t)(zero - p)) == NULL)) {
      if (!stream_goes_on(s) || header) {
        return stream_not_text(s, b, p, *more ? key_reader_next_line(&s->reader) : record.line);
      }
      if (got == KEY_OK) got = stream_refuse(s, &record, &why, STREAM_ZERO);
    }
    if (got == KEY_OK && stream_is_too_long(s, &record)) {
      got = stream_refuse(s, &record, &why, "the record is longer than --max-record");
    }
    if (got == KEY_BAD && (s->mode == ON_BAD_FAIL || header)) {
      return stream_bad_record(s, b, &record, &why);
    }
    if (got == KEY_BAD && !stream_bad_extent(s, p, end, &record)) {
      s->reader.nrecords--;
      *more = true;
    }
    if (*more) break;
    if (got == KEY_BAD) {
      stream_take_bad(s, b, p, &record, &why, &scratch);
      zero = zero != NULL && zero < p + record.len ? stream_next_zero(p + record.len, end) : zero;
      p += record.len;
      continue;
    }
    if (record.nkeys > 1) {
      if (b->n + record.nkeys > BATCH_KEYS) { /* the next batch has room */
        s->reader.nrecords--;
        break;
      }
      if (!stream_add_all(s, b, p, &record, &scratch)) return false;
    } else if (!record.skip) {
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

/* ---- reading ---- */

static void stream_forget_pending(key_stream *s) {
  free(s->pending.bytes);
  s->pending.bytes = NULL;
}

/*
 * After a long record that was none (a quote that no other closes), or a long one that ended early
 * in what was read for it, much is left over, in lines that fill many batches. It is put aside
 * once, and read again piece by piece: copied from batch to batch it would cost its square.
 */
static void stream_put_aside(key_stream *s) {
  if (s->carry_len <= PENDING_LEAST || s->searched != 0) return;
  if (s->pending.bytes != NULL && s->pending.at >= s->carry_len) {
    s->pending.at -= s->carry_len; /* it came from there, last */
  } else {
    size_t behind = s->pending.bytes != NULL ? s->pending.len - s->pending.at : 0;
    uint8_t *bytes = must_alloc(s->carry_len + behind);
    memcpy(bytes, s->carry, s->carry_len);
    if (behind > 0) memcpy(bytes + s->carry_len, s->pending.bytes + s->pending.at, behind);
    bool last = s->pending.bytes != NULL ? s->pending.last : s->last;
    stream_forget_pending(s);
    s->pending.bytes = bytes;
    s->pending.len = s->carry_len + behind;
    s->pending.at = 0;
    s->pending.last = last;
  }
  s->last = false;
  s->carry_len = 0;
}

static size_t stream_read_pending(key_stream *s, uint8_t *to, size_t room) {
  size_t left = s->pending.len - s->pending.at, n = left < room ? left : room;
  memcpy(to, s->pending.bytes + s->pending.at, n);
  s->pending.at += n;
  return n;
}

/* As much again as the batch has: a record may be long, but what follows it may not be. */
static size_t stream_room(const struct batch_memory *m) {
  size_t room = m->cap - m->len, most = m->len < BATCH_BYTES ? BATCH_BYTES : m->len;
  return room < most ? room : most;
}

/* Reads once more into the batch; at the end of a source the last record gets its terminator. */
static bool stream_read(key_stream *s, key_batch *b) {
  struct batch_memory *m = b->memory;
  source_failure fail;
  if (m->len == m->cap) batch_grow(m);
  size_t room = stream_room(m);
  if (s->pending.bytes != NULL && s->pending.at < s->pending.len) {
    m->len += stream_read_pending(s, m->bytes + m->len, room);
    return true;
  }
  bool ended = s->pending.bytes != NULL && s->pending.last;
  stream_forget_pending(s);
  ssize_t n = ended ? 0 : source_read(s->source, m->bytes + m->len, room, &fail);
  if (n <= 0 && stop_requested()) { /* in the middle of a record: it is not one */
    m->len = s->carry_len = 0;
    stream_forget_pending(s);
    s->ended = true;
    return true;
  }
  if (n < 0) return stream_fail(b, &fail);
  m->len += (size_t)n;
  s->nread += (uint64_t)n;
  s->last = n == 0;
  b->idle = n >= 0 && (size_t)n < room;
  if (s->last) m->bytes[m->len] = s->reader.terminator;
  return true;
}

/*
 * Whether framing can find another record: `searched` bytes hold none. A record that is not plain
 * is framed from its start each time, so what came since must have a terminator, and a long one
 * waits until it is a quarter longer, or the input pauses, which counts while all such attempts
 * together are in proportion to the input: so is the cost.
 */
static bool stream_can_frame(key_stream *s, const key_batch *b, size_t searched) {
  const struct batch_memory *m = b->memory;
  if (s->last) return true;
  if (m->len <= searched || (s->checks_binary && m->len < BINARY_START)) return false;
  if (b->plain || searched == 0) return true;
  if (!key_reader_can_end(&s->reader, m->bytes + searched, m->len - searched)) return false;
  if (m->len - searched >= searched / 4 || s->source == NULL) return true;
  if (s->nreframed > REFRAMED_MOST + 4 * s->nread || !source_is_idle(s->source)) return false;
  s->nreframed += m->len;
  return true;
}

/* Whether the start of the open file shows that it is binary. It is closed then. */
static bool stream_found_binary(key_stream *s, key_batch *b) {
  size_t n = b->memory->len < BINARY_START ? b->memory->len : BINARY_START;
  if (!s->checks_binary) return false;
  s->checks_binary = false;
  if (memchr(b->memory->bytes, '\0', n) == NULL) return false;
  stream_skip_binary(s);
  stream_close_source(s);
  s->last = false;
  s->carry = b->memory->bytes;
  s->carry_len = b->memory->len = 0;
  return true;
}

/* The first zero byte of a text; of `searched` bytes it is known. */
static const uint8_t *stream_first_zero(const key_stream *s, const key_batch *b, size_t searched) {
  const uint8_t *bytes = b->memory->bytes;
  if (!s->use.text) return NULL;
  if (searched > 0 && s->has_zero) return bytes + s->zero_at;
  return stream_next_zero(bytes + searched, bytes + b->memory->len);
}

static bool stream_take(key_stream *s, key_batch *b, size_t *searched) {
  size_t used = 0;
  uint64_t nlines = s->reader.nrecords;
  bool bad = false, more = true;
  if (!stream_text_ok(s, b)) return false;
  if (stream_found_binary(s, b)) {
    *searched = 0;
    return true;
  }
  const uint8_t *bytes = b->memory->bytes;
  const uint8_t *zero = stream_first_zero(s, b, *searched);
  if (b->plain) {
    used = stream_frame_plain(s, b, *searched, zero, &bad);
  } else if (!stream_frame(s, b, zero, &used, &more)) {
    return false;
  }
  b->nlines += s->reader.nrecords - nlines;
  b->nbytes += used;
  if (bad) return stream_not_text(s, b, bytes + used, key_reader_next_line(&s->reader));
  s->carry = b->memory->bytes + used;
  s->carry_len = b->memory->len - used;
  /* bytes left because the batch is full may hold terminators; an incomplete record does not */
  *searched = more && !batch_is_full(b) ? s->carry_len : 0;
  if (zero != NULL && zero < s->carry) zero = stream_next_zero(s->carry, s->carry + s->carry_len);
  s->has_zero = zero != NULL;
  s->zero_at = zero != NULL ? (size_t)(zero - s->carry) : 0;
  return true;
}

/* A file that failed ends where it failed, without its unfinished record; the next one follows. */
static void stream_abandon(key_stream *s) {
  stream_forget_pending(s);
  stream_close_source(s);
  s->last = false;
  s->carry_len = s->searched = 0;
}

/* What is left becomes the start of the memory: skipped records may stand before it. */
static void stream_keep(key_stream *s, struct batch_memory *m, bool framed) {
  if (framed) m->len = s->carry_len;
  if (framed && s->carry != m->bytes) memmove(m->bytes, s->carry, m->len);
  s->carry = m->bytes;
  s->carry_len = m->len;
}

void stream_fill(key_stream *s, key_batch *b) {
  struct batch_memory *m = b->memory;
  b->n = 0;
  b->nlines = b->nbytes = 0;
  batch_forget_bads(b, 0);
  b->header = NULL;
  b->idle = false;
  b->hashed = NAY_OK;
  if (s->source != NULL && atomic_load(&s->skipped) >= s->next_path) stream_abandon(s);
  stream_put_aside(s);
  m->len = s->carry_len;
  while (m->len > m->cap) batch_grow(m);
  if (m->len > 0) memcpy(m->bytes, s->carry, m->len);
  if (m->len > 0 && s->last) m->bytes[m->len] = s->reader.terminator;
  size_t searched = s->searched;
  s->carry = m->bytes;
  bool ok = true;
  while (ok && b->n == 0 && b->bads->n == 0 && !s->ended) {
    bool frames = stream_can_frame(s, b, searched);
    if (frames) ok = stream_take(s, b, &searched);
    if (!ok || b->n > 0 || b->header != NULL || b->bads->n > 0) break;
    stream_keep(s, m, frames);
    bool aside = s->pending.bytes != NULL;
    if (!aside && (s->source == NULL || (s->last && m->len == 0))) {
      ok = stream_next_source(s, b);
      searched = 0;
    } else {
      ok = stream_read(s, b);
    }
  }
  s->searched = searched;
  b->file = s->next_path;
  b->path = s->next_path > 0 ? s->paths[s->next_path - 1] : NULL;
  b->name = s->npaths > 1 || b->named ? b->path : NULL;
  if (!ok) stream_abandon(s);
  if (s->args != NULL) batch_end_records(b, s->args_terminator);
  if (b->n > 0 && s->hash_with != NULL) { /* also the keys before a failure */
    nay_hasher hasher = filter_hasher(s->hash_with);
    b->hashed = nay_hasher_hash_many(&hasher, b->keys, b->lens, b->n, b->lo, b->hi);
  }
  b->position = s->position + (s->source != NULL ? source_position(s->source) : 0);
}
