// A tool in Go: counts the lines, words and characters of a text file.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

func init() {
	handlers = map[string]Handler{"count": count}
}

// A c-shared build has no main, but Go requires one.
func main() {}

func count(_ Context, input []byte) (any, error) {
	var args struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(args.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ToolError{
			Message:    fmt.Sprintf("no such file: %s", args.Path),
			Code:       "NOT_FOUND",
			Suggestion: "pass the path of a text file, relative to the working directory",
		}
	}
	if err != nil {
		return nil, err
	}
	text := string(data)
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	fmt.Fprintln(os.Stderr, "read", args.Path)
	return map[string]int{
		"lines": lines,
		"words": len(strings.Fields(text)),
		"chars": utf8.RuneCountInString(text),
	}, nil
}
