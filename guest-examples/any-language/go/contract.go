package main

// The exports of goondan:tool/handlers@2.0.0, in the canonical ABI of the component model. Copy this file
// into your tool: it serves the handlers in `handlers`.

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"structs"
	"unsafe"
)

// Handler gets the arguments as JSON and returns a value that encoding/json can write.
type Handler func(ctx Context, input []byte) (any, error)

// Context identifies the call. Message is the assistant message that holds the call, as JSON.
type Context struct {
	AgentName, InstanceKey, TurnID, ToolCallID, TraceID, Message, Workdir string
}

// ToolError is an error that a model reads. Empty fields are left out.
type ToolError struct {
	Message, Name, Code, Suggestion, HelpURL string
}

func (e *ToolError) Error() string { return e.Message }

// The handlers of the tool, by their names in the manifest.
var handlers map[string]Handler

// A string in memory. An address has 32 bits there; a pointer of Go has 64.
type wasmString struct {
	_    structs.HostLayout
	data uint32
	size uint32
}

type optionalString struct {
	_      structs.HostLayout
	isSome uint8
	value  wasmString
}

// The parameters of `call`.
type callParams struct {
	_                                          structs.HostLayout
	name                                       wasmString
	agentName, instanceKey, turnID, toolCallID wasmString
	traceID                                    optionalString
	message, workdir                           wasmString
	input                                      wasmString
}

// The result of `call` with an output: isError is 0, and so is the case of `outcome`.
type outputResult struct {
	_       structs.HostLayout
	isError uint8
	_       [3]uint8
	outcome uint8
	output  wasmString
	// As many bytes as errorResult has.
	_ [44]uint8
}

// The result of `call` with an error: isError is 1.
type errorResult struct {
	_                               structs.HostLayout
	isError                         uint8
	message                         wasmString
	name, code, suggestion, helpURL optionalString
}

type exportSpec struct {
	_                       structs.HostLayout
	name                    wasmString
	description, parameters optionalString
}

type list struct {
	_     structs.HostLayout
	first uint32
	count uint32
}

// kept holds the memory to which only the host refers, so that the garbage collector does not free it. The
// instance ends with the call.
var kept []any

func address(pointer unsafe.Pointer) uint32 { return uint32(uintptr(pointer)) }

func keep(text string) wasmString {
	data := []byte(text)
	kept = append(kept, data)
	return wasmString{data: address(unsafe.Pointer(unsafe.SliceData(data))), size: uint32(len(data))}
}

func keepOptional(text string) optionalString {
	if text == "" {
		return optionalString{}
	}
	return optionalString{isSome: 1, value: keep(text)}
}

func (s wasmString) String() string {
	if s.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(s.data))), s.size))
}

func (s optionalString) String() string {
	if s.isSome == 0 {
		return ""
	}
	return s.value.String()
}

// Whether Go's runtime has started. The adapter from WASI 0.1 asks for memory before that.
var started = false

func init() { started = true }

//go:linkname sbrk runtime.sbrk
func sbrk(size uintptr) unsafe.Pointer

//go:nosplit
//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, newSize uint32) unsafe.Pointer {
	if !started {
		// It begins at a page.
		return sbrk(uintptr(newSize))
	}
	return reallocate(old, oldSize, newSize)
}

func reallocate(old unsafe.Pointer, oldSize, newSize uint32) unsafe.Pointer {
	// Go aligns these to eight bytes.
	words := make([]uint64, newSize/8+1)
	kept = append(kept, words)
	data := unsafe.Pointer(unsafe.SliceData(words))
	copy(unsafe.Slice((*byte)(data), newSize), unsafe.Slice((*byte)(old), oldSize))
	return data
}

//go:wasmexport goondan:tool/handlers@2.0.0#describe
func describe() unsafe.Pointer {
	specs := make([]exportSpec, 0, len(handlers))
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		specs = append(specs, exportSpec{name: keep(name)})
	}
	result := &list{first: address(unsafe.Pointer(unsafe.SliceData(specs))), count: uint32(len(specs))}
	kept = append(kept, specs, result)
	return unsafe.Pointer(result)
}

//go:wasmexport goondan:tool/handlers@2.0.0#call
func call(params *callParams) unsafe.Pointer {
	ctx := Context{
		AgentName:   params.agentName.String(),
		InstanceKey: params.instanceKey.String(),
		TurnID:      params.turnID.String(),
		ToolCallID:  params.toolCallID.String(),
		TraceID:     params.traceID.String(),
		Message:     params.message.String(),
		Workdir:     params.workdir.String(),
	}
	output, err := handlers[params.name.String()](ctx, []byte(params.input.String()))
	var text []byte
	if err == nil {
		text, err = json.Marshal(output)
	}
	if err != nil {
		return failed(err)
	}
	result := &outputResult{output: keep(string(text))}
	kept = append(kept, result)
	return unsafe.Pointer(result)
}

func failed(err error) unsafe.Pointer {
	var failure *ToolError
	if !errors.As(err, &failure) {
		failure = &ToolError{Message: err.Error()}
	}
	result := &errorResult{
		isError:    1,
		message:    keep(failure.Message),
		name:       keepOptional(failure.Name),
		code:       keepOptional(failure.Code),
		suggestion: keepOptional(failure.Suggestion),
		helpURL:    keepOptional(failure.HelpURL),
	}
	kept = append(kept, result)
	return unsafe.Pointer(result)
}
