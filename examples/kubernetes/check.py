"""Checks the jobs of this folder against the schemas of Kubeflow's operators.

usage: python check.py MPI_OPERATOR TRAINER

MPI_OPERATOR and TRAINER are checkouts of github.com/kubeflow/mpi-operator and github.com/kubeflow/trainer, whose manifests have
the schemas. Fields that a schema does not know are refused too. Needs pyyaml and jsonschema.
"""

import pathlib
import sys

import jsonschema
import yaml

MANIFESTS = {
    "MPIJob": "manifests/base/kubeflow.org_mpijobs.yaml",
    "TrainJob": "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
    "TrainingRuntime": "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
}


def closed(schema):
    """The schema in which objects have no properties but those that it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    return schema


def schema_of(job, operators):
    """The schema of a job's kind and version, in one of the operators' checkouts."""
    path = MANIFESTS[job["kind"]]
    manifest = next(operator / path for operator in operators if (operator / path).exists())
    version = job["apiVersion"].rsplit("/", 1)[1]
    versions = yaml.safe_load(manifest.read_text())["spec"]["versions"]
    schema = closed(next(one for one in versions if one["name"] == version)["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def main(*operators):
    operators = [pathlib.Path(operator) for operator in operators]
    for file in sorted(pathlib.Path(__file__).parent.glob("*.yaml")):
        for job in yaml.safe_load_all(file.read_text()):
            jsonschema.validate(job, schema_of(job, operators))
            print(f"{file.name}: {job['kind']} {job['apiVersion']} is valid")


if __name__ == "__main__":
    main(*sys.argv[1:])
