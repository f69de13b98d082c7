/* What Go takes from the C header by cgo instead: constants, which SWIG would make
 * variables that are set when the program starts, and calls that pass memory, which
 * SWIG would pass as a number. */
%rename("$ignore", %$isenumitem) "";
%ignore SMD_ABI_LEVEL;
%ignore smd_hook_save;
%ignore smd_hook_expect;
%ignore smd_hook_save_late;
%rename("$ignore", regextarget=1) "^SMD_(HAS|WANTS)_";
%ignore smd_hook_save_custom;
%ignore smd_hook_save_scalar;
%ignore smd_step_file_add_tensor;
%ignore smd_value_shape;
%ignore smd_integers_data;
%ignore raw_view_new;
%ignore raw_view_free;
%ignore raw_value_address;
