"""Validates a Kubernetes manifest against the published schemas and prints its first container's command and the number of
completions as JSON. Usage: job.py MANIFEST"""

import json
import sys

import kubernetes_validate
import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    job = yaml.safe_load(file)
kubernetes_validate.validate(job, "1.30", strict=True)
container = job["spec"]["template"]["spec"]["containers"][0]
print(json.dumps({"command": container["command"], "completions": job["spec"]["completions"]}))
