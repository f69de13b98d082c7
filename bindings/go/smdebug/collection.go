package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

// Collection is a named group of tensors, given by their names or by regular expressions.
// A hook or trial shares its collections: a change through one handle is visible through
// all.  A Collection is safe for concurrent use.
type Collection struct {
	handle *handle[raw.Smd_collection]
}

// NewCollection returns an empty collection.
func NewCollection(name string) (*Collection, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := checkText("name", name); err != nil {
		return nil, err
	}
	return outCollection(func(out raw.Smd_collection) raw.Smd_error {
		return raw.Smd_collection_new(name, out)
	})
}

func outCollection(call func(out raw.Smd_collection) raw.Smd_error) (*Collection, error) {
	handle, err := collectionSlot.out(call)
	if err != nil {
		return nil, err
	}
	c := &Collection{newHandle("collection", handle, raw.Smd_collection_free)}
	closeWhenForgotten(c, c.handle)
	return c, nil
}

// Close frees this handle on the collection.  It always returns nil.
func (c *Collection) Close() error {
	c.handle.close()
	return nil
}

// Name returns the name of the collection, or "" after Close.
func (c *Collection) Name() string {
	handle, err := c.handle.acquire()
	if err != nil {
		return ""
	}
	defer c.handle.release()
	return raw.Smd_collection_name(handle)
}

// Include includes every tensor whose name contains a match of one of the regular
// expressions.  They match as Python's re.search does.
func (c *Collection) Include(regexes ...string) error {
	return c.each("regular expression", regexes, raw.Smd_collection_include_regex)
}

// AddTensors includes tensors by name.
func (c *Collection) AddTensors(names ...string) error {
	return c.each("tensor", names, raw.Smd_collection_add_tensor)
}

// RemoveTensors removes tensors that were included by name.
func (c *Collection) RemoveTensors(names ...string) error {
	return c.each("tensor", names, raw.Smd_collection_remove_tensor)
}

func (c *Collection) each(what string, texts []string,
	call func(raw.Smd_collection, string) raw.Smd_error) error {
	handle, err := c.handle.acquire()
	if err != nil {
		return err
	}
	defer c.handle.release()
	for _, text := range texts {
		if err := checkText(what, text); err != nil {
			return err
		}
		if err := take(call(handle, text)); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether a tensor is in the collection; it returns false after Close.
func (c *Collection) Has(tensor string) bool {
	handle, err := c.handle.acquire()
	if err != nil {
		return false
	}
	defer c.handle.release()
	return checkText("tensor", tensor) == nil && raw.Smd_collection_has(handle, tensor) != 0
}

// Regexes returns the regular expressions, in the order in which they were included.
func (c *Collection) Regexes() ([]string, error) {
	return c.strings(raw.Smd_collection_regexes)
}

// Tensors returns the sorted names of the tensors known to be in the collection.
func (c *Collection) Tensors() ([]string, error) {
	return c.strings(raw.Smd_collection_tensors)
}

func (c *Collection) strings(
	call func(raw.Smd_collection, raw.Smd_strings) raw.Smd_error) ([]string, error) {
	handle, err := c.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer c.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error { return call(handle, out) })
}

// SetSaveConfig sets the collection's own save config; nil removes it.
func (c *Collection) SetSaveConfig(config SaveConfig) error {
	handle, err := c.handle.acquire()
	if err != nil {
		return err
	}
	defer c.handle.release()
	if config == nil {
		return take(raw.Smd_collection_set_save_config(handle, raw.NoSaveConfig))
	}
	own, err := config.toRaw()
	if err != nil {
		return err
	}
	defer raw.Smd_save_config_free(own)
	return take(raw.Smd_collection_set_save_config(handle, own))
}

// SaveConfig returns the collection's own save config, or nil if it has none.
func (c *Collection) SaveConfig() (SaveConfig, error) {
	handle, err := c.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer c.handle.release()
	config, err := saveConfigSlot.out(func(out raw.Smd_save_config) raw.Smd_error {
		return raw.Smd_collection_save_config(handle, out)
	})
	if err != nil || config.Swigcptr() == 0 {
		return nil, err
	}
	return takeSaveConfig(config)
}

// SetReductionConfig sets the collection's own reduction config; nil removes it.
func (c *Collection) SetReductionConfig(config *ReductionConfig) error {
	handle, err := c.handle.acquire()
	if err != nil {
		return err
	}
	defer c.handle.release()
	if config == nil {
		return take(raw.Smd_collection_set_reduction_config(handle, raw.NoReductionConfig))
	}
	own, err := config.toRaw()
	if err != nil {
		return err
	}
	defer raw.Smd_reduction_config_free(own)
	return take(raw.Smd_collection_set_reduction_config(handle, own))
}

// ReductionConfig returns the collection's own reduction config, or nil if it has none.
func (c *Collection) ReductionConfig() (*ReductionConfig, error) {
	handle, err := c.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer c.handle.release()
	config, err := reductionConfigSlot.out(func(out raw.Smd_reduction_config) raw.Smd_error {
		return raw.Smd_collection_reduction_config(handle, out)
	})
	if err != nil || config.Swigcptr() == 0 {
		return nil, err
	}
	taken, err := takeReductionConfig(config)
	return &taken, err
}

// SetSaveHistogram selects whether TensorBoard histograms of the collection's tensors are
// written.  The default is true.
func (c *Collection) SetSaveHistogram(on bool) error {
	handle, err := c.handle.acquire()
	if err != nil {
		return err
	}
	defer c.handle.release()
	return take(raw.Smd_collection_set_save_histogram(handle, flag(on)))
}

// SaveHistogram reports whether TensorBoard histograms are written; it returns false after
// Close.
func (c *Collection) SaveHistogram() bool {
	handle, err := c.handle.acquire()
	if err != nil {
		return false
	}
	defer c.handle.release()
	return raw.Smd_collection_save_histogram(handle) != 0
}

// MarshalJSON returns the collection as collections files store it.
func (c *Collection) MarshalJSON() ([]byte, error) {
	handle, err := c.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer c.handle.release()
	text, err := outText(func(out raw.Smd_text) raw.Smd_error {
		return raw.Smd_collection_to_json(handle, out)
	})
	return []byte(text), err
}

// addTo adds the collection to a hook or its options.
func (c *Collection) addTo(add func(raw.Smd_collection) raw.Smd_error) error {
	if c == nil {
		return invalidArgument("a collection is nil")
	}
	handle, err := c.handle.acquire()
	if err != nil {
		return err
	}
	defer c.handle.release()
	return take(add(handle))
}
