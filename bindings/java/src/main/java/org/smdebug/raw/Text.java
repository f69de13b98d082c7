package org.smdebug.raw;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Converts texts between C and Java. */
public final class Text {
  private Text() {}

  /**
   * Encodes a text as UTF-8.
   *
   * @param text the text; null stays null
   * @return its bytes, without a NUL
   * @throws IllegalArgumentException if the text holds a NUL or half of a surrogate pair
   */
  public static byte[] utf8(String text) {
    if (text == null) {
      return null;
    }
    if (text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "a text holds a NUL character: \"" + text.replace("\0", "\\0") + '"');
    }
    return hasSurrogates(text) ? strictly(text) : text.getBytes(StandardCharsets.UTF_8);
  }

  private static boolean hasSurrogates(String text) {
    for (int i = 0; i < text.length(); ++i) {
      if (Character.isSurrogate(text.charAt(i))) {
        return true;
      }
    }
    return false;
  }

  private static byte[] strictly(String text) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      return Arrays.copyOf(bytes.array(), bytes.limit());
    } catch (CharacterCodingException error) {
      throw new IllegalArgumentException(
          "a text holds half of a surrogate pair: \"" + text + '"', error);
    }
  }

  /**
   * Decodes UTF-8. Invalid bytes become U+FFFD.
   *
   * @param utf8 the bytes; null stays null
   * @return the text
   */
  public static String string(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, StandardCharsets.UTF_8);
  }
}
