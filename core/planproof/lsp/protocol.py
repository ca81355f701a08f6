"""The protocol's messages as pygls reads them; a request that cannot be read is answered, as an editor waits for it."""

from __future__ import annotations

from typing import Any

from lsprotocol.types import EXIT
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol


class AnsweringProtocol(LanguageServerProtocol):
    """pygls drops a request whose parameters are none of its method's (a line of -1), and any that is malformed."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """pygls asks this of each object within a message: the message alone is one, and is known at its end."""
        return data

    def handle_message(self, message: Any) -> None:
        data = message if isinstance(message, dict) else {}
        is_answer = "method" not in data and not data.keys().isdisjoint(("result", "error"))
        is_notification = "method" in data and "id" not in data
        try:
            super().handle_message(self._read(data, is_answer))
        except JsonRpcException as error:
            if not is_answer and not is_notification:
                self.refuse(data.get("id"), error)

    def _read(self, data: dict[str, Any], is_answer: bool) -> Any:
        if data.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest("it is no message of JSON-RPC 2.0")
        if not is_answer and not isinstance(data.get("method"), str):
            raise JsonRpcInvalidRequest("it names no method")
        if self._shutdown and data.get("method") != EXIT:
            raise JsonRpcInvalidRequest("the server is shutting down")
        message = super().structure_message(data)
        if not is_answer and not hasattr(message, "method"):
            raise JsonRpcInvalidRequest("it is a request and an answer")
        return message

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answers a request; without a number where it has none that could be read."""
        is_number = isinstance(number, (str, int)) and not isinstance(number, bool)
        said = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number if is_number else None, "error": said})
