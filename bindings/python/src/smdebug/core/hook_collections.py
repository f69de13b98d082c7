"""The part of a hook that holds its collections."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Set, Type

from smdebug import _raw
from smdebug._handles import CollectionHandle, check, out, out_strings, text
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager, LiveCollections
from smdebug.exceptions import SMDebugError, SMDebugTypeError

__all__ = ["HookCollections"]


class HookCollections:
    """A hook's collections; those handed out stay the hook's."""

    _handle: Any
    _collections: Dict[str, Collection]
    num_workers: int
    _collection_class: ClassVar[Type[Collection]] = Collection
    # How often they have changed, up to the last step that has begun.
    _collection_changes = 0

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """Returns the hook's collection of that name, and makes it if it is missing.

        Changes to it count from the next step on.

        Raises
        ------
        SMDebugError
            If it is missing and `create` is False.
        """
        found = self._collections.get(name)
        if found is not None:
            return found
        if not create and name not in self._collection_names():
            raise SMDebugError(f"there is no collection {name}")
        found = self._collection(_raw.smd_hook_ensure_collection, self._handle, text(name))
        self._collections[name] = found
        return found

    @classmethod
    def _collection(cls, function: Any, *args: Any) -> Collection:
        """Makes the collection whose handle a raw function returns."""
        return cls._collection_class._of(CollectionHandle(out("collection", function, *args)))

    def _collection_names(self) -> Set[str]:
        return set(out_strings(_raw.smd_hook_collections, self._handle))

    def get_collections(self) -> Dict[str, Collection]:
        """Returns all collections of the hook by name."""
        names = out_strings(_raw.smd_hook_collections, self._handle)
        return {name: self.get_collection(name) for name in names}

    def add_collection(self, collection: Collection) -> None:
        """Adds a collection, in place of its namesake.

        Raises
        ------
        SMDebugTypeError
            If it is not a Collection.
        """
        if not isinstance(collection, Collection):
            kind = type(collection).__name__
            raise SMDebugTypeError(f"a collection is a Collection, not a {kind}")
        handle = collection._handle()
        check(_raw.smd_hook_add_collection(self._handle, handle))
        collection._bind(handle)
        self._collections[collection.name] = collection
        self._collection_changes += 1

    @property
    def collection_manager(self) -> CollectionManager:
        """The hook's collections as a set, with `get` and `add`."""
        return LiveCollections(
            self.get_collections, self.get_collection, self.add_collection, self.num_workers
        )

    def export_collections(self) -> None:
        """Writes the collections file now, instead of after the first saved step."""
        self._push_collections()
        check(_raw.smd_hook_export_collections(self._handle))

    def _push_collections(self) -> None:
        """Hands changes of the collections to the library."""
        raise NotImplementedError
