"""Load clients: send requests without a pause and count failures during a stop."""

import http.client
import threading


class ConstantLoad:
    """Clients that ask without a pause, on kept and on new connections, until refused."""

    def __init__(self, port: int) -> None:
        """Begin to ask."""
        self._port = port
        self.answered = 0
        self.failed = 0
        self._threads = [
            threading.Thread(target=self._ask, kwargs={"kept": n % 2 == 0})
            for n in range(12)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, *, kept: bool) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._port, 10)
        while True:
            try:
                if client.sock is None:
                    client.connect()
            except ConnectionRefusedError:
                return
            except OSError:  # taken from the queue by nobody
                self.failed += 1
                continue
            try:
                client.request("GET", "/", headers={} if kept else {"Connection": "close"})
                client.getresponse().read()
                self.answered += 1
            except (OSError, http.client.HTTPException):
                self.failed += 1
                client.close()

    def wait(self) -> None:
        """Wait until every client has been refused."""
        for thread in self._threads:
            thread.join(20)
