package org.smdebug;

import java.util.List;
import org.smdebug.raw.Raw;

/**
 * A named group of tensors, with its own settings. One that came from a hook or a trial, or was
 * given to one, is shared with it: changes through either are seen. May be used from any thread.
 */
public final class Collection implements AutoCloseable {
  private final Handle handle;

  /**
   * Makes an empty collection.
   *
   * @param name its name
   */
  public Collection(String name) {
    this(Raw.smd_collection_new(name));
  }

  /** Takes a handle over. */
  Collection(long address) {
    handle = new Handle(this, "the collection", address, Raw::smd_collection_free);
  }

  /**
   * Reads the form of collection files.
   *
   * @param json the text
   * @return the collection
   * @throws InvalidConfigException if it is none
   */
  public static Collection fromJson(String json) {
    return new Collection(Raw.smd_collection_from_json(json));
  }

  /**
   * Its name.
   *
   * @return the name
   */
  public String name() {
    return handle.get(Raw::smd_collection_name);
  }

  /**
   * Includes the tensors in whose names a regular expression is found.
   *
   * @param regex the expression, in Python's language of them
   * @return this
   * @throws InvalidConfigException if it is none; the message says where
   */
  public Collection include(String regex) {
    handle.run(collection -> Raw.smd_collection_include(collection, regex));
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
   * Excludes a tensor that was included by its name.
   *
   * @param tensor its name
   * @return this
   */
  public Collection removeTensor(String tensor) {
    handle.run(collection -> Raw.smd_collection_remove_tensor(collection, tensor));
    return this;
  }

  /**
   * Whether a tensor is in it, by name or by expression.
   *
   * @param tensor its name
   * @return true if so
   */
  public boolean contains(String tensor) {
    return handle.get(collection -> Raw.smd_collection_has(collection, tensor) != 0);
  }

  /**
   * The regular expressions, in the order they were included.
   *
   * @return the expressions
   */
  public List<String> regexes() {
    return handle.get(collection -> Lists.takeStrings(Raw.smd_collection_regexes(collection)));
  }

  /**
   * The tensors known to be in it, sorted.
   *
   * @return their names
   */
  public List<String> tensorNames() {
    return handle.get(collection -> Lists.takeStrings(Raw.smd_collection_tensors(collection)));
  }

  /**
   * Gives it its own save config.
   *
   * @param config the config; null takes it away
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
   * Its own save config.
   *
   * @return the config, or null if it has none
   */
  public SaveConfig saveConfig() {
    return handle.get(collection -> SaveConfig.take(Raw.smd_collection_save_config(collection)));
  }

  /**
   * Gives it its own reduction config.
   *
   * @param config the config; null takes it away
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
   * Its own reduction config.
   *
   * @return the config, or null if it has none
   */
  public ReductionConfig reductionConfig() {
    return handle.get(
        collection -> ReductionConfig.take(Raw.smd_collection_reduction_config(collection)));
  }

  /**
   * The form of collection files.
   *
   * @return the text
   */
  public String toJson() {
    return handle.get(collection -> Lists.takeText(Raw.smd_collection_to_json(collection)));
  }

  /** Lets go of it; what shares it goes on. */
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
