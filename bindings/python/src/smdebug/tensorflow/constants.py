"""Names that only the hook of TensorFlow and Keras uses."""

from smdebug.core.collection import CollectionKeys

TF_DEFAULT_SAVED_COLLECTIONS = [
    CollectionKeys.LOSSES,
    CollectionKeys.METRICS,
    CollectionKeys.SM_METRICS,
]
