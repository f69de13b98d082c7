import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parses JSON to maps, lists, strings, numbers (Long or Double), booleans and null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.skipBlanks();
    if (json.at != text.length()) {
      throw new IllegalArgumentException("unexpected text after the JSON at " + json.at);
    }
    return value;
  }

  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(value, out);
    return out.toString();
  }

  private Object value() {
    skipBlanks();
    switch (text.charAt(at)) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        at += 4;
        return true;
      case 'f':
        at += 5;
        return false;
      case 'n':
        at += 4;
        return null;
      default:
        return number();
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> members = new LinkedHashMap<>();
    for (char next = begin('}'); next != '}'; next = separator()) {
      skipBlanks();
      String name = string();
      skipBlanks();
      ++at;
      members.put(name, value());
    }
    return members;
  }

  private List<Object> array() {
    List<Object> elements = new ArrayList<>();
    for (char next = begin(']'); next != ']'; next = separator()) {
      elements.add(value());
    }
    return elements;
  }

  /** Skips an opening bracket, and the closing one if it follows directly. */
  private char begin(char closing) {
    ++at;
    skipBlanks();
    if (text.charAt(at) == closing) {
      ++at;
      return closing;
    }
    return ',';
  }

  private char separator() {
    skipBlanks();
    return text.charAt(at++);
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    ++at;
    while (text.charAt(at) != '"') {
      char c = text.charAt(at++);
      out.append(c == '\\' ? escaped() : c);
    }
    ++at;
    return out.toString();
  }

  private char escaped() {
    char c = text.charAt(at++);
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'u':
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
      default:
        return c;
    }
  }

  private Object number() {
    int begin = at;
    while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
      ++at;
    }
    String digits = text.substring(begin, at);
    if (digits.matches("-?\\d+")) {
      return Long.valueOf(digits);
    }
    return Double.valueOf(digits);
  }

  private void skipBlanks() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
      ++at;
    }
  }

  private static void write(Object value, StringBuilder out) {
    if (value instanceof Map<?, ?> members) {
      out.append('{');
      for (Iterator<? extends Map.Entry<?, ?>> i = members.entrySet().iterator(); i.hasNext(); ) {
        Map.Entry<?, ?> member = i.next();
        writeString((String) member.getKey(), out);
        out.append(": ");
        write(member.getValue(), out);
        out.append(i.hasNext() ? ",\n" : "");
      }
      out.append('}');
    } else if (value instanceof Iterable<?> elements) {
      out.append('[');
      for (Iterator<?> i = elements.iterator(); i.hasNext(); ) {
        write(i.next(), out);
        out.append(i.hasNext() ? ", " : "");
      }
      out.append(']');
    } else if (value instanceof String string) {
      writeString(string, out);
    } else {
      out.append(value);
    }
  }

  private static void writeString(String string, StringBuilder out) {
    out.append('"');
    for (char c : string.toCharArray()) {
      if (c == '"' || c == '\\' || c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
