#include "json.h"

#include <stdlib.h>
#include <string.h>

// Appends a code point as UTF-8.
static size_t put(unsigned long point, char *to) {
  if (point < 0x80) return to[0] = (char)point, 1;
  if (point < 0x800) return to[0] = (char)(0xc0 | point >> 6), to[1] = (char)(0x80 | (point & 0x3f)), 2;
  to[0] = (char)(0xe0 | point >> 12), to[1] = (char)(0x80 | (point >> 6 & 0x3f)), to[2] = (char)(0x80 | (point & 0x3f));
  return 3;
}

// Reads a string that begins after its quote. Returns the place after it, or NULL if it does not fit.
static const char *string(const char *from, char *text, size_t size) {
  size_t length = 0;
  for (; *from != '"'; from++) {
    if (*from == 0 || length + 4 > size) return NULL;
    if (*from != '\\') {
      text[length++] = *from;
    } else if (*++from == 'u') {
      char digits[5] = {0};
      length += put(strtoul(memcpy(digits, from + 1, 4), NULL, 16), text + length);
      from += 4;
    } else {
      const char *escape = strchr("bfnrt", *from);
      text[length++] = escape ? "\b\f\n\r\t"[escape - "bfnrt"] : *from;
    }
  }
  text[length] = 0;
  return from + 1;
}

bool json_string_field(const char *object, const char *name, char *text, size_t size) {
  const char *at = object;
  while ((at = strchr(at, '"')) != NULL) {
    if ((at = string(at + 1, text, size)) == NULL) return false;
    bool is_field = strcmp(text, name) == 0;
    at += strspn(at, " \t\r\n");
    if (*at != ':' || !is_field) continue;
    at += 1 + strspn(at + 1, " \t\r\n");
    return *at == '"' && string(at + 1, text, size) != NULL;
  }
  return false;
}
