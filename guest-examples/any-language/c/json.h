// Reads one field of a JSON object. A tool with more arguments takes a library, such as cJSON or yyjson.
#include <stdbool.h>
#include <stddef.h>

// Copies the text of the string field `name` of a JSON object whose other fields are not objects. Returns
// false if there is none, or it needs more than `size` bytes.
bool json_string_field(const char *object, const char *name, char *text, size_t size);
