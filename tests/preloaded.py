"""All that a run of Paperboy imports, for processes that are forked from one which has it already."""

import importlib
import pkgutil

import openai.resources.chat.completions  # noqa: F401  # openai imports it when it is first asked

import paperboy

for module in pkgutil.walk_packages(paperboy.__path__, "paperboy."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
