/*
 * nayw.h - what the module exports beyond the library's own functions, which core.exports and
 * full.exports list. JavaScript passes and gets numbers only: pointers, lengths, statuses. So these
 * are calls that in C take arrays of pointers, callbacks or structs by value; and the layouts of
 * the structs, so that JavaScript states no offset (layout.c).
 *
 * The names begin with nayw_. Calls return a nay_status, 0 or negative; some a count or an answer
 * when it is not negative.
 */
#ifndef NAYW_H
#define NAYW_H

#include "nay_advanced.h"

#define NAYW_EXPORT(name) __attribute__((export_name(#name))) extern

/* How JavaScript reads and writes a field. */
enum nayw_type {
  NAYW_NUMBER = 'i', /* 32 bits: number */
  NAYW_COUNT = 'n',  /* 64 bits that count: number, rounded above 2^53 */
  NAYW_WORD = 'q',   /* 64 bits: bigint */
  NAYW_DOUBLE = 'd',
  NAYW_BOOL = 'b',
  NAYW_TEXT = 't', /* const char *: string, or null */
  NAYW_KIND = 'k', /* nay_kind: its name */
  NAYW_HASH = 'h', /* nay_hash_kind: its name */
  NAYW_KEY = 'x'   /* 16 bytes */
};

typedef struct nayw_field {
  const char *name; /* NULL ends the list */
  uint32_t offset;
  uint32_t type;
} nayw_field;

typedef struct nayw_layout {
  const char *name; /* NULL ends the list */
  uint32_t nbytes;
  const nayw_field *fields;
} nayw_layout;

#define NAYW_FIELD(type, struct_name, field) \
  { #field, offsetof(struct_name, field), NAYW_##type }

#endif /* NAYW_H */
