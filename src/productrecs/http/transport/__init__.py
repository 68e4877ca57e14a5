"""Transport: sockets, connections, request parsing and bodies, error bodies."""
