# mypy: disable-error-code="import-not-found,import-untyped"
"""botocore as the judge of what we say to Bedrock. Needs botocore; nothing of the gateway.

Reads JSON lines on stdin, each one of
  {"path": …, "body": …}                a Converse or ConverseStream request, as it goes over the wire
  {"sign": {"access_key", "secret", "token", "region", "service", "host", "path", "body", "now", "headers"},
   "authorization": …}                  a signature
  {"messages": base64, "events": […]}   an event stream, and the payloads we read of it (base64)
Exits with 1 and the reasons where botocore disagrees.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import re
import sys
from typing import Any
from unittest import mock
from urllib.parse import unquote

import botocore.auth
import botocore.loaders
import botocore.model
import botocore.serialize
import botocore.validate
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer

MODEL = botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2"))
OPERATIONS = {"converse": "Converse", "converse-stream": "ConverseStream"}


def judge_request(line: dict[str, Any]) -> list[str]:
    match = re.fullmatch(r"/model/([^/]+)/(converse|converse-stream)", line["path"])
    if match is None:
        return [f"path: {line['path']}"]
    operation = MODEL.operation_model(OPERATIONS[match[2]])
    faults: list[str] = []
    parameters = {"modelId": unquote(match[1]), **read(operation.input_shape, line["body"], "body", faults)}
    report = botocore.validate.ParamValidator().validate(parameters, operation.input_shape)
    if report.has_errors():
        faults.append(report.generate_report())
    if not faults:
        written = botocore.serialize.create_serializer("rest-json").serialize_to_request(parameters, operation)
        if written["url_path"] != line["path"]:
            faults.append(f"path: {written['url_path']} expected")
        if json.loads(written["body"] or b"{}") != line["body"]:
            faults.append("body: botocore writes it otherwise")
    return faults


def read(shape: Any, value: Any, at: str, faults: list[str]) -> Any:
    """The value as botocore wants it: blobs as bytes. Notes what its validator does not look at: enums, patterns,
    the greatest numbers, unions, members that are not in the model."""
    if getattr(shape, "is_document_type", False):
        return value
    if shape.type_name == "structure" and isinstance(value, dict):
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            faults.append(f"{at}: one member expected, not {sorted(value)}")
        faults += (f"{at}.{key}: no such member" for key in value if key not in shape.members)
        return {
            key: read(shape.members[key], item, f"{at}.{key}", faults)
            for key, item in value.items()
            if key in shape.members
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [read(shape.member, item, f"{at}[{place}]", faults) for place, item in enumerate(value)]
    if shape.type_name == "map" and isinstance(value, dict):
        for key in value:
            read(shape.key, key, f"{at}.{key}", faults)
        return {key: read(shape.value, item, f"{at}.{key}", faults) for key, item in value.items()}
    if shape.type_name == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            faults.append(f"{at}: no base64")
            return b"-"
    if shape.type_name in ("integer", "float", "double") and value > shape.metadata.get("max", value):
        faults.append(f"{at}: {value} is more than {shape.metadata['max']}")
    if shape.type_name == "string" and isinstance(value, str):
        if getattr(shape, "enum", None) and value not in shape.enum:
            faults.append(f"{at}: {value!r} is none of {shape.enum}")
        pattern = shape.metadata.get("pattern")
        if pattern and re.fullmatch(pattern, value) is None:
            faults.append(f"{at}: {value!r} does not match {pattern}")
    return value


def judge_signature(line: dict[str, Any]) -> list[str]:
    given = line["sign"]
    request = AWSRequest(
        "POST", f"https://{given['host']}{given['path']}", data=given["body"].encode(), headers=dict(given["headers"])
    )
    now = datetime.datetime.fromtimestamp(given["now"], datetime.UTC).replace(tzinfo=None)
    credentials = Credentials(given["access_key"], given["secret"], given["token"])
    with mock.patch("botocore.auth.get_current_datetime", return_value=now):
        botocore.auth.SigV4Auth(credentials, given["service"], given["region"]).add_auth(request)
    expected = request.headers["Authorization"]
    return [] if expected == line["authorization"] else [f"authorization: {expected} expected"]


def judge_messages(line: dict[str, Any]) -> list[str]:
    buffer = EventStreamBuffer()
    buffer.add_data(base64.b64decode(line["messages"]))
    read_by_botocore = [base64.b64encode(event.payload).decode() for event in buffer]
    return [] if read_by_botocore == line["events"] else [f"messages: {read_by_botocore} expected"]


def judge(line: dict[str, Any]) -> list[str]:
    if "sign" in line:
        return judge_signature(line)
    return judge_messages(line) if "messages" in line else judge_request(line)


def main() -> int:
    failed = 0
    for number, line in enumerate(sys.stdin, start=1):
        for fault in judge(json.loads(line)):
            failed = 1
            print(f"line {number}: {fault}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
