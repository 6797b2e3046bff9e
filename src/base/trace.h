/*
 * trace.h - what a filter does, step by step, for pages that draw it. NAY_TRACE is nothing, and its
 * arguments are not evaluated, unless NAY_WITH_TRACE is defined: the WebAssembly module of the
 * playground is the only build that defines it (web/wasm/build). There nay__trace
 * (web/wasm/trace.c) writes records into a ring buffer, from which JavaScript reads them as objects
 * (web/README.md).
 *
 *   NAY_TRACE(EVENT, level, index, a, b, c, d)      NAY_TRACED: whether it is something, 0 or 1
 *
 * An event has a level (scalable: of the filter; a band: the class of the key) and an index (of
 * the probe, or of the step), and up to four words. NAY_TRACE_EVENTS says what they are: name:n is
 * a number, name:b is 0 or 1, name:q are 64 bits, name:s are two slots of 32 bits. It is the only
 * list: the module exports it, and JavaScript names the fields by it.
 */
#ifndef NAY_TRACE_H
#define NAY_TRACE_H

#include <stdint.h>

#define NAY_TRACE_EVENTS(X)                                                                       \
  /* bit arrays: a bit of bloom; a bit of a block of blocked, counting, scalable; a counter */    \
  X(BLOOM_BIT, "bloomBit", "bit:n fresh:b")                                                       \
  X(BLOCK_BIT, "blockBit", "block:n bit:n fresh:b")                                               \
  X(COUNTER, "counter", "block:n bit:n count:n")                                                  \
  /* scalable, window */                                                                          \
  X(LEVEL_OPENED, "levelOpened", "nblocks:n nkeys:n k:n")                                         \
  X(WINDOW_BIT, "windowBit", "unit:n bit:n generation:n")                                         \
  X(WINDOW_EXPIRED, "windowExpired", "generations:q newest:n")                                    \
  /* cuckoo: a tag is moved to another bucket, put, taken out; the table is doubled */            \
  X(CUCKOO_KICK, "cuckooKick", "from:n slot:n to:n tag:n")                                        \
  X(CUCKOO_PUT, "cuckooPut", "bucket:n slot:n tag:n")                                             \
  X(CUCKOO_REMOVED, "cuckooRemoved", "bucket:n slot:n tag:n")                                     \
  X(CUCKOO_DOUBLED, "cuckooDoubled", "nbuckets:n")                                                \
  /* xor, fuse: a key and its slots; a slot gives a key away; the attempt; a slot gets its value  \
   */                                                                                             \
  X(PEEL_ATTEMPT, "peelAttempt", "nkeys:n slots:n segment:n factor:q")                            \
  X(PEEL_KEY, "peelKey", "word:q mixed:q slots:s more:s")                                         \
  X(PEEL_TAKE, "peelTake", "mixed:q slot:n")                                                      \
  X(PEEL_STUCK, "peelStuck", "nkeys:n")                                                           \
  X(PEEL_ASSIGN, "peelAssign", "mixed:q slot:n value:n")                                          \
  /* ribbon: a part; a key's equation; a row of the band; a row taken out; a key that goes to the \
   * next layer; a column of a block, from the last block to the first */                         \
  X(BAND_PART, "bandPart", "nblocks:n nkeys:n first:n last:b")                                    \
  X(BAND_KEY, "bandKey", "word:q start:n low:q high:q")                                           \
  X(BAND_ROW, "bandRow", "slot:n low:q high:q")                                                   \
  X(BAND_CLEARED, "bandCleared", "slot:n")                                                        \
  X(BAND_BUMPED, "bandBumped", "word:q")                                                          \
  X(BAND_COLUMN, "bandColumn", "block:n column:n low:q high:q")

#ifdef NAY_WITH_TRACE
#define NAY_TRACED 1

typedef enum nay_trace_event {
#define X(name, text, fields) NAY_TRACE_##name,
  NAY_TRACE_EVENTS(X)
#undef X
} nay_trace_event;

void nay__trace(nay_trace_event event, uint32_t level, uint64_t index, uint64_t a, uint64_t b,
                uint64_t c, uint64_t d);
#define NAY_TRACE(event, level, index, a, b, c, d) \
  nay__trace(NAY_TRACE_##event, level, index, a, b, c, d)

#else
#define NAY_TRACED 0
#define NAY_TRACE(event, level, index, a, b, c, d) ((void)0)
#endif

#endif /* NAY_TRACE_H */
