/* json.c - the JSON emitter of output.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

#define JSON_DEPTH 8

static struct {
  char closers[JSON_DEPTH];
  bool has_members[JSON_DEPTH];
  unsigned depth;
} json;

static void json_string(const uint8_t *bytes, size_t len) {
  out_bytes("\"", 1);
  for (size_t i = 0; i < len; i++) {
    if (bytes[i] == '"' || bytes[i] == '\\') out_bytes("\\", 1);
    if (bytes[i] < 0x20 || bytes[i] == 0x7f) {
      out_text("\\u%04x", bytes[i]);
    } else {
      out_bytes(bytes + i, 1);
    }
  }
  out_bytes("\"", 1);
}

static void json_name(const char *name) {
  if (json.depth > 0) {
    bool *has = &json.has_members[json.depth - 1];
    if (*has) out_bytes(",", 1);
    *has = true;
  }
  if (name == NULL) return;
  json_string((const uint8_t *)name, strlen(name));
  out_bytes(":", 1);
}

void json_open(const char *name, char bracket) {
  json_name(name);
  out_bytes(&bracket, 1);
  json.closers[json.depth] = bracket == '{' ? '}' : ']';
  json.has_members[json.depth++] = false;
}

void json_close(void) { out_bytes(&json.closers[--json.depth], 1); }

void json_begin(const char *schema) {
  json_open(NULL, '{');
  if (schema != NULL) json_text("schema", schema);
}

void json_end(void) {
  json_close();
  out_bytes("\n", 1);
}

static bool json_is_utf8(const uint8_t *p, size_t len) {
  for (size_t i = 0; i < len;) {
    size_t need = p[i] < 0x80 ? 1 : p[i] >= 0xf0 ? 4 : p[i] >= 0xe0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if ((p[i] >= 0x80 && p[i] < 0xc2) || p[i] > 0xf4 || need > len - i) return false;
    uint32_t code = need == 1 ? p[i] : p[i] & (0x7fu >> need);
    for (size_t j = 1; j < need; j++) {
      if ((p[i + j] & 0xc0) != 0x80) return false;
      code = code << 6 | (p[i + j] & 0x3f);
    }
    if (code < least[need] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += need;
  }
  return true;
}

static void json_base64(const uint8_t *p, size_t len) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out_bytes("\"", 1);
  for (size_t i = 0; i < len; i += 3) {
    uint32_t b1 = i + 1 < len ? p[i + 1] : 0, b2 = i + 2 < len ? p[i + 2] : 0;
    uint32_t three = (uint32_t)p[i] << 16 | b1 << 8 | b2;
    char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                    i + 1 < len ? digits[three >> 6 & 63] : '=',
                    i + 2 < len ? digits[three & 63] : '='};
    out_bytes(four, 4);
  }
  out_bytes("\"", 1);
}

void json_bytes(const char *name, const uint8_t *bytes, size_t len) {
  json_name(name);
  if (json_is_utf8(bytes, len)) {
    json_string(bytes, len);
    return;
  }
  out_text("{\"b64\":");
  json_base64(bytes, len);
  out_bytes("}", 1);
}

void json_text(const char *name, const char *text) {
  json_bytes(name, (const uint8_t *)text, strlen(text));
}

void json_count(const char *name, uint64_t value) {
  json_name(name);
  bool rounds = value > (uint64_t)1 << 53;
  out_text(rounds ? "\"%llu\"" : "%llu", (unsigned long long)value);
}

void json_real(const char *name, double value) {
  json_name(name);
  if (isfinite(value)) {
    out_text("%.10g", value);
  } else {
    out_text("null");
  }
}

void json_bool(const char *name, bool value) {
  json_name(name);
  out_text(value ? "true" : "false");
}

void json_null(const char *name) {
  json_name(name);
  out_text("null");
}
