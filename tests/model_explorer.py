"""The real Model Explorer, in an environment of its own: what it makes of our files and of a .pte file."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etprof.runner.build import cache_dir
from parts import need

# Runs in that environment. dacite refuses every key that Model Explorer's own types do not have.
_READER = """
import json, sys
from dacite import Config, from_dict
from model_explorer import graph_builder, node_data_builder
from model_explorer.extension_manager import ExtensionManager

own, program, *node_data = sys.argv[1:]
strict = Config(strict=True, check_types=False)

def read(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)

def describe(graph):
    ids = [node.id for node in graph.nodes]
    edges = [edge.sourceNodeId for node in graph.nodes for edge in node.incomingEdges]
    assert len(ids) == len(set(ids)) and set(edges) <= set(ids), graph.id
    return {node.id: node.label for node in graph.nodes}

manager = ExtensionManager(["pte_adapter_model_explorer"])
manager.load_extensions()
command = {"cmdId": "convert", "extensionId": "pte_adapter_model_explorer", "modelPath": program, "settings": {},
           "deleteAfterConversion": False}
collections = [read(own), *manager.run_cmd(command)["graphCollections"]]
graphs = {}
for collection in (from_dict(graph_builder.GraphCollection, each, strict) for each in collections):
    graphs |= {graph.id: describe(graph) for graph in collection.graphs}
data = {}
for path in node_data:
    model = node_data_builder.ModelNodeData({
        id: from_dict(node_data_builder.GraphNodeData, each, strict) for id, each in read(path).items()
    })
    held = json.loads(model.to_json_string())
    data[path] = {id: {node: result["value"] for node, result in each["results"].items()} for id, each in held.items()}
json.dump({"graphs": graphs, "data": data}, sys.stdout)
"""


@dataclass(frozen=True)
class Loaded:
    """The labels of the nodes of every graph by id, and the values of each file of node data by graph and node."""

    graphs: dict[str, dict[str, str]]
    data: dict[str, dict[str, dict[str, float | str]]]


def load_in_model_explorer(graph: Path, program: Path, node_data: Sequence[Path]) -> Loaded:
    python = cache_dir() / "model_explorer" / "bin" / "python"
    need((python.parents[1] / "complete").is_file(), "Model Explorer is missing: scripts/get_model_explorer")
    command = [str(python), "-c", _READER, str(graph), str(program), *map(str, node_data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # Its extensions print what they have loaded.
    found = json.loads(done.stdout[done.stdout.index('{"graphs"') :])
    return Loaded(found["graphs"], {Path(path).name: values for path, values in found["data"].items()})
