package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.smdebug.raw.Native;
import org.smdebug.raw.Raw;
import org.smdebug.raw.Text;

/** Lists and texts that the C library gives out, taken over, and those it is given. */
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

  static long[] takeSteps(long steps) {
    return Native.takeSteps(steps);
  }

  /** Calls with an smd_strings of the texts; with 0 for null. */
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
