"""What stands in the JVM by a name, over py4j."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from py4j.java_collections import JavaList

from planproof.session.versions import find_class

_PYTHON = "org.apache.spark.api.python.PythonUtils"


class Statics:
    """What stands in the JVM by a name, each looked up once: py4j asks the JVM at each mention of one."""

    def __init__(self, jvm: Any) -> None:
        self.jvm = jvm
        self._known: dict[tuple[str, ...], Any] = {}

    def java_class(self, name: str) -> Any:
        return self._know(("class", name), lambda: getattr(self.jvm, name))

    def static(self, kind: str, name: str) -> Any:
        """A static method, or field, of a class."""
        return self._know((kind, name), lambda: getattr(self.java_class(kind), name))

    def mirror(self, name: str) -> Any:
        """The `java.lang.Class` of a class that is there."""
        found = self._know(("mirror", name), lambda: find_class(self.jvm, name))
        assert found is not None, f"{name} is there"
        return found

    def companion(self, name: str) -> Any:
        """An object of Scala."""
        return self._know(("companion", name), lambda: self.mirror(name + "$").getField("MODULE$").get(None))

    def fill(self, name: str, values: list[Any]) -> Any:
        """A case class of Scala, whose last parameters are by default: each version has others."""
        takes = self._know(("takes", name), lambda: int(self.mirror(name).getConstructors()[0].getParameterCount()))
        made, rest = self.companion(name), range(len(values) + 1, takes + 1)
        return made.apply(*values, *[getattr(made, f"apply$default${at}")() for at in rest])

    @cached_property
    def none(self) -> Any:
        return self.static("scala.Option", "empty")()

    def some(self, value: Any) -> Any:
        return self.static("scala.Option", "apply")(value)

    def to_seq(self, values: Any) -> Any:
        return self.static(_PYTHON, "toSeq")(values)

    def to_map(self, values: dict[str, Any]) -> Any:
        return self.static(_PYTHON, "toScalaMap")(values)

    def map_each(self, sequence: Any, owner: str, name: str, *types: str) -> Any:
        """What a method of a class, by the classes of its parameters, gives for each item of a Scala sequence or Java
        list, as a Java list: a static one takes the item, another is the item's. The JVM makes all of the calls,
        however many there are."""
        function = self._know((owner, name, *types), lambda: self._as_function(owner, name, *types))
        if not isinstance(sequence, JavaList):
            any_kind = self.static("scala.reflect.ClassTag", "AnyRef")()
            sequence = self.static("java.util.Arrays", "asList")(sequence.toArray(any_kind))
        return sequence.stream().map(function).collect(self.static("java.util.stream.Collectors", "toList")())

    def _as_function(self, owner: str, name: str, *types: str) -> Any:
        given = self.static("java.lang.reflect.Array", "newInstance")(self.mirror("java.lang.Class"), len(types))
        for at, each in enumerate(types):
            given[at] = self.mirror(each)
        lookup = self.static("java.lang.invoke.MethodHandles", "publicLookup")()
        handle = lookup.unreflect(self.mirror(owner).getMethod(name, given))
        as_instance = self.static("java.lang.invoke.MethodHandleProxies", "asInterfaceInstance")
        return as_instance(self.mirror("java.util.function.Function"), handle)

    def _know(self, key: tuple[str, ...], find: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]
