"""YAML that remembers its lines, so that a message can name file, line and key.

The text is composed into a tree of nodes first; the value is built from that tree, and a path of keys and indices is
walked through it again when something about that path has to be reported. A key given twice is a finding: YAML takes
the last one silently.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from s2s_assets.study.findings import Finding

Path = Sequence[int | str]


@dataclass(frozen=True)
class LocatedYaml:
    """A YAML document's value together with the nodes it was built from."""

    file: str
    value: Any
    root: yaml.Node

    def locate(self, path: Path) -> tuple[int, str]:
        """Line and dotted key of the deepest part of `path` that the document has."""
        node, known = self.root, []
        line = node.start_mark.line
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
            known.append(str(step))
        return line + 1, ".".join(known)

    def finding(self, path: Path, message: str) -> Finding:
        """A finding about one place; a last step that the document lacks is a missing key and is named all the same."""
        line, key = self.locate(path)
        missing = [str(step) for step in path[len(key.split(".")) if key else 0 :]]
        named = ".".join([key, *missing]).strip(".") if message.startswith("missing") else key
        return Finding(self.file, line, named, message)


def parse_yaml(text: str, file: str) -> tuple[LocatedYaml | None, list[Finding]]:
    """Read one YAML document.

    Returns the document, None where it cannot be read at all, and what is wrong with it.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, [Finding(file, None, "", "the file is empty; expected a mapping of settings")]
        findings = list(_repeated_keys(root, file, ()))
        return LocatedYaml(file, loader.construct_document(root), root), findings
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return None, [Finding(file, mark.line + 1 if mark else None, "", f"not valid YAML: {error.problem}")]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return None, [Finding(file, None, "", f"not valid YAML: {error}")]
    finally:
        loader.dispose()


def _child(node: yaml.Node, step: int | str) -> tuple[int, yaml.Node] | None:
    """Line (from 0) and node of one step down."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark.line, item
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key.start_mark.line, value
    return None


def _repeated_keys(node: yaml.Node, file: str, path: tuple[str, ...]) -> Iterator[Finding]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated_keys(item, file, (*path, str(index)))
    elif isinstance(node, yaml.MappingNode):
        seen: dict[Hashable, int] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else str(key)
            here = (*path, str(name))
            line = key.start_mark.line + 1
            if name in seen and name != "<<":
                yield Finding(file, line, ".".join(here), f"given twice, first in line {seen[name]}; keep one of them")
            seen.setdefault(name, line)
            yield from _repeated_keys(value, file, here)
