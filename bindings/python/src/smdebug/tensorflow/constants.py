"""Names that the hook of TensorFlow and Keras has of its own."""

from smdebug.core.collection import CollectionKeys

TF_DEFAULT_SAVED_COLLECTIONS = [
    CollectionKeys.LOSSES,
    CollectionKeys.METRICS,
    CollectionKeys.SM_METRICS,
]
