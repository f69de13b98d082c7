package org.smdebug;

import java.util.List;
import org.smdebug.raw.Raw;

/**
 * A named group of tensors with its own settings. A hook or trial shares its collections: a change
 * through one object is visible through all. Safe for use by several threads.
 */
public final class Collection implements AutoCloseable {
  private final Handle handle;

  /**
   * Creates an empty collection.
   *
   * @param name its name
   */
  public Collection(String name) {
    this(Raw.smd_collection_new(name));
  }

  /** Takes ownership of a handle. */
  Collection(long address) {
    handle = new Handle(this, "the collection", address, Raw::smd_collection_free);
  }

  /**
   * Reads a collection as collections files store it.
   *
   * @param json the text
   * @return the collection
   * @throws InvalidConfigException if the text is not a collection
   */
  public static Collection fromJson(String json) {
    return new Collection(Raw.smd_collection_from_json(json));
  }

  /**
   * Returns the name of the collection.
   *
   * @return the name
   */
  public String name() {
    return handle.get(Raw::smd_collection_name);
  }

  /**
   * Includes every tensor whose name contains a match of a regular expression.
   *
   * @param regex the expression, in Python's syntax
   * @return this
   * @throws InvalidConfigException if the expression is invalid; the message says where
   */
  public Collection include(String regex) {
    handle.run(collection -> Raw.smd_collection_include_regex(collection, regex));
    return this;
  }

  /**
   * Includes one tensor.
   *
   * @param tensor its name
   * @return this
   */
  public Collection addTensor(String tensor) {
    handle.run(collection -> Raw.smd_collection_add_tensor(collection, tensor));
    return this;
  }

  /**
   * Removes a tensor that was included by name.
   *
   * @param tensor its name
   * @return this
   */
  public Collection removeTensor(String tensor) {
    handle.run(collection -> Raw.smd_collection_remove_tensor(collection, tensor));
    return this;
  }

  /**
   * Returns true if a tensor is in the collection, by name or by expression.
   *
   * @param tensor its name
   * @return true if it is
   */
  public boolean contains(String tensor) {
    return handle.get(collection -> Raw.smd_collection_has(collection, tensor) != 0);
  }

  /**
   * Returns the regular expressions, in the order in which they were included.
   *
   * @return the expressions
   */
  public List<String> regexes() {
    return handle.get(collection -> Lists.takeStrings(Raw.smd_collection_regexes(collection)));
  }

  /**
   * Returns the sorted names of the tensors known to be in the collection.
   *
   * @return their names
   */
  public List<String> tensorNames() {
    return handle.get(collection -> Lists.takeStrings(Raw.smd_collection_tensors(collection)));
  }

  /**
   * Sets the collection's own save config.
   *
   * @param config the config; null removes it
   * @return this
   */
  public Collection saveConfig(SaveConfig config) {
    handle.run(
        collection -> {
          if (config == null) {
            Raw.smd_collection_set_save_config(collection, 0);
          } else {
            config.use(raw -> Raw.smd_collection_set_save_config(collection, raw));
          }
        });
    return this;
  }

  /**
   * Returns the collection's own save config.
   *
   * @return the config, or null if it has none
   */
  public SaveConfig saveConfig() {
    return handle.get(collection -> SaveConfig.take(Raw.smd_collection_save_config(collection)));
  }

  /**
   * Sets the collection's own reduction config.
   *
   * @param config the config; null removes it
   * @return this
   */
  public Collection reductionConfig(ReductionConfig config) {
    handle.run(
        collection -> {
          if (config == null) {
            Raw.smd_collection_set_reduction_config(collection, 0);
          } else {
            config.use(raw -> Raw.smd_collection_set_reduction_config(collection, raw));
          }
        });
    return this;
  }

  /**
   * Returns the collection's own reduction config.
   *
   * @return the config, or null if it has none
   */
  public ReductionConfig reductionConfig() {
    return handle.get(
        collection -> ReductionConfig.take(Raw.smd_collection_reduction_config(collection)));
  }

  /**
   * Returns the collection as collections files store it.
   *
   * @return the text
   */
  public String toJson() {
    return handle.get(collection -> Lists.takeText(Raw.smd_collection_to_json(collection)));
  }

  /** Releases this reference; hooks and trials that share the collection keep it. */
  @Override
  public void close() {
    handle.close();
  }

  @Override
  public String toString() {
    return handle.isClosed() ? "Collection(closed)" : "Collection(" + name() + ")";
  }

  Handle handle() {
    return handle;
  }
}
