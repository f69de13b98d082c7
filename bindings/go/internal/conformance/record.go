package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

type scenario struct {
	Workers     []string
	Options     map[string]string
	SaveEvery   map[string]int64 `json:"save_every"`
	Collections []struct {
		Name       string
		Regexes    []string
		Reductions string
		Shape      bool
		SaveEvery  map[string]int64 `json:"save_every"`
	}
	Steps []struct {
		Mode    string
		Tensors []tensor
		Scalars []struct {
			Name  string
			Value float64
		}
		Custom []tensor
	}
	Attach  ruleSet
	Queries []query
}

type tensor struct {
	Name        string
	DType       string
	Shape       []int
	Data        map[string]string
	Strings     map[string][]string
	Collections []string
}

var modes = map[string]smdebug.Mode{
	"":        smdebug.Global,
	"TRAIN":   smdebug.Train,
	"EVAL":    smdebug.Eval,
	"PREDICT": smdebug.Predict,
	"GLOBAL":  smdebug.Global,
}

// record returns what the rules of each worker's hook reported.
func (s *scenario) record(outDir string) (map[string]*attached, error) {
	all := make(map[string]*attached)
	hooks := make([]*smdebug.Hook, len(s.Workers))
	for i, worker := range s.Workers {
		hook, err := s.newHook(outDir, worker)
		if err != nil {
			return nil, err
		}
		if err := s.Attach.attach(hook); err != nil {
			return nil, err
		}
		hooks[i] = hook
		all[worker] = &attached{}
	}
	for step := range s.Steps {
		for i, worker := range s.Workers {
			err := errors.Join(s.recordStep(hooks[i], worker, step), all[worker].note(hooks[i]))
			if err != nil {
				return nil, fmt.Errorf("step %d of %s: %w", step, worker, err)
			}
		}
	}
	for _, hook := range hooks {
		if err := hook.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *scenario) newHook(outDir, worker string) (*smdebug.Hook, error) {
	options := smdebug.HookOptions{
		Worker:     worker,
		SaveConfig: saveConfig(s.SaveEvery),
		Settings:   maps.Clone(s.Options),
	}
	for _, settings := range s.Collections {
		collection, err := smdebug.NewCollection(settings.Name)
		if err != nil {
			return nil, err
		}
		defer collection.Close()
		if err := collection.Include(settings.Regexes...); err != nil {
			return nil, err
		}
		if settings.SaveEvery != nil {
			if err := collection.SetSaveConfig(saveConfig(settings.SaveEvery)); err != nil {
				return nil, err
			}
		}
		if settings.Reductions != "" {
			config := smdebug.ReductionConfig{
				Reductions: strings.Split(settings.Reductions, ","),
				SaveShape:  settings.Shape,
			}
			if err := collection.SetReductionConfig(&config); err != nil {
				return nil, err
			}
		}
		options.Collections = append(options.Collections, collection)
	}
	return smdebug.NewHook(outDir, options)
}

func saveConfig(every map[string]int64) smdebug.SaveConfig {
	config := smdebug.SaveConfig{}
	for mode, interval := range every {
		config[modes[mode]] = smdebug.SaveConfigMode{Interval: interval}
	}
	return config
}

func (s *scenario) recordStep(hook *smdebug.Hook, worker string, number int) error {
	step := &s.Steps[number]
	return hook.Step(modes[step.Mode], func(int64) error {
		for _, t := range step.Tensors {
			view, err := t.view(worker)
			if err != nil {
				return err
			}
			if err := hook.Save(t.Name, view); err != nil {
				return err
			}
		}
		for _, scalar := range step.Scalars {
			if err := hook.SaveScalar(scalar.Name, scalar.Value); err != nil {
				return err
			}
		}
		for _, t := range step.Custom {
			view, err := t.view(worker)
			if err != nil {
				return err
			}
			if err := hook.SaveCustom(t.Name, view, t.Collections...); err != nil {
				return err
			}
		}
		return nil
	})
}

// The elements in a slice of their type, where Go has it.
func (t *tensor) view(worker string) (smdebug.View, error) {
	if t.DType == "string" {
		return smdebug.ViewOfStrings(t.Strings[worker]).Reshape(t.Shape...), nil
	}
	data, err := hex.DecodeString(t.Data[worker])
	if err != nil {
		return smdebug.View{}, err
	}
	make, ok := views[t.DType]
	if !ok {
		return smdebug.View{}, fmt.Errorf("tensor %s: the element type %q is unknown", t.Name, t.DType)
	}
	view, err := make(data)
	return view.Reshape(t.Shape...), err
}

var views = map[string]func([]byte) (smdebug.View, error){
	"float16":       viewOfBytes(smdebug.Float16),
	"bfloat16":      viewOfBytes(smdebug.BFloat16),
	"float8_e5m2":   viewOfBytes(smdebug.Float8E5M2),
	"float8_e4m3fn": viewOfBytes(smdebug.Float8E4M3FN),
	"float32":       viewOf[float32],
	"float64":       viewOf[float64],
	"int8":          viewOf[int8],
	"int16":         viewOf[int16],
	"int32":         viewOf[int32],
	"int64":         viewOf[int64],
	"uint8":         viewOf[uint8],
	"uint16":        viewOf[uint16],
	"uint32":        viewOf[uint32],
	"uint64":        viewOf[uint64],
	"bool":          viewOf[bool],
	"complex64":     viewOf[complex64],
	"complex128":    viewOf[complex128],
}

func viewOf[T smdebug.Element](data []byte) (smdebug.View, error) {
	var element T
	elements := make([]T, len(data)/binary.Size(element))
	err := binary.Read(bytes.NewReader(data), binary.LittleEndian, elements)
	return smdebug.ViewOf(elements), err
}

func viewOfBytes(dtype smdebug.DType) func([]byte) (smdebug.View, error) {
	return func(data []byte) (smdebug.View, error) { return smdebug.ViewOfBytes(dtype, data), nil }
}
