/* The library can be loaded by name alone, used from a thread, and closed while that
 * thread, and the library's own, still live. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static sem_t is_used;
static sem_t is_closed;

#define FIND(variable, name) *(void **)(&(variable)) = find(name)

static void *find(const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return symbol;
}

/* A hook without a tensor has no thread; exporting its collections starts one. */
static void *use(void *folder) {
  void *(*new_options)(void **);
  void *(*set)(void *, const char *, const char *);
  void *(*open_hook)(const void *, void **);
  void *(*export_collections)(void *);
  void *options = NULL;
  void *hook = NULL;
  FIND(new_options, "smd_hook_options_new");
  FIND(set, "smd_hook_options_set");
  FIND(open_hook, "smd_hook_new");
  FIND(export_collections, "smd_hook_export_collections");
  if (new_options(&options) != NULL || set(options, "out_dir", folder) != NULL ||
      open_hook(options, &hook) != NULL || export_collections(hook) != NULL) {
    abort();
  }
  sem_post(&is_used);
  sem_wait(&is_closed);
  return NULL;
}

/* Every name that the headers declare is found. */
static int check_names(const char *list) {
  char name[200];
  int count = 0;
  FILE *file = fopen(list, "r");
  if (file == NULL) return 0;
  while (fscanf(file, "%199s", name) == 1) {
    find(name);
    ++count;
  }
  fclose(file);
  return count;
}

int main(int argc, char **argv) {
  char folder[] = "capi-test-dlclose-XXXXXX";
  char command[100];
  if (argc != 3 || mkdtemp(folder) == NULL) return 2;
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  sem_init(&is_used, 0, 0);
  sem_init(&is_closed, 0, 0);
  for (int round = 0; round < 10; ++round) {
    pthread_t thread;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (check_names(argv[2]) < 100) return 1;
    if (pthread_create(&thread, NULL, use, folder) != 0) return 1;
    sem_wait(&is_used);
    dlclose(library);
    sem_post(&is_closed);
    pthread_join(thread, NULL);
  }
  return system(command);
}
