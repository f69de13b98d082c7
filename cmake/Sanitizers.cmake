# SMDEBUG_SANITIZE: a list for -fsanitize= ("address;undefined", "thread"), or empty.
if(SMDEBUG_SANITIZE)
  list(JOIN SMDEBUG_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()
