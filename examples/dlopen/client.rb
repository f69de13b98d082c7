# Records a trial and reads it back, with Ruby's Fiddle: ruby client.rb LIBRARY OUT_DIR
require "fiddle/import"
abort "usage: ruby #{$PROGRAM_NAME} LIBRARY OUT_DIR" unless ARGV.size == 2

# The functions of the library that this file uses.  Handles and errors are void *.
module Smd
  extend Fiddle::Importer
  dlload ARGV[0]
  TensorView = struct(["size_t struct_size", "void *data", "void *shape", "void *strides", "int ndim", "int dtype"])
  ANY_MODE, GLOBAL_MODE, FLOAT64, ABI_LEVEL = 0, 4, 3, 0x10000

  extern "void *smd_require_abi(unsigned int)"
  extern "char *smd_error_message(void *)"
  extern "void *smd_save_config_new(void *)"
  extern "void *smd_save_config_set(void *, int, long long, long long, long long, void *, size_t)"
  extern "void *smd_hook_options_new(void *)"
  extern "void *smd_hook_options_set(void *, char *, char *)"
  extern "void *smd_hook_options_set_save_config(void *, void *)"
  extern "void *smd_hook_new(void *, void *)"
  extern "void *smd_hook_begin_step(void *, void *)"
  extern "void *smd_hook_save(void *, char *, void *)"
  extern "void *smd_hook_end_step(void *)"
  extern "void *smd_hook_close(void *)"
  extern "void *smd_trial_open(char *, void *, void *)"
  extern "void *smd_trial_tensor(void *, char *, void *)"
  extern "void *smd_tensor_value(void *, long long, int, char *, void *)"
  extern "void *smd_value_to_double(void *, void *)"
  %w[error save_config hook_options hook trial tensor value].each { |kind| extern "void smd_#{kind}_free(void *)" }

  # Calls smd_<name> and raises the error that it returns, if any.
  def self.call(name, *arguments)
    error = send("smd_#{name}", *arguments)
    return if error.null?
    message = smd_error_message(error).to_s
    smd_error_free(error)
    raise message
  end

  # Returns the handle that smd_<name> stores through its last argument; its owner frees it.
  def self.make(kind, name, *arguments)
    slot = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    call(name, *arguments, slot)
    Fiddle::Pointer.new(slot.ptr.to_i, 0, self["smd_#{kind}_free"])
  end
end

def record(out_dir)
  every, options = Smd.make(:save_config, :save_config_new), Smd.make(:hook_options, :hook_options_new)
  Smd.call(:save_config_set, every, Smd::ANY_MODE, 1, 0, -1, nil, 0)
  Smd.call(:hook_options_set, options, "out_dir", out_dir)
  Smd.call(:hook_options_set_save_config, options, every)
  hook = Smd.make(:hook, :hook_new, options)
  view = Smd::TensorView.malloc(Fiddle::RUBY_FREE)
  view.struct_size, view.dtype, view.ndim = Smd::TensorView.size, Smd::FLOAT64, 0
  4.times do |step|
    view.data = loss = Fiddle::Pointer[[1.0 / (1 + step)].pack("d")]
    Smd.call(:hook_begin_step, hook, nil)
    Smd.call(:hook_save, hook, "loss", view)
    Smd.call(:hook_end_step, hook)
  end
  Smd.call(:hook_close, hook)
end

def read_back(path)
  tensor = Smd.make(:tensor, :trial_tensor, Smd.make(:trial, :trial_open, path, nil), "loss")
  number = Fiddle::Pointer.malloc(Fiddle::SIZEOF_DOUBLE, Fiddle::RUBY_FREE)
  4.times do |step|
    Smd.call(:value_to_double, Smd.make(:value, :tensor_value, tensor, step, Smd::GLOBAL_MODE, nil), number)
    puts format("loss at step %d: %g", step, number[0, Fiddle::SIZEOF_DOUBLE].unpack1("d"))
  end
end

begin
  Smd.call(:require_abi, Smd::ABI_LEVEL)
  record(ARGV[1])
  read_back(ARGV[1])
rescue RuntimeError => error
  abort error.message
end
