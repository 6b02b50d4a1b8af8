// A tool in C: counts the lines, words and characters of a text file.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/tool.h"
#include "json.h"

typedef exports_goondan_tool_handlers_outcome_t outcome;
typedef exports_goondan_tool_handlers_tool_error_t tool_error;

// Answers with an error that a model reads. The strings are copied; the host frees the copies.
static bool fail(tool_error *error, const char *code, const char *message, const char *suggestion) {
  memset(error, 0, sizeof *error);
  tool_string_dup(&error->message, message);
  error->code.is_some = code != NULL;
  if (code != NULL) tool_string_dup(&error->code.val, code);
  error->suggestion.is_some = suggestion != NULL;
  if (suggestion != NULL) tool_string_dup(&error->suggestion.val, suggestion);
  return false;
}

static bool count(const char *input, outcome *ret, tool_error *error) {
  char path[4096], text[8192];
  if (!json_string_field(input, "path", path, sizeof path)) {
    return fail(error, "INVALID_ARGUMENT", "path is not a string of at most 4 KB", NULL);
  }
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    snprintf(text, sizeof text, "no such file: %s", path);
    return fail(error, "NOT_FOUND", text, "pass the path of a text file, relative to the working directory");
  }
  unsigned long lines = 0, words = 0, chars = 0;
  int byte, last = '\n';
  bool in_word = false;
  while ((byte = getc(file)) != EOF) {
    chars += (byte & 0xc0) != 0x80;  // not a continuation byte of UTF-8
    lines += byte == '\n';
    words += !isspace(byte) && !in_word;
    in_word = !isspace(byte);
    last = byte;
  }
  lines += last != '\n';
  fclose(file);
  fprintf(stderr, "read %s\n", path);
  snprintf(text, sizeof text, "{\"lines\":%lu,\"words\":%lu,\"chars\":%lu}", lines, words, chars);
  ret->tag = GOONDAN_TOOL_TYPES_OUTCOME_OUTPUT;
  tool_string_dup(&ret->val.output, text);
  return true;
}

void exports_goondan_tool_handlers_describe(exports_goondan_tool_handlers_list_export_spec_t *ret) {
  ret->len = 1;
  ret->ptr = calloc(ret->len, sizeof *ret->ptr);
  tool_string_dup(&ret->ptr[0].name, "count");
}

bool exports_goondan_tool_handlers_call(
    tool_string_t *name, exports_goondan_tool_handlers_tool_context_t *context,
    exports_goondan_tool_handlers_json_t *input, outcome *ret, tool_error *error) {
  (void)name;     // The host calls no name that `describe` does not list.
  (void)context;
  char *text = strndup((const char *)input->ptr, input->len);
  bool ok = count(text, ret, error);
  free(text);
  return ok;
}
