/*
 * window_time.h - windows by time: their length, the time of the keys, and what time it is. The
 * clock of such a filter counts seconds since 1970, as that of NAY.RESERVE ... SECONDS in the Redis
 * module.
 */
#ifndef NAY_WINDOW_TIME_H
#define NAY_WINDOW_TIME_H

#include "stream.h"

/* window_begin: what the options say together; exits when they contradict each other. Returns
 * whether any of them is given. */
bool window_begin(const window_options *w);

/* window_params: --window, into params of a filter that is to be made. */
void window_params(const window_options *w, const size_options *size, nay_params *params);

/* window_contradicts: whether --window says otherwise than the params of a filter that is there. */
bool window_contradicts(const window_options *w, const nay_params *is);

/* window_is_timed: whether the filter is a window by time. */
bool window_is_timed(const nay_filter *f);

/* window_about: the length and the clock of a window by time, in words; NULL: it is none. */
#define WINDOW_TEXT 160u
const char *window_about(const nay_filter *f, uint64_t *ticks, uint64_t *clock,
                         char text[WINDOW_TEXT]);

/* window_advance: sets the clock of a filter to --now, by default that of this machine. Exits when
 * the filter's clock is later, or it has none. */
void window_advance(const window_options *w, nay_filter *f, const char *path);

/*
 * window_fill: adds the keys of the files at the times that their column states, or all at --now.
 * A key that comes after later ones is added at their time, so that none is forgotten too early;
 * one whose time is none, or later than --now, is a bad record. Returns how many keys there were.
 */
uint64_t window_fill(const options *o, const window_options *w, const keys_options *keys,
                     const char *const *paths, size_t npaths, nay_filter *f, const char *path);

#endif /* NAY_WINDOW_TIME_H */
