"""A set of collections, and the file that tells readers of them."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, Mapping, Optional, Type, Union

from smdebug.core.collection import Collection
from smdebug.core.logger import log_ignored
from smdebug.core.utils import get_path_to_collections, load_json_as_dict, write_file
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

__all__ = ["ALLOWED_PARAMS", "CollectionManager", "LiveCollections"]

ALLOWED_PARAMS = ["collections", "_meta"]


class CollectionManager:
    """Collections by name, and the number of workers that record them.

    Parameters
    ----------
    collections : dict of str to Collection, optional
        The collections to start with.
    create_default : bool
        Ignored.
    """

    def __init__(
        self, collections: Optional[Dict[str, Collection]] = None, create_default: bool = False
    ) -> None:
        self.collections: Dict[str, Collection] = {} if collections is None else collections
        self._meta: Dict[str, Any] = {"num_workers": 1}
        log_ignored("CollectionManager", create_default=create_default)

    def create_collection(self, name: str, cls: Type[Collection] = Collection) -> None:
        """Adds an empty collection if there is none of that name."""
        if name not in self.collections:
            self.collections[name] = cls(name)

    def get_collections(self) -> Dict[str, Collection]:
        """All, by name."""
        return self.collections

    def add(self, arg: Union[str, Collection]) -> None:
        """Adds an empty collection by its name, or a collection in place of its namesake."""
        if isinstance(arg, Collection):
            self.collections[arg.name] = arg
        elif isinstance(arg, str):
            self.create_collection(arg)

    def get(self, name: str, create: bool = True) -> Collection:
        """The collection of that name, made if missing.

        Raises
        ------
        SMDebugError
            If it is missing and `create` is False.
        """
        if name not in self.collections:
            if not create:
                raise SMDebugError(f"there is no collection {name}")
            self.create_collection(name)
        return self.collections[name]

    def update_meta(self, meta: Mapping[str, Any]) -> None:
        """Adds facts about the whole, as {"num_workers": 2}."""
        if not isinstance(meta, Mapping):
            raise SMDebugTypeError(f"meta is a dict, not a {type(meta).__name__}")
        self._meta.update(meta)

    def get_num_workers(self) -> int:
        """The number of workers that record."""
        return int(self._meta["num_workers"])

    def set_num_workers(self, num_workers: int) -> None:
        """Says how many workers record."""
        self._meta["num_workers"] = int(num_workers)

    def to_json_dict(self) -> Dict[str, Any]:
        """The form of collections files."""
        collections = {name: item.to_json_dict() for name, item in self.collections.items()}
        return {"collections": collections, "_meta": self._meta}

    def export(self, out_dir: str, filename: str) -> None:
        """Writes the collections file `filename` of the trial in `out_dir`."""
        path = os.path.join(get_path_to_collections(out_dir), filename)
        write_file(path, json.dumps(self.to_json_dict()))

    @classmethod
    def load(
        cls, filename: str, collection_class: Type[Collection] = Collection
    ) -> CollectionManager:
        """Reads a collections file."""
        with open(filename, encoding="utf-8") as file:
            manager = cls.load_from_string(file.read(), collection_class)
        if manager is None:
            raise SMDebugValueError(f"{filename} holds no collections")
        return manager

    @classmethod
    def load_from_string(
        cls, s: Optional[str], collection_class: Type[Collection] = Collection
    ) -> Optional[CollectionManager]:
        """From the text of a collections file; None gives None.

        Raises
        ------
        SMDebugValueError
            If it holds anything else than collections and facts about the whole.
        """
        params = load_json_as_dict(s)
        if params is None:
            return None
        for key in params:
            if key not in ALLOWED_PARAMS:
                raise SMDebugValueError(f"{key!r} is not a key of collections files")
        manager = cls(create_default=False)
        for item in params.get("collections", {}).values():
            manager.add(collection_class.from_dict(item))
        manager.update_meta(params.get("_meta", {}))
        return manager

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.collections == other.collections

    def __repr__(self) -> str:
        return f"<CollectionManager {list(self.collections)}>"


class LiveCollections(CollectionManager):
    """The collections of a hook or a trial, under the names of a set.

    Parameters
    ----------
    get_all : function
        Returns all of them by name.
    get_one : function
        Returns the one of a name, and makes it if it is missing.
    add_one : function
        Adds one, in place of its namesake.
    num_workers : int
        The number of workers that record.
    """

    def __init__(
        self,
        get_all: Callable[[], Dict[str, Collection]],
        get_one: Callable[[str], Collection],
        add_one: Callable[[Collection], None],
        num_workers: int = 1,
    ) -> None:
        self._get_all, self._get_one, self._add_one = get_all, get_one, add_one
        self._meta = {"num_workers": num_workers}

    @property
    def collections(self) -> Dict[str, Collection]:  # type: ignore[override]
        """All, by name; a copy."""
        return self._get_all()

    def create_collection(self, name: str, cls: Type[Collection] = Collection) -> None:
        self._get_one(name)

    def get_collections(self) -> Dict[str, Collection]:
        return self.collections

    def add(self, arg: Union[str, Collection]) -> None:
        if isinstance(arg, Collection):
            self._add_one(arg)
        elif isinstance(arg, str):
            self._get_one(arg)

    def get(self, name: str, create: bool = True) -> Collection:
        if not create and name not in self.collections:
            raise SMDebugError(f"there is no collection {name}")
        return self._get_one(name)
