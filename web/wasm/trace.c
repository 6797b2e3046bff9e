/*
 * trace.c - the ring buffer of trace events (src/base/trace.h), in the trace module only.
 * JavaScript says how many records it has room for, runs something, and reads them:
 * nayw_trace_total tells how many events there were, of which the last nayw_trace_start said are
 * kept, event i in record i % capacity. Between runs nothing is recorded.
 */
#include <stdlib.h>

#include "base/trace.h"
#include "nayw.h"

typedef struct trace_record {
  uint32_t event, level;
  uint64_t index, words[4];
} trace_record;

static struct trace_ring {
  trace_record *records;
  uint64_t capacity, total; /* no records: off */
} ring;

void nay__trace(nay_trace_event event, uint32_t level, uint64_t index, uint64_t a, uint64_t b,
                uint64_t c, uint64_t d) {
  if (ring.records == NULL) return;
  ring.records[ring.total++ % ring.capacity] = (trace_record){event, level, index, {a, b, c, d}};
}

/* nayw_trace_start: 0, or a status. Forgets the records of the run before. */
NAYW_EXPORT(nayw_trace_start) int nayw_trace_start(size_t capacity);
int nayw_trace_start(size_t capacity) {
  free(ring.records);
  ring = (struct trace_ring){NULL, 0, 0};
  if (capacity == 0 || capacity > SIZE_MAX / 2 / sizeof(trace_record)) return NAY_EINVAL;
  ring.records = malloc(capacity * sizeof(trace_record));
  if (ring.records == NULL) return NAY_ENOMEM;
  ring.capacity = capacity;
  return NAY_OK;
}

NAYW_EXPORT(nayw_trace_stop) void nayw_trace_stop(void);
void nayw_trace_stop(void) {
  free(ring.records);
  ring = (struct trace_ring){NULL, 0, 0};
}

NAYW_EXPORT(nayw_trace_total) double nayw_trace_total(void);
double nayw_trace_total(void) { return (double)ring.total; }

NAYW_EXPORT(nayw_trace_records) const trace_record *nayw_trace_records(void);
const trace_record *nayw_trace_records(void) { return ring.records; }

/* nayw_trace_events: name and fields of each event, pairs of texts; NULL ends them. */
NAYW_EXPORT(nayw_trace_events) const char *const *nayw_trace_events(void);
const char *const *nayw_trace_events(void) {
  static const char *const events[] = {
#define X(name, text, fields) text, fields,
      NAY_TRACE_EVENTS(X)
#undef X
          NULL};
  return events;
}
