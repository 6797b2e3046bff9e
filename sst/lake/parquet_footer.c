/*
 * parquet_footer.c - parses FileMetaData, the footer of a Parquet file: the columns of the schema,
 * and the position of the filter of each column chunk.
 *
 *   FileMetaData    2 schema, 3 num_rows, 4 row_groups, 6 created_by, 8 encryption_algorithm
 *   SchemaElement   1 type, 2 type_length, 4 name, 5 num_children, 6 converted_type, 7 scale,
 *                   10 logicalType
 *   RowGroup        1 columns, 3 num_rows
 *   ColumnChunk     1 file_path, 3 meta_data, 8 crypto_metadata, 9 encrypted_column_metadata
 *   ColumnMetaData  1 type, 3 path_in_schema, 14 bloom_filter_offset, 15 bloom_filter_length
 *
 * The schema lists a tree in depth-first order. Its leaves are the columns, and a row group lists
 * its chunks in the same order, as the specification demands. A chunk with another path or type is
 * corrupt: answers would be those of another column. The parser makes two passes. The first pass
 * counts, so memory is allocated once, and only for elements that the footer's bytes really
 * contain.
 */
#include "base/thrift.h"
#include "lake/parquet.h"

#define PARQUET_MAX_DEPTH 64u

/* Values of SchemaElement.converted_type. */
enum {
  CONVERTED_DECIMAL = 5,
  CONVERTED_DATE = 6,
  CONVERTED_TIME_MILLIS = 7,
  CONVERTED_TIME_MICROS = 8,
  CONVERTED_TIMESTAMP_MILLIS = 9,
  CONVERTED_TIMESTAMP_MICROS = 10,
  CONVERTED_UINT_8 = 11, /* 11 to 14: UINT_8 to UINT_64 */
  CONVERTED_INT_8 = 15,  /* 15 to 18: INT_8 to INT_64 */
  CONVERTED_INTERVAL = 21
};

/* Fields of the union LogicalType. */
enum {
  LOGICAL_DECIMAL = 5,
  LOGICAL_DATE = 6,
  LOGICAL_TIME = 7,
  LOGICAL_TIMESTAMP = 8,
  LOGICAL_INTEGER = 10,
  LOGICAL_UUID = 14,
  LOGICAL_FLOAT16 = 15
};

typedef struct schema_element {
  parquet_type type;
  bool has_type;
  int64_t nchildren;
  const uint8_t *name;
  size_t name_len;
} schema_element;

static void footer_converted(parquet_type *type, int64_t converted) {
  if (converted == CONVERTED_DECIMAL) type->logical = PARQUET_DECIMAL;
  if (converted == CONVERTED_DATE) type->logical = PARQUET_DATE;
  if (converted == CONVERTED_INTERVAL) type->logical = PARQUET_INTERVAL;
  if (converted == CONVERTED_TIME_MILLIS || converted == CONVERTED_TIME_MICROS) {
    type->logical = PARQUET_TIME;
    type->per_second = converted == CONVERTED_TIME_MILLIS ? 1000 : 1000000;
  }
  if (converted == CONVERTED_TIMESTAMP_MILLIS || converted == CONVERTED_TIMESTAMP_MICROS) {
    type->logical = PARQUET_TIMESTAMP;
    type->per_second = converted == CONVERTED_TIMESTAMP_MILLIS ? 1000 : 1000000;
  }
  if (converted >= CONVERTED_UINT_8 && converted < CONVERTED_INT_8 + 4) {
    bool is_unsigned = converted < CONVERTED_INT_8;
    type->logical = is_unsigned ? PARQUET_UNSIGNED : PARQUET_SIGNED;
    type->width = 8 << (converted - (is_unsigned ? CONVERTED_UINT_8 : CONVERTED_INT_8));
  }
}

/* Reads a TimeUnit: a union of empty structs. */
static int64_t footer_unit(nay_thrift *t, const nay_thrift_field *field) {
  static const int64_t units[] = {0, 1000, 1000000, 1000000000};
  nay_thrift_field member = {0, 0};
  int64_t unit = 0;
  if (!nay__thrift_struct(t, field)) return 0;
  while (nay__thrift_next(t, &member)) {
    if (member.id >= 1 && member.id <= 3) unit = units[member.id];
    nay__thrift_skip(t, &member);
  }
  return unit;
}

/* Reads the struct of one member of LogicalType. */
static void footer_logical_member(nay_thrift *t, int32_t kind, parquet_type *type) {
  nay_thrift_field field = {0, 0};
  while (nay__thrift_next(t, &field)) {
    bool is_time = kind == LOGICAL_TIME || kind == LOGICAL_TIMESTAMP;
    if (kind == LOGICAL_DECIMAL && field.id == 1) {
      type->scale = (int32_t)nay__thrift_int(t, &field);
    } else if (is_time && field.id == 1) {
      type->is_local = nay__thrift_int(t, &field) == 0;
    } else if (is_time && field.id == 2) {
      type->per_second = footer_unit(t, &field);
    } else if (kind == LOGICAL_INTEGER && field.id == 1) {
      type->width = (int32_t)nay__thrift_int(t, &field);
    } else if (kind == LOGICAL_INTEGER && field.id == 2) {
      type->logical = nay__thrift_int(t, &field) != 0 ? PARQUET_SIGNED : PARQUET_UNSIGNED;
    } else {
      nay__thrift_skip(t, &field);
    }
  }
}

static void footer_logical(nay_thrift *t, const nay_thrift_field *of, parquet_type *type) {
  nay_thrift_field member = {0, 0};
  if (!nay__thrift_struct(t, of)) return;
  while (nay__thrift_next(t, &member)) {
    if (!nay__thrift_struct(t, &member)) return;
    switch (member.id) {
      case LOGICAL_DECIMAL: type->logical = PARQUET_DECIMAL; break;
      case LOGICAL_DATE: type->logical = PARQUET_DATE; break;
      case LOGICAL_TIME: type->logical = PARQUET_TIME; break;
      case LOGICAL_TIMESTAMP: type->logical = PARQUET_TIMESTAMP; break;
      case LOGICAL_UUID: type->logical = PARQUET_UUID; break;
      case LOGICAL_FLOAT16: type->logical = PARQUET_FLOAT16; break;
      default: break;
    }
    footer_logical_member(t, member.id, type);
  }
}

static schema_element footer_element(nay_thrift *t) {
  schema_element e = {.nchildren = 0};
  nay_thrift_field field = {0, 0};
  int64_t physical = -1, fixed = 0, scale = 0;
  parquet_type stated = {.logical = PARQUET_PLAIN};
  while (nay__thrift_next(t, &field)) {
    switch (field.id) {
      case 1: physical = nay__thrift_int(t, &field); break;
      case 2: fixed = nay__thrift_int(t, &field); break;
      case 4: e.name = nay__thrift_binary(t, &field, &e.name_len); break;
      case 5: e.nchildren = nay__thrift_int(t, &field); break;
      case 6: footer_converted(&e.type, nay__thrift_int(t, &field)); break;
      case 7: scale = nay__thrift_int(t, &field); break;
      case 10: footer_logical(t, &field, &stated); break;
      default: nay__thrift_skip(t, &field); break;
    }
  }
  e.has_type = physical >= 0;
  e.type.scale = (int32_t)scale;
  /* LogicalType replaces converted_type, which is older */
  if (stated.logical != PARQUET_PLAIN) e.type = stated;
  if (physical > PARQUET_FIXED && t->bad == NULL) t->bad = "a column has an unknown type";
  e.type.physical = (parquet_physical)physical;
  e.type.fixed_len = fixed > 0 && fixed <= INT32_MAX ? (int32_t)fixed : 0;
  if (e.nchildren < 0 && t->bad == NULL) t->bad = "a group has a negative number of columns";
  return e;
}

/* ---- the schema ---- */

/* The open groups of the schema: for each group the number of elements left, and its path. */
typedef struct schema_walk {
  int64_t left[PARQUET_MAX_DEPTH];
  size_t path_at[PARQUET_MAX_DEPTH], path_len[PARQUET_MAX_DEPTH];
  unsigned depth;
  size_t used; /* bytes of all paths so far, each with its NUL */
  uint64_t nleaves;
} schema_walk;

/* Opens the group that an element starts, and closes the groups that it completes. The element's
   path is the next one in the buffer. */
static void walk_take(schema_walk *w, const schema_element *e, size_t path_len, nay_thrift *t) {
  w->left[w->depth]--;
  if (e->nchildren > 0) {
    if (w->depth + 1 == PARQUET_MAX_DEPTH) {
      t->bad = "groups are nested more than 64 deep";
      return;
    }
    w->depth++;
    w->left[w->depth] = e->nchildren;
    w->path_at[w->depth] = w->used;
    w->path_len[w->depth] = path_len;
  }
  w->used += path_len + 1;
  w->nleaves += e->nchildren == 0;
  while (w->depth != 0 && w->left[w->depth] == 0) w->depth--;
}

static size_t walk_path_len(const nay_sst_parquet *p, const schema_walk *w, const schema_element *e,
                            nay_thrift *t) {
  size_t before = w->path_len[w->depth], len = before + (before != 0) + e->name_len;
  if (w->left[w->depth] == 0) t->bad = "the schema has more elements than its groups";
  if (e->has_type != (e->nchildren == 0)) t->bad = "an element is both a column and a group";
  if (len + 1 > 4 * p->footer_len + 65536 - w->used) {
    t->bad = "the names of nested columns are too long";
  }
  return len;
}

/* Parses the schema in either pass; names NULL: only measures. */
static void footer_schema(nay_sst_parquet *p, nay_thrift *t, const nay_thrift_field *field,
                          char *names, schema_walk *w) {
  size_t n = nay__thrift_list(t, field, NAY_THRIFT_STRUCT);
  if (n == 0) return;
  schema_element root = footer_element(t);
  *w = (schema_walk){.left = {root.nchildren}};
  for (size_t i = 1; i < n && t->bad == NULL; i++) {
    schema_element e = footer_element(t);
    size_t len = t->bad == NULL ? walk_path_len(p, w, &e, t) : 0, before = w->path_len[w->depth];
    if (t->bad != NULL) return;
    if (names != NULL) {
      char *path = names + w->used;
      if (before != 0) memcpy(path, names + w->path_at[w->depth], before);
      if (before != 0) path[before] = '.';
      if (e.name_len != 0) memcpy(path + len - e.name_len, e.name, e.name_len);
      path[len] = 0;
      if (e.nchildren == 0) {
        parquet_column *c = &p->columns[w->nleaves];
        *c = (parquet_column){.name = path, .type = e.type};
        nay_sst__parquet_type_text(&e.type, c->type_text, sizeof c->type_text);
      }
    }
    walk_take(w, &e, len, t);
  }
  if (t->bad == NULL && w->left[w->depth] != 0) t->bad = "the schema ends before its groups do";
}

/* ---- row groups ---- */

/* Whether the path of a chunk equals the path of its column. */
static void chunk_path(nay_thrift *t, const nay_thrift_field *field, const parquet_column *c) {
  size_t n = nay__thrift_list(t, field, NAY_THRIFT_BINARY);
  const char *at = c->name;
  bool same = true;
  for (size_t i = 0; i < n && t->bad == NULL; i++) {
    size_t len;
    const uint8_t *part = nay__thrift_element(t, &len);
    if (i != 0) same = same && *at++ == '.';
    same = same && strlen(at) >= len && (len == 0 || memcmp(at, part, len) == 0);
    if (same) at += len;
  }
  if (t->bad == NULL && !(same && *at == 0)) t->bad = "a chunk is not of the column in its place";
}

static void chunk_metadata(nay_thrift *t, const nay_thrift_field *of, const parquet_column *c,
                           parquet_chunk *chunk) {
  nay_thrift_field field = {0, 0};
  if (!nay__thrift_struct(t, of)) return;
  while (nay__thrift_next(t, &field)) {
    int64_t v;
    switch (field.id) {
      case 1:
        if (nay__thrift_int(t, &field) != (int64_t)c->type.physical && t->bad == NULL) {
          t->bad = "a chunk has another type than its column";
        }
        break;
      case 3: chunk_path(t, &field, c); break;
      case 14:
        v = nay__thrift_int(t, &field);
        chunk->flags |= PARQUET_HAS_FILTER;
        chunk->offset = v > 0 ? (uint64_t)v : 0;
        break;
      case 15:
        v = nay__thrift_int(t, &field);
        chunk->nbytes = v > 0 && v <= INT32_MAX ? (uint32_t)v : 0;
        break;
      default: nay__thrift_skip(t, &field); break;
    }
  }
}

static void footer_chunk(nay_thrift *t, const parquet_column *c, parquet_chunk *chunk) {
  nay_thrift_field field = {0, 0};
  bool has_metadata = false;
  *chunk = (parquet_chunk){.offset = 0};
  while (nay__thrift_next(t, &field)) {
    size_t len;
    if (field.id == 1) {
      (void)nay__thrift_binary(t, &field, &len);
      if (len != 0) chunk->flags |= PARQUET_ELSEWHERE;
    } else if (field.id == 3) {
      has_metadata = true;
      chunk_metadata(t, &field, c, chunk);
    } else {
      if (field.id == 8 || field.id == 9) chunk->flags |= PARQUET_ENCRYPTED;
      nay__thrift_skip(t, &field);
    }
  }
  if (!has_metadata) chunk->flags |= PARQUET_ENCRYPTED;
}

static void footer_group(nay_sst_parquet *p, nay_thrift *t, uint64_t group) {
  nay_thrift_field field = {0, 0};
  bool has_columns = false;
  while (nay__thrift_next(t, &field)) {
    if (field.id == 1) {
      has_columns = true;
      if (nay__thrift_list(t, &field, NAY_THRIFT_STRUCT) != p->ncolumns && t->bad == NULL) {
        t->bad = "a row group has another number of columns than the schema";
      }
      for (uint64_t i = 0; i < p->ncolumns && t->bad == NULL; i++) {
        parquet_chunk *chunk = &p->chunks[group * p->ncolumns + i];
        footer_chunk(t, &p->columns[i], chunk);
        bool encrypted = (chunk->flags & PARQUET_ENCRYPTED) != 0;
        p->nencrypted += encrypted;
        if ((chunk->flags & PARQUET_HAS_FILTER) == 0) continue;
        p->nfilters++;
        p->columns[i].nfilters++;
      }
    } else if (field.id == 3) {
      int64_t nrows = nay__thrift_int(t, &field);
      p->group_rows[group] = nrows > 0 ? (uint64_t)nrows : 0;
    } else {
      nay__thrift_skip(t, &field);
    }
  }
  if (!has_columns && t->bad == NULL) t->bad = "a row group has no columns";
}

static void footer_groups(nay_sst_parquet *p, nay_thrift *t, const nay_thrift_field *field) {
  size_t n = nay__thrift_list(t, field, NAY_THRIFT_STRUCT);
  for (size_t i = 0; i < n && t->bad == NULL; i++) footer_group(p, t, i);
}

/* ---- both passes ---- */

typedef struct footer_found {
  nay_thrift_field schema_field, groups_field;
  const uint8_t *schema, *groups; /* start of the schema and of the row groups; NULL: absent */
} footer_found;

static void footer_created_by(nay_sst_parquet *p, nay_thrift *t, const nay_thrift_field *field) {
  size_t len;
  const uint8_t *text = nay__thrift_binary(t, field, &len);
  if (len >= sizeof p->created_by) len = sizeof p->created_by - 1;
  memset(p->created_by, 0, sizeof p->created_by);
  /* Bytes that are not printable ASCII become '?', because the text is shown on terminals. */
  for (size_t i = 0; i < len; i++) {
    p->created_by[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
  }
}

static void footer_find(nay_sst_parquet *p, nay_thrift *t, footer_found *found) {
  nay_thrift_field field = {0, 0};
  while (nay__thrift_next(t, &field)) {
    if (field.id == 2) {
      found->schema = t->at;
      found->schema_field = field;
    } else if (field.id == 4) {
      found->groups = t->at;
      found->groups_field = field;
    }
    if (field.id == 3) {
      int64_t nrows = nay__thrift_int(t, &field);
      p->nrows = nrows > 0 ? (uint64_t)nrows : 0;
    } else if (field.id == 6) {
      footer_created_by(p, t, &field);
    } else {
      nay__thrift_skip(t, &field);
    }
  }
}

static nay_status footer_fail(const nay_sst_parquet *p, const nay_thrift *t, nay_diag *diag) {
  return nay__fail(diag, NAY_ECORRUPT, t->bad, p->footer_at + (uint64_t)(t->at - p->footer));
}

static nay_status footer_room(nay_sst_parquet *p, uint64_t n, size_t each, nay_memory *memory) {
  size_t size;
  if (!nay__mul_ok((size_t)n, each, &size)) return NAY_ENOMEM;
  return nay__memory_new(&p->allocator, size != 0 ? size : 1, memory);
}

static nay_status footer_allocate(nay_sst_parquet *p, const schema_walk *w) {
  /* A chunk takes at least one byte, and the list of each group was checked against the bytes
     left. */
  if (p->ncolumns != 0 && p->ngroups > p->footer_len / p->ncolumns) return NAY_ECORRUPT;
  NAY_TRY(footer_room(p, w->used, 1, &p->names));
  NAY_TRY(footer_room(p, p->ncolumns, sizeof *p->columns, &p->columns_memory));
  NAY_TRY(footer_room(p, p->ngroups, sizeof *p->group_rows, &p->groups_memory));
  NAY_TRY(footer_room(p, p->ngroups * p->ncolumns, sizeof *p->chunks, &p->chunks_memory));
  p->columns = (void *)p->columns_memory.at;
  p->group_rows = (void *)p->groups_memory.at;
  p->chunks = (void *)p->chunks_memory.at;
  return NAY_OK;
}

nay_status nay_sst__parquet_footer(nay_sst_parquet *p, nay_diag *diag) {
  const uint8_t *end = p->footer + p->footer_len;
  nay_thrift t = {p->footer, end, NULL};
  footer_found found = {.schema = NULL};
  schema_walk walk = {.depth = 0};
  footer_find(p, &t, &found);
  if (t.bad == NULL && found.schema == NULL) t.bad = "there is no schema";
  if (t.bad != NULL) return footer_fail(p, &t, diag);
  t.at = found.schema;
  footer_schema(p, &t, &found.schema_field, NULL, &walk);
  if (t.bad != NULL) return footer_fail(p, &t, diag);
  p->ncolumns = walk.nleaves;
  if (found.groups != NULL) {
    nay_thrift groups = {found.groups, end, NULL};
    p->ngroups = nay__thrift_list(&groups, &found.groups_field, NAY_THRIFT_STRUCT);
    if (groups.bad != NULL) return footer_fail(p, &groups, diag);
  }
  nay_status status = footer_allocate(p, &walk);
  if (status != NAY_OK) {
    const char *what = status == NAY_ENOMEM ? "no memory for the columns and row groups"
                                            : "more row groups than the footer has room for";
    return nay__fail(diag, status, what, p->footer_at);
  }
  t.at = found.schema;
  footer_schema(p, &t, &found.schema_field, (char *)p->names.at, &walk);
  if (t.bad == NULL && found.groups != NULL) {
    t.at = found.groups;
    footer_groups(p, &t, &found.groups_field);
  }
  return t.bad != NULL ? footer_fail(p, &t, diag) : NAY_OK;
}
