package raw

/*
#include <stdlib.h>
*/
import "C"

import "unsafe"

// NewTexts returns a C array of the texts, each ended by NUL, in one piece of C memory
// that FreeTexts frees; nil without texts.
func NewTexts(texts []string) unsafe.Pointer {
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	if len(texts) == 0 {
		return nil
	}
	size := 0
	for _, text := range texts {
		size += pointer + len(text) + 1
	}
	memory := C.malloc(C.size_t(size))
	pointers := unsafe.Slice((*unsafe.Pointer)(memory), len(texts))
	bytes := unsafe.Slice((*byte)(memory), size)
	at := pointer * len(texts)
	for i, text := range texts {
		pointers[i] = unsafe.Pointer(&bytes[at])
		at += copy(bytes[at:], text)
		bytes[at] = 0
		at++
	}
	return memory
}

// FreeTexts frees what NewTexts returned.
func FreeTexts(memory unsafe.Pointer) { C.free(memory) }
