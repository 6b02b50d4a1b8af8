// Mistakes of an author at run time, a handler for each.
package main

import (
	"net/http"
	"os"
)

func init() {
	handlers = map[string]Handler{
		"throw":   throw,
		"loop":    spin,
		"memory":  memory,
		"escape":  escape,
		"request": request,
	}
}

func main() {}

func throw(_ Context, input []byte) (any, error) {
	var numbers []int
	return numbers[len(input)], nil
}

func spin(_ Context, _ []byte) (any, error) {
	for {
	}
}

func memory(_ Context, _ []byte) (any, error) {
	var kept [][]byte
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func escape(_ Context, _ []byte) (any, error) {
	data, err := os.ReadFile("../secret.txt")
	return string(data), err
}

func request(_ Context, _ []byte) (any, error) {
	response, err := http.Get("http://example.org/")
	if err != nil {
		return nil, err
	}
	return response.Status, nil
}
