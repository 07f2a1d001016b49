"""Descriptions of fields: the docstring below a field is also its description in JSON Schema and in `/openapi.json`."""

import ast
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema


@cache
def field_docs(model: type) -> dict[str, str]:
    """Return the docstrings of a class's fields by name, each as one line; those of bases are inherited."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if "__annotations__" not in vars(base) or base.__module__.startswith("pydantic"):
            continue
        try:
            body = ast.parse(dedent(getsource(base))).body[0].body  # type: ignore[attr-defined]
        except OSError:  # a class made at run time has no source
            continue
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                    docs[name] = " ".join(cleandoc(doc).split())
    return docs


class DescribedFields:
    """A base of pydantic models and dataclasses whose JSON Schema has the docstring of each field.

    pydantic's own `use_attribute_docstrings` parses the source of each model when it is imported, which costs 1 ms of
    each start for each model. Here, only a reader of the schema waits.
    """

    __slots__ = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON Schema of the class, with the docstrings of its fields as their descriptions."""
        schema, fields = handler(core_schema), getattr(cls, "model_fields", {})
        own: Any = cls  # for mypy, only some classes can be keys of a cache
        docs = {getattr(fields.get(name), "alias", None) or name: doc for name, doc in field_docs(own).items()}
        for name, field in handler.resolve_ref_schema(schema).get("properties", {}).items():
            if name in docs:
                field.setdefault("description", docs[name])
        return schema
