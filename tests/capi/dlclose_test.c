/* The library can be loaded, used from a thread, and closed while the thread lives. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *use(void *argument) {
  const char *(*version)(void);
  *(void **)(&version) = dlsym(library, "smd_version_string");
  if (version == NULL || version()[0] == '\0') abort();
  return argument;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (pthread_create(&thread, NULL, use, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    dlclose(library);
  }
  return 0;
}
