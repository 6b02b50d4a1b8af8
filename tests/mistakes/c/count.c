// Mistakes of an author at run time, a handler for each.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/tool.h"

typedef exports_goondan_tool_handlers_outcome_t outcome;
typedef exports_goondan_tool_handlers_tool_error_t tool_error;

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

IMPORT("wasi:http/types@0.2.12", "[constructor]fields")
extern int new_fields(void);
IMPORT("wasi:http/types@0.2.12", "[constructor]outgoing-request")
extern int new_request(int headers);
IMPORT("wasi:http/types@0.2.12", "[method]outgoing-request.set-authority")
extern int set_authority(int request, int is_some, const char *text, size_t length);
IMPORT("wasi:http/types@0.2.12", "[method]outgoing-request.set-scheme")
extern int set_scheme(int request, int is_some, int scheme, const char *other, size_t length);
IMPORT("wasi:http/types@0.2.12", "[method]outgoing-request.set-path-with-query")
extern int set_path(int request, int is_some, const char *text, size_t length);
IMPORT("wasi:http/outgoing-handler@0.2.12", "handle")
extern void handle(int request, int has_options, int options, void *result);

static bool fail(tool_error *error, const char *message) {
  memset(error, 0, sizeof *error);
  tool_string_dup(&error->message, message);
  return false;
}

static bool throw(tool_error *error) {
  (void)error;
  fprintf(stderr, "there is no fourth number\n");
  abort();
}

static bool spin(tool_error *error) {
  (void)error;
  for (volatile int i = 0;; i++) {
  }
}

static bool memory(tool_error *error) {
  (void)error;
  for (;;) {
    char *volatile kept = malloc(1 << 20);
    if (kept == NULL) {
      perror("malloc");
      abort();
    }
    memset(kept, 1, 1 << 20);
  }
}

static bool escape(tool_error *error) {
  FILE *file = fopen("../secret.txt", "r");
  return file != NULL || fail(error, strerror(errno));
}

static bool request(tool_error *error) {
  int request = new_request(new_fields());
  set_scheme(request, 1, 0, NULL, 0);
  set_path(request, 1, "/", 1);
  set_authority(request, 1, "example.org", strlen("example.org"));
  // result<future-incoming-response, error-code>: the case at 0, that of the error at 8.
  _Alignas(8) unsigned char result[40];
  char message[64];
  handle(request, 0, 0, result);
  snprintf(message, sizeof message, "the request failed: error-code %d", result[8]);
  return !result[0] || fail(error, message);
}

static const struct {
  const char *name;
  bool (*run)(tool_error *);
} tools[] = {
    {"throw", throw}, {"loop", spin}, {"memory", memory}, {"escape", escape}, {"request", request},
};

#define TOOLS (sizeof tools / sizeof *tools)

void exports_goondan_tool_handlers_describe(exports_goondan_tool_handlers_list_export_spec_t *ret) {
  ret->len = TOOLS;
  ret->ptr = calloc(ret->len, sizeof *ret->ptr);
  for (size_t i = 0; i < TOOLS; i++) tool_string_dup(&ret->ptr[i].name, tools[i].name);
}

bool exports_goondan_tool_handlers_call(
    tool_string_t *name, exports_goondan_tool_handlers_tool_context_t *context,
    exports_goondan_tool_handlers_json_t *input, outcome *ret, tool_error *error) {
  (void)context, (void)input;
  ret->tag = GOONDAN_TOOL_TYPES_OUTCOME_OUTPUT;
  tool_string_dup(&ret->val.output, "null");
  for (size_t i = 0; i < TOOLS; i++) {
    if (strlen(tools[i].name) == name->len && !memcmp(tools[i].name, name->ptr, name->len)) return tools[i].run(error);
  }
  return fail(error, "no such handler");
}
