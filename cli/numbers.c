/* numbers.c - see numbers.h. */
#include "numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plain decimal number, without sign, hex, inf and nan; *rest is what follows it. */
static bool number_start(const char *text, double *value, const char **rest) {
  if (!isdigit((unsigned char)text[0]) && text[0] != '.') return false;
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return false;
  char *end;
  *value = strtod(text, &end);
  *rest = end;
  return end != text && isfinite(*value);
}

/* The factor of a suffix: "", k, M, G, T, P, or Ki ... Pi, of a count also B; 0 when it is none. */
static double number_factor(const char *suffix, bool bytes) {
  static const char letters[] = "kMGTP";
  char s[4] = "";
  size_t len = strlen(suffix);
  if (len > 3) return 0;
  memcpy(s, suffix, len + 1);
  if (!bytes && strcmp(s, "B") == 0) return 1e9;
  if (bytes && len > 0 && s[len - 1] == 'B') s[--len] = '\0';
  if (len == 0) return 1;
  const char *at = strchr(letters, s[0] == 'K' ? 'k' : s[0]);
  if (at == NULL) return 0;
  double power = (double)(at - letters + 1);
  if (len == 1) return pow(1000, power);
  return len == 2 && s[1] == 'i' ? pow(1024, power) : 0;
}

static bool number_whole(const char *text, bool bytes, uint64_t *value) {
  if (isdigit((unsigned char)text[0]) && text[strspn(text, "0123456789")] == '\0') {
    uint64_t sum = 0; /* all digits: exact, beyond what a double holds */
    for (; *text != '\0'; text++) {
      uint64_t digit = (uint64_t)(*text - '0');
      if (sum > (UINT64_MAX - digit) / 10) return false;
      sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
  }
  double number;
  const char *rest;
  if (!number_start(text, &number, &rest)) return false;
  double factor = number_factor(rest, bytes), product = number * factor;
  double nearest = nearbyint(product);
  if (factor == 0 || product >= 1.8e19) return false;
  if (fabs(product - nearest) > 1e-9 * nearest) return false; /* 1.5 keys */
  *value = (uint64_t)nearest;
  return true;
}

bool number_count(const char *text, uint64_t *value) { return number_whole(text, false, value); }
bool number_size(const char *text, uint64_t *value) { return number_whole(text, true, value); }

bool number_real(const char *text, double *value) {
  const char *rest;
  return number_start(text, value, &rest) && *rest == '\0';
}

bool number_share(const char *text, double *value) {
  double number;
  const char *rest;
  if (!number_start(text, &number, &rest)) return false;
  if (strcmp(rest, "%") == 0) {
    number /= 100;
  } else if (*rest == '/') {
    double below;
    if (!number_real(rest + 1, &below) || below == 0) return false;
    number /= below;
  } else if (*rest != '\0') {
    return false;
  }
  *value = number;
  return number >= 0 && number <= 1;
}

bool number_fpr(const char *text, double *value) {
  return number_share(text, value) && *value > 0 && *value < 1;
}

bool number_span(const char *text, uint64_t *seconds) {
  static const char letters[] = "smhd";
  static const double lengths[] = {1, 60, 3600, 86400};
  double number;
  const char *rest;
  if (!number_start(text, &number, &rest)) return false;
  double unit = 1;
  if (*rest != '\0') {
    const char *at = strchr(letters, *rest);
    if (at == NULL || rest[1] != '\0') return false;
    unit = lengths[at - letters];
  }
  if (number * unit < 1 || number * unit > 1e15) return false;
  *seconds = (uint64_t)(number * unit);
  return true;
}

bool number_time(const char *text, double *seconds) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  static const double lengths[] = {1e-9, 1e-6, 1e-3, 1};
  double number;
  const char *rest;
  if (!number_start(text, &number, &rest)) return false;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(rest, units[i]) != 0) continue;
    *seconds = number * lengths[i];
    return *seconds >= 0.999e-9 && *seconds <= 1000;
  }
  return false;
}

const char *time_text(double seconds, char text[NUMBER_TEXT]) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  char digits[NUMBER_TEXT];
  size_t i = 0;
  for (; i < 3 && seconds < 0.9995 && seconds > 0; i++) seconds *= 1000;
  if (seconds >= 999.5) {
    snprintf(text, NUMBER_TEXT, "%.30s %s", count_text(seconds, digits), units[i]);
  } else {
    snprintf(text, NUMBER_TEXT, "%.3g %s", seconds, units[i]);
  }
  return text;
}

const char *count_text(double value, char text[NUMBER_TEXT]) {
  char digits[NUMBER_TEXT];
  if (!isfinite(value)) return strcpy(text, "?");
  int n = snprintf(digits, sizeof digits, "%.0f", value < 1e24 ? value : 1e24);
  char *to = text;
  for (int i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return text;
}

const char *size_text(uint64_t nbytes, char text[NUMBER_TEXT]) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (nbytes < 1024) {
    snprintf(text, NUMBER_TEXT, "%u B", (unsigned)nbytes);
    return text;
  }
  double value = (double)nbytes / 1024;
  unsigned unit = 0;
  for (; value >= 1023.95 && unit < 5; unit++) value /= 1024;
  snprintf(text, NUMBER_TEXT, "%.1f %s", value, units[unit]);
  return text;
}

const char *fpr_text(double rate, char text[NUMBER_TEXT]) {
  if (!isfinite(rate)) {
    strcpy(text, "?");
  } else if (rate == 0) {
    strcpy(text, "0%");
  } else if (rate < 1e-4) {
    snprintf(text, NUMBER_TEXT, "%.2e", rate);
  } else {
    double percent = rate * 100;
    int decimals = percent >= 10 ? 1 : percent >= 1 ? 2 : percent >= 0.1 ? 3 : 4;
    snprintf(text, NUMBER_TEXT, "%.*f%%", decimals, percent);
  }
  return text;
}

const char *counted_text(double value, const char *noun, char *text, size_t cap) {
  char count[NUMBER_TEXT];
  count_text(value, count);
  size_t len = strlen(noun);
  bool one = strcmp(count, "1") == 0;
  bool ies = !one && len > 1 && noun[len - 1] == 'y' && strchr("aeiou", noun[len - 2]) == NULL;
  snprintf(text, cap, "%s %.*s%s", count, (int)(ies ? len - 1 : len), noun,
           one   ? ""
           : ies ? "ies"
                 : "s");
  return text;
}
