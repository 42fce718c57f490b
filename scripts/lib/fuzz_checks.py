"""The check of scripts/fuzz that a request which the API's document allows is not refused as invalid.

A rule that a schema cannot express stands in fuzz_refusals.txt with its reason.
"""

import pathlib

import schemathesis

LIST = pathlib.Path(__file__).with_name("fuzz_refusals.txt")
# A request that does not come at the right time, from the right person or for what exists is no fault of its schema.
OTHER_STATUSES = {401, 403, 404, 409, 412, 429}


def read_list():
    """Refusals that are known: operation (or *), field (or *), code."""
    lines = (line.split("#")[0].split() for line in LIST.read_text().splitlines())
    return {tuple(line) for line in lines if line}


KNOWN = read_list()


def value(body, path):
    """The value of a field such as `address.city` or `numbers[3]`; None if there is none."""
    for part in path.replace("]", "").replace("[", ".").split("."):
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        else:
            return None
    return body


def is_expected(operation, field, code, body):
    given = value(body, field)
    if code == "required" and isinstance(given, str) and not any(char.isprintable() and not char.isspace() for char in given):
        return True  # A text with nothing to read: no regular expression of JSON Schema says this for all writing systems.
    if code == "bad_type" and isinstance(given, float) and given.is_integer():
        return True  # JSON Schema counts 1.0 as an integer. The shop takes digits only.
    names = [(of, at) for of in (operation, "*") for at in (field, "*")]
    return any((of, at, code) in KNOWN for of, at in names)


@schemathesis.check
def accepts_what_the_document_allows(ctx, response, case):
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_valid or not 400 <= response.status_code < 500 or response.status_code in OTHER_STATUSES:
        return
    problem = response.json()
    operation = case.operation.definition.raw.get("operationId")
    fields = problem.get("fields") or [{"field": "-", "code": problem["code"]}]
    refused = [(of["field"], of["code"]) for of in fields if not is_expected(operation, of["field"], of["code"], case.body)]
    if refused:
        raise AssertionError(f"{operation} refuses what its schema allows, and scripts/lib/{LIST.name} does not say why: {refused}")
