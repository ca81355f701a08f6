"""What dbt 2 keeps in files and dbt 1 in the manifest itself: a model's compiled text and its template.

Paths of a manifest are untrusted: nothing outside of the project's directory and the manifest's own is read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from planproof.project.reads import read_within, resolve_within
from planproof_engine import record

_NEWLINE = re.compile(r"\r\n|\r")
_BLANK = re.compile(r"\s+")
_PLACEHOLDER = "--placeholder--"
_KEPT = 2**22
"""Characters of texts that are kept."""

Node = Mapping[str, Any]


def convert_line_ends(text: str) -> str:
    """The text with line feeds alone between its lines."""
    return _NEWLINE.sub("\n", text) if "\r" in text else text


class FileText:
    """The text of a file, and whether dbt read it. Many nodes may name one file: it is looked at once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def plain(self) -> str:
        return convert_line_ends(self.text)

    @cached_property
    def stripped(self) -> str:
        return self.plain.strip()

    @cached_property
    def _checksums(self) -> frozenset[str]:
        return frozenset(
            hashlib.sha256(form.encode("utf-8")).hexdigest()
            for variant in (self.text, self.plain, self.plain.replace("\n", "\r\n"))
            for form in (variant, variant.strip(), _BLANK.sub("", variant).lower())
        )

    def is_of(self, raw: Node) -> bool:
        """Whether the text is the one that dbt read for a node: by the manifest's copy or dbt's checksum, however lines
        end. Where there is neither, nothing says otherwise.

        dbt 1 and the first dbt 2 hash the text without the blanks around it, later ones in lower case without any
        blank.
        """
        copy = raw.get("raw_code")
        if not is_missing(copy) and convert_line_ends(str(copy)).strip() == self.stripped:
            return True
        given = raw.get("checksum")
        is_hash = isinstance(given, Mapping) and str(given.get("name")).lower() == "sha256"
        checksum = given.get("checksum") if isinstance(given, Mapping) and is_hash else None
        return checksum in self._checksums if checksum else is_missing(copy)


class FileTexts:
    """The texts of files that artifacts name. Each is read once, however it is spelled, as long as all are few."""

    def __init__(self) -> None:
        self._texts: dict[str, FileText] = {}
        self._size = 0

    def read(self, home: Path, name: str) -> FileText | None:
        """The text of a file inside of `home`; None where it cannot be read."""
        with suppress(OSError, ValueError, RuntimeError):
            real = os.path.realpath(resolve_within(home, name))
            if real not in self._texts:
                found = FileText(read_within(home, name).decode("utf-8"))
                self._size += len(found.text)
                if self._size > _KEPT:
                    self._texts.clear()
                    self._size = len(found.text)
                self._texts[real] = found
            return self._texts[real]
        return None


@record(frozen=True, slots=True)
class Texts:
    """Completes nodes. `directory` is the project's, `target` the manifest's; None where there is none."""

    directory: Path | None
    target: Path | None
    of_dbt_2: bool
    files: FileTexts = field(default_factory=FileTexts)

    def complete_node(self, raw: Node) -> Node:
        """The node with its path from the project's directory; of dbt 2 also with `compiled_code` and `raw_code`."""
        file = raw.get("original_file_path")
        relative = self._relative_path(file) if isinstance(file, str) else file
        if relative == file and not self.of_dbt_2:
            return raw
        found: dict[str, Any] = dict(raw)
        if isinstance(file, str):
            found["original_file_path"] = relative
        if not self.of_dbt_2:
            return found
        if is_missing(raw.get("compiled_code")) and raw.get("compiled") is not False:
            found["compiled_code"] = self._read_compiled(found)
        if is_missing(raw.get("raw_code")) and self.directory is not None and isinstance(file, str):
            file_text = self._read(self.directory / found["original_file_path"])
            found["raw_code"] = None
            if file_text is not None and file_text.is_of(raw):
                found["raw_code"] = file_text.stripped
                found["compiled_code"] = _drop_head(file_text.plain, found.get("compiled_code"))
        return found

    def _relative_path(self, file: str) -> str:
        plain = file.replace("\\", "/")
        if self.directory is not None and plain.startswith("/"):
            home = PurePosixPath(self.directory.resolve().as_posix())
            return str(PurePosixPath(plain).relative_to(home)) if PurePosixPath(plain).is_relative_to(home) else plain
        return plain.removeprefix("./")

    def _read_compiled(self, raw: Node) -> str | None:
        if raw.get("resource_type") != "model":
            return None
        texts = (self._read(path) for path in self._find_places(raw))
        return next((text.plain for text in texts if text is not None and text.stripped), None)

    def _find_places(self, raw: Node) -> Iterator[Path]:
        """Where the compiled text may lie: as the manifest says, else below the folder of the manifest itself, which
        may have been carried here from another machine."""
        given = raw.get("compiled_path")
        path = given.replace("\\", "/") if isinstance(given, str) else ""
        if path and self.directory is not None:
            yield self.directory / path
        if self.target is None:
            return
        within = path.rpartition("/compiled/")[2] if "/compiled/" in path else ""
        file, package = raw.get("original_file_path"), raw.get("package_name")
        for rest in (within, f"{package}/{file}", file):
            if isinstance(rest, str) and rest:
                yield self.target / "compiled" / rest

    def _read(self, path: Path) -> FileText | None:
        homes = (home for home in (self.directory, self.target) if home is not None)
        found = (self.files.read(home, os.path.abspath(path)) for home in homes)
        return next((text for text in found if text is not None), None)


def _drop_head(template: str, compiled: Any) -> Any:
    """dbt 1 renders a template without the blank lines at its top; where dbt 2 kept them they are dropped, as what the
    template says is found again in what it rendered to."""
    head = template[: len(template) - len(template.lstrip())]
    return compiled.removeprefix(head) if isinstance(compiled, str) else compiled


def is_missing(text: Any) -> bool:
    """Whether the manifest holds no text: dbt 2 may write a placeholder in its place."""
    return text is None or (isinstance(text, str) and text.strip() in ("", _PLACEHOLDER))
