/*
 * key_time.c - dates and timestamps of ISO 8601, in the proleptic Gregorian calendar.
 *
 *   date       year "-" MM "-" DD                      year: 4 to 7 digits, with a sign or without
 *   timestamp  date [ ("T" | " ") HH ":" MM [ ":" SS [ ("." | ",") digits ] ] [ zone ] ]
 *   zone       "Z"  |  ("+" | "-") HH [ [":"] MM [ ":" SS ] ]
 *
 * or "infinity", "-infinity". Year 0000 is 1 BC. Without a zone a timestamp is in UTC.
 */
#include "key/key_text.h"

#define TIME_DAY 86400

/* The least and the greatest timestamp, seconds and microseconds; one further is infinity. */
#define TIME_MIN_SECOND INT64_C(-9223372036855)
#define TIME_MIN_MICRO 224193
#define TIME_MAX_SECOND INT64_C(9223372036854)
#define TIME_MAX_MICRO 775806

/* Exactly two digits, at most `max`. */
static nay_status time_pair(key_cursor *c, int max, const char *what, int *value) {
  size_t start = c->at;
  *value = 0;
  for (unsigned i = 0; i < 2; i++, c->at++) {
    if (!nay__key_is_digit(nay__key_peek(c))) return nay__key_fail(c, what);
    *value = *value * 10 + c->text[c->at] - '0';
  }
  return *value <= max ? NAY_OK : nay__key_fail_at(c, start, what);
}

static nay_status time_year(key_cursor *c, int64_t *year) {
  size_t start = c->at;
  bool negative = nay__key_take_sign(c);
  size_t first = c->at;
  *year = 0;
  for (; nay__key_is_digit(nay__key_peek(c)) && c->at - first < 7; c->at++) {
    *year = *year * 10 + c->text[c->at] - '0';
  }
  if (c->at - first < 4) return nay__key_fail(c, "a year has 4 to 7 digits");
  if (negative && *year == 0) return nay__key_fail_at(c, start, "there is no year -0000");
  if (negative) *year = -*year;
  return NAY_OK;
}

static int time_days_in_month(int64_t year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01. A year begins in March here, so that the leap day is its last. */
static int64_t time_days(int64_t year, int month, int day) {
  if (month <= 2) year--;
  int64_t era = (year >= 0 ? year : year - 399) / 400, year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

static nay_status time_date(key_cursor *c, int64_t *days) {
  int64_t year;
  int month, day;
  NAY_TRY(time_year(c, &year));
  if (!nay__key_take(c, '-')) return nay__key_fail(c, "a date is YYYY-MM-DD");
  NAY_TRY(time_pair(c, 12, "a month is 01 to 12", &month));
  if (month == 0) return nay__key_fail_at(c, c->at - 2, "a month is 01 to 12");
  if (!nay__key_take(c, '-')) return nay__key_fail(c, "a date is YYYY-MM-DD");
  NAY_TRY(time_pair(c, 31, "a day is 01 to 31", &day));
  if (day == 0 || day > time_days_in_month(year, month)) {
    return nay__key_fail_at(c, c->at - 2, "this month has no such day");
  }
  *days = time_days(year, month, day);
  return NAY_OK;
}

static bool time_infinite(key_cursor *c, uint64_t *word) {
  if (nay__key_take_rest(c, "infinity") || nay__key_take_rest(c, "+infinity")) {
    *word = INT64_MAX;
  } else if (nay__key_take_rest(c, "-infinity")) {
    *word = UINT64_C(1) << 63;
  } else {
    return false;
  }
  return true;
}

nay_status nay__key_scan_date(key_cursor *c, uint64_t *word) {
  int64_t days;
  if (time_infinite(c, word)) return NAY_OK;
  NAY_TRY(time_date(c, &days));
  if (c->at < c->len) return nay__key_fail(c, "something follows the date");
  *word = (uint64_t)days;
  return NAY_OK;
}

/* Digits after the sixth must be 0: nothing is rounded. */
static nay_status time_fraction(key_cursor *c, int *micro) {
  int scale = 100000;
  *micro = 0;
  if (!nay__key_take(c, '.') && !nay__key_take(c, ',')) return NAY_OK;
  if (!nay__key_is_digit(nay__key_peek(c))) return nay__key_fail(c, "a fraction without digits");
  for (; nay__key_is_digit(nay__key_peek(c)); c->at++, scale /= 10) {
    int digit = c->text[c->at] - '0';
    if (scale == 0 && digit != 0) return nay__key_fail(c, "a fraction finer than a microsecond");
    *micro += digit * scale;
  }
  return NAY_OK;
}

static nay_status time_of_day(key_cursor *c, int *second, int *micro) {
  int hh, mm, ss = 0;
  *micro = 0;
  NAY_TRY(time_pair(c, 23, "an hour is 00 to 23", &hh));
  if (!nay__key_take(c, ':')) return nay__key_fail(c, "a time is HH:MM or HH:MM:SS");
  NAY_TRY(time_pair(c, 59, "a minute is 00 to 59", &mm));
  if (nay__key_take(c, ':')) {
    NAY_TRY(time_pair(c, 59, "a second is 00 to 59: a leap second has no key", &ss));
    NAY_TRY(time_fraction(c, micro));
  }
  *second = (hh * 60 + mm) * 60 + ss;
  return NAY_OK;
}

/* Seconds east of UTC. */
static nay_status time_zone(key_cursor *c, int *offset) {
  int sign = nay__key_peek(c), hh, mm = 0, ss = 0;
  *offset = 0;
  if (nay__key_take(c, 'Z') || nay__key_take(c, 'z')) return NAY_OK;
  if (sign != '+' && sign != '-') return NAY_OK;
  c->at++;
  NAY_TRY(time_pair(c, 23, "the hours of a zone are 00 to 23", &hh));
  bool colon = nay__key_take(c, ':');
  if (colon || nay__key_is_digit(nay__key_peek(c))) {
    NAY_TRY(time_pair(c, 59, "the minutes of a zone are 00 to 59", &mm));
    if (colon && nay__key_take(c, ':')) {
      NAY_TRY(time_pair(c, 59, "the seconds of a zone are 00 to 59", &ss));
    }
  }
  *offset = ((hh * 60 + mm) * 60 + ss) * (sign == '-' ? -1 : 1);
  return NAY_OK;
}

static bool time_in_range(int64_t second, int micro) {
  if (second == TIME_MIN_SECOND) return micro >= TIME_MIN_MICRO;
  if (second == TIME_MAX_SECOND) return micro <= TIME_MAX_MICRO;
  return second > TIME_MIN_SECOND && second < TIME_MAX_SECOND;
}

nay_status nay__key_scan_timestamp(key_cursor *c, uint64_t *word) {
  int64_t days;
  int second = 0, micro = 0, offset = 0;
  if (time_infinite(c, word)) return NAY_OK;
  NAY_TRY(time_date(c, &days));
  if (nay__key_take(c, 'T') || nay__key_take(c, 't') || nay__key_take(c, ' ')) {
    NAY_TRY(time_of_day(c, &second, &micro));
    NAY_TRY(time_zone(c, &offset));
  }
  if (c->at < c->len) return nay__key_fail(c, "something follows the timestamp");
  int64_t total = days * TIME_DAY + second - offset;
  if (!time_in_range(total, micro)) {
    return nay__key_fail_at(c, 0, "a timestamp beyond 64 bits of microseconds since 1970");
  }
  *word = (uint64_t)total * 1000000 + (uint64_t)micro;
  return NAY_OK;
}
