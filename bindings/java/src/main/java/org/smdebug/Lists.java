package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongFunction;
import org.smdebug.raw.Native;
import org.smdebug.raw.Raw;
import org.smdebug.raw.Text;

/** Converts lists and texts between Java and the C library. */
final class Lists {
  private Lists() {}

  static String takeText(long text) {
    return Text.string(Native.takeText(text));
  }

  static List<String> takeStrings(long strings) {
    byte[][] elements = Native.takeStrings(strings);
    List<String> texts = new ArrayList<>(elements.length);
    for (byte[] element : elements) {
      texts.add(Text.string(element));
    }
    return List.copyOf(texts);
  }

  /** Converts keys and values that come in turn. */
  static SortedMap<String, String> takeMap(long strings) {
    List<String> texts = takeStrings(strings);
    SortedMap<String, String> map = new TreeMap<>();
    for (int i = 0; i + 1 < texts.size(); i += 2) {
      map.put(texts.get(i), texts.get(i + 1));
    }
    return map;
  }

  static long[] takeIntegers(long integers) {
    return Native.takeIntegers(integers);
  }

  /** Calls a function with an smd_strings of the texts, or with 0 for null. */
  static <T> T with(Iterable<String> texts, LongFunction<T> call) {
    if (texts == null) {
      return call.apply(0);
    }
    long strings = Raw.smd_strings_new();
    try {
      for (String text : texts) {
        Raw.smd_strings_add(strings, text);
      }
      return call.apply(strings);
    } finally {
      Raw.smd_strings_free(strings);
    }
  }
}
