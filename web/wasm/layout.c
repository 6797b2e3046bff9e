/*
 * layout.c - the fields of the public structs, with their offsets and types, for JavaScript: it
 * reads this table when the module is loaded, and makes objects of structs by it. A field that is
 * not here does not exist for JavaScript (threads, spill_dir, fields for later use).
 */
#include "nay_explain.h"
#include "nayw.h"

#define F(type, field) NAYW_FIELD(type, nay_params, field)
static const nayw_field layout_params[] = {F(NUMBER, size),
                                           F(KIND, kind),
                                           F(COUNT, nkeys),
                                           F(DOUBLE, fpr),
                                           F(DOUBLE, bits_per_key),
                                           F(COUNT, nbytes),
                                           F(COUNT, nbits),
                                           F(NUMBER, k),
                                           F(NUMBER, flags),
                                           F(COUNT, fold),
                                           F(HASH, hash),
                                           F(WORD, seed),
                                           F(KEY, key),
                                           F(NUMBER, tag_bits),
                                           F(NUMBER, generations),
                                           F(COUNT, window),
                                           F(COUNT, max_nkeys),
                                           F(COUNT, max_nbytes),
                                           F(NUMBER, value_bits),
                                           F(NUMBER, check_bits),
                                           F(COUNT, range_length),
                                           F(NUMBER, range_keys),
                                           F(NUMBER, range_delimiter),
                                           {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_plan, field)
static const nayw_field layout_plan[] = {
    F(NUMBER, size),        F(KIND, kind),           F(NUMBER, k),          F(COUNT, nkeys),
    F(COUNT, nbits),        F(COUNT, nbytes),        F(COUNT, nbytes_file), F(COUNT, nbytes_build),
    F(DOUBLE, fpr),         F(DOUBLE, bits_per_key), F(DOUBLE, fpr_limit),  F(DOUBLE, window_error),
    F(NUMBER, generations), F(NUMBER, tag_bits),     {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_stats, field)
static const nayw_field layout_stats[] = {F(NUMBER, size),
                                          F(KIND, kind),
                                          F(HASH, hash),
                                          F(NUMBER, k),
                                          F(COUNT, nkeys),
                                          F(DOUBLE, nkeys_estimated),
                                          F(COUNT, nbits),
                                          F(COUNT, nbits_set),
                                          F(COUNT, nbytes),
                                          F(DOUBLE, fill),
                                          F(DOUBLE, utilisation),
                                          F(DOUBLE, fpr_now),
                                          F(DOUBLE, fpr_planned),
                                          F(BOOL, overloaded),
                                          F(BOOL, derived),
                                          F(BOOL, read_only),
                                          F(BOOL, locked),
                                          F(BOOL, stores_key),
                                          F(NUMBER, nlevels),
                                          F(NUMBER, tag_bits),
                                          F(COUNT, nstuck),
                                          F(COUNT, nrefused),
                                          F(COUNT, clock),
                                          F(BOOL, saturated),
                                          F(NUMBER, value_bits),
                                          F(NUMBER, check_bits),
                                          F(COUNT, range_length),
                                          F(COUNT, range_block),
                                          F(NUMBER, range_exact),
                                          F(NUMBER, range_shift),
                                          {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_overlap, field)
static const nayw_field layout_overlap[] = {F(NUMBER, size),
                                            F(DOUBLE, nkeys_a),
                                            F(DOUBLE, nkeys_b),
                                            F(DOUBLE, nkeys_union),
                                            F(DOUBLE, nkeys_intersection),
                                            F(DOUBLE, jaccard),
                                            {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_explain_step, field)
static const nayw_field layout_step[] = {F(NUMBER, size),
                                         {"kind", offsetof(nay_explain_step, name), NAYW_TEXT},
                                         F(BOOL, ok),
                                         F(NUMBER, group),
                                         F(NUMBER, level),
                                         F(NUMBER, index),
                                         F(NUMBER, nsteps),
                                         F(TEXT, unit),
                                         F(COUNT, unit_index),
                                         F(COUNT, unit_bit),
                                         F(COUNT, unit_nbits),
                                         F(COUNT, bit),
                                         F(COUNT, bit2),
                                         F(NUMBER, nbits),
                                         F(NUMBER, nbits2),
                                         {"mask", offsetof(nay_explain_step, mask), NAYW_WORD},
                                         {"mask2", offsetof(nay_explain_step, mask) + 8, NAYW_WORD},
                                         F(WORD, found),
                                         F(WORD, expected),
                                         F(NUMBER, counter),
                                         {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_explanation, field)
static const nayw_field layout_explanation[] = {
    F(NUMBER, size),
    F(BOOL, maybe),
    F(NUMBER, reason),
    F(TEXT, reason_text),
    F(HASH, hash_kind),
    {"hash", offsetof(nay_explanation, hash), NAYW_WORD},
    {"hash_hi", offsetof(nay_explanation, hash) + 8, NAYW_WORD},
    F(WORD, seed),
    F(WORD, premix),
    F(WORD, word),
    F(COUNT, nshards),
    F(COUNT, shard),
    F(WORD, shard_seed),
    F(COUNT, nsteps),
    F(COUNT, nfailed),
    F(COUNT, ngroups),
    F(COUNT, group),
    F(NUMBER, level),
    F(NUMBER, payload),
    F(COUNT, payload_nbytes),
    {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_diag, field)
static const nayw_field layout_diag[] = {
    F(TEXT, what), F(COUNT, offset), F(NUMBER, os_error), {NULL, 0, 0}};
#undef F

static const nayw_layout layouts[] = {
    {"params", sizeof(nay_params), layout_params},
    {"plan", sizeof(nay_plan), layout_plan},
    {"stats", sizeof(nay_stats), layout_stats},
    {"overlap", sizeof(nay_overlap), layout_overlap},
    {"step", sizeof(nay_explain_step), layout_step},
    {"explanation", sizeof(nay_explanation), layout_explanation},
    {"diag", sizeof(nay_diag), layout_diag},
    {NULL, 0, NULL},
};

NAYW_EXPORT(nayw_layouts) const nayw_layout *nayw_layouts(void);
const nayw_layout *nayw_layouts(void) { return layouts; }
