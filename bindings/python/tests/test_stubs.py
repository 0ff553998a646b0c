"""The stub of the extension module says what the module has."""

import ast
import inspect
from pathlib import Path

import dsokr
from dsokr import _dsokr


def parameters(of):
    return [name for name in inspect.signature(of).parameters if name != "self"]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_stub_matches_module():
    stub = ast.parse((Path(dsokr.__file__).parent / "_dsokr.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    if not hasattr(_dsokr, "Runs"):
        # built without the feature run
        for name in ("Control", "Runs", "Evaluation", "train", "quickstart", "compare_runs", "reads_vectors"):
            (functions if name in functions else classes).pop(name)
    assert public(dir(_dsokr)) == functions.keys() | classes.keys()
    for name, node in functions.items():
        assert parameters(getattr(_dsokr, name)) == [arg.arg for arg in node.args.args], name
    for name, node in classes.items():
        module_class = getattr(_dsokr, name)
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        assert public(dir(module_class)) == public(members), name
        for member, declared in members.items():
            decorators = {decorator.id for decorator in declared.decorator_list}
            found = inspect.getattr_static(module_class, member)
            assert ("property" in decorators) == inspect.isgetsetdescriptor(found), member
            assert ("staticmethod" in decorators) == isinstance(found, staticmethod), member
            if "property" not in decorators and not member.startswith("__"):
                own = [arg.arg for arg in declared.args.args if arg.arg != "self"]
                assert parameters(getattr(module_class, member)) == own, f"{name}.{member}"


def test_package_is_typed():
    assert (Path(dsokr.__file__).parent / "py.typed").exists()


def test_names_exist():
    for module in (dsokr, dsokr.graphs, dsokr.molecules):
        for name in module.__all__:
            assert getattr(module, name) is not None
