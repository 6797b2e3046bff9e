/*
 * clubcard_index.c - index.bin of a directory of clubcards (upki): what file covers what times of
 * what log.
 *
 *   "upkiidx1" | u16 files | u32 logs | names, 32 bytes each | logs: id[32], u64 place, u16 n
 *   and at each place n entries: u16 file | u64 low | u64 high            all big-endian
 *
 * In "upkiidx0" files and file are u8. A log has an entry for each file that covers some of its
 * times; times overlap, and all files that cover an SCT are asked.
 */
#include "base/abi.h"
#include "base/bytes.h"
#include "format/clubcard.h"

#define CLUBINDEX_ROW 42u /* bytes of a row of the table of logs */

typedef struct clubindex_row {
  const uint8_t *id;
  uint64_t at;
  uint32_t n;
} clubindex_row;

static clubindex_row clubindex_log_at(const nay_clubcard *index, uint32_t i) {
  const uint8_t *p = index->bytes + index->logs_at + (uint64_t)CLUBINDEX_ROW * i;
  return (clubindex_row){p, nay__load64be(p + 32), nay__load16be(p + 40)};
}

static uint32_t clubindex_entry(const nay_clubcard *index, uint64_t at, uint64_t *low,
                                uint64_t *high) {
  const uint8_t *p = index->bytes + at;
  uint64_t narrow = index->entry_bytes - 16; /* bytes of the number of the file */
  *low = nay__load64be(p + narrow);
  *high = nay__load64be(p + narrow + 8);
  return narrow == 1 ? p[0] : nay__load16be(p);
}

/* Only what is a name in every directory: no path leads out of it. */
static bool clubindex_name_is(const uint8_t name[NAY_CLUBCARD_ID]) {
  size_t len = 0;
  for (; len < NAY_CLUBCARD_ID && name[len] != 0; len++) {
    uint8_t c = name[len];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '.' && c != '_') return false;
  }
  if (!nay__all_zero(name + len, NAY_CLUBCARD_ID - len)) return false;
  bool dots = name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
  return len > 0 && !dots;
}

static nay_status clubindex_check_log(const nay_clubcard *index, uint32_t i, nay_diag *diag) {
  clubindex_row log = clubindex_log_at(index, i);
  uint64_t row = index->logs_at + (uint64_t)CLUBINDEX_ROW * i, size = index->entry_bytes * log.n;
  uint64_t tables = index->logs_at + (uint64_t)CLUBINDEX_ROW * index->nlogs;
  if (i > 0 && memcmp(clubindex_log_at(index, i - 1).id, log.id, NAY_CLUBCARD_ID) >= 0) {
    return nay__fail(diag, NAY_ECORRUPT, "the logs are not in ascending order", row);
  }
  if (log.at < tables || log.at > index->len || index->len - log.at < size) {
    return nay__fail(diag, NAY_ECORRUPT, "the entries of a log are not behind the tables",
                     row + 32);
  }
  for (uint32_t j = 0; j < i; j++) {
    clubindex_row other = clubindex_log_at(index, j);
    if (log.at < other.at + index->entry_bytes * other.n && other.at < log.at + size) {
      return nay__fail(diag, NAY_ECORRUPT, "the entries of two logs overlap", row + 32);
    }
  }
  for (uint32_t j = 0; j < log.n; j++) {
    uint64_t at = log.at + index->entry_bytes * j, low, high;
    if (clubindex_entry(index, at, &low, &high) >= index->nfiles) {
      return nay__fail(diag, NAY_ECORRUPT, "an entry names a file that is not in the table", at);
    }
    if (low > high)
      return nay__fail(diag, NAY_ECORRUPT, "the times of an entry end before they begin", at);
  }
  return NAY_OK;
}

nay_status nay__clubcard_index_parse(nay_clubcard *index, nay_diag *diag) {
  bool wide = index->bytes[7] == '1';
  uint64_t header = wide ? 14 : 13;
  if (index->len < header)
    return nay__fail(diag, NAY_ECORRUPT, "the bytes end inside of the header", index->len);
  index->nfiles = wide ? nay__load16be(index->bytes + 8) : index->bytes[8];
  index->nlogs = nay__load32be(index->bytes + header - 4);
  index->entry_bytes = wide ? 18 : 17;
  index->logs_at = header + (uint64_t)NAY_CLUBCARD_ID * index->nfiles;
  if (index->logs_at > index->len || index->nlogs > (index->len - index->logs_at) / CLUBINDEX_ROW) {
    return nay__fail(diag, NAY_ECORRUPT, "the bytes end inside of the tables", 8);
  }
  if (index->nlogs > NAY_CLUBCARD_MAX_LOGS) {
    return nay__fail(diag, NAY_ENOTSUP, "more than 4,096 logs", header - 4);
  }
  for (uint32_t i = 0; i < index->nfiles; i++) {
    uint64_t at = header + (uint64_t)NAY_CLUBCARD_ID * i;
    if (!clubindex_name_is(index->bytes + at)) {
      return nay__fail(diag, NAY_ECORRUPT,
                       "the name of a file is not letters, digits, '-', '.', '_'", at);
    }
  }
  for (uint32_t i = 0; i < index->nlogs; i++) NAY_TRY(clubindex_check_log(index, i, diag));
  return NAY_OK;
}

/* The least number from `from` on of a file that covers the SCT; nfiles when there is none. */
static uint32_t clubindex_next(const nay_clubcard *index, const nay_sct *sct, uint32_t from) {
  uint32_t least = index->nfiles, low = 0, high = index->nlogs;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = memcmp(clubindex_log_at(index, middle).id, sct->log, NAY_CLUBCARD_ID);
    if (order == 0) low = high = middle;
    if (order < 0) low = middle + 1;
    if (order > 0) high = middle;
  }
  clubindex_row log = low < index->nlogs ? clubindex_log_at(index, low) : (clubindex_row){.n = 0};
  if (log.n == 0 || memcmp(log.id, sct->log, NAY_CLUBCARD_ID) != 0) return least;
  for (uint32_t j = 0; j < log.n; j++) {
    uint64_t from_ms, to_ms;
    uint32_t file = clubindex_entry(index, log.at + index->entry_bytes * j, &from_ms, &to_ms);
    if (file < from || sct->timestamp < from_ms || sct->timestamp > to_ms) continue;
    if (file < least) least = file;
  }
  return least;
}

void nay__clubcard_index_name(const nay_clubcard *index, uint32_t file,
                              char name[NAY_CLUBCARD_NAME]) {
  uint64_t names_at = index->logs_at - (uint64_t)NAY_CLUBCARD_ID * index->nfiles;
  memcpy(name, index->bytes + names_at + (uint64_t)NAY_CLUBCARD_ID * file, NAY_CLUBCARD_ID);
  name[NAY_CLUBCARD_NAME - 1] = '\0';
}

nay_status nay_clubcard_file(const nay_clubcard *index, const nay_certificate *certificate,
                             uint32_t *file, char name[NAY_CLUBCARD_NAME]) {
  nay_certificate c;
  NAY_TRY(nay__clubcard_arguments(index, certificate, true, &c));
  uint32_t least = index->nfiles;
  for (size_t i = 0; i < c.nscts; i++) {
    uint32_t next = clubindex_next(index, &c.scts[i], *file);
    if (next < least) least = next;
  }
  if (least >= index->nfiles) return NAY_EEND;
  nay__clubcard_index_name(index, least, name);
  *file = least + 1;
  return NAY_OK;
}

void nay__clubcard_index_log(const nay_clubcard *index, uint32_t i, nay_clubcard_entry *entry) {
  clubindex_row log = clubindex_log_at(index, i);
  memcpy(entry->id, log.id, NAY_CLUBCARD_ID);
  entry->nfiles = log.n;
  for (uint32_t j = 0; j < log.n; j++) {
    uint64_t low, high;
    clubindex_entry(index, log.at + index->entry_bytes * j, &low, &high);
    entry->low = j == 0 ? low : nay__min_u64(entry->low, low);
    entry->high = nay__max_u64(entry->high, high);
  }
}
