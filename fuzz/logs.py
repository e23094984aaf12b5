"""The gateway's logs, read as they grow: one access line for each answer, and no error of the gateway's own."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.findings import Findings
from fuzz.strict_response import Response

# Words of the error log that mean a fault of the gateway, not of a client or an upstream.
OWN_FAULTS = ("own fault", "Unhandled", "internal error", "Traceback")
CLIENT_GONE = 499


class GrowingFile:
    """Complete lines that were added since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self) -> list[bytes]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


class AccessLog:
    """Pairs answers with lines, by request id. `answered` and `look` may come in any order."""

    def __init__(self, path: Path, findings: Findings) -> None:
        self._file = GrowingFile(path)
        self._findings = findings
        self._answers: dict[str, tuple[int, int]] = {}  # status and session; answered, no line yet
        self._lines: dict[str, int] = {}  # a line, no answer yet
        self.turns = 0

    def answered(self, request_id: str, response: Response, session: int) -> None:
        """A stream that fails after its head is 200 to the client and logged with what it failed with."""
        status = 0 if is_broken_stream(response) else response.status
        if request_id in self._answers:
            self._findings.add("x-request-id is unique", f"session {session}")
        logged = self._lines.pop(request_id, None)
        if logged is None:
            self._answers[request_id] = (status, session)
        elif status not in (0, logged):
            self._findings.add("the access line has the answer's status", f"{logged} for {status}, session {session}")

    def look(self) -> None:
        for line in self._file.lines():
            try:
                entry = json.loads(line)
                request_id, status = entry["request_id"], entry["status"]
            except (ValueError, KeyError, TypeError):
                self._findings.add("access lines are whole JSON objects", repr(line[:120]))
                continue
            self.turns += 1
            answer = self._answers.pop(request_id, None)
            if answer is None:
                if request_id in self._lines:
                    self._findings.add("one access line for each turn", f"two lines, status {status}")
                self._lines[request_id] = status
            elif answer[0] not in (0, status):
                self._findings.add(
                    "the access line has the answer's status", f"{status} for {answer[0]}, session {answer[1]}"
                )

    def end(self, left: int, pulses: int) -> None:
        """`left`: requests whose client went before the answer; `pulses`: questions of health."""
        self.look()
        for status, session in self._answers.values():
            self._findings.add("one access line for each turn", f"no line for {status}, session {session}")
        unread = sum(status != CLIENT_GONE for status in self._lines.values())
        if unread > left + pulses:
            self._findings.add("one access line for each turn", f"{unread - left - pulses} lines without an answer")


def is_broken_stream(response: Response) -> bool:
    return response.headers.get(b"content-type", b"").startswith(b"text/event-stream") and b'"error":' in response.body


class ErrorLog:
    def __init__(self, path: Path, findings: Findings) -> None:
        self._file = GrowingFile(path)
        self._findings = findings

    def look(self) -> None:
        for line in self._file.lines():
            text = line.decode("utf-8", "replace")
            if not any(word in text for word in OWN_FAULTS):
                continue
            try:
                entry = json.loads(text)
            except ValueError:
                entry = {"message": text}
            where = entry.get("where") or [""]
            detail = f"{entry.get('message')} {entry.get('error', '')} {where[-1]}"
            self._findings.add("the error log has no fault of our own", detail)
