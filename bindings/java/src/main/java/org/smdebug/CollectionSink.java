package org.smdebug;

import java.util.List;

/** Saves into named collections, with the next step that is saved. */
final class CollectionSink extends TensorSink {
  private final Hook hook;
  private final List<String> collections;

  CollectionSink(Hook hook, List<String> collections) {
    super(INTO_COLLECTIONS);
    this.hook = hook;
    this.collections = collections;
  }

  @Override
  Hook hook() {
    return hook;
  }

  @Override
  List<String> collections() {
    return collections;
  }
}
