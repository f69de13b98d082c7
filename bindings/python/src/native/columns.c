/* Columns of Arrow as Python objects.  Texts repeat, so equal ones share an object. */
#include <string.h>
#include <time.h>

#include "native.h"

enum { SLOTS = 1024, LONGEST = 64 };

/* A text that was seen, and its object. */
typedef struct {
  const char *text;
  int32_t size;
  PyObject *object;
} Slot;

typedef struct {
  const struct ArrowArray *array;
  const uint8_t *valid; /* NULL: no row is null */
  const int32_t *ends;
  const char *texts;
} Texts;

static const struct ArrowArray *ArrayAt(PyObject *address) { return PyLong_AsVoidPtr(address); }

static int IsValid(const uint8_t *valid, int64_t row) {
  return valid == NULL || (valid[row >> 3] >> (row & 7) & 1) != 0;
}

static const uint8_t *ValidityOf(const struct ArrowArray *array) {
  return array->null_count == 0 ? NULL : array->buffers[0];
}

static Texts TextsOf(const struct ArrowArray *array) {
  const Texts texts = {array, ValidityOf(array), array->buffers[1], array->buffers[2]};
  return texts;
}

/* A text has its place by its ends and its length; another one there is forgotten. */
static Slot *SlotOf(Slot *slots, const char *text, int32_t size) {
  uint64_t head = 0;
  uint64_t tail = 0;
  const size_t most = size < 8 ? (size_t)size : 8;
  memcpy(&head, text, most);
  memcpy(&tail, text + size - most, most);
  head = (head ^ (tail << 23 | tail >> 41) ^ (uint64_t)size) * UINT64_C(0x9E3779B97F4A7C15);
  return &slots[head >> 54];
}

static int Holds(const Slot *slot, const char *text, int32_t size) {
  return slot->object != NULL && slot->size == size && memcmp(slot->text, text, (size_t)size) == 0;
}

/* Takes ownership of `object`. */
static void Keep(Slot *slot, const char *text, int32_t size, PyObject *object) {
  Py_XDECREF(slot->object);
  slot->text = text;
  slot->size = size;
  slot->object = object;
}

static void Forget(Slot *slots) {
  for (int i = 0; i < SLOTS; ++i) Py_CLEAR(slots[i].object);
}

/* Returns a text as an object that equal texts share. */
static PyObject *Shared(Slot *slots, const char *text, int32_t size) {
  Slot *slot;
  PyObject *object;
  if (size > LONGEST) return PyUnicode_DecodeUTF8(text, size, "replace");
  slot = SlotOf(slots, text, size);
  if (!Holds(slot, text, size)) {
    object = PyUnicode_DecodeUTF8(text, size, "replace");
    if (object == NULL) return NULL;
    Keep(slot, text, size, object);
  }
  Py_INCREF(slot->object);
  return slot->object;
}

/* column_texts(address of an ArrowArray of texts) -> list of str, None for nulls */
PyObject *SmdColumnTexts(PyObject *Py_UNUSED(module), PyObject *address) {
  const struct ArrowArray *array = ArrayAt(address);
  Slot slots[SLOTS] = {{0}};
  PyObject *list;
  Texts texts;
  if (array == NULL) return NULL;
  texts = TextsOf(array);
  list = PyList_New((Py_ssize_t)array->length);
  for (int64_t row = 0; list != NULL && row < array->length; ++row) {
    const int32_t begin = texts.ends[row];
    PyObject *text = Py_None;
    if (IsValid(texts.valid, row)) {
      text = Shared(slots, texts.texts + begin, texts.ends[row + 1] - begin);
    } else {
      Py_INCREF(text);
    }
    if (text == NULL || PyList_SetItem(list, (Py_ssize_t)row, text) < 0) Py_CLEAR(list);
  }
  Forget(slots);
  return list;
}

/* column_wholes(address of an ArrowArray of float64) -> list: int for whole numbers, else float */
PyObject *SmdColumnWholes(PyObject *Py_UNUSED(module), PyObject *address) {
  const double most = 9007199254740992.0;
  const struct ArrowArray *array = ArrayAt(address);
  const double *numbers;
  PyObject *list;
  if (array == NULL) return NULL;
  numbers = array->buffers[1];
  list = PyList_New((Py_ssize_t)array->length);
  for (int64_t row = 0; list != NULL && row < array->length; ++row) {
    const double number = numbers[row];
    const int is_whole = number > -most && number < most && (double)(int64_t)number == number;
    PyObject *item = is_whole ? PyLong_FromLongLong((int64_t)number) : PyFloat_FromDouble(number);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)row, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* ---- arguments of events -------------------------------------------------------- */

typedef struct {
  const char *at;
  const char *end;
  Slot *keys;
} Reader;

static void SkipSpace(Reader *reader) {
  while (reader->at != reader->end && strchr(" \t\r\n", *reader->at) != NULL) ++reader->at;
}

static int Take(Reader *reader, char wanted) {
  SkipSpace(reader);
  if (reader->at == reader->end || *reader->at != wanted) return 0;
  ++reader->at;
  return 1;
}

/* Reads a text without escapes, behind its first quote.  Returns its size, or -1. */
static Py_ssize_t TextSize(Reader *reader) {
  const char *begin = reader->at;
  while (reader->at != reader->end && *reader->at != '"') {
    if (*reader->at == '\\' || (unsigned char)*reader->at < ' ') return -1;
    ++reader->at;
  }
  if (reader->at == reader->end) return -1;
  return reader->at++ - begin;
}

static PyObject *Word(Reader *reader, const char *word, PyObject *meaning) {
  const size_t size = strlen(word);
  if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0) return NULL;
  reader->at += size;
  Py_INCREF(meaning);
  return meaning;
}

static PyObject *SmallInteger(Reader *reader) {
  const int is_negative = *reader->at == '-';
  const char *first = reader->at + is_negative;
  int64_t number = 0;
  for (reader->at = first; reader->at != reader->end; ++reader->at) {
    if (*reader->at < '0' || *reader->at > '9') break;
    if (reader->at - first == 18) return NULL;
    number = number * 10 + (*reader->at - '0');
  }
  if (reader->at == first || (*first == '0' && reader->at - first > 1)) return NULL;
  if (reader->at == reader->end || strchr(",} \t\r\n", *reader->at) == NULL) return NULL;
  return PyLong_FromLongLong(is_negative ? -number : number);
}

/* Returns NULL, mostly without an exception, for a value that is not simple. */
static PyObject *SimpleValue(Reader *reader) {
  Py_ssize_t size;
  SkipSpace(reader);
  if (reader->at == reader->end) return NULL;
  switch (*reader->at) {
    case '"':
      ++reader->at;
      size = TextSize(reader);
      return size < 0 ? NULL : PyUnicode_DecodeUTF8(reader->at - 1 - size, size, "replace");
    case 't': return Word(reader, "true", Py_True);
    case 'f': return Word(reader, "false", Py_False);
    case 'n': return Word(reader, "null", Py_None);
    default: return SmallInteger(reader);
  }
}

static int AddMember(Reader *reader, PyObject *members) {
  PyObject *key;
  PyObject *value;
  Py_ssize_t size;
  int is_added;
  if (!Take(reader, '"')) return 0;
  size = TextSize(reader);
  if (size < 0 || size > LONGEST) return 0;
  key = Shared(reader->keys, reader->at - 1 - size, (int32_t)size);
  if (key == NULL) return 0;
  value = Take(reader, ':') ? SimpleValue(reader) : NULL;
  is_added = value != NULL && PyDict_SetItem(members, key, value) == 0;
  Py_DECREF(key);
  Py_XDECREF(value);
  return is_added;
}

/* Returns an object of simple members; NULL, mostly without an exception, for others. */
static PyObject *SimpleObject(Reader *reader) {
  PyObject *members;
  int is_simple;
  if (!Take(reader, '{')) return NULL;
  members = PyDict_New();
  if (members == NULL || Take(reader, '}')) return members;
  do {
    is_simple = AddMember(reader, members);
  } while (is_simple && Take(reader, ','));
  if (!is_simple || !Take(reader, '}')) Py_CLEAR(members);
  return members;
}

/* column_objects(address of an ArrowArray of JSON objects, parse) -> list of dict, None for nulls.
 * parse(text) returns an object that is not simple. */
PyObject *SmdColumnObjects(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *address;
  PyObject *parse;
  const struct ArrowArray *array;
  Slot keys[SLOTS] = {{0}};
  PyObject *list;
  Texts texts;
  if (!PyArg_ParseTuple(args, "OO", &address, &parse)) return NULL;
  array = ArrayAt(address);
  if (array == NULL) return NULL;
  texts = TextsOf(array);
  list = PyList_New((Py_ssize_t)array->length);
  for (int64_t row = 0; list != NULL && row < array->length; ++row) {
    const char *begin = texts.texts + texts.ends[row];
    const char *end = texts.texts + texts.ends[row + 1];
    Reader reader = {begin, end, keys};
    PyObject *members = Py_None;
    if (IsValid(texts.valid, row)) {
      members = SimpleObject(&reader);
    } else {
      Py_INCREF(members);
    }
    if (members == NULL && PyErr_Occurred() == NULL) {
      members = PyObject_CallFunction(parse, "s#", begin, (Py_ssize_t)(end - begin));
    }
    if (members == NULL || PyList_SetItem(list, (Py_ssize_t)row, members) < 0) Py_CLEAR(list);
  }
  Forget(keys);
  return list;
}

typedef struct {
  char *bytes;
  Py_ssize_t size;
} Part;

enum { MOST_PARTS = 16 };

typedef struct {
  Part parts[MOST_PARTS];
  Py_ssize_t count;
  char first;          /* of each part */
  char is_second[256]; /* by byte */
} Search;

/* Returns whether a text contains one of the parts. */
static int Contains(const char *at, const char *end, const Search *search) {
  for (; end - at >= 2; ++at) {
    /* Both are asked at once: one of them alone is often so, and the processor guesses wrong. */
    if (!((at[0] == search->first) & search->is_second[(unsigned char)at[1]])) continue;
    for (Py_ssize_t i = 0; i < search->count; ++i) {
      const Part *part = &search->parts[i];
      if (end - at >= part->size && memcmp(at, part->bytes, (size_t)part->size) == 0) return 1;
    }
  }
  return 0;
}

/* Returns 0 with an exception set if a part cannot be searched for. */
static int Prepare(PyObject *given, Search *search) {
  memset(search, 0, sizeof(*search));
  search->count = PyTuple_Size(given) < MOST_PARTS ? PyTuple_Size(given) : MOST_PARTS;
  for (Py_ssize_t i = 0; i < search->count; ++i) {
    Part *part = &search->parts[i];
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(given, i), &part->bytes, &part->size) < 0) return 0;
    if (part->size < 2 || part->bytes[0] != search->parts[0].bytes[0]) {
      PyErr_SetString(PyExc_ValueError, "parts are two bytes or more, and begin with the same one");
      return 0;
    }
    search->first = part->bytes[0];
    search->is_second[(unsigned char)part->bytes[1]] = 1;
  }
  return 1;
}

/* column_find(address of an ArrowArray of texts, (bytes, ...)) -> list of the rows that contain one
 * of the parts, of two bytes or more, which all begin with the same one */
PyObject *SmdColumnFind(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *address;
  PyObject *given;
  const struct ArrowArray *array;
  Search search;
  PyObject *list;
  Texts texts;
  if (!PyArg_ParseTuple(args, "OO!", &address, &PyTuple_Type, &given)) return NULL;
  if (!Prepare(given, &search)) return NULL;
  array = ArrayAt(address);
  if (array == NULL) return NULL;
  texts = TextsOf(array);
  list = PyList_New(0);
  for (int64_t row = 0; list != NULL && row < array->length; ++row) {
    PyObject *number;
    if (!Contains(texts.texts + texts.ends[row], texts.texts + texts.ends[row + 1], &search)) {
      continue;
    }
    number = PyLong_FromLongLong(row);
    if (number == NULL || PyList_Append(list, number) < 0) Py_CLEAR(list);
    Py_XDECREF(number);
  }
  return list;
}

/* ---- times ---------------------------------------------------------------------- */

enum { SECONDS = 20, WHOLE = 26 }; /* letters of a time */

/* Writes a time of which the last one's second may be there already.  Returns 0 if it has no year
 * of four digits. */
static int WriteTime(double microseconds, char *text, int64_t *last) {
  const double time = microseconds / 1e6;
  const int64_t second = time >= 0 && time < 253402300799.0 ? (int64_t)time : -1;
  /* Rounds as Python's datetime does: half to even. */
  const double scaled = (time - (double)second) * 1e6;
  int64_t part = (int64_t)scaled;
  const double rest = scaled - (double)part;
  const time_t whole = (time_t)(second + (part == 999999 && rest >= 0.5));
  struct tm parts;
  if (second < 0) return 0;
  if (rest > 0.5 || (rest == 0.5 && part % 2 != 0)) ++part;
  if (whole != *last) {
    *last = -1;
    if (gmtime_r(&whole, &parts) == NULL) return 0;
    if (strftime(text, WHOLE + 1, "%Y-%m-%dT%H:%M:%S:", &parts) != SECONDS) return 0;
    *last = whole;
  }
  for (int digit = WHOLE - 1; digit >= SECONDS; --digit, part /= 10) {
    text[digit] = (char)('0' + part % 10);
  }
  return 1;
}

/* time_texts(buffer of float64, microseconds since 1970) -> list of texts such as
 * "2024-01-31T23:59:46:500000"; None for times before 1970, or without a year of four digits */
PyObject *SmdTimeTexts(PyObject *Py_UNUSED(module), PyObject *buffer) {
  Py_buffer view;
  PyObject *list;
  char text[WHOLE + 1] = "";
  int64_t last = -1;
  if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) < 0) return NULL;
  list = PyList_New(view.len / 8);
  for (Py_ssize_t i = 0; list != NULL && i < view.len / 8; ++i) {
    PyObject *item = Py_None;
    double time;
    memcpy(&time, (const char *)view.buf + 8 * i, sizeof(time));
    if (WriteTime(time, text, &last)) {
      item = PyUnicode_DecodeASCII(text, WHOLE, NULL);
    } else {
      Py_INCREF(item);
    }
    if (item == NULL || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  PyBuffer_Release(&view);
  return list;
}
