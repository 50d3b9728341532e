"""Validate an RO-Crate with roc-validator, offline: build/crate-tools/bin/python validate.py FOLDER PROFILE.

The validator fetches the JSON-LD context of RO-Crate 1.1; here it finds the copy that ro-crate-py has in its cache. Prints the
requirements that are not met, with their level, and ends with status 1 if a required one is among them.
"""

import importlib.resources
import sys
import tempfile
from pathlib import Path

from requests_cache import CachedRequest, CachedResponse, CachedSession
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.services import validate

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def main(folder: str, profile: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        cache = str(Path(temporary, "cache"))
        context = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        request = CachedRequest(method="GET", url=CONTEXT)
        response = CachedResponse(
            url=CONTEXT, status_code=200, content=context, request=request, headers={"Content-Type": "application/ld+json"}
        )
        with CachedSession(cache, backend="sqlite") as session:
            session.cache.save_response(response)
        result = validate(
            ValidationSettings(
                rocrate_uri=folder,
                profile_identifier=profile,
                requirement_severity=Severity.RECOMMENDED,
                cache_path=cache,
                offline=True,
                skip_availability_check=True,
            )
        )
        for issue in result.get_issues():
            print(issue.severity.name, issue.check.identifier, issue.message)
    sys.exit(bool(result.get_issues(Severity.REQUIRED)))


main(*sys.argv[1:])
